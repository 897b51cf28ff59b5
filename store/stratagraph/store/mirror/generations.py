"""Generations of a mirror: each writes everything afresh, in place, and turns away whoever writes for an older one.

A generation is the whole mirror's or one tenant's. While one is `building`, the mirror does not show the truth (it is
new, was emptied, is an old copy or of another database); while one is `refreshing`, it does, and is written again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.feed.consumer import LEASE_S
from stratagraph.store.feed.snapshots import incarnation
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.postgres.queries import fetch, run

Begun = Literal["building", "refreshing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """Which generation rows carry: the whole mirror's, or a later one of their tenant's."""

    whole: int = 0
    own: dict[int, int] = field(default_factory=dict)

    def of(self, tenant: int) -> int:
        return max(self.whole, self.own.get(tenant, 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """One that has been begun. `tenant` None is all; `total` is about how many rows there were when it began."""

    number: int
    tenant: int | None
    state: Begun
    reason: str
    done: int
    total: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Where whoever follows the feed stands from a generation's beginning on."""

    tick: int
    nonce: UUID
    incarnation: str


class Generations:
    """The generations of one mirror, as the truth knows them."""

    def __init__(self, database: Database, mirror: str) -> None:
        self._database = database
        self.mirror = mirror

    async def incarnation(self) -> str:
        async with self._database.background(Role.FEED) as connection:
            return await incarnation(connection)

    async def numbers(self) -> Numbers:
        async with self._database.background(Role.FEED) as connection:
            rows = await fetch(connection, "generations_of", mirror=self.mirror)
        by_tenant = {row["tenant"]: row["generation"] for row in rows}
        return Numbers(whole=by_tenant.pop(None, 0), own=by_tenant)

    async def begin(
        self, state: Begun, *, reason: str, at_least: int, tenant: int | None = None, total: int | None = None
    ) -> tuple[int, Start | None]:
        """Begin a generation. With `building`, everybody who follows the feed stands at its newest tick from now on;
        otherwise they go on where they are, and there is no start.
        """
        async with self._database.background(Role.FEED) as connection:
            await connection.execute(text("SELECT pg_advisory_xact_lock(7002)"))
            row = (
                await fetch(
                    connection,
                    "begin_generation",
                    mirror=self.mirror,
                    at_least=at_least,
                    state=state,
                    incarnation=await incarnation(connection),
                    tenant=tenant,
                    reason=reason,
                    total=total,
                )
            )[0]
            start = await self._restart(connection) if state == "building" else None
        return row["generation"], start

    async def _restart(self, connection: AsyncConnection) -> Start:
        newest = (await fetch(connection, "restart_cursors", consumer=self.mirror))[0]
        return Start(tick=newest["id"], nonce=newest["nonce"], incarnation=await incarnation(connection))

    async def open(self) -> list[Generation]:
        """Those that have been begun and not completed, oldest first."""
        async with self._database.background(Role.FEED) as connection:
            rows = await fetch(connection, "open_generations", mirror=self.mirror)
        return [
            Generation(
                number=row["generation"],
                tenant=row["tenant"],
                state=row["state"],
                reason=row["reason"],
                done=row["done"],
                total=row["total"],
            )
            for row in rows
        ]

    async def tell_progress(self, number: int, done: int) -> None:
        async with self._database.background(Role.FEED) as connection:
            await run(connection, "update_progress", mirror=self.mirror, generation=number, done=done)

    async def complete(self, number: int) -> None:
        """All rows carry it: older ones have ended."""
        async with self._database.background(Role.FEED) as connection:
            await run(connection, "complete_generation", mirror=self.mirror, generation=number)

    async def newest(self) -> dict[str, object] | None:
        """The whole mirror's newest generation, for people: number, state, reason, times, progress."""
        async with self._database.background(Role.FEED) as connection:
            rows = await fetch(connection, "newest_generation", mirror=self.mirror)
        return dict(rows[0]) if rows else None

    async def rows(self, number: int) -> int:
        """How many rows were written under a generation."""
        async with self._database.background(Role.FEED) as connection:
            rows = await fetch(connection, "rows_of_generation", mirror=self.mirror, generation=number)
        return int(rows[0]["done"]) if rows else 0

    async def keep(self, owner: str) -> bool:
        """Take or keep the right to keep this mirror, for the time of a lease. False while another has it."""
        async with self._database.background(Role.FEED) as connection:
            return bool(await fetch(connection, "lease_leader", mirror=self.mirror, owner=owner, lease_s=LEASE_S))

    async def stop_keeping(self, owner: str) -> None:
        async with self._database.background(Role.FEED) as connection:
            await run(connection, "release_leader", mirror=self.mirror, owner=owner)
