"""Generations of a mirror: each rewrites its rows in place, and writers of an older one are refused.

A generation covers the whole mirror or one tenant. While one is `building`, the mirror must not answer: it is new, was
emptied, is an old copy, or belongs to another database. While one is `refreshing`, the mirror agrees with Postgres,
answers, and is rewritten. While one is `rewinding`, the mirror is an old copy that receives the changes since, and must
not answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal
from uuid import UUID

from sqlalchemy import select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.feed.leases import LEASE_S
from stratagraph.store.feed.snapshots import hold_snapshots, incarnation
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.postgres.queries import fetch, run
from stratagraph.store.postgres.schema import tables

OpenState = Literal["building", "refreshing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationNumbers:
    """The generation numbers that the mirror's rows must have: that of the whole mirror, or a later one of a tenant."""

    whole: int = 0
    by_tenant: dict[int, int] = field(default_factory=dict)

    def of(self, tenant: int) -> int:
        """Return the generation number that the rows of a tenant must have."""
        return max(self.whole, self.by_tenant.get(tenant, 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """A generation that has begun and is not complete.

    `tenant` is None for the whole mirror. `done` is the number of rows written, `total` an estimate of all its rows.
    """

    number: int
    tenant: int | None
    state: OpenState
    reason: str
    done: int
    total: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StartPosition:
    """The position in the feed to which all cursors of the mirror are moved when a `building` generation begins."""

    snapshot: int
    nonce: UUID
    incarnation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewound:
    """A mirror that was an old copy and is up to date again: `changes` were applied in `seconds`."""

    changes: int
    seconds: float


class Generations:
    """Begins, tracks and completes the generations of one mirror, and leases its leadership. All is in Postgres."""

    def __init__(self, database: Database, mirror: str) -> None:
        self._database = database
        self.mirror = mirror

    async def incarnation(self) -> str:
        """Return the incarnation of the database."""
        async with self._database.background(Role.FEED) as connection:
            return await incarnation(connection)

    async def numbers(self) -> GenerationNumbers:
        """Return the generation numbers that the mirror's rows must have now."""
        async with self._database.background(Role.FEED) as connection:
            rows = await fetch(connection, "generations_of", mirror=self.mirror)
        by_tenant = {row["tenant"]: row["generation"] for row in rows}
        return GenerationNumbers(whole=by_tenant.pop(None, 0), by_tenant=by_tenant)

    async def begin(
        self, state: OpenState, *, reason: str, at_least: int, tenant: int | None = None, total: int | None = None
    ) -> tuple[int, StartPosition | None]:
        """Begin a generation of one tenant or, with None, the whole mirror; return its number and start position.

        The number is greater than `at_least` and all earlier ones. With `building`, all cursors of the mirror move to
        the newest snapshot, the start position, and their leases end. With `refreshing`, the cursors do not move and
        the start position is None. `total` is an estimate of the rows to write.
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
            start = await self._restart_cursors(connection) if state == "building" else None
        return row["generation"], start

    async def _restart_cursors(self, connection: AsyncConnection) -> StartPosition:
        newest = (await fetch(connection, "restart_cursors", consumer=self.mirror))[0]
        return StartPosition(snapshot=newest["id"], nonce=newest["nonce"], incarnation=await incarnation(connection))

    async def rewind(self, number: int, to: Mapping[int, int], *, most: int) -> int | None:
        """Move cursors back to the snapshots that a copy of the mirror has, and return how many changes follow them.

        `to` has a snapshot for each cursor that is to move, and `number` is the generation of the copy's rows. From
        then on the mirror must not answer until `end_rewind` finds that all changes are applied. Returns None, and
        changes nothing, if a snapshot is no longer stored, so that the log may lack changes after it, if there are
        `most` changes or more, or if the generation is not complete or not the newest.
        """
        async with self._database.background(Role.FEED) as connection:
            await hold_snapshots(connection)
            stored = await connection.execute(
                select(tables.sync_snapshot.c.id).where(tables.sync_snapshot.c.id.in_(set(to.values())))
            )
            if set(stored.scalars()) != set(to.values()):
                return None
            cursors = {"cursors": list(to), "snapshots": list(to.values())}
            await run(connection, "rewind_cursors", consumer=self.mirror, **cursors)
            changes = int((await fetch(connection, "count_unread", consumer=self.mirror, most=most))[0]["changes"])
            begun = {"mirror": self.mirror, "generation": number, "changes": changes}
            if changes >= most or not await fetch(connection, "begin_rewind", **begun):
                await connection.rollback()
                return None
            return changes

    async def end_rewind(self) -> Rewound | None:
        """Let a rewound mirror answer again if all changes are applied; return what was applied, None if it is not."""
        async with self._database.background(Role.FEED) as connection:
            rows = await fetch(connection, "end_rewind", mirror=self.mirror)
        return Rewound(changes=rows[0]["changes"], seconds=rows[0]["seconds"]) if rows else None

    async def unfinished(self) -> list[Generation]:
        """Return the generations that have begun and are not complete, oldest first.

        One that a newer generation of the whole mirror or of the same tenant replaces is left out.
        """
        async with self._database.background(Role.FEED) as connection:
            rows = await fetch(connection, "unfinished_generations", mirror=self.mirror)
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

    async def update_progress(self, number: int, done: int) -> None:
        """Store `done` as the number of rows written under the generation `number`."""
        async with self._database.background(Role.FEED) as connection:
            await run(connection, "update_progress", mirror=self.mirror, generation=number, done=done)

    async def complete(self, number: int) -> None:
        """Mark a generation as active, because all its rows are written, and retire the older ones that it replaces.

        They are those of the same tenant, or all for the whole mirror. Does nothing for a retired generation.
        """
        async with self._database.background(Role.FEED) as connection:
            await run(connection, "complete_generation", mirror=self.mirror, generation=number)

    async def newest(self) -> dict[str, object] | None:
        """Return the newest generation of the whole mirror, None if there is none.

        The keys are generation, state, reason, done, total, started_at, completed_at, rewound_at and rewound_changes.
        """
        async with self._database.background(Role.FEED) as connection:
            rows = await fetch(connection, "newest_generation", mirror=self.mirror)
        return dict(rows[0]) if rows else None

    async def rows(self, number: int) -> int:
        """Return the number of rows written under the generation `number`; 0 if there is none of this number."""
        async with self._database.background(Role.FEED) as connection:
            rows = await fetch(connection, "rows_of_generation", mirror=self.mirror, generation=number)
        return int(rows[0]["done"]) if rows else 0

    async def acquire_leadership(self, owner: str) -> bool:
        """Make `owner` the mirror's leader for LEASE_S seconds, or extend its lease. False if another worker leads."""
        async with self._database.background(Role.FEED) as connection:
            return bool(await fetch(connection, "lease_leader", mirror=self.mirror, owner=owner, lease_s=LEASE_S))

    async def record_maintenance(self, owner: str) -> None:
        """Store that the leader `owner` has maintained the mirror now. Does nothing if another worker leads."""
        async with self._database.background(Role.FEED) as connection:
            await connection.execute(text("SET LOCAL synchronous_commit = off"))  # a lost status is stored again soon
            await run(connection, "record_maintenance", mirror=self.mirror, owner=owner)

    async def release_leadership(self, owner: str) -> None:
        """End the leader's lease if `owner` has it, so that another worker can lead at once."""
        async with self._database.background(Role.FEED) as connection:
            await run(connection, "release_leader", mirror=self.mirror, owner=owner)
