"""What can go wrong, as a caller sees it. Each class is one thing a caller can act on.

StratagraphError                      may the same call succeed later?
├── InvalidInput(path)                no: mend the input; `path` names the field
├── Unauthenticated                   no: present a credential
├── Forbidden                         no: the credential does not allow it
├── RecordNotFound(record_id)         no (also said of what the caller may not see)
├── VersionConflict(current)          after reading the record again
├── EpisodicImmutable                 no: correct what was learned from it
├── EvidenceRequired                  with evidence
├── ConditionsOverlap(with_id)        with disjoint conditions
├── IdempotencyMismatch(key)          with another key
├── DeletionForbidden                 no: the record's deletion policy is `never`
├── LimitExceeded(path)               with less
├── ArtifactDamaged                   after its bytes were sent again
├── StoreUnavailable                  yes: retry with back-off
│   └── WriteCollision                yes: services retry it by themselves
│       └── KeyCollision(constraint)
├── MirrorUnavailable                 yes; reads fall back to SQL by themselves
└── Misconfigured                     no: mend the settings; the message says which

StatementFailed stands apart: a statement that the database refused is a defect of ours, and never shown to a caller.
"""

from __future__ import annotations

from collections.abc import Sequence


class StratagraphError(Exception):
    """Something went wrong in Stratagraph."""

    code = "INTERNAL"
    retryable = False

    def __init__(self, message: str | None = None, *, path: Sequence[str] | None = None) -> None:
        super().__init__(message or (type(self).__doc__ or "").split("\n", 1)[0])
        self.path = list(path) if path is not None else None

    @property
    def message(self) -> str:
        return str(self.args[0])


class InvalidInput(StratagraphError):
    """The input is not valid."""

    code = "INVALID_INPUT"


class Unauthenticated(StratagraphError):
    """No valid credential was presented: send `Authorization: Bearer <token>`."""

    code = "UNAUTHENTICATED"


class Forbidden(StratagraphError):
    """The credential does not allow this."""

    code = "FORBIDDEN"


class RecordNotFound(StratagraphError):
    """There is no such record."""

    code = "NOT_FOUND"

    def __init__(self, record_id: object, message: str | None = None, *, path: Sequence[str] | None = None) -> None:
        super().__init__(message or f"There is no record {record_id} that this credential may see.", path=path)
        self.record_id = record_id


class VersionConflict(StratagraphError):
    """The record has changed since it was read."""

    code = "VERSION_CONFLICT"

    def __init__(self, current: int, message: str | None = None) -> None:
        said = message or f"The record has changed since it was read; its version is now {current}. Read it again."
        super().__init__(said)
        self.current = current


class EpisodicImmutable(StratagraphError):
    """What happened cannot be edited; revise what was learned from it instead."""

    code = "EPISODIC_IMMUTABLE"


class EvidenceRequired(StratagraphError):
    """A fact needs at least one source as evidence."""

    code = "EVIDENCE_REQUIRED"


class ConditionsOverlap(StratagraphError):
    """The conditions overlap those of another active fact."""

    code = "CONDITIONS_OVERLAP"


class IdempotencyMismatch(StratagraphError):
    """This idempotency key was used for another request; choose a new one."""

    code = "IDEMPOTENCY_MISMATCH"


class DeletionForbidden(StratagraphError):
    """This record is kept for ever: its deletion policy is `never`."""

    code = "DELETION_FORBIDDEN"


class LimitExceeded(StratagraphError):
    """The request exceeds a limit."""

    code = "LIMIT_EXCEEDED"


class ArtifactDamaged(StratagraphError):
    """The stored bytes are missing or not those of this hash; send them again to mend it."""

    code = "ARTIFACT_DAMAGED"


class StoreUnavailable(StratagraphError):
    """The database cannot be reached; try again shortly."""

    code = "UNAVAILABLE"
    retryable = True


class WriteCollision(StoreUnavailable):
    """Other writers keep changing the same rows; try again shortly."""


class KeyCollision(WriteCollision):
    """Another writer took the same key, or deleted a row that this write refers to."""

    def __init__(self, constraint: str | None) -> None:
        super().__init__()
        self.constraint = constraint


class StatementFailed(Exception):
    """The database refused a statement for a reason that no retry cures.

    `error` is the name of the driver's exception class and `sqlstate` its SQLSTATE; neither quotes a row.
    """

    def __init__(self, error: str, sqlstate: str | None) -> None:
        super().__init__(f"{error} ({sqlstate})")
        self.error = error
        self.sqlstate = sqlstate


class MirrorUnavailable(StratagraphError):
    """The graph mirror cannot be reached."""

    code = "UNAVAILABLE"
    retryable = True


class Misconfigured(StratagraphError):
    """The settings do not fit together."""

    code = "MISCONFIGURED"
