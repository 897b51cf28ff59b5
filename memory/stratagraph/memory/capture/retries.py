"""Failed captures: listed without their content, retried by a job or by hand, and dropped (docs/observing.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from uuid import UUID

from stratagraph.memory.capture.answers import Captured
from stratagraph.memory.capture.failures import FailedCaptureGone
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.capture.service import Capture
from stratagraph.memory.records.cursors import MAX_PAGE, decode_id, encode_id
from stratagraph.store.event_log import get_logger
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.clock import Clock
from stratagraph.store.model.enums import Access
from stratagraph.store.model.errors import (
    Forbidden,
    InvalidInput,
    Misconfigured,
    RecordNotFound,
    StoreUnavailable,
    StratagraphError,
    error_kind,
)
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.records.failed_captures import (
    BatchKey,
    FailedBatch,
    FailedCapture,
    batch_of,
    batches_of,
    drop_batches,
    due_batches,
    fail_again,
    fetch_failed_batch,
    list_failed_captures,
    open_inputs,
    split_batch,
    visible_failed_captures,
)
from stratagraph.store.records.reading import Reader

MAX_BATCHES = 10_000  # retried or dropped by one command
_log = get_logger(__name__)


class Retried(Enum):
    """How the retry of a batch ended."""

    STORED = "its captures were stored"
    FAILED = "it failed again and will be retried"
    GIVEN_UP = "it failed again and is retried by hand only"
    GONE = "it had been stored or dropped before"


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """How the retry of a batch ended, with what was stored, or the error and the instant of the next attempt."""

    outcome: Retried
    captured: Sequence[Captured] = ()
    error: Exception | None = None
    next_try_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedCapture:
    """A failed capture without its content, with the name of its scope; None if that is unknown."""

    capture: FailedCapture
    scope: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedCapturePage:
    """A page of failed captures. `end_cursor` is None on an empty page."""

    captures: tuple[ListedCapture, ...]
    has_next: bool
    end_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCapture:
    """A capture that a retry has stored. `record` is None where the caller may not see what it became."""

    candidate: UUID
    sequence: str
    record: MemoryRecord | None


class FailedCaptures:
    """The service for failed captures. One per process; safe to call from many tasks."""

    def __init__(self, database: Database, directory: Directory, clock: Clock, capture: Capture) -> None:
        self._database = database
        self._directory = directory
        self._clock = clock
        self._capture = capture

    async def page(self, trust: Trust, *, first: int, after: str | None) -> FailedCapturePage:
        """Return a page of the failed captures that the caller may see, in the order of their ids.

        They are its own, and those whose records it could read in full. Raises InvalidInput for a `first` out of
        bounds or an `after` that is no cursor.
        """
        trust.require(Access.READ)
        if not 1 <= first <= MAX_PAGE:
            raise InvalidInput(f"first: must lie between 1 and {MAX_PAGE}, but is {first}", path=["first"])
        caller = await self._directory.resolve(trust)
        position = decode_id(after) if after is not None else None
        # As the role of writers, because readers reach a candidate through its record, and these have none.
        async with self._database.writing(caller.bounds) as connection:
            found = await visible_failed_captures(connection, caller, after=position, limit=first + 1)
        shown = found[:first]
        return FailedCapturePage(
            captures=tuple(await self._with_scopes(shown)),
            has_next=len(found) > first,
            end_cursor=encode_id(shown[-1].id) if shown else None,
        )

    async def retry(self, trust: Trust, id_: UUID) -> list[StoredCapture]:
        """Retry the batch of a failed capture now, with the rights of its own caller; return what was stored.

        Captures of the batch that are not visible to the caller are left for the next retry in the background. Raises
        RecordNotFound if the capture is not visible to the caller, Forbidden if the caller may not write a visible one
        of its batch, the error that refused the captures, or StoreUnavailable if they failed inside again.
        """
        key = await self._batch_for(trust, id_)
        done = await self.retry_batch(key)
        if done.outcome is Retried.GONE:
            raise _not_found(id_)
        if done.error is not None:
            raise _as_answer(done)
        caller = await self._directory.resolve(trust)
        async with self._database.reading(caller.bounds) as connection:
            reader = Reader(connection, self._directory, caller, self._clock.now())
            records = await reader.records({one.primary.id for one in done.captured})
        return [
            StoredCapture(candidate=one.candidate, sequence=one.sequence, record=records.get(one.primary.id))
            for one in done.captured
        ]

    async def drop(self, trust: Trust, id_: UUID) -> list[UUID]:
        """Delete the batch of a failed capture with its input; return the ids of the deleted captures.

        Captures of the batch that are not visible to the caller are kept. Raises RecordNotFound if the capture is not
        visible to the caller, Forbidden if the caller may not write a visible one of its batch.
        """
        key = await self._batch_for(trust, id_)
        async with self._database.background(Role.ERASE) as connection:
            dropped = await drop_batches(connection, [key])
        if not dropped:
            raise _not_found(id_)
        _log.info("failed captures dropped", captures=len(dropped))
        return dropped

    async def all_failed(self, *, limit: int) -> list[ListedCapture]:
        """Return at most `limit` failed captures of all tenants, the oldest first. For operators."""
        async with self._database.background(Role.JOBS) as connection:
            found = await list_failed_captures(connection, limit=limit)
        return await self._with_scopes(found)

    async def find_batches(self, ids: Sequence[UUID] | None) -> list[BatchKey]:
        """Return the batches, of any tenant, of these failed captures; of all failed captures with None. For operators.

        At most MAX_BATCHES are returned.
        """
        async with self._database.background(Role.JOBS) as connection:
            return await batches_of(connection, ids, limit=MAX_BATCHES)

    async def drop_batches(self, keys: Sequence[BatchKey]) -> list[UUID]:
        """Delete batches of any tenant; return the ids of the deleted captures. For operators."""
        async with self._database.background(Role.ERASE) as connection:
            return await drop_batches(connection, keys)

    async def due(self, *, now: datetime, limit: int) -> list[BatchKey]:
        """Return at most `limit` batches of all tenants that are due at `now`, the longest due first."""
        async with self._database.background(Role.JOBS) as connection:
            return await due_batches(connection, now=now, limit=limit)

    async def retry_batch(self, key: BatchKey) -> Retry:
        """Retry a batch as its caller sent it: in order, all or nothing, with that caller's rights and time.

        A refused batch is given up. One that fails inside is due again after a pause that doubles, until its attempts
        are used up; so is an outcome whose episode does not exist yet. Two retries at once store it once. Raises
        StoreUnavailable if the failure could not be recorded either, because the database cannot be reached.
        """
        async with self._database.background(Role.JOBS) as connection:
            failed = await fetch_failed_batch(connection, key)
        if failed is None:
            return Retry(outcome=Retried.GONE)
        try:
            captured = await self._store(await self._directory.tenant_by_id(key[0]), failed)
        except FailedCaptureGone:
            return Retry(outcome=Retried.GONE)
        except Exception as error:  # whatever it is, it must not end the job, nor lose the capture
            return await self._failed_again(key, attempts=failed.attempts, error=error)
        return Retry(outcome=Retried.STORED, captured=captured)

    async def _store(self, tenant: Tenant, failed: FailedBatch) -> list[Captured]:
        if failed.ceiling is None:
            raise Forbidden(
                "This capture was stored by an earlier release, without the rights of its caller, and its credential"
                " has none now. Send it again, and drop this one."
            )
        trust = Trust(
            tenant=tenant.name,
            actor=failed.actor,
            access=failed.access,
            ceiling=failed.ceiling,
            scopes=failed.scopes,
            key_identity=failed.key_identity,
        )
        inputs = await open_inputs(tenant, failed)
        requests = {id_: CaptureRequest.from_stored_json(sent) for id_, sent in inputs.items()}
        return await self._capture.store_failed(trust, requests, captured_at=failed.created_at)

    async def _failed_again(self, key: BatchKey, *, attempts: int, error: Exception) -> Retry:
        is_refused = (
            isinstance(error, StratagraphError)
            and not error.retryable
            and not isinstance(error, RecordNotFound | Misconfigured)
        )
        _log.error("capture failed again", error=error_kind(error), batch=str(key[1]), attempts=attempts + 1)
        async with self._database.background(Role.JOBS) as connection:
            next_try_at = await fail_again(
                connection,
                key,
                attempts=attempts,
                stage="check" if is_refused else "commit",
                error=error_kind(error),
                at=self._clock.now(),
                is_final=is_refused,
            )
        outcome = Retried.FAILED if next_try_at is not None else Retried.GIVEN_UP
        return Retry(outcome=outcome, error=error, next_try_at=next_try_at)

    async def _batch_for(self, trust: Trust, id_: UUID) -> BatchKey:
        """Return the batch of a failed capture, of which the caller may see and write every capture.

        Captures of the same request that the caller may not see are made a batch of their own first: neither what is
        done with the others nor the answer to it depends on them.
        """
        trust.require(Access.WRITE)
        caller = await self._directory.resolve(trust)
        async with self._database.writing(caller.bounds) as connection:
            batch = await batch_of(connection, caller, id_)
        visible = [capture for capture, is_visible in batch if is_visible]
        if id_ not in {capture.id for capture in visible}:
            raise _not_found(id_)
        scopes = await self._directory.scope_names({one.scope for one in visible if one.scope is not None})
        if not all(_may_write(trust, one, scopes) for one in visible):
            raise Forbidden(
                "id: this credential may not write every capture of the request that this one was part of; use one"
                " with more scopes or a higher ceiling, or that of the request's own actor",
                path=["id"],
            )
        key = visible[0].tenant, visible[0].batch
        hidden = [capture.id for capture, is_visible in batch if not is_visible]
        if hidden:
            async with self._database.background(Role.JOBS) as connection:
                key = await split_batch(connection, key, [capture.id for capture in visible], hidden)
        return key

    async def _with_scopes(self, captures: Sequence[FailedCapture]) -> list[ListedCapture]:
        names = await self._directory.scope_names({one.scope for one in captures if one.scope is not None})
        return [
            ListedCapture(capture=one, scope=names[one.scope] if one.scope is not None else None) for one in captures
        ]


def _may_write(trust: Trust, capture: FailedCapture, scopes: Mapping[int, str]) -> bool:
    """Return whether the capture is the caller's own, or the caller may write its scope at its sensitivity."""
    if capture.identity == trust.identity or (capture.scope is None and trust.scopes is None):
        return True
    if capture.scope is None or capture.sensitivity > trust.ceiling:
        return False
    try:
        trust.scope_for_write(scopes[capture.scope])
    except Forbidden:
        return False
    return True


def _not_found(id_: UUID) -> RecordNotFound:
    return RecordNotFound(
        id_,
        f"There is no failed capture {id_} that this credential may see; it may have been stored or dropped since."
        " `failedCaptures` lists those that are left.",
        path=["id"],
    )


def _as_answer(done: Retry) -> StratagraphError:
    """Return the error that answers a retry by hand; its path is that of the retry, not of the stored request."""
    error = done.error
    if isinstance(error, StratagraphError) and done.outcome is Retried.GIVEN_UP and not error.retryable:
        error.path = ["id"]
        return error
    assert error is not None
    when = (
        f"It is retried at {done.next_try_at:%Y-%m-%d %H:%M:%S} UTC."
        if done.next_try_at is not None
        else "It is not retried in the background any more."
    )
    return StoreUnavailable(f"The capture failed again ({error_kind(error)}), and its input is kept. {when}")
