"""Verification of the audit log: every chain is read from its first entry to its head, and every link computed again.

It finds an entry that was changed, removed or inserted, a head that was changed, and a note that does not belong to its
entry. It cannot find, from within the database, a record whose chain, head and row were all removed, nor a chain that
was computed anew from the change to its head by someone who may write to all of these tables.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.audit.chain import GENESIS, link
from stratagraph.store.audit.faults import Fault, Problem, Verification
from stratagraph.store.audit.rationales import Rationales
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.model.errors import InvalidInput, RecordNotFound
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.postgres.queries import Row, fetch
from stratagraph.store.postgres.schema import tables

PAGE = 1_000  # rows per page
_BEFORE_FIRST = (UUID(int=0), 0)  # (record, seq) below every entry


async def estimate_entries(database: Database, *, tenant: str | None = None, record: UUID | None = None) -> int:
    """Return the query planner's estimate of the number of entries that `verify_chains` would read.

    Takes the same time for any number. `tenant` is a name; None means all. Raises InvalidInput for an unknown one.
    """
    number = await _number(database, tenant) if tenant is not None else None
    async with database.background_snapshot(Role.JOBS) as connection:
        rows = await fetch(connection, "estimate_entries", tenant=number, record=record)
    plan = next(iter(rows[0].values()))
    return int(plan[0]["Plan"]["Plan Rows"])


async def verify_chains(
    database: Database,
    vault: Vault,
    *,
    tenant: str | None = None,
    record: UUID | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> Verification:
    """Verify all audit chains, or those of the tenant of this name or of one record, in one database snapshot.

    Faults are returned, not raised. `advance` is called with the number of entries of each page read. Memory use does
    not grow with the number of entries. Raises InvalidInput for an unknown tenant, RecordNotFound if `record` has
    neither a chain nor a row.
    """
    found = Verification()
    only = await _number(database, tenant) if tenant is not None else None
    async with database.background_snapshot(Role.JOBS) as connection:
        async for number in _tenants(connection, only):
            name = await _name(database, number)
            await _TenantVerification(connection, database, vault, number, name, record, found, advance).run()
    if record is not None and not found.chains and found.whole:
        raise RecordNotFound(
            record, f"There is no record {record}, and the audit log has no entries of it; check the id and the tenant."
        )
    return found


async def _number(database: Database, name: str) -> int:
    """Return the number of a tenant. Raises InvalidInput if there is none of this name."""
    table = tables.tenant
    async with database.autonomous() as connection:
        number: int | None = (
            await connection.execute(select(table.c.id).where(table.c.name == name))
        ).scalar_one_or_none()
    if number is None:
        raise InvalidInput(
            f"--tenant: there is no tenant {name!r}; check the spelling, or leave it out for all", path=["tenant"]
        )
    return number


async def _name(database: Database, number: int) -> str:
    """Return the name of a tenant; `#` and its number if it has been erased."""
    table = tables.tenant
    async with database.autonomous() as connection:
        name: str | None = (
            await connection.execute(select(table.c.name).where(table.c.id == number))
        ).scalar_one_or_none()
    return f"#{number}" if name is None else name


async def _tenants(connection: AsyncConnection, only: int | None) -> AsyncIterator[int]:
    """Yield the numbers of the tenants to verify, ascending."""
    if only is not None:
        yield only
        return
    after = 0
    while (number := (await fetch(connection, "next_audited_tenant", after=after))[0]["tenant"]) is not None:
        yield number
        after = number


@dataclass(slots=True)
class _Chain:
    """The verification of one record's chain, with the number and hash of the last entry read."""

    record: UUID
    seq: int = 0
    hash: bytes = GENESIS

    def follow(self, tenant: int, row: Row) -> Iterator[tuple[int, Fault]]:
        """Read the next entry and yield its faults.

        After a fault, reading continues from the number and hash that the entry itself has, so that the fault is
        reported once.
        """
        note_hash = bytes(row["note_hash"]) if row["note_hash"] is not None else None
        expected = link(
            self.hash,
            tenant=tenant,
            record=self.record,
            seq=row["seq"],
            event=(row["action"], row["actor"], row["at"], row["salience"], note_hash),
        )
        if row["seq"] != self.seq + 1:
            yield self.seq + 1, Fault.GAP
        elif bytes(row["hash"]) != expected:
            yield row["seq"], Fault.LINK
        self.seq, self.hash = row["seq"], bytes(row["hash"])


class _TenantVerification:
    """The verification of one tenant: its chains are compared with its heads, both read in key order."""

    def __init__(
        self,
        connection: AsyncConnection,
        database: Database,
        vault: Vault,
        tenant: int,
        name: str,
        record: UUID | None,
        found: Verification,
        advance: Callable[[int], None],
    ) -> None:
        self._connection = connection
        self._tenant = tenant
        self._name = name
        self._record = record
        self._found = found
        self._advance = advance
        self._rationales = Rationales(database, vault.keyring(tenant))
        self._heads = self._read_heads()
        self._head: Row | None = None

    async def run(self) -> None:
        """Verify the tenant, adding to the result."""
        self._head = await anext(self._heads, None)
        chain: _Chain | None = None
        async for row in self._entries():
            if chain is None or chain.record != row["id"]:
                await self._compare_head(chain)
                chain = _Chain(row["id"])
                self._found.chains += 1
            for seq, fault in chain.follow(self._tenant, row):
                self._report(chain.record, seq, fault)
            await self._compare_note(row)
        await self._compare_head(chain)
        await self._skip_heads(None)
        async for row in self._unaudited():
            self._report(row["id"], 0, Fault.UNAUDITED)

    def _report(self, record: UUID, seq: int, fault: Fault) -> None:
        self._found.add(Problem(tenant=self._name, record=record, seq=seq, fault=fault))

    async def _compare_head(self, chain: _Chain | None) -> None:
        """Compare a chain that was read to its end with its head, and move on to the next head."""
        if chain is None:
            return
        await self._skip_heads(chain.record)
        head = self._head
        if head is None or head["id"] != chain.record:
            self._report(chain.record, chain.seq, Fault.NO_HEAD)
            return
        if (head["seq"], bytes(head["hash"])) != (chain.seq, chain.hash):
            self._report(chain.record, head["seq"], Fault.HEAD)
        self._head = await anext(self._heads, None)

    async def _skip_heads(self, until: UUID | None) -> None:
        """Report the heads before that of the record `until`, or all that are left: they have no entries."""
        while self._head is not None and (until is None or self._head["id"] < until):
            self._found.chains += 1
            self._report(self._head["id"], self._head["seq"], Fault.NO_ENTRIES)
            self._head = await anext(self._heads, None)

    async def _compare_note(self, row: Row) -> None:
        """Compare an entry's rationale, if it has one, with the hash in the entry."""
        if row["salt"] is None:
            self._found.notes_erased += row["note_hash"] is not None
            return
        rationale = await self._rationales.read(row)
        if rationale is None:
            self._found.notes_unopened += 1
            return
        self._found.notes += 1
        note_hash = hashlib.sha256(bytes(row["salt"]) + rationale).digest()
        if row["note_hash"] is None or note_hash != bytes(row["note_hash"]):
            self._report(row["id"], row["seq"], Fault.NOTE)

    async def _entries(self) -> AsyncIterator[Row]:
        id_, seq = _BEFORE_FIRST
        while rows := await fetch(
            self._connection,
            "audit_entries",
            tenant=self._tenant,
            record=self._record,
            id=id_,
            seq=seq,
            page=PAGE,
        ):
            for row in rows:
                yield row
            self._found.entries += len(rows)
            self._advance(len(rows))
            id_, seq = rows[-1]["id"], rows[-1]["seq"]

    async def _read_heads(self) -> AsyncIterator[Row]:
        async for row in self._pages("audit_heads"):
            yield row

    async def _unaudited(self) -> AsyncIterator[Row]:
        async for row in self._pages("unaudited_records"):
            yield row

    async def _pages(self, statement: str) -> AsyncIterator[Row]:
        after: UUID | None = None
        while rows := await fetch(
            self._connection, statement, tenant=self._tenant, record=self._record, after=after, page=PAGE
        ):
            for row in rows:
                yield row
            after = rows[-1]["id"]
