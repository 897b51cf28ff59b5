"""Learned skills and plans, ranked by the tools that a task needs, and a plan composed of them where none is for it.

Word search finds a procedure by the words of all its tasks together. What was learned of the words of single tasks
(`stratagraph.memory.learning.needs`) says which tools a task needs; procedures with these tools are looked up by name,
also where no word found them. See docs/learning.md, Which plan answers a task.
"""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from stratagraph.memory.learning.needs.model import LEAST, NEARNESS, Needs, ToolModel, combined
from stratagraph.memory.learning.needs.stage import procedure_keys, said_terms
from stratagraph.memory.learning.procedures.effects import Effect
from stratagraph.memory.plans.composing import Part, composed_record, may_be_part, parts_for, tools_by_step
from stratagraph.memory.retrieve.candidates import Candidate, Why
from stratagraph.memory.retrieve.fuse import Scored
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.retrieve.weights import (
    FAMILIAR,
    FAMILIAR_AMONG_ALL,
    FITS,
    NEEDED,
    SAME_TOOLS,
    STRONG_ENOUGH,
    Signal,
)
from stratagraph.store.keys.callers import Caller
from stratagraph.store.learning.examples import ModelVersion, fetch_models, list_models, refused_for, tool_key
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.payloads.procedures import tools_used
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.postgres.database import Connection
from stratagraph.store.records.procedures import PROCEDURES
from stratagraph.store.records.ranking import Head
from stratagraph.store.records.reading import Reader

FAMILIES = 8  # sets of tools whose skill and plan are looked up, those that fit the task best
PARTS = 3  # sets of tools that have one needed tool and are looked up for it
BY_WORDS = 16  # procedures that words have found and that are ranked, the best
MOST_READ = 64  # procedures that are looked up by name
MOST_NEEDED = 12  # tools of a composed plan
CACHE_BYTES = 64 * 1024 * 1024  # of models that a process keeps


class ToolModels:
    """The models of groups, as they are stored. One per process; safe to call from many tasks.

    At most CACHE_BYTES of them are kept in memory, those that were asked last.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[ModelVersion, ToolModel] = OrderedDict()

    async def needs(self, connection: Connection, caller: Caller, task: str) -> Needs | None:
        """Return what a task needs by the models of groups that the caller may read; None where they know nothing.

        One statement, and another one where a model has changed since this process has read it.
        """
        versions = await list_models(connection, caller)
        if not versions:
            return None
        missing = [one.group for one in versions if one not in self._kept]
        stored = await fetch_models(connection, caller.tenant, missing)
        known = {one: self._kept[one] for one in versions if one in self._kept}

        def asked() -> tuple[dict[ModelVersion, ToolModel], Needs | None]:
            read = {one: ToolModel.of_bytes(model) for one, model in stored.items()}
            said = said_terms(caller.tenant.index_key, task)
            found = [(needs, model.examples) for model in (known | read).values() if (needs := model.needs(said))]
            return read, combined(found)

        read, needs = await asyncio.to_thread(asked)
        self._keep(known | read)
        return needs

    def _keep(self, models: Mapping[ModelVersion, ToolModel]) -> None:
        for version, model in models.items():
            self._kept[version] = model
            self._kept.move_to_end(version)
        size = sum(model.size for model in self._kept.values())
        while size > CACHE_BYTES:
            size -= self._kept.popitem(last=False)[1].size


@dataclass(frozen=True, slots=True, kw_only=True)
class Composed:
    """A composed plan, which is not stored, with its parts and what it would have as a candidate."""

    record: MemoryRecord
    parts: tuple[Part, ...]
    why: Why

    @property
    def plan_id(self) -> str:
        """The id of the plan, which names its parts."""
        return str((self.record.payload or {})["plan_id"])


@dataclass(frozen=True, slots=True, kw_only=True)
class ByNeed:
    """The candidates, with procedures ranked by the tools that the task needs.

    `fit` is how well each learned procedure fits, from 0 to 1, which the best one has. `composed` is None where a known
    procedure is as good.
    """

    candidates: Sequence[Candidate]
    fit: Mapping[UUID, float] = field(default_factory=dict)
    composed: Composed | None = None

    def ranked(self, found: Sequence[Candidate]) -> list[Candidate]:
        """Return candidates as they are ranked here; those that are not among them as they are."""
        known = {one.head.id: one for one in self.candidates}
        return [known.get(one.head.id, one) for one in found]

    def best(self, ranking: Sequence[Scored], request: RetrieveRequest, *, least: float) -> Composed | None:
        """Return the composed plan if it has the `least` strength; None if the one root that is asked for is better."""
        if self.composed is None or self.composed.why.strength < least:
            return None
        is_alone = min(request.root_limit, request.node_limit) == 1
        return None if is_alone and ranking and ranking[0][0].head.type not in PROCEDURES else self.composed


async def ranked_by_need(
    reader: Reader,
    models: ToolModels,
    task: str,
    candidates: Sequence[Candidate],
    *,
    types: Collection[MemoryType],
    left_out: Collection[UUID],
) -> ByNeed:
    """Return the candidates, with learned procedures ranked by the tools that the task needs, and added if missing.

    Without models, or for a task of which no tool has evidence, the candidates stay as they are. Where other types are
    asked for too, a task must be nearer to a known one. At most five statements.
    """
    wanted_types = [one for one in PROCEDURES if not types or one in types]
    if not wanted_types:
        return ByNeed(candidates=candidates)
    needs = await models.needs(reader.connection, reader.caller, task)
    if needs is None:
        return ByNeed(candidates=candidates)
    is_alone = bool(types) and len(wanted_types) == len(set(types))
    known = needs.alike / FAMILIAR if is_alone else needs.near / FAMILIAR_AMONG_ALL
    if known < 1.0:
        return ByNeed(candidates=candidates)
    by_words = {one.head.id: one for one in candidates if one.head.type in PROCEDURES}
    records = await _read(reader, needs, by_words, left_out)
    tools = {id_: tools_used(record.payload or {}, record.type) for id_, record in records.items()}
    keys = {name: tool_key(reader.caller.tenant, name) for names in tools.values() for name in names}
    hashed = {id_: frozenset(keys[name] for name in names) for id_, names in tools.items()}
    scores = {
        id_: needs.score(hashed[id_]) + math.log(max(LEAST, record.confidence))
        for id_, record in records.items()
        if record.learned_tools is not None and record.type in wanted_types
    }
    composed = await _composed(reader, needs, records, keys, hashed) if MemoryType.PLAN_GRAPH in wanted_types else None
    if not scores and composed is None:
        return ByNeed(candidates=candidates)
    top = max(scores.values(), default=0.0)
    # The root undoes the power by which the nearness of examples was raised.
    fit = {id_: math.exp((score - top) / NEARNESS) for id_, score in scores.items()}
    best = max([needs.near, *(one.why.signals.get(Signal.WORDS, 0.0) for one in by_words.values())])
    strength = min(1.0, STRONG_ENOUGH * known)
    after: dict[UUID, Candidate] = {}
    seen: set[tuple[str, ...]] = set()
    for id_ in sorted(fit, key=lambda one: (-fit[one], -records[one].type, one)):
        same = tuple(sorted(tools[id_]))
        again = SAME_TOOLS if same in seen else 1.0
        seen.add(same)
        found = by_words.get(id_) or Candidate(_head(records[id_]), Why())
        signals = dict(found.why.signals)
        signals.pop(Signal.NAMES, None)
        why = replace(
            found.why,
            signals=signals | {Signal.WORDS: best * fit[id_] * again},
            strength=max(found.why.strength, strength),
        )
        after[id_] = replace(found, why=why)
    others = [one for one in candidates if one.head.id not in after]
    if composed is not None:
        composed = replace(composed, why=Why(signals={Signal.WORDS: best}, strength=strength))
    return ByNeed(candidates=[*after.values(), *others], fit=fit, composed=composed)


async def _read(
    reader: Reader, needs: Needs, by_words: Mapping[UUID, Candidate], left_out: Collection[UUID]
) -> dict[UUID, MemoryRecord]:
    """Return the procedures that may answer or be parts of an answer: by the tools that are needed, and by words."""
    keys = await asyncio.to_thread(_keys_to_read, needs)
    found = {record.id: record for record in await reader.current_by_handle(keys, most=MOST_READ)}
    first = sorted(by_words, key=lambda id_: (-by_words[id_].why.part(Signal.WORDS), id_))[:BY_WORDS]
    found |= await reader.records([id_ for id_ in first if id_ not in found])
    return {id_: one for id_, one in found.items() if not one.redacted and id_ not in left_out}


def _keys_to_read(needs: Needs) -> list[bytes]:
    """Return the handle keys of the sets of tools that fit best, and of those with a needed tool and few others."""
    families = sorted(needs.votes, key=lambda one: (-needs.score(one.tools), one.skill))
    needed = _needed(needs)
    wanted = families[:FAMILIES]
    for tool in sorted(needed):
        having = [one for one in families if tool in one.tools]
        wanted += sorted(having, key=lambda one: (len(one.tools - needed), -needs.votes[one], one.skill))[:PARTS]
    return [key for one in dict.fromkeys(wanted) for key in (one.skill, one.plan)]


def _needed(needs: Needs) -> frozenset[bytes]:
    """Return the tools that the task probably needs; where none is probable, the one that is most so."""
    probable = sorted(needs.probable, key=lambda tool: (-needs.probable[tool], tool))
    likely = [tool for tool in probable if needs.probable[tool] > NEEDED]
    return frozenset((likely or probable)[: MOST_NEEDED if likely else 1])


async def _composed(
    reader: Reader,
    needs: Needs,
    records: Mapping[UUID, MemoryRecord],
    keys: Mapping[str, bytes],
    hashed: Mapping[UUID, frozenset[bytes]],
) -> Composed | None:
    """Return a plan composed of known procedures; None where one of them is as good, or a needed tool is in none.

    `keys` are those of tools by their names, and `hashed` those of the tools of each record.

    Tools that change state decide: a plan of others alone is no answer to a task, however probable these are. A set of
    tools whose learned skill or plan was retracted is not composed again of parts of its group.
    """
    names = {key: name for name, key in keys.items()}
    needed = _needed(needs)
    if not needed <= names.keys():
        return None
    best_known = max(map(needs.likelihood, hashed.values()), default=-math.inf)
    if needed in hashed.values() or best_known >= needs.likelihood(needed) + FITS:
        return None
    acting = {name for record in records.values() if may_be_part(record) for name in _acting(record)}
    if not any(keys.get(name) in needed for name in acting):
        return None
    tenant = reader.caller.tenant
    # The parts that succeeded for tasks like this come first.
    ranked = sorted(records.values(), key=lambda one: (-needs.score(hashed[one.id]), one.id))
    wanted = tuple(names[one] for one in needed)
    parts = parts_for(wanted, [one for one in ranked if may_be_part(one)])
    if not parts:
        return None
    refused = await refused_for(reader.connection, reader.caller, procedure_keys(tenant, wanted))
    scopes = await reader.directory.scope_names({scope for scope, _ in refused})
    if {(scopes[scope], level) for scope, level in refused} & {
        (part.record.scope, part.record.sensitivity) for part in parts
    }:
        return None
    probable = math.exp(math.fsum(math.log(needs.probable[tool]) for tool in needed) / len(needed))
    confidence = probable * min(part.record.confidence for part in parts)
    record = composed_record(tenant, parts, confidence=confidence)
    return Composed(record=record, parts=tuple(parts), why=Why())


def _acting(record: MemoryRecord) -> set[str]:
    """Return the tools of a procedure that change state, or of which is not known that they do not."""
    payload = record.payload or {}
    steps = payload.get("nodes" if record.type is MemoryType.PLAN_GRAPH else "recipe") or ()
    passive = {Effect.READS.value, Effect.INTERNAL.value}
    return {
        tool
        for step, tool in zip(steps, tools_by_step(record), strict=True)
        if tool is not None and step.get("effect") not in passive
    }


def _head(record: MemoryRecord) -> Head:
    """Return what ranks a procedure that no word has found."""
    return Head(
        record.id,
        record.type,
        record.confidence,
        record.salience,
        record.occurred_at,
        0,
        state=int(record.state),
    )
