"""What the mirror reads: rows as they are now, across tenants, by the worker that keeps the mirror and nobody else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import func, select, text, update
from sqlalchemy.dialects.postgresql import insert

from stratagraph.store import tables
from stratagraph.store.database import Database, Role, fetch, run
from stratagraph.store.feed import Kind, Logged, incarnation

SCAN_PAGE = 1_000
_FIRST = (0, UUID(int=0))


class MirrorSource:
    """The truth, as the mirror's worker sees it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def nodes(self, changes: Sequence[Logged]) -> list[dict[str, Any]]:
        return await self._rows("mirror_nodes", changes)

    async def relations(self, changes: Sequence[Logged]) -> list[dict[str, Any]]:
        return await self._rows("mirror_relations", changes)

    async def _rows(self, statement: str, changes: Sequence[Logged]) -> list[dict[str, Any]]:
        if not changes:
            return []
        async with self._database.surveying(Role.FEED) as connection:
            rows = await fetch(
                connection,
                statement,
                tenants=[change.tenant for change in changes],
                ids=[change.id for change in changes],
            )
            return [dict(row) for row in rows]

    async def scan(self, kind: Kind) -> AsyncIterator[list[Logged]]:
        """Everything of one kind in key order, page by page, each page as it is when it is read."""
        statement = "scan_records" if kind is Kind.RECORD else "scan_relations"
        tenant, id_ = _FIRST
        while True:
            async with self._database.surveying(Role.FEED) as connection:
                rows = await fetch(connection, statement, tenant=tenant, id=id_, page=SCAN_PAGE)
            if not rows:
                return
            yield [
                Logged(seq=0, tenant=row["tenant"], kind=kind, id=row["id"], version=row["version"], op="U")
                for row in rows
            ]
            tenant, id_ = rows[-1]["tenant"], rows[-1]["id"]

    async def counts(self) -> tuple[int, int]:
        """Records and live relations there are."""
        async with self._database.surveying(Role.FEED) as connection:
            row = (await fetch(connection, "mirror_counts"))[0]
        return row["records"], row["relations"]

    async def incarnation(self) -> str:
        async with self._database.working(Role.FEED) as connection:
            return await incarnation(connection)

    async def tick_nonce(self, tick: int) -> UUID | None:
        table = tables.sync_tick
        async with self._database.working(Role.FEED) as connection:
            return (await connection.execute(select(table.c.nonce).where(table.c.id == tick))).scalar_one_or_none()

    async def newest_tick(self, *, consumer: str) -> tuple[int, UUID]:
        """The tick a consumer that has read everything may continue from; its cursors are put there."""
        async with self._database.working(Role.FEED) as connection:
            row = (
                await connection.execute(
                    text("INSERT INTO sync_tick (snap) VALUES (pg_current_snapshot()) RETURNING id, nonce")
                )
            ).one()
            await connection.execute(
                update(tables.sync_cursor)
                .where(tables.sync_cursor.c.consumer == consumer)
                .values(tick=row.id, win_tick=None, win_seq=0)
            )
        return row.id, row.nonce

    async def active_generation(self, mirror: str) -> int | None:
        table = tables.mirror_generation
        async with self._database.working(Role.FEED) as connection:
            newest: int | None = (
                await connection.execute(
                    select(func.max(table.c.generation)).where(table.c.mirror == mirror, table.c.state == "active")
                )
            ).scalar_one_or_none()
        return newest

    async def begin_generation(self, mirror: str, incarnation: str, *, at_least: int) -> int:
        """A new generation, higher than any that this database or the mirror itself has seen."""
        table = tables.mirror_generation
        async with self._database.working(Role.FEED) as connection:
            newest = (
                await connection.execute(select(func.max(table.c.generation)).where(table.c.mirror == mirror))
            ).scalar_one_or_none()
            generation = max(newest or 0, at_least) + 1
            await connection.execute(
                insert(table).values(mirror=mirror, generation=generation, state="building", incarnation=incarnation)
            )
        return generation

    async def activate_generation(self, mirror: str, generation: int) -> None:
        table = tables.mirror_generation
        async with self._database.working(Role.FEED) as connection:
            await connection.execute(
                update(table).where(table.c.mirror == mirror, table.c.generation < generation).values(state="retired")
            )
            await connection.execute(
                update(table)
                .where(table.c.mirror == mirror, table.c.generation == generation)
                .values(state="active", completed_at=func.clock_timestamp())
            )

    async def park(self, consumer: str, change: Logged, error: str) -> None:
        """Set aside a change that the mirror refuses, so that it does not hold up the others."""
        async with self._database.working(Role.FEED) as connection:
            await run(
                connection,
                "park_change",
                consumer=consumer,
                tenant=change.tenant,
                kind=int(change.kind),
                id=change.id,
                version=change.version,
                error=error[:500],
            )

    async def due_parked(self, consumer: str) -> list[Logged]:
        async with self._database.working(Role.FEED) as connection:
            rows = await fetch(connection, "due_parked", consumer=consumer)
        return [Logged(**{**row, "kind": Kind(row["kind"]), "seq": 0, "op": "U"}) for row in rows]

    async def unpark(self, consumer: str, changes: Sequence[Logged]) -> None:
        """Forget set-aside changes whose rows have been applied."""
        if not changes:
            return
        async with self._database.working(Role.FEED) as connection:
            await connection.execute(
                text(
                    "DELETE FROM sync_parked p"
                    " USING unnest(CAST(:tenants AS bigint[]), CAST(:ids AS uuid[])) AS a(tenant, id)"
                    " WHERE p.consumer = :consumer AND p.tenant = a.tenant AND p.id = a.id"
                ),
                {
                    "consumer": consumer,
                    "tenants": [change.tenant for change in changes],
                    "ids": [change.id for change in changes],
                },
            )
