"""Maintain the statistics of word search, as a consumer of the feed whose target is the same database.

Counting and advancing the cursor happen in one transaction, so every new record is counted exactly once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.feed.changes import Kind
from stratagraph.store.feed.consumer import Feed
from stratagraph.store.feed.leases import Lease
from stratagraph.store.jobs.isolation import process_or_set_aside
from stratagraph.store.jobs.set_aside import Key, due_set_aside
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.postgres.queries import run

JOB = "count-words"
RETRIED = 50  # records that were set aside, in one call
CONSUMER = "words"  # the first migration creates its cursor, so no record is older than the cursor


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """The numbers of records that one call counted and set aside."""

    records: int
    set_aside: int


class WordCounter:
    """Counts, per tenant and scope, the documents and those with each term. One worker at a time has the lease."""

    def __init__(self, database: Database, *, owner: str) -> None:
        self._database = database
        self._feed = Feed(database, CONSUMER)
        self._owner = owner

    async def count_new(self, now: datetime) -> Counted:
        """Add the records that are new in the change log to the statistics of word search.

        Counts nothing if another worker has the lease. A record that cannot be counted is set aside and tried again in
        a later call.
        """
        await self._feed.take_snapshot()
        lease: Lease | None = await self._feed.lease(self._owner)
        counted = set_aside = 0
        if lease is not None:
            counted += await self._retry(now)
        while lease is not None:
            page = await self._feed.page(lease)
            if page is None:
                await self._feed.release(lease)
                break
            new = [
                (change.tenant, change.id)
                for change in page.changes
                if change.kind is Kind.RECORD and change.version == 1 and change.op == "U"
            ]
            async with self._database.background(Role.FEED) as connection:
                failed = await self._count(connection, new, now)
                lease = await self._feed.advance(lease, page, connection=connection)
                if lease is None:  # another worker has it: this page is its own to count
                    await connection.rollback()
                    break
            counted += len(new) - failed
            set_aside += failed
        return Counted(records=counted, set_aside=set_aside)

    async def _retry(self, now: datetime) -> int:
        """Count records that were set aside and are due again; return how many were counted."""
        async with self._database.background(Role.FEED) as connection:
            keys = await due_set_aside(connection, JOB, now=now, limit=RETRIED)
            return len(keys) - await self._count(connection, keys, now)

    @staticmethod
    async def _count(connection: AsyncConnection, keys: Sequence[Key], now: datetime) -> int:
        """Count the words of new records; return how many records were set aside."""

        async def count(part: Sequence[Key]) -> None:
            await run(connection, "count_words", tenants=[tenant for tenant, _ in part], ids=[id_ for _, id_ in part])

        _, failures = await process_or_set_aside(connection, JOB, keys, count, key=lambda key: key, at=now)
        return len(failures)
