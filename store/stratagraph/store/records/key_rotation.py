"""New keys for old: data keys by sealing everything anew, the master key by wrapping the other keys anew.

A rotation of data keys may be killed at any point and run again: what an old key sealed is found by its number. While
it runs, readers find either key and writers take the newest. An old key is dropped under the lock that writers who
seal with it hold, once one snapshot of all tables shows nothing that names it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Table, delete, func, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.artifacts.artifacts import reseal_artifacts
from stratagraph.store.keys.sealing.contents import key_columns, reseal
from stratagraph.store.keys.sealing.envelope import KEY_ID_AT, key_mark
from stratagraph.store.keys.sealing.vault import Sealer
from stratagraph.store.keys.tenancy import Directory, Tenant
from stratagraph.store.model.clock import RESOLUTION, Clock
from stratagraph.store.model.errors import StoreUnavailable
from stratagraph.store.postgres import tables
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.postgres.queries import fetch
from stratagraph.store.records.writing import Edit, finish, update_records

BATCH = 200  # rows sealed anew in one transaction; writers of these rows wait for it
ATTEMPTS = 5  # of a batch that met a deadlock or a lock that is held for long
_SEALED = (tables.record, tables.record_history, tables.audit_note, tables.candidate)

Advance = Callable[[int], None]
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyUse:
    """A data key, and how many rows it seals in each table."""

    tenant: str
    id: int
    created_at: datetime
    wrapped_by: str
    newest: bool
    rows: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotated:
    """What a rotation did to one tenant. `continued` tells that it took up one that had been interrupted."""

    tenant: str
    key: int
    resealed: int
    dropped: int
    continued: bool


class Rotation:
    """Lists, rotates and wraps anew. Any number of services may run meanwhile."""

    def __init__(self, database: Database, directory: Directory, clock: Clock) -> None:
        self._database = database
        self._directory = directory
        self._clock = clock

    async def tenants(self, name: str | None = None) -> list[Tenant]:
        """All of them, or the one of that name."""
        async with self._database.background(Role.KEYS) as connection:
            statement = select(tables.tenant.c.name).order_by(tables.tenant.c.name)
            if name is not None:
                statement = statement.where(tables.tenant.c.name == name)
            names = (await connection.execute(statement)).scalars().all()
        found = [await self._directory.tenant(one) for one in names]
        return [tenant for tenant in found if tenant is not None]

    async def uses(self) -> list[KeyUse]:
        """Every data key, by tenant and number. Reads all that is sealed."""
        found = []
        for tenant in await self.tenants():
            async with self._database.background_snapshot(Role.KEYS) as connection:
                table = tables.data_key
                keys = (
                    await connection.execute(select(table).where(table.c.tenant == tenant.id).order_by(table.c.id))
                ).all()
                counts = await fetch(connection, "count_sealed", tenant=tenant.id)
            found += [
                KeyUse(
                    tenant=tenant.name,
                    id=key.id,
                    created_at=key.created_at,
                    wrapped_by=key.wrapped_by,
                    newest=key.id == keys[-1].id,
                    rows={row["kind"]: row["sealed"] for row in counts if bytes(row["mark"]) == key_mark(key.id)},
                )
                for key in keys
            ]
        return found

    async def waiting(self, tenant: Tenant) -> int | None:
        """How many rows a rotation of this tenant would seal; None where it has no key and needs none."""
        async with self._database.background_snapshot(Role.KEYS) as connection:
            keys = await self._keys(connection, tenant)
            counts = await fetch(connection, "count_sealed", tenant=tenant.id)
            plain: int = (
                await connection.execute(select(func.count()).select_from(tables.record).where(*self._plain(tenant)))
            ).scalar_one()
        if not keys and not plain:
            return None
        # With one key, that one is the old one; with more, the newest is that of a rotation that goes on.
        kept = key_mark(keys[-1]) if len(keys) > 1 else None
        return plain + sum(int(row["sealed"]) for row in counts if bytes(row["mark"]) != kept)

    async def rotate(self, tenant: Tenant, advance: Advance) -> Rotated:
        """Make a new data key, seal everything of the tenant with it, drop the old ones.

        Where more than one key is there already, an earlier rotation was interrupted, and this one goes on with it.
        What lies plain at or above the level, from before it was set, is sealed too. Raises StoreUnavailable.
        """
        async with self._database.background(Role.KEYS) as connection:
            keys = await self._keys(connection, tenant)
        continued = len(keys) > 1
        if not continued:
            await tenant.keyring.add_key(after=keys[-1] if keys else 0)
        resealed = await self._seal_plain(tenant, advance)
        dropped = 0
        while True:
            resealed += await self._reseal(tenant, advance)
            done = await self._drop_old(tenant)
            if done is not None:
                dropped += done
                break
        async with self._database.background(Role.KEYS) as connection:
            newest = (await self._keys(connection, tenant))[-1]
        return Rotated(tenant=tenant.name, key=newest, resealed=resealed, dropped=dropped, continued=continued)

    async def rewrap(self, advance: Advance) -> int:
        """Wrap every data key and index key that another master key wraps with the current one; returns how many."""
        vault, data, owners = self._directory.vault, tables.data_key, tables.tenant
        assert vault.master is not None  # the caller has given one
        name, done = vault.master.name, 0
        async with self._database.background(Role.KEYS) as connection:
            rows = (
                await connection.execute(
                    select(data).where(data.c.wrapped_by != name).order_by(data.c.tenant, data.c.id).with_for_update()
                )
            ).all()
            for row in rows:
                wrapped, by = await vault.wrapped(await vault.unwrapped(bytes(row.wrapped), row.wrapped_by))
                await connection.execute(
                    update(data)
                    .where(data.c.tenant == row.tenant, data.c.id == row.id)
                    .values(wrapped=wrapped, wrapped_by=by)
                )
                done += 1
                advance(1)
            others = (
                await connection.execute(
                    select(owners)
                    .where(owners.c.wrapped_by != name)
                    .order_by(owners.c.id)
                    .with_for_update(key_share=True)
                )
            ).all()
            for row in others:
                wrapped, by = await vault.wrapped(await vault.unwrapped(bytes(row.index_key), row.wrapped_by))
                await connection.execute(
                    update(owners).where(owners.c.id == row.id).values(index_key=wrapped, wrapped_by=by)
                )
                done += 1
                advance(1)
        return done

    async def _keys(self, connection: AsyncConnection, tenant: Tenant) -> list[int]:
        table = tables.data_key
        statement = select(table.c.id).where(table.c.tenant == tenant.id).order_by(table.c.id)
        return list((await connection.execute(statement)).scalars())

    def _plain(self, tenant: Tenant) -> tuple[ColumnElement[bool], ...]:
        """Records that should be sealed and are not."""
        table, level = tables.record, self._directory.vault.seal_from
        where = (table.c.tenant == tenant.id, table.c.sealed.is_(None))
        return (*where, table.c.sensitivity >= (100 if level is None else int(level)))

    async def _seal_plain(self, tenant: Tenant, advance: Advance) -> int:
        """Empty edits: sealing is what `update_records` does by itself, and here the mirror must hear of it."""
        table, sealed = tables.record, 0
        while True:
            async with self._database.background(Role.KEYS) as connection:
                rows = (
                    await connection.execute(
                        select(table.c.id, table.c.updated_at)
                        .where(*self._plain(tenant))
                        .order_by(table.c.id)
                        .limit(BATCH)
                        .with_for_update()
                    )
                ).all()
                if not rows:
                    return sealed
                at = max(self._clock.now(), *(row.updated_at + RESOLUTION for row in rows))
                edits = [Edit(id=row.id, is_revision=False) for row in rows]
                await finish(
                    connection, tenant, await update_records(connection, self._directory, tenant, edits, at=at)
                )
            sealed += len(rows)
            advance(len(rows))

    async def _reseal(self, tenant: Tenant, advance: Advance) -> int:
        """One pass over all that is sealed, from key to key, so that it costs what there is and not its square."""
        done = 0
        for table in _SEALED:
            after: tuple[Any, ...] | None = None
            while keys := await self._retried(self._rows, tenant, table, after):
                after = keys[-1]
                done += len(keys)
                advance(len(keys))
        while count := await self._retried(self._artifacts, tenant):
            done += count
            advance(count)
        return done

    async def _rows(self, tenant: Tenant, table: Table, after: tuple[Any, ...] | None) -> list[tuple[Any, ...]]:
        async with self._database.background(Role.KEYS) as connection:
            sealer = await tenant.keyring.sealer(connection)
            where = _named_otherwise(table, sealer)
            if after is not None:
                where &= tuple_(*key_columns(table)) > after
            return await reseal(connection, tenant.keyring, sealer, table, where, limit=BATCH)

    async def _artifacts(self, tenant: Tenant) -> int:
        """The keys of their bytes, not the bytes."""
        async with self._database.background(Role.KEYS) as connection:
            sealer = await tenant.keyring.sealer(connection)
            return await reseal_artifacts(connection, tenant, sealer, limit=BATCH)

    @staticmethod
    async def _retried(batch: Callable[..., Awaitable[T]], *arguments: Any) -> T:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return await batch(*arguments)
            except StoreUnavailable:
                if attempt == ATTEMPTS:
                    raise
        raise AssertionError("the last attempt returns or raises")

    async def _drop_old(self, tenant: Tenant) -> int | None:
        """Drop all keys but the newest; None where something still names one, which a slow writer left meanwhile."""
        table = tables.data_key
        async with self._database.background(Role.KEYS) as connection:
            newest = (await self._keys(connection, tenant))[-1]
            old = (
                (
                    await connection.execute(
                        select(table.c.id)
                        .where(table.c.tenant == tenant.id, table.c.id < newest)
                        .order_by(table.c.id)
                        .with_for_update()
                    )
                )
                .scalars()
                .all()
            )
            marks = {key_mark(key) for key in old}
            # A statement of its own: its snapshot sees all that the writers left who had held those keys.
            counts = await fetch(connection, "count_sealed", tenant=tenant.id)
            if any(bytes(row["mark"]) in marks for row in counts):
                return None
            await connection.execute(delete(table).where(table.c.tenant == tenant.id, table.c.id.in_(old)))
        return len(old)


def _named_otherwise(table: Table, sealer: Sealer) -> ColumnElement[bool]:
    mark = func.substring(table.c.sealed, KEY_ID_AT, 4)
    return table.c.sealed.is_not(None) & (mark != key_mark(sealer.key_id))
