"""Queueing the entities and facts that are new or have changed, by the change feed, and noting the keys of names."""

from __future__ import annotations

from collections.abc import AsyncIterator

from stratagraph.memory.learning.duplicates.name_keys import keys_of
from stratagraph.memory.learning.follow_ups import Queued
from stratagraph.store.event_log import get_logger
from stratagraph.store.feed.changes import Kind
from stratagraph.store.feed.consumer import Feed
from stratagraph.store.feed.leases import Lease
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.keys.directory import Directory
from stratagraph.store.learning.duplicates import (
    KeylessEntity,
    begin_filling,
    count_keyless,
    count_unqueued,
    key_number,
    list_existing,
    lock_keyless,
    note_followed,
    note_keys,
    queue_duplicates,
    queue_existing,
    read_progress,
)
from stratagraph.store.postgres.database import Database, Role

CONSUMER = "duplicates"  # of the change feed
PAGE = 2_000  # changes of the feed, existing records, or entities whose keys are noted, in one transaction
_log = get_logger(__name__)


class Following:
    """Queues what is to be compared. `owner` names this server as a reader of the change feed.

    Existing records are queued once, in the order of their keys, and again if the change log does not show what has
    changed since it was last read. Once everything is queued, the keys of the queued entities' names are noted, by
    which entities with a similar name are found. Each step is a transaction, so that the process may be killed at any
    point.
    """

    def __init__(self, database: Database, directory: Directory, *, owner: str) -> None:
        self._database = database
        self._directory = directory
        self._owner = owner
        self._feed = Feed(database, CONSUMER, rereads=True)

    async def steps(self) -> AsyncIterator[Queued]:
        """Queue everything that was committed before the call, and note all keys; yield after each transaction.

        If another server reads the feed at present, the changes are left to it.
        """
        if not await self._feed.positions():
            await begin_filling(self._database)
        await self._feed.register()
        end = await self._feed.take_fresh_snapshot()
        while (done := await self._follow(end)) is not None:
            yield Queued("changes", done)
        while (done := await self._fill()) is not None:
            yield Queued("records", done)
        while (done := await self._note_keys()) is not None:
            yield Queued("names", done)

    async def left(self, what: str, *, most: int) -> int:
        """Return how many `what` are left to be looked at, at most `most`; of changes, at most 10,000."""
        if what == "changes":
            lag = await self._feed.lag()
            return lag.changes if lag is not None else 0
        if what == "records":
            return await count_unqueued(self._database, most=most)
        async with self._database.background(Role.JOBS) as connection:
            return await count_keyless(connection, most=most)

    async def _follow(self, end: int) -> int | None:
        """Queue the records of the next page of changes before the snapshot `end`; return the number of changes.

        None if no page is left, or the lease was lost.
        """
        if await self._feed.has_passed(end):
            return None
        lease = await self._feed.lease(self._owner)
        if lease is None:
            return None
        try:
            return await self._queue_page(lease)
        finally:
            await self._feed.release(lease)

    async def _queue_page(self, lease: Lease) -> int | None:
        page = await self._feed.page(lease, limit=PAGE)
        if page is None:
            return None
        progress = await read_progress(self._database)
        if progress.nonce not in (None, page.earlier_nonce):
            _log.warning("the change log was restarted: all records are compared again")
            await begin_filling(self._database)
        changed = {(one.tenant, one.id) for one in page.changes if one.kind is Kind.RECORD and one.op != "D"}
        async with self._database.background(Role.FEED) as connection:
            await queue_duplicates(connection, sorted(changed))
            if await self._feed.advance(lease, page, connection=connection) is None:
                await connection.rollback()
                return None
            await note_followed(connection, page.nonce if page.last else page.earlier_nonce)
        return len(page.changes)

    async def _fill(self) -> int | None:
        """Queue the next existing records; return how many were looked at, None if all are queued."""
        progress = await read_progress(self._database)
        if not progress.is_filling:
            return None
        async with self._database.background(Role.FEED) as connection:
            keys = await list_existing(connection, progress, limit=PAGE)
            await queue_existing(connection, keys)
        return len(keys)

    async def _note_keys(self) -> int | None:
        """Note the keys of the next queued entities; return of how many, None if all have theirs."""
        async with self._database.background(Role.JOBS) as connection:
            entities = await lock_keyless(connection, limit=PAGE)
            if not entities:
                return None
            tenants = {id_: await self._directory.tenant_by_id(id_) for id_ in {one.group.tenant for one in entities}}
            await note_keys(
                connection, {(one.group.tenant, one.id): _numbers(tenants[one.group.tenant], one) for one in entities}
            )
        return len(entities)


def _numbers(tenant: Tenant, entity: KeylessEntity) -> set[int]:
    keys = keys_of(entity.name)
    return {key_number(tenant, entity.group, key) for key in keys.held} if keys is not None else set()
