"""The inputs of the revisions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypedDict, cast
from uuid import UUID

import strawberry

from stratagraph.graphql.arguments import given_id
from stratagraph.graphql.flat_inputs import nested_input
from stratagraph.graphql.scalars import JSON
from stratagraph.graphql.types.typed_inputs import (
    EvidenceInput,
    PayloadInput,
    evidence_given,
    payload_given,
    renamed_payload,
)
from stratagraph.memory.revise import request as domain
from stratagraph.memory.revise.request import MAX_EVIDENCE, MAX_LABEL, MAX_MERGED, MAX_RATIONALE
from stratagraph.store.model import errors

RECORD_ID = "Id of the record to change, a UUID."
EVIDENCE = (
    f"At most {MAX_EVIDENCE} sources, each {{kind, ref, timestamp?}} or {{source_type, source_id, timestamp?}}. Where"
    " the reference is a record's id, the result is related to that record. The JSON Schema of one is at"
    " /schemas/evidence.json."
)
RATIONALE = f"Reason, 1 to {MAX_RATIONALE:,} characters; kept in the audit log."
EXPECTED = (
    "Version that the record must have, from 1; with another version the change is refused with VERSION_CONFLICT. Null"
    " for any version."
)
KEY = (
    f"Key of 1 to {MAX_LABEL} characters. A repeated request with the same key changes nothing and returns the result"
    " of the first."
)


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
    """Return the fields that every revision has."""
    return {
        "record_id": given_id(given.record_id, path=["recordId"]),
        "rationale": given.rationale,
        "expected_version": given.expected_version,
        "idempotency_key": given.idempotency_key,
    }


def _evidence(given: list[JSON] | None) -> tuple[dict[str, Any], ...]:
    return tuple(cast(list[dict[str, Any]], given or []))


@strawberry.input(
    description="Replace a record by a new one with another payload. An entity or a working record is changed in place."
)
class SupersedeInput:
    record_id: strawberry.ID = strawberry.field(description=RECORD_ID)
    payload: JSON = strawberry.field(
        description="The complete new payload, in the canonical form of the record's type, whose JSON Schema is at"
        " /schemas/NAME.json, such as /schemas/semantic.json."
    )
    evidence: list[JSON] | None = strawberry.field(
        default=None,
        description="Required for a SEMANTIC record, unless the payload has `evidence`; optional for others."
        f" {EVIDENCE}",
    )
    rationale: str = strawberry.field(description=RATIONALE)
    expected_version: int | None = strawberry.field(default=None, description=EXPECTED)
    idempotency_key: str | None = strawberry.field(default=None, description=KEY)

    def as_request(self) -> domain.Supersede:
        return domain.Supersede(
            **_common(self),
            payload=cast(dict[str, Any], self.payload),
            evidence=_evidence(self.evidence),
        )


@strawberry.input(
    description="Replace a record by a new one with some members of its payload changed, as `supersede` does with a"
    " whole payload. An entity or a working record is changed in place."
)
class AmendInput:
    record_id: strawberry.ID = strawberry.field(description=RECORD_ID)
    changes: JSON = strawberry.field(
        description="What changes in the payload, as a JSON merge patch (RFC 7396): members that are not named stay,"
        " null removes one, an object is patched member by member, and any other value, a list too, takes the place of"
        " the whole member. It is applied to the payload that the record has when it is changed."
    )
    evidence: list[JSON] | None = strawberry.field(
        default=None,
        description="Sources of the change, added to those that the payload has. Required for a SEMANTIC record, unless"
        f" `changes` has `evidence`; optional for others. {EVIDENCE}",
    )
    rationale: str = strawberry.field(description=RATIONALE)
    expected_version: int | None = strawberry.field(default=None, description=EXPECTED)
    idempotency_key: str | None = strawberry.field(default=None, description=KEY)

    def as_request(self) -> domain.Amend:
        return domain.Amend(
            **_common(self),
            changes=cast(dict[str, Any], self.changes),
            evidence=_evidence(self.evidence),
        )


@strawberry.input(description="Add a variant of a record for conditions under which the record does not hold.")
class ForkInput:
    record_id: strawberry.ID = strawberry.field(description=RECORD_ID)
    payload: JSON = strawberry.field(
        description="The complete payload of the variant, in the canonical form of the record's type, whose JSON Schema"
        " is at /schemas/NAME.json."
    )
    conditions: JSON = strawberry.field(
        description="Conditions under which the variant holds, {key: value or [values]}. They must exclude those of"
        " every other active fact of the subject and predicate."
    )
    evidence: list[JSON] | None = strawberry.field(
        default=None,
        description="Required for a SEMANTIC record, unless the payload has `evidence`; optional for others."
        f" {EVIDENCE}",
    )
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


@strawberry.input(one_of=True, description="What puts a record in doubt: exactly one of these.")
class ContestReasonInput:
    record_id: strawberry.ID | None = strawberry.field(
        default=strawberry.UNSET,
        description="Id of the record that contradicts it, which is put in doubt as well, unless it is an episode.",
    )
    evidence: list[EvidenceInput] | None = strawberry.field(
        default=strawberry.UNSET, description=f"Sources that contradict it, 1 to {MAX_EVIDENCE}."
    )


@nested_input
@strawberry.input(description="Put a record in doubt. Give one of `because`, `contestingId` and `evidence`.")
class ContestInput:
    record_id: strawberry.ID = strawberry.field(description=RECORD_ID)
    contesting_id: strawberry.ID | None = strawberry.field(
        default=None,
        description="Id of the record that contradicts it. That record is put in doubt as well, unless it is an"
        " episode.",
    )
    evidence: list[JSON] | None = strawberry.field(
        default=None,
        description=f"Required without a `contestingId` or `because`, for every type. {EVIDENCE}",
    )
    because: ContestReasonInput | None = strawberry.field(
        default=None, description="What puts it in doubt, in place of the two fields above."
    )
    rationale: str = strawberry.field(description=RATIONALE)
    expected_version: int | None = strawberry.field(default=None, description=EXPECTED)
    idempotency_key: str | None = strawberry.field(default=None, description=KEY)

    def as_request(self) -> domain.Contest:
        because = cast(Mapping[str, Any] | None, self.because)
        if because is None:
            id_, evidence = _maybe_id(self.contesting_id, "contestingId"), _evidence(self.evidence)
        elif self.contesting_id is not None or self.evidence is not None:
            raise errors.InvalidInput(
                "because: is given beside contestingId or evidence; give it alone, since it takes their place",
                path=["because"],
            )
        else:
            id_ = _maybe_id(because.get("recordId"), "because.recordId")
            evidence = tuple(evidence_given(because.get("evidence")))
        return domain.Contest(**_common(self), contesting_id=id_, evidence=evidence)


@strawberry.input(description="End the contest of a record.")
class ResolveContestInput:
    record_id: strawberry.ID = strawberry.field(description=RECORD_ID)
    winner_id: strawberry.ID | None = strawberry.field(
        default=None,
        description="Id of the record that holds: the contested record or one that contests it. Null: none of them"
        " holds, and all are retracted.",
    )
    rationale: str = strawberry.field(description=RATIONALE)
    expected_version: int | None = strawberry.field(default=None, description=EXPECTED)
    idempotency_key: str | None = strawberry.field(default=None, description=KEY)

    def as_request(self) -> domain.ResolveContest:
        return domain.ResolveContest(
            **_common(self),
            winner_id=_maybe_id(self.winner_id, "winnerId"),
        )


@strawberry.input(description="Withdraw a record that was wrong, without a replacement.")
class RetractInput:
    record_id: strawberry.ID = strawberry.field(description=RECORD_ID)
    rationale: str = strawberry.field(description=RATIONALE)
    expected_version: int | None = strawberry.field(default=None, description=EXPECTED)
    idempotency_key: str | None = strawberry.field(default=None, description=KEY)

    def as_request(self) -> domain.Retract:
        return domain.Retract(
            **_common(self),
        )


@nested_input
@strawberry.input(description="Merge records with the same content into one, with the sources and relations of all.")
class MergeInput:
    record_ids: list[strawberry.ID] = strawberry.field(
        description=f"Ids of the records to merge, 2 to {MAX_MERGED}, of one type and scope. Entities must also have"
        " one sensitivity, and are merged into the one with the most current facts, the first of several. Other records"
        " are replaced by a new one; the most sensitive leads, the first of several."
    )
    payload: JSON | None = strawberry.field(
        default=None,
        description="Payload of the merged record. Default: the payload of the leading record, for entities with the"
        " names and identifiers of all.",
    )
    merged: PayloadInput | None = strawberry.field(
        default=None, description="The payload, typed; give either this or `payload`."
    )
    rationale: str = strawberry.field(description=RATIONALE)
    expected_version: int | None = strawberry.field(default=None, description=f"For the first record. {EXPECTED}")
    idempotency_key: str | None = strawberry.field(default=None, description=KEY)

    def as_request(self) -> domain.Merge:
        ids = [given_id(id_, path=["recordIds", str(index)]) for index, id_ in enumerate(self.record_ids)]
        if not ids:
            raise errors.InvalidInput("recordIds: the list is empty; name at least two records", path=["recordIds"])
        merged = cast(Mapping[str, Any] | None, self.merged)
        if merged is not None and self.payload is not None:
            raise errors.InvalidInput("merged: is given beside payload; give one of the two", path=["merged"])
        return domain.Merge(
            record_id=ids[0],
            others=tuple(ids[1:]),
            payload=payload_given(merged) if merged is not None else cast(dict[str, Any] | None, self.payload),
            rationale=self.rationale,
            expected_version=self.expected_version,
            idempotency_key=self.idempotency_key,
        )

    def renamed(self, path: list[str]) -> list[str]:
        """Return the path in this input of a path in the request that it makes."""
        return path if self.merged is None else renamed_payload("merged", cast(Mapping[str, Any], self.merged), path)


@strawberry.input(description="Undo the merge of an entity into another one.")
class UnmergeInput:
    record_id: strawberry.ID = strawberry.field(
        description="Id of the entity that was merged into another one, a UUID. Merges into one entity are undone in"
        " the reverse order."
    )
    rationale: str = strawberry.field(description=RATIONALE)
    expected_version: int | None = strawberry.field(default=None, description=EXPECTED)
    idempotency_key: str | None = strawberry.field(default=None, description=KEY)

    def as_request(self) -> domain.Unmerge:
        return domain.Unmerge(
            **_common(self),
        )


@strawberry.input(description="Note that two records do not say the same.")
class RejectDuplicateInput:
    record_ids: list[strawberry.ID] = strawberry.field(
        description="Ids of the two records, UUIDs. They must be of one type, scope and sensitivity."
    )
    rationale: str = strawberry.field(description=RATIONALE)
    expected_version: int | None = strawberry.field(default=None, description=f"For the first record. {EXPECTED}")
    idempotency_key: str | None = strawberry.field(default=None, description=KEY)

    def as_request(self) -> domain.RejectDuplicate:
        ids = [given_id(id_, path=["recordIds", str(index)]) for index, id_ in enumerate(self.record_ids)]
        if len(ids) != 2:
            raise errors.InvalidInput(f"recordIds: {len(ids)} ids; give the two records", path=["recordIds"])
        return domain.RejectDuplicate(
            record_id=ids[0],
            other_id=ids[1],
            rationale=self.rationale,
            expected_version=self.expected_version,
            idempotency_key=self.idempotency_key,
        )


@strawberry.input(description="Delete a record with its history. Its audit log is kept.")
class DeleteRecordInput:
    record_id: strawberry.ID = strawberry.field(description=RECORD_ID)
    rationale: str = strawberry.field(description=RATIONALE)
    expected_version: int | None = strawberry.field(default=None, description=EXPECTED)
    idempotency_key: str | None = strawberry.field(default=None, description=KEY)

    def as_request(self) -> domain.Delete:
        return domain.Delete(
            **_common(self),
        )


@strawberry.input(description="Raise the salience of a record by its reinforcement gain, to at most 1.")
class ReinforceInput:
    record_id: strawberry.ID = strawberry.field(description=RECORD_ID)
    rationale: str = strawberry.field(description=RATIONALE)
    expected_version: int | None = strawberry.field(default=None, description=EXPECTED)
    idempotency_key: str | None = strawberry.field(default=None, description=KEY)

    def as_request(self) -> domain.Reinforce:
        return domain.Reinforce(
            **_common(self),
        )


@strawberry.input(description="Lower the salience of a record, but not below its floor.")
class PenalizeInput:
    record_id: strawberry.ID = strawberry.field(description=RECORD_ID)
    amount: float = strawberry.field(description="Amount to subtract from the salience; finite and at least 0.")
    rationale: str = strawberry.field(description=RATIONALE)
    expected_version: int | None = strawberry.field(default=None, description=EXPECTED)
    idempotency_key: str | None = strawberry.field(default=None, description=KEY)

    def as_request(self) -> domain.Penalize:
        return domain.Penalize(
            **_common(self),
            amount=self.amount,
        )


@strawberry.input(description="Pin or unpin a record. A pinned record keeps its present salience.")
class PinInput:
    record_id: strawberry.ID = strawberry.field(description=RECORD_ID)
    pinned: bool = strawberry.field(
        description="True to hold the salience at its present value; false to let it decay again from there."
    )
    rationale: str = strawberry.field(description=RATIONALE)
    expected_version: int | None = strawberry.field(default=None, description=EXPECTED)
    idempotency_key: str | None = strawberry.field(default=None, description=KEY)

    def as_request(self) -> domain.Pin:
        return domain.Pin(
            **_common(self),
            pinned=self.pinned,
        )


def _maybe_id(id_: str | None, field: str) -> UUID | None:
    return given_id(id_, path=field.split(".")) if id_ is not None else None
