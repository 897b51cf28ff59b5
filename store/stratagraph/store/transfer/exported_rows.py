"""Lines of an export, made of rows: decrypted, without ids of records that the caller may not read in full."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from stratagraph.store.model.enums import (
    AuditAction,
    Curve,
    DeletionPolicy,
    MemoryType,
    Outcome,
    RecordState,
    Sensitivity,
)
from stratagraph.store.model.exported import (
    ArtifactUse,
    AuditLine,
    Content,
    EpisodeForm,
    FactForm,
    LessonForm,
    LifecycleForm,
    PastLifecycle,
    PastVersion,
    Period,
    PredicateLine,
    RecordLine,
    RelationLine,
    TombstoneLine,
    TrimForm,
)
from stratagraph.store.model.exported.lines import CAUSES, SIDES

Row = Mapping[Any, Any]
_NAMED = ("supersedes", "superseded_by")  # in the revision of a fact's payload
_LARGEST = 2**63  # whole numbers below it are written without an exponent
_EXPONENT = 1e16  # from which JSON writes doubles with one

# A look-up of a number takes a tenth of the time of a call of the enum.
_TYPES = {int(one): one for one in MemoryType}
_SENSITIVITIES = {int(one): one for one in Sensitivity}
_STATES = {int(one): one for one in RecordState}
_CURVES = {int(one): one for one in Curve}
_POLICIES = {int(one): one for one in DeletionPolicy}
_OUTCOMES = {int(one): one for one in Outcome}
_ACTIONS = {one.value: one for one in AuditAction}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What belongs to the records of a page, by record. `known` are the ids that lines may name; None: all."""

    versions: Mapping[UUID, Sequence[Row]]
    entries: Mapping[UUID, Sequence[Row]]
    trims: Mapping[UUID, Sequence[Row]]
    members: Mapping[UUID, Sequence[Row]]
    lifecycles: Mapping[UUID, Sequence[Row]]
    references: Mapping[UUID, Sequence[Row]]
    scopes: Mapping[int, str]
    known: frozenset[UUID] | None
    shows_authors: bool


def record_line(row: Row, parts: Parts) -> RecordLine:
    """Return the line of a record, with what `parts` has of it."""
    id_, memory_type = row["id"], _TYPES[row["type"]]
    return RecordLine(
        id=id_,
        type=memory_type,
        scope=parts.scopes[row["scope"]],
        sensitivity=_SENSITIVITIES[row["sensitivity"]],
        state=_STATES[row["state"]],
        version=row["version"],
        confidence=row["confidence"],
        tags=tuple(row["tags"]),
        created_at=row["created_at"],
        occurred_at=row["occurred_at"],
        updated_at=row["updated_at"],
        content=_content(row, memory_type, parts.known),
        lifecycle=_lifecycle(row),
        named_times=tuple(Period(start=start, end=end) for start, end in row["named_times"] or ()),
        fact=_fact(row, parts) if memory_type is MemoryType.SEMANTIC else None,
        episode=_episode(row, parts) if row["opened_at"] is not None else None,
        lesson=_lesson(row, parts) if row["is_lesson"] else None,
        artifacts=tuple(
            sorted(
                (
                    ArtifactUse(sha256=bytes(one["sha256"]).hex(), media_type=one["media_type"])
                    for one in parts.references.get(id_, ())
                ),
                key=lambda use: use.sha256,
            )
        ),
        history=past_versions(parts.versions.get(id_, ()), memory_type, parts.known),
        past_lifecycles=tuple(_past_lifecycle(one) for one in parts.lifecycles.get(id_, ())),
        audit=audit_lines(parts.entries.get(id_, ())),
    )


def past_versions(
    rows: Sequence[Row], memory_type: MemoryType, known: frozenset[UUID] | None
) -> tuple[PastVersion, ...]:
    """Return the earlier versions of a record, in the order of `rows`."""
    return tuple(
        PastVersion(
            from_at=row["from_at"],
            to_at=row["to_at"],
            version=row["version"],
            state=_STATES[row["state"]],
            sensitivity=_SENSITIVITIES[row["sensitivity"]],
            confidence=row["confidence"],
            tags=tuple(row["tags"]),
            occurred_at=row["occurred_at"],
            content=_content(row, memory_type, known),
            validity=None if row["has_no_validity"] else _period(row, "valid_from", "valid_to", "is_empty"),
        )
        for row in rows
    )


def audit_lines(rows: Sequence[Row]) -> tuple[AuditLine, ...]:
    """Return the entries of an audit log, in the order of `rows`, whose rationales are open."""
    return tuple(
        AuditLine(
            action=_ACTIONS[row["action"]],
            actor=row["actor"],
            at=row["at"],
            salience=row["salience"],
            rationale=row["rationale"],
            sensitivity=None if row["sensitivity"] is None else _SENSITIVITIES[row["sensitivity"]],
        )
        for row in rows
    )


def predicate_line(row: Row) -> PredicateLine:
    """Return the line of a registered predicate."""
    return PredicateLine(predicate=row["predicate"], single_valued=row["single_valued"], object_kind=row["object_kind"])


def relation_line(row: Row, predicates: Mapping[int, str]) -> RelationLine:
    """Return the line of a relation, given the names of predicates by their numbers."""
    return RelationLine(
        id=row["id"],
        source=row["source"],
        target=row["target"],
        predicate=predicates[row["predicate"]],
        weight=row["weight"],
        created_at=row["created_at"],
        ended_at=row["ended_at"],
    )


def tombstone_line(
    row: Row, entries: Sequence[Row], scopes: Mapping[int, str], known: frozenset[UUID] | None
) -> TombstoneLine:
    """Return the line of a tombstone, with the entries of its audit log."""
    return TombstoneLine(
        id=row["id"],
        type=_TYPES[row["type"]],
        scope=scopes[row["scope"]],
        sensitivity=_SENSITIVITIES[row["sensitivity"]],
        cause=CAUSES[row["cause"] - 1],  # type: ignore[arg-type]  # one of the words
        at=row["at"],
        entities=tuple(sorted(id_ for id_ in row["entities"] if known is None or id_ in known)),
        learned=tuple(sorted(id_ for id_ in row["learned"] if known is None or id_ in known)),
        audit=audit_lines(entries),
    )


def named_ids(row: Row) -> Iterator[UUID]:
    """Yield the ids that the row of a record or of an earlier version names and that may be hidden from a caller."""
    yield from (id_ for key in ("subject_entity", "object_entity") if (id_ := row.get(key)) is not None)
    yield from (id_ for _, id_ in _successors(row["payload"]))


def _successors(payload: Any) -> Iterator[tuple[str, UUID]]:
    revision = payload.get("revision") if isinstance(payload, dict) else None
    if not isinstance(revision, dict):
        return
    for key in _NAMED:
        try:
            yield key, UUID(revision.get(key))
        except (TypeError, ValueError, AttributeError):
            continue  # a text that is no id names no record


def _content(row: Row, memory_type: MemoryType, known: frozenset[UUID] | None) -> Content:
    payload = row["payload"]
    if memory_type is MemoryType.SEMANTIC and isinstance(payload, dict) and isinstance(payload.get("revision"), dict):
        hidden = {key for key, id_ in _successors(payload) if known is not None and id_ not in known}
        left_out = hidden | {"status"}  # which the state says
        payload = {**payload, "revision": {key: one for key, one in payload["revision"].items() if key not in left_out}}
    return Content(
        name=row["name"],
        text=row["text"],
        payload=payload,
        provenance=row["provenance"],
        interpretation=row["interpretation"],
        learned_state=row["learned_state"],
    )


def _lifecycle(row: Row) -> LifecycleForm:
    return LifecycleForm(
        s=row["s"],
        t0=row["t0"],
        curve=_CURVES[row["curve"]],
        half_life_s=row["half_life_s"],
        min_salience=row["min_salience"],
        max_age_s=row["max_age_s"],
        reinforcement_gain=row["reinforcement_gain"],
        params=row["params"],
        pinned=row["pinned"],
        deletion_policy=_POLICIES[row["deletion_policy"]],
        last_reinforced_at=row["last_reinforced_at"],
    )


def _past_lifecycle(row: Row) -> PastLifecycle:
    return PastLifecycle(
        to_at=row["to_at"],
        curve=_CURVES[row["curve"]],
        half_life_s=row["half_life_s"],
        min_salience=row["min_salience"],
        max_age_s=row["max_age_s"],
        reinforcement_gain=row["reinforcement_gain"],
        params=row["params"],
        pinned=row["pinned"],
        deletion_policy=_POLICIES[row["deletion_policy"]],
    )


def _period(row: Row, start: str, end: str, is_empty: str) -> Period:
    return Period(start=row[start], end=row[end], empty=row[is_empty])


def _fact(row: Row, parts: Parts) -> FactForm:
    known = parts.known
    subject, object_ = (
        id_ if known is None or id_ in known else None for id_ in (row["subject_entity"], row["object_entity"])
    )
    return FactForm(
        validity=_period(row, "valid_from", "valid_to", "is_empty"),
        stated=_period(row, "stated_from", "stated_to", "is_stated_empty"),
        evidence_at=row["evidence_at"],
        single_valued=row["single_valued"],
        subject_entity=subject,
        subject_is_ambiguous=row["subject_is_ambiguous"],
        object_entity=object_,
        trims=tuple(
            TrimForm(by=one["by_fact"], side=SIDES[one["side"] - 1], at=one["at"])  # type: ignore[arg-type]  # a word
            for one in sorted(parts.trims.get(row["id"], ()), key=lambda one: (one["by_fact"], one["side"]))
        ),
    )


def _episode(row: Row, parts: Parts) -> EpisodeForm:
    members = sorted(parts.members.get(row["id"], ()), key=lambda one: one["position"])
    return EpisodeForm(
        opened_at=row["opened_at"],
        closes_at=row["closes_at"],
        closed_at=row["closed_at"],
        outcome=None if row["outcome"] is None else _OUTCOMES[row["outcome"]],
        members=tuple(one["record"] for one in members),
        learned_at=row["learned_at"],
        learned_stages=tuple(row["learned_stages"]),
        awaits_skill=row["awaits_skill"],
    )


def _lesson(row: Row, parts: Parts) -> LessonForm:
    return LessonForm(
        authors=tuple(row["lesson_authors"] or ()) if parts.shows_authors else (),
        retrievals=row["retrievals"] or 0,
        helpful=row["helpful"] or 0,
        retrieved_at=row["retrieved_at"],
    )


def stored_numbers(value: Any) -> Any:
    """Return JSON with its numbers as the database returns them, for content that was sealed.

    Whole doubles with an exponent are whole numbers there, and there is no negative zero.
    """
    if isinstance(value, float):
        if value == 0.0:
            return 0.0
        return int(value) if _EXPONENT <= abs(value) < _LARGEST and value.is_integer() else value
    if isinstance(value, dict):
        return {key: stored_numbers(item) for key, item in value.items()}
    return [stored_numbers(item) for item in value] if isinstance(value, list) else value
