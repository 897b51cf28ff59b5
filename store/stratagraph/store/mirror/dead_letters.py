"""Dead letters: changes that the mirror has refused, kept apart so that they do not block the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from stratagraph.store.feed.changes import Kind, LoggedChange
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.postgres.queries import fetch, run

RETRY_BATCH = 50  # dead letters retried at once


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """A change that the mirror refused, with the last error's code, the number of attempts and the time of the next."""

    tenant: int
    kind: Kind
    id: UUID
    version: int
    error: str
    tries: int
    next_try: datetime


class DeadLetters:
    """Stores, lists, retries and deletes the dead letters of one consumer of the feed."""

    def __init__(self, database: Database, consumer: str) -> None:
        self._database = database
        self._consumer = consumer

    async def add(self, change: LoggedChange, error: str) -> None:
        """Store a refused change, or count another failed attempt if its row has a dead letter already.

        The next attempt is due after 10 seconds; the pause doubles with each further one, up to one hour.
        """
        async with self._database.background(Role.FEED) as connection:
            await run(
                connection,
                "upsert_dead_letter",
                consumer=self._consumer,
                tenant=change.tenant,
                kind=int(change.kind),
                id=change.id,
                version=change.version,
                error=error[:500],
            )

    async def fetch_due(self) -> list[LoggedChange]:
        """Return at most RETRY_BATCH changes whose next attempt is due, the longest due first."""
        async with self._database.background(Role.FEED) as connection:
            rows = await fetch(connection, "fetch_due_dead_letters", consumer=self._consumer, limit=RETRY_BATCH)
        return [LoggedChange(**{**row, "kind": Kind(row["kind"]), "seq": 0, "op": "U"}) for row in rows]

    async def delete(self, changes: Sequence[LoggedChange]) -> int:
        """Delete the dead letters of the rows of `changes`, which have been applied; return the number deleted."""
        if not changes:
            return 0
        async with self._database.background(Role.FEED) as connection:
            rows = await fetch(
                connection,
                "delete_dead_letters",
                consumer=self._consumer,
                tenants=[change.tenant for change in changes],
                kinds=[int(change.kind) for change in changes],
                ids=[change.id for change in changes],
            )
        return len(rows)

    async def list(self, *, limit: int) -> list[DeadLetter]:
        """Return at most `limit` dead letters, ordered by the time of their next attempt, due or not."""
        async with self._database.background(Role.FEED) as connection:
            rows = await fetch(connection, "list_dead_letters", consumer=self._consumer, limit=limit)
        return [DeadLetter(**{**row, "kind": Kind(row["kind"])}) for row in rows]

    async def retry(self, ids: Sequence[UUID] | None) -> int:
        """Make the dead letters of the rows `ids`, or all if None, due at once; return the number made due."""
        return await self._run(ids, "retry_dead_letters")

    async def drop(self, ids: Sequence[UUID] | None) -> int:
        """Delete the dead letters of the rows `ids`, or all if None, without applying them; return the number deleted.

        The mirror lacks these versions until the rows change again or are repaired; a check reports them as
        differences.
        """
        return await self._run(ids, "drop_dead_letters")

    async def _run(self, ids: Sequence[UUID] | None, statement: str) -> int:
        async with self._database.background(Role.FEED) as connection:
            rows = await fetch(
                connection, statement, consumer=self._consumer, everything=ids is None, ids=[*(ids or ())]
            )
        return len(rows)
