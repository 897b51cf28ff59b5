"""Requests to revise a record, and the checks that need no database."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from stratagraph.memory.requests.evidence import check_evidence
from stratagraph.memory.secrets.masking import masked, masked_text
from stratagraph.store.model.canonical import check_json
from stratagraph.store.model.error_values import json_type
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.problems import Problems
from stratagraph.store.model.visible_text import is_blank

MAX_RATIONALE = 10_000  # characters
MAX_LABEL = 256  # characters of an idempotency key
MAX_EVIDENCE = 200  # entries of one request
MAX_MERGED = 50  # records in one merge
MAX_REVISIONS = 100  # in one batch


@dataclass(frozen=True, slots=True, kw_only=True)
class Revise:
    """A request to change the record `record_id`. Each kind of change is a subclass.

    The audit log keeps `rationale`. With `expected_version`, the change is refused with VersionConflict if the record's
    version is another one.
    """

    kind: ClassVar[str] = "revise"
    record_id: UUID
    rationale: str
    expected_version: int | None = None
    idempotency_key: str | None = None

    @property
    def field(self) -> str:
        """The name of the change as a field of the API, such as `resolveContest`."""
        first, *rest = self.kind.split("_")
        return first + "".join(map(str.capitalize, rest))

    @property
    def named(self) -> tuple[UUID, ...]:
        """The records that the request names."""
        return (self.record_id,)

    def as_json(self) -> dict[str, Any]:
        """Return what makes two requests the same: all fields but the idempotency key."""
        values = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "idempotency_key"}
        return {"kind": self.kind, **values}


@dataclass(frozen=True, slots=True, kw_only=True)
class Supersede(Revise):
    """Replace the record by a new one with this payload. An entity or a working record is changed in place.

    A fact needs evidence: an entry of `evidence` names a source, as {source_type, source_id} or {kind, ref}.
    """

    kind: ClassVar[str] = "supersede"
    payload: dict[str, Any]
    evidence: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Amend(Revise):
    """Supersede the record by one whose payload has these `changes`, a JSON merge patch (RFC 7396).

    The patch is applied to the payload that the record has in the transaction, without what the service computes. A
    fact needs evidence of the change.
    """

    kind: ClassVar[str] = "amend"
    changes: dict[str, Any]
    evidence: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork(Revise):
    """Add a variant of the record, with `payload`, that applies only under `conditions`; the record stays current.

    The conditions, as {key: value or [values]}, must exclude those of the record.
    """

    kind: ClassVar[str] = "fork"
    payload: dict[str, Any]
    conditions: dict[str, Any]
    evidence: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest(Revise):
    """Set the record to contested, because of another record or of evidence; one of the two is required.

    The other record, `contesting_id`, becomes contested too, unless it is an episode.
    """

    kind: ClassVar[str] = "contest"
    contesting_id: UUID | None = None
    evidence: tuple[dict[str, Any], ...] = ()

    @property
    def named(self) -> tuple[UUID, ...]:
        return (self.record_id, *([self.contesting_id] if self.contesting_id is not None else []))


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolveContest(Revise):
    """End the contest of the record.

    `winner_id` is the record or one that contests it: it becomes active, and supersedes the other parties. Without a
    winner, all parties are retracted. Episodes among them keep their state.
    """

    kind: ClassVar[str] = "resolve_contest"
    winner_id: UUID | None = None

    @property
    def named(self) -> tuple[UUID, ...]:
        return (self.record_id, *([self.winner_id] if self.winner_id is not None else []))


@dataclass(frozen=True, slots=True, kw_only=True)
class Retract(Revise):
    """Set a record that was wrong to retracted, without a replacement. It is kept as history, with salience 0."""

    kind: ClassVar[str] = "retract"


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge(Revise):
    """Merge the record and `others`, which state the same, into one.

    Entities, which must have one scope and sensitivity, are merged into the one with the most current facts; records of
    another type into a new record that supersedes them.
    `payload` is that of the result; by default it is made from those of all.
    """

    kind: ClassVar[str] = "merge"
    others: tuple[UUID, ...]
    payload: dict[str, Any] | None = None

    @property
    def named(self) -> tuple[UUID, ...]:
        return (self.record_id, *self.others)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmerge(Revise):
    """Undo the merge of the entity into another one: it gets back its names, its facts and its relations."""

    kind: ClassVar[str] = "unmerge"


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectDuplicate(Revise):
    """Note that the record and `other_id` do not say the same, so that consolidation leaves them apart."""

    kind: ClassVar[str] = "reject_duplicate"
    other_id: UUID

    @property
    def named(self) -> tuple[UUID, ...]:
        return (self.record_id, self.other_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete(Revise):
    """Delete the record and its history. A tombstone and its audit log stay."""

    kind: ClassVar[str] = "delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reinforce(Revise):
    """Raise the record's salience by its reinforcement gain."""

    kind: ClassVar[str] = "reinforce"


@dataclass(frozen=True, slots=True, kw_only=True)
class Penalize(Revise):
    """Lower the record's salience by `amount`, but not below its minimum."""

    kind: ClassVar[str] = "penalize"
    amount: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin(Revise):
    """Keep the record's salience at its present value or, with `pinned` False, let it decay from there again."""

    kind: ClassVar[str] = "pin"
    pinned: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyLesson(Revise):
    """Note in a lesson whether it was verified; with `verified` False, that this was tried and failed."""

    kind: ClassVar[str] = "verify_lesson"
    verified: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveLesson(Retract):
    """Retract a lesson."""

    kind: ClassVar[str] = "remove_lesson"


def check(request: Revise, now: datetime) -> None:
    """Check the fields of a request; `now` is the time of the service's clock.

    Raises InvalidInput naming the fields that are wrong, EvidenceRequired for evidence that names no source.
    """
    problems = Problems()
    check_fields(request, now, problems)
    problems.refuse()


def check_fields(request: Revise, now: datetime, problems: Problems) -> None:
    """Note in `problems` what `check` raises."""
    with problems:
        _check_rationale(request)
    with problems:
        _check_key(request.idempotency_key)
    with problems:
        _check_version(request.expected_version)
    for field in ("payload", "changes", "conditions"):
        with problems:
            _check_object(getattr(request, field, None), field)
    with problems:
        _check_evidence(getattr(request, "evidence", ()), now)
    if isinstance(request, Amend):
        with problems:
            _check_changes(request.changes)
    if isinstance(request, Penalize):
        with problems:
            _check_amount(request.amount)
    if isinstance(request, Merge):
        with problems:
            _check_merge(request)


def _check_rationale(request: Revise) -> None:
    check_json(request.rationale, path=["rationale"])
    if is_blank(request.rationale):
        raise InvalidInput("rationale: is empty; give a reason, which the audit log keeps", path=["rationale"])
    if len(request.rationale) > MAX_RATIONALE:
        raise InvalidInput(
            f"rationale: {len(request.rationale)} characters; at most {MAX_RATIONALE} are allowed, shorten it",
            path=["rationale"],
        )


def _check_key(key: str | None) -> None:
    check_json(key, path=["idempotencyKey"])
    if key is not None and (is_blank(key) or len(key) > MAX_LABEL):
        given = f"not {len(key)}" if not is_blank(key) else "and must not be blank"
        raise InvalidInput(f"idempotencyKey: must have 1 to {MAX_LABEL} characters, {given}", path=["idempotencyKey"])


def _check_version(expected: int | None) -> None:
    if expected is not None and expected < 1:
        raise InvalidInput(
            f"expectedVersion: {expected} is not a version; versions start at 1", path=["expectedVersion"]
        )


def _check_object(value: object, field: str) -> None:
    if value is not None and not isinstance(value, dict):
        raise InvalidInput(f"{field}: must be a JSON object, not {json_type(value)}", path=[field])
    check_json(value, path=[field])


def _check_changes(changes: object) -> None:
    if changes == {}:
        raise InvalidInput("changes: is empty; give the members of the payload that change", path=["changes"])


def _check_amount(amount: float) -> None:
    if not (math.isfinite(amount) and amount >= 0):
        raise InvalidInput(f"amount: {amount} is not a finite number of at least 0", path=["amount"])


def check_batch(requests: Sequence[Revise], idempotency_key: str | None) -> None:
    """Raise InvalidInput for a batch without revisions, with too many, or with one that must be made alone."""
    if not 1 <= len(requests) <= MAX_REVISIONS:
        raise InvalidInput(f"items: {len(requests)} revisions; give 1 to {MAX_REVISIONS}", path=["items"])
    _check_key(idempotency_key)
    for position, request in enumerate(requests):
        if isinstance(request, Delete):
            raise InvalidInput(
                f"items.{position}: a record is deleted by a request of its own, with other rights; use `deleteRecord`",
                path=["items", str(position)],
            )
        if request.idempotency_key is not None:
            path = ["items", str(position), request.field, "idempotencyKey"]
            raise InvalidInput(
                f"{'.'.join(path)}: the key of a batch is that of the whole; give it beside `items`", path=path
            )


def without_secrets(request: Revise, key: bytes) -> Revise:
    """Return the request with the secrets in its rationale and its evidence masked; `key` is the tenant's index key."""
    evidence, found = masked(getattr(request, "evidence", ()), key)
    if found:
        request = replace(request, evidence=evidence)  # type: ignore[call-arg]  # of those that have evidence
    return replace(request, rationale=masked_text(request.rationale, key)[0])


def _check_evidence(evidence: tuple[Any, ...], now: datetime) -> None:
    if len(evidence) > MAX_EVIDENCE:
        raise InvalidInput(
            f"evidence: {len(evidence)} entries; at most {MAX_EVIDENCE} are allowed, give fewer", path=["evidence"]
        )
    check_evidence(evidence, now, path=["evidence"])


def _check_merge(request: Merge) -> None:
    ids = {request.record_id, *request.others}
    if len(ids) < 2 or len(ids) != len(request.others) + 1:
        raise InvalidInput(
            f"recordIds: {len(ids)} different of {len(request.others) + 1} ids; give at least two different records,"
            " each once",
            path=["recordIds"],
        )
    if len(ids) > MAX_MERGED:
        raise InvalidInput(
            f"recordIds: {len(ids)} records; at most {MAX_MERGED} can be merged at once", path=["recordIds"]
        )
