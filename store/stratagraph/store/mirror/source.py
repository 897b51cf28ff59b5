"""What the mirror reads: rows as they are now, across tenants, by whoever keeps the mirror and nobody else."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import select

from stratagraph.store.feed.consumer import Change, Kind, Logged, log_changes
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.postgres import tables
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.postgres.queries import fetch

FIRST_ID = UUID(int=0)
_LAST_TENANT = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A row's key in the order of a scan; the next page begins after it."""

    tenant: int
    id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """A bucket in one number each: rows, their versions, digests of all that the mirror shows of them.

    `last` is the bucket's last key, None where it holds the last rows there are, and so has no end.
    """

    count: int
    versions: int
    digests: int
    last: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What one side says of a row: its version, and the digest of what the mirror shows of it."""

    version: int
    digest: int


class MirrorSource:
    """The truth, as the mirror's keepers see it. `names_up_to` is the highest level whose names it shows."""

    def __init__(self, database: Database, *, names_up_to: Sensitivity) -> None:
        self._database = database
        self.names_up_to = names_up_to

    async def rows(self, kind: Kind, keys: Sequence[tuple[int, UUID]]) -> list[dict[str, Any]]:
        """The rows with these keys (tenant, id) that are still there, in one snapshot."""
        if not keys:
            return []
        async with self._database.background_snapshot(Role.FEED) as connection:
            rows = await fetch(
                connection,
                "mirror_nodes" if kind is Kind.RECORD else "mirror_relations",
                tenants=[tenant for tenant, _ in keys],
                ids=[id_ for _, id_ in keys],
                **self._names(kind),
            )
            return [dict(row) for row in rows]

    async def scan(
        self, kind: Kind, after: Place | None, *, tenant: int | None, page: int
    ) -> tuple[list[dict[str, Any]], Place | None]:
        """The next rows in key order, of one tenant or of all, and where the page after them begins; None at the
        end."""
        place = after or Place(tenant=tenant or 0, id=FIRST_ID)
        async with self._database.background_snapshot(Role.FEED) as connection:
            rows = await fetch(
                connection,
                "scan_nodes" if kind is Kind.RECORD else "scan_relations",
                tenant=place.tenant,
                id=place.id,
                last_tenant=_LAST_TENANT if tenant is None else tenant,
                page=page,
                **self._names(kind),
            )
        end = Place(tenant=rows[-1]["tenant"], id=rows[-1]["id"]) if len(rows) == page else None
        return [dict(row) for row in rows], end

    async def counts(self, tenant: int | None = None) -> tuple[int, int]:
        """Records and live relations there are."""
        async with self._database.background_snapshot(Role.FEED) as connection:
            row = (await fetch(connection, "mirror_counts", tenant=tenant))[0]
        return row["records"], row["relations"]

    async def estimate(self, tenant: int | None) -> int:
        """About how many rows a scan will meet: counted for one tenant, the planner's figure for all."""
        if tenant is not None:
            return sum(await self.counts(tenant))
        async with self._database.background_snapshot(Role.FEED) as connection:
            return int((await fetch(connection, "estimate_rows"))[0]["rows"])

    async def next_tenant(self, after: int) -> int | None:
        """The next number of a tenant that has anything to show."""
        async with self._database.background_snapshot(Role.FEED) as connection:
            found: int | None = (await fetch(connection, "next_mirrored_tenant", after=after))[0]["tenant"]
        return found

    async def sums(self, kind: Kind, tenant: int, after: UUID, *, size: int) -> Sums:
        """The next bucket of a tenant, in key order."""
        async with self._database.background_snapshot(Role.FEED) as connection:
            row = (
                await fetch(
                    connection,
                    "sum_nodes" if kind is Kind.RECORD else "sum_relations",
                    tenant=tenant,
                    after=after,
                    size=size,
                    **self._names(kind),
                )
            )[0]
        return Sums(
            count=row["count"],
            versions=row["versions"],
            digests=row["digests"],
            last=row["last"] if row["count"] == size else None,
        )

    async def told(self, kind: Kind, tenant: int, after: UUID, upto: UUID | None) -> dict[UUID, Told]:
        """A bucket's rows one by one."""
        async with self._database.background_snapshot(Role.FEED) as connection:
            rows = await fetch(
                connection,
                "list_nodes" if kind is Kind.RECORD else "list_relations",
                tenant=tenant,
                after=after,
                upto=upto,
                **self._names(kind),
            )
        return {row["id"]: Told(version=row["version"], digest=row["digest"]) for row in rows}

    async def tick_nonces(self, ticks: Collection[int]) -> dict[int, UUID]:
        """The nonces of those ticks that there are."""
        table = tables.sync_tick
        async with self._database.background(Role.FEED) as connection:
            rows = await connection.execute(select(table.c.id, table.c.nonce).where(table.c.id.in_(ticks)))
            return {row.id: row.nonce for row in rows}

    async def ask_again(self, tenant: int, changes: Sequence[Change]) -> None:
        """Log repairs: the mirror is written by whoever follows the feed, and by nobody else."""
        async with self._database.background(Role.FEED) as connection:
            await log_changes(connection, tenant, changes)

    def _names(self, kind: Kind) -> dict[str, int]:
        return {"names_up_to": int(self.names_up_to)} if kind is Kind.RECORD else {}


def keys_of(changes: Sequence[Logged], kind: Kind) -> list[tuple[int, UUID]]:
    return [(change.tenant, change.id) for change in changes if change.kind is kind]
