"""Keeping the statistics of word search: a consumer of the feed whose target is this very database.

Counting and advancing the cursor are one transaction, so every new record is counted exactly once.
"""

from __future__ import annotations

from stratagraph.store.feed.consumer import Feed, Kind, Lease
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.postgres.queries import run

CONSUMER = "words"  # its cursor is made by the first migration, so that no record is from before it


class WordCounter:
    """Counts the terms of what is new. One worker at a time holds the lease."""

    def __init__(self, database: Database, *, owner: str) -> None:
        self._database = database
        self._feed = Feed(database, CONSUMER)
        self._owner = owner

    async def count_new(self) -> int:
        """Count everything logged so far; returns how many records that were. 0 if another worker holds the lease."""
        await self._feed.tick()
        lease: Lease | None = await self._feed.lease(self._owner)
        counted = 0
        while lease is not None:
            page = await self._feed.page(lease)
            if page is None:
                await self._feed.release(lease)
                break
            fresh = [change for change in page.changes if change.kind is Kind.RECORD and change.version == 1]
            async with self._database.background(Role.FEED) as connection:
                if fresh:
                    await run(
                        connection,
                        "count_words",
                        tenants=[change.tenant for change in fresh],
                        ids=[change.id for change in fresh],
                    )
                lease = await self._feed.advance(lease, page, connection=connection)
                if lease is None:
                    await connection.rollback()
            counted += len(fresh)
        return counted
