"""Whether the audit is whole: every chain walked from its first entry to its head, every link computed again.

What is found: an entry that was changed, taken out or put in, a head that is another, a note that is not the one its
entry speaks of. What cannot be found from within the database: a record whose chain, head and row were all removed,
and a chain that was computed anew from the change to the head by somebody who may write all of these tables.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from uuid import UUID

from sqlalchemy import RowMapping, select
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.audit.events import GENESIS, link
from stratagraph.store.keys.sealing.contents import note
from stratagraph.store.keys.sealing.envelope import key_id_of
from stratagraph.store.keys.sealing.vault import Keyring, Sealed, Vault
from stratagraph.store.model.errors import InvalidInput, Misconfigured, RecordNotFound, StratagraphError
from stratagraph.store.postgres import tables
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.postgres.queries import fetch

PAGE = 1_000  # rows read at once
MAX_PROBLEMS = 100  # listed; all are counted
_BEFORE_ALL = (UUID(int=0), 0)
_ALTERED = b""  # of a blob that does not open with its key; no rationale is empty, so it equals none


class Fault(StrEnum):
    """What is wrong at one place of one chain."""

    GAP = "gap"
    LINK = "link"
    HEAD = "head"
    NO_HEAD = "no_head"
    NO_ENTRIES = "no_entries"
    NOTE = "note"
    UNAUDITED = "unaudited"

    @property
    def phrase(self) -> str:
        return _PHRASES[self]


_PHRASES = {
    Fault.GAP: "this entry is missing, perhaps with others after it",
    Fault.LINK: "the hash does not follow from the entry and the one before: one of them was changed",
    Fault.HEAD: "the chain's head is not its last entry: entries were removed or added, or the head was changed",
    Fault.NO_HEAD: "the chain has no head",
    Fault.NO_ENTRIES: "there is a head, and no entry",
    Fault.NOTE: "the rationale is not the one that was written with this entry",
    Fault.UNAUDITED: "the record has neither entries nor a head",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One fault. `seq` is the entry's place in its chain; of a head, the place it speaks of; of no entry, 0."""

    tenant: str
    record: UUID
    seq: int
    fault: Fault


@dataclass(slots=True, kw_only=True)
class Verification:
    """What was walked and found; `problems` lists the first MAX_PROBLEMS of `faults`.

    Notes are compared where they can be: an erased one leaves its chain whole, a sealed one needs its key.
    """

    chains: int = 0
    entries: int = 0
    notes: int = 0
    notes_erased: int = 0
    notes_unopened: int = 0
    faults: int = 0
    problems: list[Problem] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        return not self.faults

    def add(self, problem: Problem) -> None:
        self.faults += 1
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem)


async def estimate_entries(database: Database, *, tenant: str | None = None, record: UUID | None = None) -> int:
    """About how many entries `verify_chains` will walk, at no cost. Raises InvalidInput for an unknown tenant."""
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
    """Walk all chains, or those of one tenant or record, in one snapshot; `advance` hears how many entries more.

    Memory does not grow with the store. Raises InvalidInput for an unknown tenant, RecordNotFound where there is
    nothing to verify of `record`.
    """
    found = Verification()
    only = await _number(database, tenant) if tenant is not None else None
    async with database.background_snapshot(Role.JOBS) as connection:
        async for number in _tenants(connection, only):
            name = await _name(database, number)
            await _Walk(connection, database, vault, number, name, record, found, advance).run()
    if record is not None and not found.chains and found.whole:
        raise RecordNotFound(record, f"There is no record {record}, and no audit of one that was.")
    return found


async def _number(database: Database, name: str) -> int:
    table = tables.tenant
    async with database.autonomous() as connection:
        number: int | None = (
            await connection.execute(select(table.c.id).where(table.c.name == name))
        ).scalar_one_or_none()
    if number is None:
        raise InvalidInput(f"--tenant: there is no tenant {name!r}", path=["tenant"])
    return number


async def _name(database: Database, number: int) -> str:
    """A tenant that is gone is called by its number."""
    table = tables.tenant
    async with database.autonomous() as connection:
        name: str | None = (
            await connection.execute(select(table.c.name).where(table.c.id == number))
        ).scalar_one_or_none()
    return f"#{number}" if name is None else name


async def _tenants(connection: AsyncConnection, only: int | None) -> AsyncIterator[int]:
    if only is not None:
        yield only
        return
    after = 0
    while (number := (await fetch(connection, "next_audited_tenant", after=after))[0]["tenant"]) is not None:
        yield number
        after = number


@dataclass(slots=True)
class _Chain:
    """How far one record's chain has been walked."""

    record: UUID
    seq: int = 0
    hash: bytes = GENESIS

    def follow(self, tenant: int, row: RowMapping) -> Iterator[tuple[int, Fault]]:
        """Go on to the next entry. After a fault the walk goes on from what the entry claims, so one is told once."""
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


class _Walk:
    """One tenant's chains beside its heads, both in the order of their keys."""

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
        self._notes = _Notes(database, vault.keyring(tenant))
        self._heads = self._read_heads()
        self._head: RowMapping | None = None

    async def run(self) -> None:
        self._head = await anext(self._heads, None)
        chain: _Chain | None = None
        async for row in self._entries():
            if chain is None or chain.record != row["id"]:
                await self._end(chain)
                chain = _Chain(row["id"])
                self._found.chains += 1
            for seq, fault in chain.follow(self._tenant, row):
                self._tell(chain.record, seq, fault)
            await self._compare_note(row)
        await self._end(chain)
        await self._skip_heads(None)
        async for row in self._unaudited():
            self._tell(row["id"], 0, Fault.UNAUDITED)

    def _tell(self, record: UUID, seq: int, fault: Fault) -> None:
        self._found.add(Problem(tenant=self._name, record=record, seq=seq, fault=fault))

    async def _end(self, chain: _Chain | None) -> None:
        """The chain's last entry was read: its head must say the same."""
        if chain is None:
            return
        await self._skip_heads(chain.record)
        head = self._head
        if head is None or head["id"] != chain.record:
            self._tell(chain.record, chain.seq, Fault.NO_HEAD)
            return
        if (head["seq"], bytes(head["hash"])) != (chain.seq, chain.hash):
            self._tell(chain.record, head["seq"], Fault.HEAD)
        self._head = await anext(self._heads, None)

    async def _skip_heads(self, until: UUID | None) -> None:
        """Heads before that record's have no entries."""
        while self._head is not None and (until is None or self._head["id"] < until):
            self._found.chains += 1
            self._tell(self._head["id"], self._head["seq"], Fault.NO_ENTRIES)
            self._head = await anext(self._heads, None)

    async def _compare_note(self, row: RowMapping) -> None:
        if row["salt"] is None:
            self._found.notes_erased += row["note_hash"] is not None
            return
        said = await self._notes.read(row)
        if said is None:
            self._found.notes_unopened += 1
            return
        self._found.notes += 1
        if row["note_hash"] is None or hashlib.sha256(bytes(row["salt"]) + said).digest() != bytes(row["note_hash"]):
            self._tell(row["id"], row["seq"], Fault.NOTE)

    async def _entries(self) -> AsyncIterator[RowMapping]:
        id_, seq = _BEFORE_ALL
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

    async def _read_heads(self) -> AsyncIterator[RowMapping]:
        async for row in self._pages("audit_heads"):
            yield row

    async def _unaudited(self) -> AsyncIterator[RowMapping]:
        async for row in self._pages("unaudited_records"):
            yield row

    async def _pages(self, statement: str) -> AsyncIterator[RowMapping]:
        after: UUID | None = None
        while rows := await fetch(
            self._connection, statement, tenant=self._tenant, record=self._record, after=after, page=PAGE
        ):
            for row in rows:
                yield row
            after = rows[-1]["id"]


class _Notes:
    """One tenant's rationales, the sealed ones opened as far as their keys are there."""

    def __init__(self, database: Database, keyring: Keyring) -> None:
        self._database = database
        self._keyring = keyring
        self._locked = False  # no master key: asking again for each note would only cost
        self._dropped: set[int] = set()

    async def read(self, row: RowMapping) -> bytes | None:
        """The rationale, None where its key is not there."""
        if row["sealed"] is None:
            return str(row["rationale"]).encode()
        blob = bytes(row["sealed"])
        try:
            key_id = key_id_of(blob, id_=row["id"])
        except StratagraphError:
            return _ALTERED
        if self._locked or key_id in self._dropped:
            return None
        return await self._opened(Sealed(id=row["id"], purpose=note(row["seq"]), blob=blob), key_id)

    async def _opened(self, sealed: Sealed, key_id: int) -> bytes | None:
        try:
            return (await self._keyring.open([sealed]))[0]
        except Misconfigured:
            self._locked = True
            return None
        except StratagraphError as error:
            if error.retryable:
                raise
        if await self._is_there(key_id):
            return _ALTERED
        self._dropped.add(key_id)
        return None

    async def _is_there(self, key_id: int) -> bool:
        """Now, not in the walk's snapshot: a rotation drops keys meanwhile."""
        table = tables.data_key
        async with self._database.autonomous() as connection:
            found = await connection.execute(
                select(table.c.id).where(table.c.tenant == self._keyring.tenant, table.c.id == key_id)
            )
            return found.one_or_none() is not None
