"""What the high-level calls return."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from stratagraph_client.operations.enums import ChangeEffect
from stratagraph_client.operations.explain import ExplainRecord, ExplainRecordRelations, ExplainResult
from stratagraph_client.operations.fragments import CapturedFields, RecordFields, RevisedFields
from stratagraph_client.operations.learn_lesson import LearnLessonResult
from stratagraph_client.operations.recall import RecallResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """What became of something to remember, or of a correction.

    `id` is the record that it became or was added to; `is_new` is false where it was known already. `sequence` is the
    token of the write. `replaced` are the ids of records that it superseded, `in_doubt` of those that it contradicts.
    """

    id: str
    text: str
    is_new: bool
    sequence: str
    replaced: tuple[str, ...] = ()
    in_doubt: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecalledMemory:
    """One memory of an answer. `strength`, from 0 to 1, says how well it fits; None where that is not known."""

    id: str
    type: str
    text: str
    state: str
    strength: float | None
    scope: str
    occurred_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """An answer: its memories, best first, and `text`, the same as lines for a prompt, as far as the budget has room.

    `retrieval_id` is for `report_outcome`. `nothing_known` says that no memory fits the question.
    """

    text: str
    memories: tuple[RecalledMemory, ...]
    retrieval_id: str
    nothing_known: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Lessons:
    """Lessons from mistakes for a task: lines for a prompt, and what is needed to credit them."""

    text: str
    lesson_ids: tuple[str, ...]
    playbook_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One thing that a memory rests on: its kind, what it is, when it was, and who reported it."""

    kind: str
    ref: str
    at: datetime | None
    by: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """What a memory said from one instant to another; `until` is None for what it says now."""

    version: int | None
    text: str
    state: str
    since: datetime
    until: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One change of a memory: what was done, by whom, when and why."""

    action: str
    actor: str
    at: datetime
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Related:
    """A relation to another record. `outgoing` says that it reads from this memory to the other one."""

    predicate: str
    outgoing: bool
    id: str
    type: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a memory is known: what it rests on, how it became what it is, and what it is related to.

    `changes` and `versions` are the last 100 at most, and empty where the credential may not read them.
    """

    id: str
    type: str
    text: str
    state: str
    version: int | None
    confidence: float | None
    salience: float | None
    scope: str
    sources: tuple[Source, ...]
    versions: tuple[Version, ...]
    changes: tuple[AuditEntry, ...]
    related: tuple[Related, ...]


def text_of(record: RecordFields) -> str:
    """Return what a record says, in words."""
    return record.text or record.name or ""


def remembered(captured: CapturedFields) -> Remembered:
    """Return what became of a capture."""
    record, receipt = captured.primaryRecord, captured.receipt

    def changed(effect: ChangeEffect) -> tuple[str, ...]:
        return tuple(one.record.id for one in receipt.changes if one.effect is effect)

    return Remembered(
        id=record.id,
        text=record.name or record.text or "",
        is_new=any(one.id == record.id for one in captured.createdRecords),
        sequence=receipt.sequence,
        replaced=changed(ChangeEffect.SUPERSEDED),
        in_doubt=changed(ChangeEffect.CONTESTED),
        warnings=tuple(one.message for one in receipt.warnings),
    )


def corrected(revised: RevisedFields, replaced_id: str) -> Remembered:
    """Return what became of a correction of the record `replaced_id`."""
    return Remembered(
        id=revised.record.id,
        text=text_of(revised.record),
        is_new=not revised.replayed,
        sequence=revised.receipt.sequence,
        replaced=(replaced_id,),
        warnings=tuple(one.message for one in revised.receipt.warnings),
    )


def learned(result: LearnLessonResult) -> Remembered:
    """Return what became of a lesson."""
    return Remembered(
        id=result.lesson.id,
        text=text_of(result.lesson),
        is_new=not result.merged,
        sequence=result.receipt.sequence,
        replaced=tuple(result.retiredIds),
        warnings=tuple(one.message for one in result.receipt.warnings),
    )


def recalled(found: RecallResult) -> Recalled:
    """Return the memories of a retrieval, and their text."""
    return Recalled(
        text=found.rendering or "",
        memories=tuple(
            RecalledMemory(
                id=node.record.id,
                type=node.record.type_.value,
                text=node.record.text or node.record.name or "",
                state=node.record.state.value if node.record.state is not None else "",
                strength=node.strength,
                scope=node.record.scope or "",
                occurred_at=node.record.occurredAt,
            )
            for node in found.nodes
            if node.root
        ),
        retrieval_id=found.retrievalId,
        nothing_known=found.nothingKnown,
    )


def explanation(record: ExplainRecord, found: ExplainResult) -> Explanation:
    """Return what is known of a record and of how it came to be."""
    return Explanation(
        id=record.id,
        type=record.type_.value,
        text=text_of(record),
        state=record.state.value if record.state is not None else "",
        version=record.version,
        confidence=record.confidence,
        salience=record.salience,
        scope=record.scope or "",
        sources=tuple(
            Source(kind=one.kind, ref=one.ref, at=one.timestamp, by=one.createdBy)
            for one in (record.provenance.sources if record.provenance is not None else ())
        ),
        versions=tuple(
            Version(
                version=one.record.version,
                text=text_of(one.record),
                state=one.record.state.value if one.record.state is not None else "",
                since=one.validFrom,
                until=one.validTo,
            )
            for one in found.history.nodes
        ),
        changes=tuple(
            AuditEntry(action=one.action, actor=one.actor, at=one.timestamp, reason=one.rationale)
            for one in found.auditLog.nodes
        ),
        related=tuple(_related(record.id, record.relations or ())),
    )


def _related(id_: str, relations: Sequence[ExplainRecordRelations]) -> list[Related]:
    found = []
    for one in relations:
        outgoing = one.sourceId == id_
        other = one.target if outgoing else one.source
        if other is not None:
            found.append(
                Related(
                    predicate=one.predicate,
                    outgoing=outgoing,
                    id=other.id,
                    type=other.type_.value,
                    name=other.name or "",
                )
            )
    return found
