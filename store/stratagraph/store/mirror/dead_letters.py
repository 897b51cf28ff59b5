"""Changes set aside: the mirror refuses them, and they must not hold up the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from stratagraph.store.feed.consumer import Kind, Logged
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.postgres.queries import fetch, run

RETRIED = 50  # at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Parked:
    """One of them: what the target said of it, how often it was tried, and when it will be again."""

    tenant: int
    kind: Kind
    id: UUID
    version: int
    error: str
    tries: int
    next_try: datetime


class Parking:
    """What one consumer has set aside."""

    def __init__(self, database: Database, consumer: str) -> None:
        self._database = database
        self._consumer = consumer

    async def park(self, change: Logged, error: str) -> None:
        """Set aside, or put off again: the pause doubles up to an hour."""
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

    async def due(self) -> list[Logged]:
        """Those whose time to be tried again has come, at most RETRIED."""
        async with self._database.background(Role.FEED) as connection:
            rows = await fetch(connection, "fetch_due_dead_letters", consumer=self._consumer, limit=RETRIED)
        return [Logged(**{**row, "kind": Kind(row["kind"]), "seq": 0, "op": "U"}) for row in rows]

    async def forget(self, changes: Sequence[Logged]) -> int:
        """Drop those whose rows have been applied, or that are not to be; returns how many there were."""
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

    async def list(self, *, limit: int) -> list[Parked]:
        """The longest waiting first."""
        async with self._database.background(Role.FEED) as connection:
            rows = await fetch(connection, "list_dead_letters", consumer=self._consumer, limit=limit)
        return [Parked(**{**row, "kind": Kind(row["kind"])}) for row in rows]

    async def retry(self, ids: Sequence[UUID] | None) -> int:
        """Make `ids`, or all, due now; returns how many there are."""
        return await self._of(ids, "retry_dead_letters")

    async def drop(self, ids: Sequence[UUID] | None) -> int:
        """Forget `ids`, or all, for good: the mirror goes without their newest version, and checks will tell."""
        return await self._of(ids, "drop_dead_letters")

    async def _of(self, ids: Sequence[UUID] | None, statement: str) -> int:
        async with self._database.background(Role.FEED) as connection:
            rows = await fetch(
                connection, statement, consumer=self._consumer, everything=ids is None, ids=[*(ids or ())]
            )
        return len(rows)
