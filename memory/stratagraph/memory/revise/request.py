"""What a caller asks to be changed, checked before anything else looks at it."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, ClassVar
from uuid import UUID

from stratagraph.store.model.canonical import check_json
from stratagraph.store.model.errors import InvalidInput

MAX_RATIONALE = 10_000  # letters
MAX_LABEL = 256  # letters of an idempotency key
MAX_EVIDENCE = 200
MAX_MERGED = 50  # records in one merge
_EVIDENCE_KEYS = ("source_type", "source_id", "kind", "ref")


@dataclass(frozen=True, slots=True, kw_only=True)
class Revise:
    """One change. `expected_version` refuses it where the record has changed since the caller read it."""

    kind: ClassVar[str] = "revise"
    record_id: UUID
    rationale: str
    expected_version: int | None = None
    idempotency_key: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Everything that makes two requests the same, the idempotency key apart."""
        said = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "idempotency_key"}
        return {"kind": self.kind, **said}


@dataclass(frozen=True, slots=True, kw_only=True)
class Supersede(Revise):
    """The payload takes the record's place. An entity or a working record is changed in place."""

    kind: ClassVar[str] = "supersede"
    payload: dict[str, Any]
    evidence: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork(Revise):
    """A variant beside the record, for conditions under which the record does not hold."""

    kind: ClassVar[str] = "fork"
    payload: dict[str, Any]
    conditions: dict[str, Any]
    evidence: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest(Revise):
    """The record is in doubt, because of another record or of evidence."""

    kind: ClassVar[str] = "contest"
    contesting_id: UUID | None = None
    evidence: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolveContest(Revise):
    """The doubt is over: `winner_id` holds, be it the record or one that contests it; without one, none of them."""

    kind: ClassVar[str] = "resolve_contest"
    winner_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Retract(Revise):
    """The record was wrong and nothing takes its place."""

    kind: ClassVar[str] = "retract"


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge(Revise):
    """`others` say the same as the record: one of them, or a new one, speaks for all."""

    kind: ClassVar[str] = "merge"
    others: tuple[UUID, ...]
    payload: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete(Revise):
    """The record goes, with its history. Its audit log stays."""

    kind: ClassVar[str] = "delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reinforce(Revise):
    """The record matters more: its salience rises by its gain."""

    kind: ClassVar[str] = "reinforce"


@dataclass(frozen=True, slots=True, kw_only=True)
class Penalize(Revise):
    """The record matters less, by `amount`, but never less than its floor."""

    kind: ClassVar[str] = "penalize"
    amount: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin(Revise):
    """The record's salience stays as it is, or decays again."""

    kind: ClassVar[str] = "pin"
    pinned: bool


def check(request: Revise) -> None:
    """Raises InvalidInput naming the field that is wrong."""
    check_json(request.rationale, path=["rationale"])
    if not request.rationale.strip():
        raise InvalidInput("rationale: say why; it is kept in the audit log", path=["rationale"])
    if len(request.rationale) > MAX_RATIONALE:
        raise InvalidInput(
            f"rationale: {len(request.rationale)} letters; at most {MAX_RATIONALE} are kept", path=["rationale"]
        )
    key = request.idempotency_key
    if key is not None and not 0 < len(key) <= MAX_LABEL:
        raise InvalidInput(f"idempotencyKey: must have 1 to {MAX_LABEL} letters", path=["idempotencyKey"])
    if request.expected_version is not None and request.expected_version < 1:
        raise InvalidInput("expectedVersion: versions begin at 1", path=["expectedVersion"])
    for field in ("payload", "conditions"):
        value = getattr(request, field, None)
        if value is not None and not isinstance(value, dict):
            raise InvalidInput(f"{field}: must be a JSON object", path=[field])
        check_json(value, path=[field])
    _check_evidence(getattr(request, "evidence", ()))
    if isinstance(request, Penalize) and not (math.isfinite(request.amount) and request.amount >= 0):
        raise InvalidInput(f"amount: {request.amount} is not a finite number of at least 0", path=["amount"])
    if isinstance(request, Merge):
        _check_merge(request)


def _check_evidence(evidence: tuple[Any, ...]) -> None:
    if len(evidence) > MAX_EVIDENCE:
        raise InvalidInput(f"evidence: {len(evidence)} entries; at most {MAX_EVIDENCE} are kept", path=["evidence"])
    for place, item in enumerate(evidence):
        path = ["evidence", str(place)]
        if not isinstance(item, dict) or not any(isinstance(item.get(key), str) for key in _EVIDENCE_KEYS):
            raise InvalidInput(
                f"evidence.{place}: names no source; give {{source_type, source_id}} or {{kind, ref}}", path=path
            )
        check_json(item, path=path)


def _check_merge(request: Merge) -> None:
    ids = {request.record_id, *request.others}
    if len(ids) < 2 or len(ids) != len(request.others) + 1:
        raise InvalidInput("recordIds: name at least two different records, each once", path=["recordIds"])
    if len(ids) > MAX_MERGED:
        raise InvalidInput(
            f"recordIds: {len(ids)} records; at most {MAX_MERGED} are merged at once", path=["recordIds"]
        )
