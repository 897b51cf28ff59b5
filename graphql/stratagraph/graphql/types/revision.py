"""Revision: its inputs, its results, and what it would do."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Protocol, Self, TypedDict, cast
from uuid import UUID

import strawberry

from stratagraph.graphql.scalars import JSON
from stratagraph.graphql.types.capture import CaptureReceipt
from stratagraph.graphql.types.enums import RecordState
from stratagraph.graphql.types.errors import (
    ConditionsOverlap,
    DeletionForbidden,
    EpisodicImmutable,
    EvidenceRequired,
    Forbidden,
    IdempotencyMismatch,
    InvalidInput,
    NotFound,
    Unavailable,
    VersionConflict,
)
from stratagraph.graphql.types.records import MemoryRecord, Relation
from stratagraph.memory import propagation
from stratagraph.memory.revise import request as domain
from stratagraph.memory.revise.service import Revised
from stratagraph.store.model import errors
from stratagraph.store.model.ids import parse_id
from stratagraph.store.records import reevaluations

EVIDENCE = "Sources: {source_type, source_id, timestamp?} or {kind, ref}; a record's id links to that record."
RATIONALE = "Why; kept in the audit log."
EXPECTED = "Refuses the change where the record's version is another one by now."
KEY = "The same key and request again answers with what the first one left."


class _Given(Protocol):
    record_id: strawberry.ID
    rationale: str
    expected_version: int | None
    idempotency_key: str | None


class _Common(TypedDict):
    record_id: UUID
    rationale: str
    expected_version: int | None
    idempotency_key: str | None


def _common(given: _Given) -> _Common:
    """What every revision says."""
    return {
        "record_id": parse_id(given.record_id, path=["recordId"]),
        "rationale": given.rationale,
        "expected_version": given.expected_version,
        "idempotency_key": given.idempotency_key,
    }


def _evidence(given: list[JSON] | None) -> tuple[dict[str, Any], ...]:
    return tuple(cast(list[dict[str, Any]], given or []))


@strawberry.input(description="A new payload takes a record's place; entities and working records change in place.")
class SupersedeInput:
    record_id: strawberry.ID
    payload: JSON = strawberry.field(description="The whole new payload, in the canonical form of the record's type.")
    evidence: list[JSON] | None = strawberry.field(default=None, description=EVIDENCE)
    rationale: str = strawberry.field(description=RATIONALE)
    expected_version: int | None = strawberry.field(default=None, description=EXPECTED)
    idempotency_key: str | None = strawberry.field(default=None, description=KEY)

    def as_request(self) -> domain.Supersede:
        return domain.Supersede(
            **_common(self),
            payload=cast(dict[str, Any], self.payload),
            evidence=_evidence(self.evidence),
        )


@strawberry.input(description="A variant beside the record, for conditions under which the record does not hold.")
class ForkInput:
    record_id: strawberry.ID
    payload: JSON = strawberry.field(description="The variant's payload.")
    conditions: JSON = strawberry.field(description="{key: value or [values]}; they exclude those of all that holds.")
    evidence: list[JSON] | None = strawberry.field(default=None, description=EVIDENCE)
    rationale: str = strawberry.field(description=RATIONALE)
    expected_version: int | None = strawberry.field(default=None, description=EXPECTED)
    idempotency_key: str | None = strawberry.field(default=None, description=KEY)

    def as_request(self) -> domain.Fork:
        return domain.Fork(
            **_common(self),
            payload=cast(dict[str, Any], self.payload),
            conditions=cast(dict[str, Any], self.conditions),
            evidence=_evidence(self.evidence),
        )


@strawberry.input(description="A record is in doubt, because of another record or of evidence. Give one of the two.")
class ContestInput:
    record_id: strawberry.ID
    contesting_id: strawberry.ID | None = strawberry.field(
        default=None, description="The record that says otherwise; it is in doubt as well, unless it is an episode."
    )
    evidence: list[JSON] | None = strawberry.field(default=None, description=EVIDENCE)
    rationale: str = strawberry.field(description=RATIONALE)
    expected_version: int | None = strawberry.field(default=None, description=EXPECTED)
    idempotency_key: str | None = strawberry.field(default=None, description=KEY)

    def as_request(self) -> domain.Contest:
        return domain.Contest(
            **_common(self),
            contesting_id=_maybe_id(self.contesting_id, "contestingId"),
            evidence=_evidence(self.evidence),
        )


@strawberry.input(description="The doubt is over.")
class ResolveContestInput:
    record_id: strawberry.ID
    winner_id: strawberry.ID | None = strawberry.field(
        default=None,
        description="Which holds: the record, or one that contests it. Left out: none does, all are retracted.",
    )
    rationale: str = strawberry.field(description=RATIONALE)
    expected_version: int | None = strawberry.field(default=None, description=EXPECTED)
    idempotency_key: str | None = strawberry.field(default=None, description=KEY)

    def as_request(self) -> domain.ResolveContest:
        return domain.ResolveContest(
            **_common(self),
            winner_id=_maybe_id(self.winner_id, "winnerId"),
        )


@strawberry.input(description="A record was wrong, and nothing takes its place.")
class RetractInput:
    record_id: strawberry.ID
    rationale: str = strawberry.field(description=RATIONALE)
    expected_version: int | None = strawberry.field(default=None, description=EXPECTED)
    idempotency_key: str | None = strawberry.field(default=None, description=KEY)

    def as_request(self) -> domain.Retract:
        return domain.Retract(
            **_common(self),
        )


@strawberry.input(description="Records that say the same become one, with all their sources and relations.")
class MergeInput:
    record_ids: list[strawberry.ID] = strawberry.field(
        description="Two to fifty of one type and scope. The first leads, unless another is more sensitive."
    )
    payload: JSON | None = strawberry.field(default=None, description="What they say together. Default: as the first.")
    rationale: str = strawberry.field(description=RATIONALE)
    expected_version: int | None = strawberry.field(default=None, description=f"Of the first record. {EXPECTED}")
    idempotency_key: str | None = strawberry.field(default=None, description=KEY)

    def as_request(self) -> domain.Merge:
        ids = [parse_id(id_, path=["recordIds"]) for id_ in self.record_ids]
        if not ids:
            raise errors.InvalidInput("recordIds: name at least two records", path=["recordIds"])
        return domain.Merge(
            record_id=ids[0],
            others=tuple(ids[1:]),
            payload=cast(dict[str, Any] | None, self.payload),
            rationale=self.rationale,
            expected_version=self.expected_version,
            idempotency_key=self.idempotency_key,
        )


@strawberry.input(description="A record goes, with its history; its audit log stays.")
class DeleteRecordInput:
    record_id: strawberry.ID
    rationale: str = strawberry.field(description=RATIONALE)
    expected_version: int | None = strawberry.field(default=None, description=EXPECTED)
    idempotency_key: str | None = strawberry.field(default=None, description=KEY)

    def as_request(self) -> domain.Delete:
        return domain.Delete(
            **_common(self),
        )


@strawberry.input(description="A record matters more: its salience rises by its reinforcement gain.")
class ReinforceInput:
    record_id: strawberry.ID
    rationale: str = strawberry.field(description=RATIONALE)
    expected_version: int | None = strawberry.field(default=None, description=EXPECTED)
    idempotency_key: str | None = strawberry.field(default=None, description=KEY)

    def as_request(self) -> domain.Reinforce:
        return domain.Reinforce(
            **_common(self),
        )


@strawberry.input(description="A record matters less: its salience falls, but not below its floor.")
class PenalizeInput:
    record_id: strawberry.ID
    amount: float = strawberry.field(description="By how much; finite, at least 0.")
    rationale: str = strawberry.field(description=RATIONALE)
    expected_version: int | None = strawberry.field(default=None, description=EXPECTED)
    idempotency_key: str | None = strawberry.field(default=None, description=KEY)

    def as_request(self) -> domain.Penalize:
        return domain.Penalize(
            **_common(self),
            amount=self.amount,
        )


@strawberry.input(description="A pinned record keeps the salience it has.")
class PinInput:
    record_id: strawberry.ID
    pinned: bool = strawberry.field(description="False lets it decay again, from the value it has.")
    rationale: str = strawberry.field(description=RATIONALE)
    expected_version: int | None = strawberry.field(default=None, description=EXPECTED)
    idempotency_key: str | None = strawberry.field(default=None, description=KEY)

    def as_request(self) -> domain.Pin:
        return domain.Pin(
            **_common(self),
            pinned=self.pinned,
        )


def _maybe_id(id_: str | None, field: str) -> UUID | None:
    return parse_id(id_, path=[field]) if id_ is not None else None


@strawberry.type(description="It is done, in one transaction.")
class RevisionSuccess:
    record: MemoryRecord = strawberry.field(
        description="What is current afterwards: after supersede and fork the new record; after delete, as it was last."
    )
    records: list[MemoryRecord] = strawberry.field(
        description="All that changed or is new, and what was derived from it and stands differently now."
    )
    edges: list[Relation] = strawberry.field(description="The relations that are new.")
    receipt: CaptureReceipt
    queued: int = strawberry.field(description="Derived records still to be looked at; see `reevaluations`.")
    replayed: bool = strawberry.field(description="The idempotency key was known: nothing was changed again.")

    @classmethod
    def of(cls, revised: Revised) -> Self:
        return cls(
            record=MemoryRecord.of(revised.record),
            records=[MemoryRecord.of(record) for record in revised.records],
            edges=[Relation.of(edge) for edge in revised.edges],
            receipt=CaptureReceipt(
                candidate_id=strawberry.ID(str(revised.candidate)), sequence=revised.sequence, state="committed"
            ),
            queued=revised.queued,
            replayed=revised.replayed,
        )


RevisionResult = Annotated[
    RevisionSuccess
    | VersionConflict
    | EpisodicImmutable
    | EvidenceRequired
    | ConditionsOverlap
    | NotFound
    | Forbidden
    | InvalidInput
    | IdempotencyMismatch
    | DeletionForbidden
    | Unavailable,
    strawberry.union("RevisionResult", description="What came of a revision."),
]


@strawberry.type(description="What would become of a record that was derived from another.")
class ImpactedRecord:
    record: MemoryRecord
    becomes: RecordState = strawberry.field(description="CONTESTED: nothing that it was derived from would still hold.")
    sources_left: int = strawberry.field(description="How many sources would still hold it.")

    @classmethod
    def of(cls, impact: propagation.RevisionImpact) -> Self:
        return cls(record=MemoryRecord.of(impact.record), becomes=impact.becomes, sources_left=impact.sources_left)


@strawberry.type(description="What retracting or correcting a record would do. Nothing was changed.")
class RevisionImpact:
    records: list[ImpactedRecord] = strawberry.field(description="Derived records, nearest first.")
    complete: bool = strawberry.field(description="False: there are more than were looked at.")


@strawberry.type(description="A derived record that waits to be looked at again, since something it rests on changed.")
class Reevaluation:
    record_id: strawberry.ID
    cause_id: strawberry.ID = strawberry.field(description="The record that changed.")
    queued_at: datetime
    attempts: int
    error: str | None = strawberry.field(description="What kind of error the last attempt met.")

    @classmethod
    def of(cls, entry: reevaluations.Reevaluation) -> Self:
        return cls(
            record_id=strawberry.ID(str(entry.record)),
            cause_id=strawberry.ID(str(entry.cause)),
            queued_at=entry.queued_at,
            attempts=entry.attempts,
            error=entry.error,
        )
