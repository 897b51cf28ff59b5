"""The log of retrievals: the records returned by each retrieval, so that a later outcome can be credited to them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextvars import Context
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.event_log import get_logger
from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.errors import StoreUnavailable, TenantErased, error_kind
from stratagraph.store.postgres.bulk import array_literal
from stratagraph.store.postgres.database import Bounds, Database
from stratagraph.store.postgres.queries import run

RETENTION = timedelta(days=7)  # age at which an entry of the log is deleted; until then an outcome can be reported
DELAY_S = 0.25  # seconds for which entries are gathered before they are written
RETRY_S = 1.0  # seconds to the next attempt, while the database does not take entries
MOST_WAITING = 10_000  # entries; beyond these the oldest are dropped
BATCH = 500  # entries in one transaction
CLOSE_WITHIN_S = 5.0  # seconds for the last write
_log = get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedRetrieval:
    """One entry of the log. Only ids are stored, not the query.

    The records of a playbook are lessons; for those among its `roots`, a retrieval is counted when the entry is
    written. `composed` is the id of a composed plan that was returned, and its `plan_id`, and `parts` are the records
    that it was composed of.
    """

    id: UUID
    roots: Sequence[UUID]
    nodes: Sequence[UUID]
    at: datetime
    is_playbook: bool = False
    composed: tuple[UUID, str] | None = None
    parts: Sequence[UUID] = ()


class RetrievalLog:
    """Writes retrievals to the log in the background, each within about a second of its answer.

    So no answer waits for a write. Entries are written in batches, one transaction for each caller; a batch that the
    database does not take is tried again until it does. At most MOST_WAITING entries wait: a longer outage drops the
    oldest, which is logged. What waits is written before the database is closed. One per process.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: dict[UUID, tuple[Bounds, LoggedRetrieval]] = {}  # by id, oldest first
        self._writing: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()
        self._dropped = 0
        database.before_closing.append(self.close)

    @property
    def waiting(self) -> int:
        """Number of entries that are not written yet."""
        return len(self._waiting)

    def append(self, retrieval: LoggedRetrieval, caller: Caller) -> None:
        """Add an entry for the caller, to be written soon."""
        if len(self._waiting) >= MOST_WAITING:
            del self._waiting[next(iter(self._waiting))]
            self._dropped += 1
        self._waiting[retrieval.id] = (caller.bounds, retrieval)
        if self._writing is None or self._writing.done():
            # In a context of its own: the task must not count against the operation that happens to start it.
            self._writing = asyncio.create_task(self._write_soon(), name="retrieval log", context=Context())

    async def flush(self) -> None:
        """Write all entries that wait, those being written by the background included.

        Raises StoreUnavailable if the database does not take them; they then still wait.
        """
        async with self._lock:
            while self._waiting:
                await self._write_batch()
        if self._dropped:
            _log.warning("retrievals dropped from the log's queue", dropped=self._dropped)
            self._dropped = 0

    async def write_now(self, id_: UUID) -> None:
        """Write the entry `id_`, and those before it, if it waits in this process. Raises as `flush` does."""
        if id_ in self._waiting:
            await self.flush()

    async def write_composed(self, id_: UUID) -> None:
        """Write what waits in this process if a composed plan is among it that has the id. Raises as `flush` does."""
        if any(entry.composed is not None and entry.composed[0] == id_ for _, entry in self._waiting.values()):
            await self.flush()

    async def close(self) -> None:
        """Write what waits, for at most CLOSE_WITHIN_S seconds, and end the background task."""
        writing, self._writing = self._writing, None
        if writing is not None:
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)
        try:
            async with asyncio.timeout(CLOSE_WITHIN_S):
                await self.flush()
        except (StoreUnavailable, TimeoutError):
            _log.warning("retrievals not logged", dropped=len(self._waiting) + self._dropped)

    async def _write_soon(self) -> None:
        """Write until nothing waits. An outage is logged once."""
        is_out = False
        while self._waiting:
            await asyncio.sleep(RETRY_S if is_out else DELAY_S)
            try:
                await self.flush()
                is_out = False
            except StoreUnavailable as error:
                if not is_out:
                    _log.warning("retrievals wait to be logged", waiting=len(self._waiting), error=error_kind(error))
                is_out = True

    async def _write_batch(self) -> None:
        """Write the oldest entries, by caller. They leave the queue once they are written, or cannot be."""
        by_caller: dict[tuple[int, str], list[LoggedRetrieval]] = {}
        for bounds, retrieval in islice(self._waiting.values(), BATCH):
            by_caller.setdefault((bounds.tenant, bounds.actor), []).append(retrieval)
        for (tenant, actor), entries in by_caller.items():
            try:
                await self._write(tenant, actor, entries)
            except TenantErased:
                pass  # and its log with it
            except StoreUnavailable:
                raise
            except Exception as error:  # any other would be raised again for the same entries
                _log.error("retrievals refused by the log", dropped=len(entries), error=error_kind(error))
            for entry in entries:
                self._waiting.pop(entry.id, None)

    async def _write(self, tenant: int, actor: str, entries: Sequence[LoggedRetrieval]) -> None:
        # A writer is confined to its tenant, and here to the entries of its actor.
        async with self._database.writing(Bounds(tenant=tenant, scopes=None, ceiling=0, actor=actor)) as connection:
            await run(
                connection,
                "log_retrievals",
                tenant=tenant,
                actor=actor,
                ids=[entry.id for entry in entries],
                instants=[entry.at for entry in entries],
                playbooks=[entry.is_playbook for entry in entries],
                composed_ids=[None if entry.composed is None else entry.composed[0] for entry in entries],
                composed=[None if entry.composed is None else entry.composed[1] for entry in entries],
                parts=[None if entry.composed is None else array_literal(entry.parts) for entry in entries],
                roots=[array_literal(entry.roots) for entry in entries],
                nodes=[array_literal(entry.nodes) for entry in entries],
            )


async def delete_old_retrievals(connection: AsyncConnection, *, before: datetime, limit: int) -> int:
    """Delete at most `limit` entries older than `before`, the oldest first; return the number deleted."""
    return await run(connection, "delete_old_retrievals", before=before, limit=limit)
