"""Drafts of what is learned: interpreted and masked like captures, with the trust and the sources of their group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from stratagraph.memory.capture.caption import caption
from stratagraph.memory.capture.classify import classify
from stratagraph.memory.capture.draft import Draft
from stratagraph.memory.capture.interpret import interpret
from stratagraph.memory.capture.request import CaptureRequest, checked
from stratagraph.memory.capture.secrets import hide_secrets, keep_content, sealing_level
from stratagraph.memory.secrets.masking import masked
from stratagraph.store.keys.callers import Caller
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.enums import MemoryType, Sensitivity, SourceKind
from stratagraph.store.model.salience import DAY, HALF_LIFE_S, Decay

MAX_ENTITIES = 256  # that one learned record is related to
SUMMARY_HALF_LIFE_S = 30 * DAY  # of a learned episodic record, the summary that outlives its episode

_KINDS = {MemoryType.EPISODIC: SourceKind.EVENT}


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedRecord:
    """Something learned, to be stored as a record of the batch's group.

    `payload` is that of a fact, a skill, a plan or an entity, as a capture takes it, without `evidence`; for an
    episodic record it is the content of an event (`event_kind`, `summary`, ...). `sources` are the records that it
    rests on, at least one: episodes or their records, of exactly the group's scope and sensitivity. `confidence` is in
    [0, 1]. `occurred_at` is the instant of the latest source, at most five minutes ahead of the clock. `rationale` goes
    to the audit log, `summary` to the name of the record. `mentions` are names, or entries as in `context.mentions`.
    A fact that `yields` takes no other one's place: where its subject and predicate have one value, and another source
    than its author states a different one, the two are contested.
    `state` is what was observed of a skill or plan, to be kept beside its payload.
    `entities` are those that the repeated content names: the record is related to the first MAX_ENTITIES of them, and
    so is erased with any of these.
    """

    type: MemoryType
    payload: Mapping[str, Any]
    sources: tuple[UUID, ...]
    confidence: float
    occurred_at: datetime
    rationale: str
    summary: str | None = None
    tags: tuple[str, ...] = ()
    mentions: tuple[str | Mapping[str, Any], ...] = ()
    yields: bool = False
    entities: tuple[UUID, ...] = ()
    state: Mapping[str, Any] | None = None


def draft_of(
    learned: LearnedRecord,
    position: int,
    *,
    caller: Caller,
    directory: Directory,
    scope: str,
    sensitivity: Sensitivity,
    now: datetime,
) -> Draft:
    """Return the draft of what was learned. Raises InvalidInput for a payload that a capture would refuse."""
    request = CaptureRequest(
        source=caller.trust.actor,
        source_kind=_KINDS.get(learned.type, SourceKind.OBSERVATION),
        content=dict(learned.payload),
        context={"mentions": list(learned.mentions)} if learned.mentions else None,
        proposed_type=None if learned.type in (MemoryType.SEMANTIC, MemoryType.EPISODIC) else learned.type,
        reason_to_remember=learned.rationale,
        summary=learned.summary,
        tags=learned.tags,
        scope=scope,
        sensitivity=sensitivity,
        timestamp=learned.occurred_at,
    )
    draft = classify(checked(request, now), position, now)
    draft.scope, draft.sensitivity, draft.confidence = scope, sensitivity, learned.confidence
    half_life_s = SUMMARY_HALF_LIFE_S if learned.type is MemoryType.EPISODIC else HALF_LIFE_S[learned.type]
    draft.decay = Decay(half_life_s=half_life_s)
    draft.evidence = evidence_of(learned.sources)
    hidden = hide_secrets(draft, caller.tenant)
    caption(draft)
    interpret(draft)
    # The ceiling is the group's own level, so that nothing is lifted out of its group.
    level = sealing_level(directory.vault)
    keep_content(draft, hidden, level=level, ceiling=sensitivity)
    draft.learned_state = state_to_keep(learned.state, caller, sensitivity, level)
    return draft


def state_to_keep(
    state: Mapping[str, Any] | None, caller: Caller, sensitivity: Sensitivity, level: Sensitivity | None
) -> dict[str, Any] | None:
    """Return the state of a skill or plan as it is stored: with its secrets masked, unless the record is sealed."""
    if state is None:
        return None
    if level is not None and sensitivity >= level:
        return dict(state)
    kept: dict[str, Any] = masked(dict(state), caller.tenant.index_key)[0]
    return kept


def evidence_of(sources: Sequence[UUID]) -> tuple[dict[str, Any], ...]:
    """Return source records as entries of evidence."""
    return tuple({"kind": "event", "ref": str(source)} for source in dict.fromkeys(sources))
