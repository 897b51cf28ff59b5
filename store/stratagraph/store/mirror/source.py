"""The rows of Postgres that the mirror shows, read as they are now, across tenants, by the mirror's workers only."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import select

from stratagraph.store.feed.changes import Change, Kind, LoggedChange, log_changes
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.postgres.queries import fetch
from stratagraph.store.postgres.schema import tables

FIRST_ID = UUID(int=0)
_LAST_TENANT = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanPosition:
    """The key after which the next page of a scan begins."""

    tenant: int
    id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketDigest:
    """The sums by which a bucket is compared: the number of its rows, and the sums of their versions and digests.

    `last` is the last id of the bucket, None for the last bucket of a tenant, which has no end.
    """

    count: int
    versions: int
    digests: int
    last: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RowDigest:
    """The version of a row in one of the two stores, and a 32-bit digest of all that the mirror shows of it."""

    version: int
    digest: int


class MirrorSource:
    """Reads from Postgres the rows that the mirror shows, across tenants.

    `names_up_to` is the highest sensitivity of records whose names the mirror shows.
    """

    def __init__(self, database: Database, *, names_up_to: Sensitivity) -> None:
        self._database = database
        self.names_up_to = names_up_to

    async def rows(self, kind: Kind, keys: Sequence[tuple[int, UUID]]) -> list[dict[str, Any]]:
        """Return the rows with the given keys (tenant, id), read in one snapshot. Missing rows are left out."""
        if not keys:
            return []
        async with self._database.background_snapshot(Role.FEED) as connection:
            return await fetch(
                connection,
                "mirror_nodes" if kind is Kind.RECORD else "mirror_relations",
                tenants=[tenant for tenant, _ in keys],
                ids=[id_ for _, id_ in keys],
                **self._names(kind),
            )

    async def scan(
        self, kind: Kind, after: ScanPosition | None, *, tenant: int | None, page: int
    ) -> tuple[list[dict[str, Any]], ScanPosition | None]:
        """Return the next rows after `after` in key order, `page` at most, and the position of the page that follows.

        `after` None begins at the first row, `tenant` None reads all tenants. After the last page the returned position
        is None. Ended relations are left out.
        """
        position = after or ScanPosition(tenant=tenant or 0, id=FIRST_ID)
        async with self._database.background_snapshot(Role.FEED) as connection:
            rows = await fetch(
                connection,
                "scan_nodes" if kind is Kind.RECORD else "scan_relations",
                tenant=position.tenant,
                id=position.id,
                last_tenant=_LAST_TENANT if tenant is None else tenant,
                page=page,
                **self._names(kind),
            )
        end = ScanPosition(tenant=rows[-1]["tenant"], id=rows[-1]["id"]) if len(rows) == page else None
        return rows, end

    async def counts(self, tenant: int | None = None) -> tuple[int, int]:
        """Return the numbers of records and of relations that have not ended, of one tenant or, with None, of all."""
        async with self._database.background_snapshot(Role.FEED) as connection:
            row = (await fetch(connection, "mirror_counts", tenant=tenant))[0]
        return row["records"], row["relations"]

    async def estimate(self, tenant: int | None) -> int:
        """Return the number of rows to write in a rebuild: counted for one tenant, with None the planner's estimate."""
        if tenant is not None:
            return sum(await self.counts(tenant))
        async with self._database.background_snapshot(Role.FEED) as connection:
            return int((await fetch(connection, "estimate_rows"))[0]["rows"])

    async def next_tenant(self, after: int) -> int | None:
        """Return the lowest tenant number above `after` that has a record or a relation; None if there is none."""
        async with self._database.background_snapshot(Role.FEED) as connection:
            found: int | None = (await fetch(connection, "next_mirrored_tenant", after=after))[0]["tenant"]
        return found

    async def bucket_digest(self, kind: Kind, tenant: int, after: UUID, *, size: int) -> BucketDigest:
        """Return the sums of a tenant's next `size` rows of `kind` after the id `after`, in id order."""
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
        return BucketDigest(
            count=row["count"],
            versions=row["versions"],
            digests=row["digests"],
            last=row["last"] if row["count"] == size else None,
        )

    async def row_digests(self, kind: Kind, tenant: int, after: UUID, upto: UUID | None) -> dict[UUID, RowDigest]:
        """Return the version and digest of each row of a bucket, keyed by id.

        The bucket has the ids above `after` and, unless `upto` is None, up to and including `upto`.
        """
        async with self._database.background_snapshot(Role.FEED) as connection:
            rows = await fetch(
                connection,
                "list_nodes" if kind is Kind.RECORD else "list_relations",
                tenant=tenant,
                after=after,
                upto=upto,
                **self._names(kind),
            )
        return {row["id"]: RowDigest(version=row["version"], digest=row["digest"]) for row in rows}

    async def existing(self, kind: Kind, keys: Sequence[tuple[int, UUID]]) -> dict[tuple[int, UUID], int]:
        """Return those of the keys (tenant, id) of which the mirror shows a row, with the number of its predicate.

        For records the number is 0. Relations that have ended are left out.
        """
        if not keys:
            return {}
        async with self._database.background_snapshot(Role.FEED) as connection:
            rows = await fetch(
                connection,
                "existing_records" if kind is Kind.RECORD else "existing_relations",
                tenants=[tenant for tenant, _ in keys],
                ids=[id_ for _, id_ in keys],
            )
        return {(row["tenant"], row["id"]): row["predicate"] for row in rows}

    async def snapshot_nonces(self, snapshots: Collection[int]) -> dict[int, UUID]:
        """Return the nonces of the snapshots with the given numbers, keyed by number; missing ones are left out."""
        table = tables.sync_snapshot
        async with self._database.background(Role.FEED) as connection:
            rows = await connection.execute(select(table.c.id, table.c.nonce).where(table.c.id.in_(snapshots)))
            return {row.id: row.nonce for row in rows}

    async def log_repairs(self, tenant: int, changes: Sequence[Change]) -> None:
        """Append repairs of a tenant's rows to the change log, for the mirror's workers to apply."""
        async with self._database.background(Role.FEED) as connection:
            await log_changes(connection, tenant, changes)

    def _names(self, kind: Kind) -> dict[str, int]:
        return {"names_up_to": int(self.names_up_to)} if kind is Kind.RECORD else {}


def keys_of(changes: Sequence[LoggedChange], kind: Kind) -> list[tuple[int, UUID]]:
    """Return the keys (tenant, id) of the changes of one kind."""
    return [(change.tenant, change.id) for change in changes if change.kind is kind]
