"""Queueing the entities and facts that are new or have changed, by the change feed."""

from __future__ import annotations

import structlog

from stratagraph.store.feed.changes import Kind
from stratagraph.store.feed.consumer import Feed
from stratagraph.store.feed.leases import Lease
from stratagraph.store.learning.duplicates import (
    begin_filling,
    list_existing,
    note_followed,
    queue_duplicates,
    queue_existing,
    read_progress,
)
from stratagraph.store.postgres.database import Database, Role

CONSUMER = "duplicates"  # of the change feed
PAGE = 2_000  # changes of the feed, or existing records, queued in one transaction
_log = structlog.get_logger(__name__)


class Following:
    """Queues what is to be compared. `owner` names this server as a reader of the change feed.

    Existing records are queued once, in the order of their keys, and again if the change log does not show what has
    changed since it was last read. Each step is a transaction, so that the process may be killed at any point.
    """

    def __init__(self, database: Database, *, owner: str) -> None:
        self._database = database
        self._owner = owner
        self._feed = Feed(database, CONSUMER, rereads=True)

    async def catch_up(self) -> int:
        """Queue everything that was committed before the call; return the number of records queued.

        Returns early if another server reads the feed at present, which then does the same.
        """
        if not await self._feed.positions():
            await begin_filling(self._database)
        await self._feed.register()
        end = await self._feed.take_fresh_snapshot()
        queued = 0
        while not await self._feed.has_passed(end):
            lease = await self._feed.lease(self._owner)
            if lease is None:
                break
            try:
                added = await self._follow(lease)
            finally:
                await self._feed.release(lease)
            if added is None:
                break
            queued += added
        while (added := await self._fill()) is not None:
            queued += added
        return queued

    async def _follow(self, lease: Lease) -> int | None:
        """Queue the records of one page of changes; return how many, None if there is no page or the lease was lost."""
        page = await self._feed.page(lease, limit=PAGE)
        if page is None:
            return None
        progress = await read_progress(self._database)
        if progress.nonce not in (None, page.earlier_nonce):
            _log.warning("the change log was restarted: all records are compared again")
            await begin_filling(self._database)
        changed = {(one.tenant, one.id) for one in page.changes if one.kind is Kind.RECORD and one.op != "D"}
        async with self._database.background(Role.FEED) as connection:
            queued = await queue_duplicates(connection, sorted(changed))
            if await self._feed.advance(lease, page, connection=connection) is None:
                await connection.rollback()
                return None
            await note_followed(connection, page.nonce if page.last else page.earlier_nonce)
        return queued

    async def _fill(self) -> int | None:
        """Queue the next existing records; return how many of them are new, None if all are queued."""
        progress = await read_progress(self._database)
        if not progress.is_filling:
            return None
        async with self._database.background(Role.FEED) as connection:
            keys = await list_existing(connection, progress, limit=PAGE)
            return await queue_existing(connection, keys)
