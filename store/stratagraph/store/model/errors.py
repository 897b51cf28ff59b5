"""The errors of Stratagraph. Each class is one thing that a caller can act on.

StratagraphError                      May the same call succeed later?
├── InvalidInput                      no: correct the input; `path` names the field
├── Unauthenticated                   no: send a valid credential
├── Forbidden                         no: the credential does not allow it
│   └── SourceErased(positions)       no: an administrator may restore the source
├── RecordNotFound(record_id)         no; also raised for a record that the caller may not see
│   └── NotLoggedYet(record_id)       yes, within seconds: the retrieval may be waiting to be logged
├── VersionConflict(current)          no: read the record again, then decide
├── EpisodicImmutable                 no: revise the records that were derived from the episodic one
├── EvidenceRequired                  no: add a source as evidence
├── ConditionsOverlap                 no: give conditions or a validity that exclude the other fact's
├── IdempotencyMismatch               no: use another idempotency key
├── DeletionForbidden                 no: the record's deletion policy is `never`
├── PositionExpired                   no: read the present state, and follow the changes from there
├── LimitExceeded                     no: send less; `path` names the field
├── ArtifactDamaged                   no: upload the same bytes again
├── StoreUnavailable                  yes: retry with back-off
│   ├── TenantErased                  yes, once; the same name is a new tenant
│   └── WriteCollision                yes: the services retry it themselves
│       └── KeyCollision(constraint)  yes: likewise
├── RateLimited(retry_after_s)        yes: after `retry_after_s` seconds
├── DeadlineExceeded                  yes, though a smaller request is more likely to succeed
├── ClientGone                        nobody is left to be told; only the log and the metrics show it
├── MirrorUnavailable                 yes; reads fall back to SQL themselves
├── Misconfigured                     no: change the settings; the message says which
└── MigrationFailed(reached)          no: cure what the server said, then start again

Every class has a `code`, which the GraphQL API shows as `extensions.code`, and a `path`: the field of the request that
is at fault, or None. `retryable` is true where the same call may succeed later without a change, `retry_after_s` the
seconds after which, where that is known. `problems` lists all wrong fields, where several were found together.

StatementFailed is not one of them: the database refused a statement for a reason that no retry cures, which is a
defect in Stratagraph. It is logged and never shown to a caller.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from stratagraph.store.model.error_values import MAX_PART, shortened_message


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One wrong field of a request: the code of its error, its path, outermost first, and what to do."""

    code: str
    message: str
    path: tuple[str, ...]


class StratagraphError(Exception):
    """Stratagraph failed; the server log has the reason."""

    code = "INTERNAL"
    retryable = False
    _problems: tuple[Problem, ...] = ()

    # The default message is the first line of the class's docstring.
    def __init__(self, message: str | None = None, *, path: Sequence[str] | None = None) -> None:
        super().__init__(message or (type(self).__doc__ or "").split("\n", 1)[0])
        self.path = [part[:MAX_PART] for part in path] if path is not None else None

    @property
    def message(self) -> str:
        return shortened_message(str(self.args[0]))

    @property
    def retry_after_s(self) -> float | None:
        """Seconds after which the same call may succeed, where that is known."""
        return None

    @property
    def problems(self) -> tuple[Problem, ...]:
        """All wrong fields, in the order of the request: that of `path` alone, unless several were found together."""
        if self._problems or not self.path:
            return self._problems
        return (Problem(code=self.code, message=self.message, path=tuple(self.path)),)

    @problems.setter
    def problems(self, found: Sequence[Problem]) -> None:
        self._problems = tuple(found)

    def move(self, to: Callable[[list[str]], list[str]], said: Callable[[str], str] = str) -> None:
        """Change the path and those of the problems by `to`, and the messages of both by `said`.

        This is for a request that is a part of another one, or is made of one with other names.
        """
        self.args = (said(str(self.args[0])),)
        self.path = to(list(self.path or [])) or None
        self._problems = tuple(
            Problem(code=one.code, message=said(one.message), path=tuple(to(list(one.path)))) for one in self._problems
        )


class InvalidInput(StratagraphError):
    """The input is not valid; correct the field that `path` names."""

    code = "INVALID_INPUT"


class Unauthenticated(StratagraphError):
    """No valid credential was presented: send `Authorization: Bearer <token>`."""

    code = "UNAUTHENTICATED"


class Forbidden(StratagraphError):
    """The credential does not allow this; use one with more access, scopes or a higher ceiling."""

    code = "FORBIDDEN"


class SourceErased(Forbidden):
    """What was captured from this source was erased, so it is not captured again.

    `positions` are the places in the request of the captures that come from erased sources.
    """

    def __init__(self, positions: Sequence[int], message: str | None = None, *, path: Sequence[str] | None = None):
        super().__init__(message, path=path)
        self.positions = tuple(positions)


class RecordNotFound(StratagraphError):
    """There is no such record that the credential may see; check the id and the credential."""

    code = "NOT_FOUND"

    def __init__(self, record_id: object, message: str | None = None, *, path: Sequence[str] | None = None) -> None:
        text = (
            f"There is no record {record_id} that this credential may see. Check the id, and the credential's scopes"
            " and ceiling."
        )
        super().__init__(message or text, path=path)
        self.record_id = record_id


class NotLoggedYet(RecordNotFound):
    """The log has no such retrieval, which is so young that it may not have been written yet; try again shortly."""

    retryable = True


class SnapshotGone(RecordNotFound):
    """The snapshot of this export is not held any more; start the export again, without `snapshot`."""

    def __init__(self) -> None:
        super().__init__("snapshot", (type(self).__doc__ or "").split("\n", 1)[0], path=["snapshot"])


class VersionConflict(StratagraphError):
    """The record has changed since it was read; read it again and repeat the change with its new version."""

    code = "VERSION_CONFLICT"

    def __init__(self, current: int, message: str | None = None, *, path: Sequence[str] | None = None) -> None:
        text = (
            f"The record has changed since it was read; its version is now {current}. Read it again, and repeat the"
            " change with the new version."
        )
        super().__init__(message or text, path=path)
        self.current = current


class EpisodicImmutable(StratagraphError):
    """Episodic records cannot be edited; revise the records derived from them instead."""

    code = "EPISODIC_IMMUTABLE"


class EvidenceRequired(StratagraphError):
    """A fact needs at least one source as evidence; give {source_type, source_id} or {kind, ref}."""

    code = "EVIDENCE_REQUIRED"


class ConditionsOverlap(StratagraphError):
    """The fact holds at the same time as another one; give conditions or a validity that exclude the other's."""

    code = "CONDITIONS_OVERLAP"


class IdempotencyMismatch(StratagraphError):
    """This idempotency key was used for another request; repeat that request unchanged, or choose a new key."""

    code = "IDEMPOTENCY_MISMATCH"


class DeletionForbidden(StratagraphError):
    """The record cannot be deleted: its deletion policy is `never`. Retract it, or have it erased."""

    code = "DELETION_FORBIDDEN"


class LimitExceeded(StratagraphError):
    """The request exceeds a limit; send less in the field that `path` names."""

    code = "LIMIT_EXCEEDED"


class PositionExpired(StratagraphError):
    """The changes after this position are no longer kept; read the present state, and follow the changes from there."""

    code = "POSITION_EXPIRED"


class ArtifactDamaged(StratagraphError):
    """The artifact's stored bytes are missing or do not match its hash; upload the same bytes again."""

    code = "ARTIFACT_DAMAGED"


class StoreUnavailable(StratagraphError):
    """The database cannot be reached; try again shortly."""

    code = "UNAVAILABLE"
    retryable = True


class OutOfConnections(StoreUnavailable):
    """The database has no free connection; try again shortly."""


class StatementTimedOut(StoreUnavailable):
    """The database stopped a statement that took too long; try again shortly."""


class TenantErased(StoreUnavailable):
    """The tenant is being erased, or was, and nothing was done; try again shortly, in a new and empty tenant."""


class WriteCollision(StoreUnavailable):
    """Other writers keep changing the same rows; try again shortly."""


class KeyCollision(WriteCollision):
    """Another writer took the same key, or deleted a row that this write refers to; try again shortly."""

    def __init__(self, constraint: str | None) -> None:
        super().__init__()
        self.constraint = constraint


class RateLimited(StratagraphError):
    """The credential has used up its share; wait `retry_after_s` seconds and send the request again."""

    code = "RATE_LIMITED"
    retryable = True

    def __init__(self, message: str, *, retry_after_s: float) -> None:
        super().__init__(message)
        self._retry_after_s = retry_after_s

    @property
    def retry_after_s(self) -> float:
        return self._retry_after_s


class DeadlineExceeded(StratagraphError):
    """The operation did not end within its deadline and was stopped; ask for less, or try again later."""

    code = "DEADLINE_EXCEEDED"
    retryable = True


class ClientGone(StratagraphError):
    """The client closed its connection before the answer, and the query was stopped."""

    code = "CLIENT_GONE"
    retryable = True


class StatementFailed(Exception):
    """The database refused a statement for a reason that no retry cures.

    `error` is the name of the driver's exception class, `sqlstate` its SQLSTATE. Neither contains data of a row.
    """

    def __init__(self, error: str, sqlstate: str | None) -> None:
        super().__init__(f"{error} ({sqlstate})")
        self.error = error
        self.sqlstate = sqlstate


class MirrorUnavailable(StratagraphError):
    """The graph mirror cannot be reached; check that Neo4j runs. Reads use PostgreSQL until then."""

    code = "UNAVAILABLE"
    retryable = True


class Misconfigured(StratagraphError):
    """The settings are incomplete or contradict each other; correct the STRATAGRAPH_ variables."""

    code = "MISCONFIGURED"


class MigrationFailed(StratagraphError):
    """A migration of the database failed; cure what the server said, and start again.

    `reached` is the revision that the database has; None if it has none, or if that could not be read.
    """

    code = "MIGRATION_FAILED"

    def __init__(self, message: str, *, reached: str | None) -> None:
        super().__init__(message)
        self.reached = reached


def error_kind(error: Exception) -> str:
    """Return what may be stored and logged of an error: its class, and of a refused statement the SQLSTATE.

    The text of an error may quote a row, so it is left out.
    """
    return f"StatementFailed: {error}" if isinstance(error, StatementFailed) else type(error).__name__


def error_origin(error: Exception) -> str:
    """Return the kind of an error with the function of this package that it arose in, where there is one.

    So `ValueError in memory.learning.reading.episode_of` names a defect without quoting what it failed on. Functions
    that send statements are passed over for the one that uses them.
    """
    found = None
    trace = error.__traceback__
    while trace is not None:
        module = trace.tb_frame.f_globals.get("__name__", "")
        if module.startswith("stratagraph.") and not module.startswith("stratagraph.store.postgres."):
            found = f"{module.removeprefix('stratagraph.')}.{trace.tb_frame.f_code.co_name}"
        trace = trace.tb_next
    return error_kind(error) if found is None else f"{error_kind(error)} in {found}"
