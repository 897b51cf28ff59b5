"""The vault: the tenants' data keys, made at the first use, unwrapped once and cached in the process.

Keys are read and made in short transactions of their own, like interned names. A concurrent rotation cannot delete a
key that a writer seals with: the writer locks the key's row until it commits, and rotation deletes a key only under
that lock.
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
from stratagraph.store.keys.sealing.master import MasterKey
from stratagraph.store.model.canonical import KEY_BYTES
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.model.errors import Misconfigured, StoreUnavailable, StratagraphError
from stratagraph.store.postgres.database import Database
from stratagraph.store.postgres.queries import fetch
from stratagraph.store.postgres.schema import tables


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """A sealed blob, and the id of the row and the purpose that it was sealed for."""

    id: UUID
    purpose: str
    blob: bytes


@dataclass(frozen=True, slots=True)
class _DataKey:
    cipher: AESGCM
    created_at: datetime


class Sealer:
    """Seals content with the newest data key of one tenant, for use within one transaction.

    The key's row is locked until the transaction ends, so that no rotation deletes the key.
    """

    def __init__(self, tenant: int, key_id: int, cipher: AESGCM) -> None:
        self.key_id = key_id
        self._tenant = tenant
        self._cipher = cipher

    def seal(self, id_: UUID, purpose: str, content: bytes) -> bytes:
        """Return the content sealed for the row `id_` and `purpose`; it opens for these only."""
        return seal(self._cipher, content, key_id=self.key_id, tenant=self._tenant, id_=id_, purpose=purpose)


class Vault:
    """Gives out the keyrings of the tenants of one database, and wraps and unwraps keys with the master key.

    `seal_from` is the lowest sensitivity that is sealed; None seals nothing. While a master key is being exchanged,
    `previous` unwraps the keys that `master` does not wrap yet. Without a master key, nothing can be sealed, and
    wrapped keys cannot be used.
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
        """Return whether content of this sensitivity is sealed."""
        return self.seal_from is not None and sensitivity >= self.seal_from

    def keyring(self, tenant: int) -> Keyring:
        """Return the keyring of the tenant with this number. Nothing is read from the database yet."""
        return self._keyrings.setdefault(tenant, Keyring(self, self._database, tenant))

    def forget(self, tenant: int) -> None:
        """Drop a tenant's keys from the cache. The next use reads them from the database."""
        ring = self._keyrings.get(tenant)
        if ring is not None:
            ring.forget()

    async def wrap(self, key: bytes) -> tuple[bytes, str]:
        """Return the key wrapped by the master key, and the name of the master key.

        Raises Misconfigured if there is no master key.
        """
        if self.master is None:
            raise Misconfigured(
                "A key needs encrypting before it is stored, and no master key is set: make one with `stratagraph keys"
                " generate` and set STRATAGRAPH_MASTER_KEY, or set STRATAGRAPH_ENCRYPT_FROM=off."
            )
        return await self.master.wrap(key), self.master.name

    async def unwrap(self, wrapped: bytes, wrapped_by: str | None) -> bytes:
        """Return the unwrapped key, given the name of the master key that wraps it; None means that none does.

        Raises Misconfigured if the master key of that name was not given.
        """
        if wrapped_by is None:
            return wrapped
        master = self._masters.get(wrapped_by)
        if master is None:
            known = f"given was {' and '.join(self._masters)}" if self._masters else "none was given"
            raise Misconfigured(
                f"Keys of this database are wrapped by the master key named {wrapped_by}, and {known}."
                " Set STRATAGRAPH_MASTER_KEY, or its file or hook, to the key of that name; during an exchange of"
                " keys, set STRATAGRAPH_PREVIOUS_MASTER_KEY to it."
            )
        return await master.unwrap(wrapped)

    async def check(self) -> None:
        """Check that the given master keys unwrap the stored keys, then wrap index keys that are still unwrapped.

        Tries one stored key per name of a master key. Raises Misconfigured, before anything is written, if a master key
        is missing or is not the right one. Without a master key, nothing is wrapped.
        """
        async with self._database.autonomous() as connection:
            samples = await fetch(connection, "wrapped_samples")
        for sample in samples:
            await self.unwrap(bytes(sample["wrapped"]), sample["wrapped_by"])
        if self.master is None:
            return
        tenant = tables.tenant
        async with self._database.autonomous() as connection:
            unwrapped = await connection.execute(
                select(tenant.c.id, tenant.c.index_key).where(tenant.c.wrapped_by.is_(None))
            )
            for row in unwrapped.all():
                wrapped, name = await self.wrap(bytes(row.index_key))
                await connection.execute(
                    update(tenant)
                    .where(tenant.c.id == row.id, tenant.c.wrapped_by.is_(None))
                    .values(index_key=wrapped, wrapped_by=name)
                )


class Keyring:
    """Opens and seals content with the data keys of one tenant, which it caches in this process."""

    def __init__(self, vault: Vault, database: Database, tenant: int) -> None:
        self.tenant = tenant
        self._vault = vault
        self._database = database
        self._keys: dict[int, _DataKey] = {}
        self._loading = asyncio.Lock()

    def seals(self, sensitivity: int) -> bool:
        """Return whether content of this sensitivity is sealed."""
        return self._vault.seals(sensitivity)

    @property
    def seal_from(self) -> Sensitivity | None:
        """The lowest sensitivity that is sealed; None seals nothing."""
        return self._vault.seal_from

    def forget(self) -> None:
        """Drop the keys from the cache."""
        self._keys = {}

    async def sealer(self, connection: AsyncConnection) -> Sealer:
        """Return a sealer with the newest key, whose row is locked until the transaction of `connection` ends.

        Makes the tenant's first key if there is none. Raises Misconfigured if that needs a master key and there is
        none, StoreUnavailable if the keys are deleted at the same time.
        """
        newest = await self._lock_newest(connection)
        if newest is None:
            await self.add_key()
            newest = await self._lock_newest(connection)
        if newest is None:
            raise StoreUnavailable(f"The data keys of tenant {self.tenant} were deleted during this write; try again.")
        key_id, created_at = newest
        key = self._keys.get(key_id)
        if key is None or key.created_at != created_at:
            await self._load()
            key = self._keys[key_id]
        return Sealer(self.tenant, key_id, key.cipher)

    async def open(self, sealed: Sequence[Sealed]) -> list[bytes]:
        """Return the decrypted contents in the order given.

        Raises StratagraphError if a blob does not open or its data key does not exist, Misconfigured if the master key
        that wraps a data key was not given.
        """
        wanted = [key_id_of(item.blob, id_=item.id) for item in sealed]
        if not set(wanted) <= self._keys.keys():
            await self._load()
        opened = []
        for item, key_id in zip(sealed, wanted, strict=True):
            key = self._keys.get(key_id)
            if key is None:
                raise StratagraphError(
                    f"The sealed content of {item.id} needs the data key {key_id}, which does not exist. Restore the"
                    " key from a backup of the database, or erase the record."
                )
            opened.append(open_sealed(key.cipher, item.blob, tenant=self.tenant, id_=item.id, purpose=item.purpose))
        return opened

    async def add_key(self, *, after: int = 0) -> None:
        """Create the data key with the number `after` + 1; does nothing if it exists.

        Raises Misconfigured if there is no master key.
        """
        wrapped, name = await self._vault.wrap(secrets.token_bytes(KEY_BYTES))
        async with self._database.autonomous() as connection:
            await connection.execute(
                insert(tables.data_key)
                .values(tenant=self.tenant, id=after + 1, wrapped=wrapped, wrapped_by=name)
                .on_conflict_do_nothing(index_elements=["tenant", "id"])
            )

    async def _lock_newest(self, connection: AsyncConnection) -> tuple[int, datetime] | None:
        """Lock the row of the newest key; return its number and creation time, None if there is none."""
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
        """Read all keys from the database: other processes may have made new ones or deleted old ones."""
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
                    key = await self._vault.unwrap(bytes(row.wrapped), row.wrapped_by)
                    keys[row.id] = _DataKey(AESGCM(key), row.created_at)
            self._keys = keys
