"""Reading the rationales of audit entries for verification; sealed ones are opened where their data keys exist."""

from __future__ import annotations

from sqlalchemy import select

from stratagraph.store.keys.sealing.contents import note_purpose
from stratagraph.store.keys.sealing.envelope import key_id_of
from stratagraph.store.keys.sealing.vault import Keyring, Sealed
from stratagraph.store.model.errors import Misconfigured, StratagraphError
from stratagraph.store.postgres.database import Database
from stratagraph.store.postgres.queries import Row
from stratagraph.store.postgres.schema import tables

ALTERED = b""  # stands for a blob that its key does not open; no rationale is empty, so it differs from all


class Rationales:
    """Reads the rationales of one tenant's audit entries, opening those that are sealed."""

    def __init__(self, database: Database, keyring: Keyring) -> None:
        self._database = database
        self._keyring = keyring
        self._has_no_master_key = False  # remembered, so that not every note asks again
        self._missing_keys: set[int] = set()

    async def read(self, row: Row) -> bytes | None:
        """Return the rationale in `row`, which has an entry's id, seq, rationale and sealed blob, as UTF-8.

        Returns None if the data key or the master key for it is missing, ALTERED if its blob does not open. Raises
        StoreUnavailable if keys cannot be read.
        """
        if row["sealed"] is None:
            return str(row["rationale"]).encode()
        blob = bytes(row["sealed"])
        try:
            key_id = key_id_of(blob, id_=row["id"])
        except StratagraphError:
            return ALTERED
        if self._has_no_master_key or key_id in self._missing_keys:
            return None
        return await self._open(Sealed(id=row["id"], purpose=note_purpose(row["seq"]), blob=blob), key_id)

    async def _open(self, sealed: Sealed, key_id: int) -> bytes | None:
        try:
            return (await self._keyring.open([sealed]))[0]
        except Misconfigured:
            self._has_no_master_key = True
            return None
        except StratagraphError as error:
            if error.retryable:
                raise
        if await self._key_exists(key_id):
            return ALTERED
        self._missing_keys.add(key_id)
        return None

    async def _key_exists(self, key_id: int) -> bool:
        """Return whether the data key exists now, outside the snapshot: a rotation may have deleted it since."""
        table = tables.data_key
        async with self._database.autonomous() as connection:
            found = await connection.execute(
                select(table.c.id).where(table.c.tenant == self._keyring.tenant, table.c.id == key_id)
            )
            return found.one_or_none() is not None
