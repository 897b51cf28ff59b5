"""How a batch teaches skills and plans: its episodes by the tools that they used, added to what is stored of each."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import reduce
from typing import Any, Protocol
from uuid import UUID

import orjson

from stratagraph.memory.capture.request import MAX_CONTENT_BYTES
from stratagraph.memory.capture.versions import next_version
from stratagraph.memory.learning.drafting import LearnedRecord
from stratagraph.memory.learning.episode import Episode
from stratagraph.memory.learning.learner import DERIVED_WEIGHT
from stratagraph.memory.learning.procedures.confidence import confidence_of
from stratagraph.memory.learning.procedures.effects import Effect, ToolEvidence, effect_of
from stratagraph.memory.learning.procedures.observation import Observation, observe
from stratagraph.memory.learning.procedures.reported import NOTHING, Reported
from stratagraph.memory.learning.stage import LearningBatch
from stratagraph.store.learning.examples import find_refused
from stratagraph.store.learning.procedures import sources_of, store_tool_evidence, tool_evidence
from stratagraph.store.model.enums import MemoryType, RecordState
from stratagraph.store.records.handles import handle_key
from stratagraph.store.records.inserting import NewRelation
from stratagraph.store.records.procedures import FIRST_VERSION, Version

MAX_BYTES = MAX_CONTENT_BYTES // 2  # of a payload with its state, as JSON: half of what a capture may have
MAX_EVIDENCE = 100  # episodes that one record is related to in one batch, the newest


class Procedure(Protocol):
    """A kind of procedure, skills or plans: how it is named, computed and compared."""

    @property
    def type(self) -> MemoryType: ...

    def name(self, tools: tuple[str, ...]) -> str: ...

    def payload(self, observed: Observation, effects: Mapping[str, Effect], reported: Reported) -> dict[str, Any]: ...

    def is_new_version(self, payload: Mapping[str, Any], stored: Mapping[str, Any]) -> bool: ...

    def reported(self, payload: Mapping[str, Any], observed: Observation) -> Reported: ...


@dataclass(frozen=True, slots=True)
class Family:
    """Episodes that used the same tools, each by the instant at which it closed and its id, and what they show."""

    observed: Observation
    episodes: tuple[tuple[datetime, UUID], ...]

    @property
    def tools(self) -> tuple[str, ...]:
        return self.observed.tools

    def joined(self, other: Family) -> Family:
        """Return the family of the episodes of both, which must have the same tools and no episode in common."""
        return Family(self.observed.merged(other.observed), (*self.episodes, *other.episodes))


@dataclass(slots=True)
class Learnt:
    """What became of a batch: the records created, revised to a new version, and changed in place; skips by reason."""

    created: list[UUID] = field(default_factory=list)
    revised: list[UUID] = field(default_factory=list)
    retold: list[UUID] = field(default_factory=list)
    skips: dict[str, int] = field(default_factory=dict)

    def skip(self, reason: str, count: int = 1) -> None:
        if count:
            self.skips[reason] = self.skips.get(reason, 0) + count


def families_of(episodes: Sequence[Episode], learnt: Learnt) -> list[Family]:
    """Return the episodes by their tools, in the order of these; counts those left out, and why."""
    found: dict[tuple[str, ...], list[tuple[Episode, Observation]]] = {}
    for episode in episodes:
        observed = observe(episode)
        if observed is None:
            learnt.skip("episodes without a tool call" if not episode.calls else "episodes without an outcome")
        else:
            found.setdefault(observed.tools, []).append((episode, observed))
    return [family_of(found[tools]) for tools in sorted(found)]


def family_of(members: Sequence[tuple[Episode, Observation]]) -> Family:
    """Return the family of episodes with the same tools."""
    return Family(
        reduce(lambda one, other: one.merged(other), [observed for _, observed in members]),
        tuple((episode.closed_at, episode.id) for episode, _ in members),
    )


async def add_tool_evidence(batch: LearningBatch, families: Sequence[Family]) -> None:
    """Add what the batch shows of tools to what its run has shown before."""
    shown: dict[str, ToolEvidence] = {}
    for family in families:
        for tool, one in family.observed.evidence.items():
            shown[tool] = shown[tool].merged(one) if tool in shown else one
    if not shown:
        return
    tenant = batch.caller.tenant
    stored = await tool_evidence(batch.connection, tenant, batch.group, shown)
    after = {}
    for tool, one in shown.items():
        before = stored[tool].get(batch.run.id)
        after[tool] = (one.merged(ToolEvidence.of_json(before)) if before is not None else one).as_json()
    await store_tool_evidence(batch.connection, tenant, batch.group, batch.run.id, after)


async def effects_of(batch: LearningBatch, tools: Collection[str]) -> dict[str, Effect]:
    """Return what each tool does, as far as the episodes of the group have shown it."""
    stored = await tool_evidence(batch.connection, batch.caller.tenant, batch.group, tools)
    return {
        tool: effect_of(reduce(ToolEvidence.merged, map(ToolEvidence.of_json, runs.values()), ToolEvidence()))
        for tool, runs in stored.items()
    }


async def store_family(
    batch: LearningBatch, kind: Procedure, family: Family, effects: Mapping[str, Effect], learnt: Learnt
) -> UUID | None:
    """Add what a family shows to the procedure of its tools, or make one; return its id, None if it is left as it is.

    The record is changed in place while it asks for the same steps, and superseded by a new version otherwise. A
    contested one is changed in place, because a new version would end its disputes. A procedure of this name that a
    caller has captured, or that has other tools, is left alone; one that a caller has retracted is not made again.
    """
    versions = await batch.learner.versions(kind.type, kind.name(family.tools))
    current = next((one for one in versions if one.is_current), None)
    if current is None:
        return await _create(batch, kind, family, effects, learnt, versions)
    before = Observation.of_state(current.learned_state)
    if before is None or before.tools != family.tools:
        whose = "of other tools" if before is not None else "that a caller has captured"
        learnt.skip(f"procedures {whose} under the same name")
        return None
    observed = before.merged(family.observed)
    payload = kind.payload(observed, effects, kind.reported(current.payload, before))
    learned = _learned(batch, kind, family, observed, payload)
    if _is_too_large(learned, learnt):
        return current.id
    if current.state is RecordState.ACTIVE and kind.is_new_version(payload, current.payload):
        id_ = await batch.learner.revise(
            current.id,
            payload,
            sources=learned.sources,
            rationale=learned.rationale,
            confidence=learned.confidence,
            state=learned.state,
        )
        earlier = await sources_of(batch.connection, batch.caller.tenant, current.id, limit=MAX_EVIDENCE)
        await batch.learner.relate(
            [
                NewRelation(source=one, target=id_, predicate="derived_semantic", weight=DERIVED_WEIGHT)
                for one in earlier
                if one not in learned.sources
            ]
        )
        learnt.revised.append(id_)
        return id_
    version = current.payload.get("version") or FIRST_VERSION
    await batch.learner.retell(current.id, replace(learned, payload={**learned.payload, "version": version}))
    learnt.retold.append(current.id)
    return current.id


async def _create(
    batch: LearningBatch,
    kind: Procedure,
    family: Family,
    effects: Mapping[str, Effect],
    learnt: Learnt,
    versions: Sequence[Version],
) -> UUID | None:
    """Make the procedure of a family that has none; `versions` are those that were superseded."""
    key = handle_key(batch.caller.tenant, kind.type, kind.name(family.tools))
    if await find_refused(batch.connection, batch.group, [key]):
        learnt.skip("episodes of procedures that a caller has retracted", len(family.episodes))
        return None
    version = next_version(str(versions[0].payload.get("version") or FIRST_VERSION)) if versions else FIRST_VERSION
    payload = kind.payload(family.observed, effects, NOTHING) | {"version": version}
    learned = _learned(batch, kind, family, family.observed, payload)
    if _is_too_large(learned, learnt):
        return None
    learnt.created.append(await batch.learner.create(learned))
    return learnt.created[-1]


def _is_too_large(learned: LearnedRecord, learnt: Learnt) -> bool:
    if len(orjson.dumps(learned.payload)) + len(orjson.dumps(learned.state)) <= MAX_BYTES:
        return False
    learnt.skip("procedures with too many steps and arguments to be stored")
    return True


def _learned(
    batch: LearningBatch, kind: Procedure, family: Family, observed: Observation, payload: Mapping[str, Any]
) -> LearnedRecord:
    reported = kind.reported(payload, observed)
    newest = sorted(family.episodes)
    return LearnedRecord(
        type=kind.type,
        payload={key: value for key, value in payload.items() if key != "kind"},
        state=observed.as_json(),
        sources=tuple(id_ for _, id_ in newest[-MAX_EVIDENCE:]),
        confidence=confidence_of(observed.successes + reported.successes, observed.failed + reported.failures),
        occurred_at=min(newest[-1][0], batch.run.now),
        rationale=f"learned from {len(newest)} episodes with the tools {', '.join(family.tools)}"[:500],
    )
