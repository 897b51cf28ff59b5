"""The keys in use: per tenant data keys, made at first need, unwrapped once and kept in the process.

They are read and made in short transactions of their own, as interned names are. What a writer seals is safe from a
rotation that ends meanwhile: it holds the key's row until it commits, and a key is dropped only under that lock.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from sqlalchemy import select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.sealing.envelope import key_id_of, open_sealed, seal
from stratagraph.store.keys.sealing.master import KEY_BYTES, MasterKey
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.model.errors import Misconfigured, StratagraphError
from stratagraph.store.postgres import tables
from stratagraph.store.postgres.database import Database
from stratagraph.store.postgres.queries import fetch


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """A blob and what it belongs to."""

    id: UUID
    purpose: str
    blob: bytes


@dataclass(frozen=True, slots=True)
class _DataKey:
    cipher: AESGCM
    created_at: datetime


class Sealer:
    """Seals with the tenant's newest data key, which stays in the database until the transaction ends."""

    def __init__(self, tenant: int, key_id: int, cipher: AESGCM) -> None:
        self.key_id = key_id
        self._tenant = tenant
        self._cipher = cipher

    def seal(self, id_: UUID, purpose: str, content: bytes) -> bytes:
        return seal(self._cipher, content, key_id=self.key_id, tenant=self._tenant, id_=id_, purpose=purpose)


class Vault:
    """The keys of one database, as one process holds them.

    `seal_from` is the lowest sensitivity that is sealed, None for none. `previous` may still unwrap what `master` has
    not been given yet, while a master key is exchanged. Without a master key nothing can be sealed or opened.
    """

    def __init__(
        self,
        database: Database,
        master: MasterKey | None = None,
        *,
        previous: MasterKey | None = None,
        seal_from: Sensitivity | None = Sensitivity.HIGH,
    ) -> None:
        self._database = database
        self._masters = {key.name: key for key in (previous, master) if key is not None}
        self.master = master
        self.seal_from = seal_from
        self._keyrings: dict[int, Keyring] = {}

    def seals(self, sensitivity: int) -> bool:
        return self.seal_from is not None and sensitivity >= self.seal_from

    def keyring(self, tenant: int) -> Keyring:
        return self._keyrings.setdefault(tenant, Keyring(self, self._database, tenant))

    def forget(self, tenant: int) -> None:
        """Drop what this process holds of a tenant's keys; they are read again at need."""
        ring = self._keyrings.get(tenant)
        if ring is not None:
            ring.forget()

    async def wrapped(self, key: bytes) -> tuple[bytes, str]:
        """The key wrapped by the master key, and the master key's name. Raises Misconfigured without one."""
        if self.master is None:
            raise Misconfigured(
                "This is to be encrypted and there is no master key: make one with `stratagraph keys generate` and set"
                " STRATAGRAPH_MASTER_KEY, or set STRATAGRAPH_ENCRYPT_FROM=off."
            )
        return await self.master.wrap(key), self.master.name

    async def unwrapped(self, wrapped: bytes, wrapped_by: str | None) -> bytes:
        """The key itself. `wrapped_by` None means that it lies in the database as it is."""
        if wrapped_by is None:
            return wrapped
        master = self._masters.get(wrapped_by)
        if master is None:
            known = " and ".join(self._masters) or "none"
            raise Misconfigured(
                f"Keys of this database are wrapped by the master key {wrapped_by}, and the one given is {known}. Give"
                " the right one; while it is being exchanged, give the old one as STRATAGRAPH_PREVIOUS_MASTER_KEY too."
            )
        return await master.unwrap(wrapped)

    async def check(self) -> None:
        """Unwrap one key of each master key that wraps any, and wrap the index keys that still lie there plain.

        Raises Misconfigured where the master key is missing or another one; nothing is written then.
        """
        async with self._database.autonomous() as connection:
            samples = await fetch(connection, "wrapped_samples")
        for sample in samples:
            await self.unwrapped(bytes(sample["wrapped"]), sample["wrapped_by"])
        if self.master is None:
            return
        tenant = tables.tenant
        async with self._database.autonomous() as connection:
            plain = await connection.execute(
                select(tenant.c.id, tenant.c.index_key).where(tenant.c.wrapped_by.is_(None))
            )
            for row in plain.all():
                wrapped, name = await self.wrapped(bytes(row.index_key))
                await connection.execute(
                    update(tenant)
                    .where(tenant.c.id == row.id, tenant.c.wrapped_by.is_(None))
                    .values(index_key=wrapped, wrapped_by=name)
                )


class Keyring:
    """One tenant's data keys."""

    def __init__(self, vault: Vault, database: Database, tenant: int) -> None:
        self.tenant = tenant
        self._vault = vault
        self._database = database
        self._keys: dict[int, _DataKey] = {}
        self._loading = asyncio.Lock()

    def seals(self, sensitivity: int) -> bool:
        """Whether content of this sensitivity is to be sealed."""
        return self._vault.seals(sensitivity)

    @property
    def seal_from(self) -> Sensitivity | None:
        return self._vault.seal_from

    def forget(self) -> None:
        self._keys = {}

    async def sealer(self, connection: AsyncConnection) -> Sealer:
        """Seal with the newest key, holding its row until the transaction ends. The tenant's first key is made here."""
        newest = await self._hold_newest(connection)
        if newest is None:
            await self.add_key()
            newest = await self._hold_newest(connection)
        if newest is None:
            raise StratagraphError("The tenant's data keys were dropped meanwhile; try again.")
        key_id, created_at = newest
        key = self._keys.get(key_id)
        if key is None or key.created_at != created_at:
            await self._load()
            key = self._keys[key_id]
        return Sealer(self.tenant, key_id, key.cipher)

    async def open(self, sealed: Sequence[Sealed]) -> list[bytes]:
        """The contents, in the order given. Raises StratagraphError for one that does not open."""
        wanted = [key_id_of(item.blob, id_=item.id) for item in sealed]
        if not set(wanted) <= self._keys.keys():
            await self._load()
        opened = []
        for item, key_id in zip(sealed, wanted, strict=True):
            key = self._keys.get(key_id)
            if key is None:
                raise StratagraphError(
                    f"The sealed content of {item.id} names the data key {key_id}, which is not there (any more)."
                )
            opened.append(open_sealed(key.cipher, item.blob, tenant=self.tenant, id_=item.id, purpose=item.purpose))
        return opened

    async def add_key(self, *, after: int = 0) -> None:
        """Make the key that follows `after`, unless another process was quicker."""
        wrapped, name = await self._vault.wrapped(secrets.token_bytes(KEY_BYTES))
        async with self._database.autonomous() as connection:
            await connection.execute(
                insert(tables.data_key)
                .values(tenant=self.tenant, id=after + 1, wrapped=wrapped, wrapped_by=name)
                .on_conflict_do_nothing(index_elements=["tenant", "id"])
            )

    async def _hold_newest(self, connection: AsyncConnection) -> tuple[int, datetime] | None:
        table = tables.data_key
        row = (
            await connection.execute(
                select(table.c.id, table.c.created_at)
                .where(table.c.tenant == self.tenant)
                .order_by(table.c.id.desc())
                .limit(1)
                .with_for_update(read=True, key_share=True)
            )
        ).one_or_none()
        return (row.id, row.created_at) if row is not None else None

    async def _load(self) -> None:
        """Read all keys again: one that is not here may be another process's, and one that is may have been dropped."""
        async with self._loading:
            table = tables.data_key
            async with self._database.autonomous() as connection:
                rows = (await connection.execute(select(table).where(table.c.tenant == self.tenant))).all()
            keys = {}
            for row in rows:
                known = self._keys.get(row.id)
                if known is not None and known.created_at == row.created_at:
                    keys[row.id] = known
                else:
                    key = await self._vault.unwrapped(bytes(row.wrapped), row.wrapped_by)
                    keys[row.id] = _DataKey(AESGCM(key), row.created_at)
            self._keys = keys
