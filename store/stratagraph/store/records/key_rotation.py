"""Rotate data keys by resealing all sealed content, and the master key by rewrapping the other keys.

A rotation of data keys may be killed at any point and run again: content sealed by an old key is found by the id of
that key. During a rotation, readers can use either key and writers use the newest. An old key is deleted under the lock
that writers sealing with it hold, once one snapshot of all tables shows no content that it seals.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Table, delete, func, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.artifacts.object_keys import reseal_artifacts
from stratagraph.store.feed.changes import append_changes
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.contents import key_columns, reseal
from stratagraph.store.keys.sealing.envelope import KEY_ID_AT, key_mark
from stratagraph.store.keys.sealing.vault import Sealer
from stratagraph.store.model.clock import RESOLUTION, Clock
from stratagraph.store.model.errors import StoreUnavailable
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.postgres.queries import fetch
from stratagraph.store.postgres.schema import tables
from stratagraph.store.records.editing import Edit, update_records

BATCH = 200  # rows resealed in one transaction; transactions that write these rows wait for it
ATTEMPTS = 5  # attempts at a batch that fails by a deadlock or a lock timeout
_SEALED = (tables.record, tables.record_history, tables.audit_note, tables.candidate, tables.received_span)

Advance = Callable[[int], None]
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyUse:
    """A data key and the number of rows that it seals in each table."""

    tenant: str
    id: int
    created_at: datetime
    wrapped_by: str
    newest: bool
    rows: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotated:
    """The result of rotating one tenant's data key: the new key, the rows resealed and the number of old keys deleted.

    `continued` is True if the rotation continued one that had been interrupted.
    """

    tenant: str
    key: int
    resealed: int
    dropped: int
    continued: bool


class Rotation:
    """Lists the data keys, rotates them, and exchanges the master key. Services may run during a rotation."""

    def __init__(self, database: Database, directory: Directory, clock: Clock) -> None:
        self._database = database
        self._directory = directory
        self._clock = clock

    async def tenants(self, name: str | None = None) -> list[Tenant]:
        """Return all tenants, ordered by name, or only the one with this name; empty if there is none."""
        async with self._database.background(Role.KEYS) as connection:
            statement = select(tables.tenant.c.name).order_by(tables.tenant.c.name)
            if name is not None:
                statement = statement.where(tables.tenant.c.name == name)
            names = (await connection.execute(statement)).scalars().all()
        found = [await self._directory.tenant(one) for one in names]
        return [tenant for tenant in found if tenant is not None]

    async def list_keys(self) -> list[KeyUse]:
        """Return each data key with the number of rows that it seals, ordered by tenant and number.

        Reads all sealed rows.
        """
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

    async def count_rows_to_seal(self, tenant: Tenant) -> int | None:
        """Return the number of rows that a rotation of this tenant would seal.

        Returns None if the tenant has neither a data key nor a record to seal, so that there is nothing to rotate.
        """
        async with self._database.background_snapshot(Role.KEYS) as connection:
            keys = await self._keys(connection, tenant)
            counts = await fetch(connection, "count_sealed", tenant=tenant.id)
            plain: int = (
                await connection.execute(select(func.count()).select_from(tables.record).where(*self._plain(tenant)))
            ).scalar_one()
        if not keys and not plain:
            return None
        # A single key is the old one. With several keys, the newest belongs to a rotation that was interrupted.
        kept = key_mark(keys[-1]) if len(keys) > 1 else None
        return plain + sum(int(row["sealed"]) for row in counts if bytes(row["mark"]) != kept)

    async def rotate(self, tenant: Tenant, advance: Advance) -> Rotated:
        """Create a new data key, reseal all of the tenant's content with it, and delete the old keys.

        If the tenant has several keys already, an earlier rotation was interrupted and this one continues it. Plain
        records at or above the encryption level, written before it was set, are sealed too. Calls `advance` with the
        number of rows of each batch. Raises StoreUnavailable; a later call continues where this one stopped.
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
        """Wrap with the current master key all data and index keys that another one wraps; return their number.

        Needs both master keys in the vault. Calls `advance` with 1 for each key. All or none are changed.
        """
        vault, data, owners = self._directory.vault, tables.data_key, tables.tenant
        assert vault.master is not None  # the command requires a master key
        name, done = vault.master.name, 0
        async with self._database.background(Role.KEYS) as connection:
            rows = (
                await connection.execute(
                    select(data).where(data.c.wrapped_by != name).order_by(data.c.tenant, data.c.id).with_for_update()
                )
            ).all()
            for row in rows:
                wrapped, by = await vault.wrap(await vault.unwrap(bytes(row.wrapped), row.wrapped_by))
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
                wrapped, by = await vault.wrap(await vault.unwrap(bytes(row.index_key), row.wrapped_by))
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
        """Return the condition for records that should be sealed and are not."""
        table, level = tables.record, self._directory.vault.seal_from
        where = (table.c.tenant == tenant.id, table.c.sealed.is_(None))
        return (*where, table.c.sensitivity >= (100 if level is None else int(level)))

    async def _seal_plain(self, tenant: Tenant, advance: Advance) -> int:
        """Seal plain records by empty edits, since `update_records` seals them and the mirror must see the change."""
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
                await append_changes(
                    connection, tenant, await update_records(connection, self._directory, tenant, edits, at=at)
                )
            sealed += len(rows)
            advance(len(rows))

    async def _reseal(self, tenant: Tenant, advance: Advance) -> int:
        """Reseal all rows in one pass in key order, so that the cost is linear in the number of rows."""
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
            where = _sealed_by_another_key(table, sealer)
            if after is not None:
                where &= tuple_(*key_columns(table)) > after
            return await reseal(connection, tenant.keyring, sealer, table, where, limit=BATCH)

    async def _artifacts(self, tenant: Tenant) -> int:
        """Reseal the object keys of artifacts; the objects stay unchanged."""
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
        """Delete all keys but the newest and return their number; None if a row is still sealed with an old key.

        A slow writer may have sealed such a row during the rotation.
        """
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
            # A separate statement, whose snapshot includes every row written by transactions that held the old keys.
            counts = await fetch(connection, "count_sealed", tenant=tenant.id)
            if any(bytes(row["mark"]) in marks for row in counts):
                return None
            await connection.execute(delete(table).where(table.c.tenant == tenant.id, table.c.id.in_(old)))
        return len(old)


def _sealed_by_another_key(table: Table, sealer: Sealer) -> ColumnElement[bool]:
    mark = func.substring(table.c.sealed, KEY_ID_AT, 4)
    return table.c.sealed.is_not(None) & (mark != key_mark(sealer.key_id))
