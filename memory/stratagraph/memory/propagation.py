"""Re-evaluation of derived records after a change of the records they were derived from, transitively.

Up to BUDGET records are re-evaluated in the transaction of the change; the remaining ones are queued for the background
jobs. See docs/specification.md, Revision.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from stratagraph.store.audit.events import AuditEvent, write_audit
from stratagraph.store.feed.changes import Change
from stratagraph.store.keys.callers import Caller
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.enums import AuditAction, RecordState
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.postgres.database import Connection, elevated
from stratagraph.store.records.editing import Edit, update_records
from stratagraph.store.records.facts import find_conflicting_fact
from stratagraph.store.records.reading import Reader
from stratagraph.store.records.reevaluations import queue_dependents
from stratagraph.store.records.support import Support, direct_dependents, fetch_downstream, fetch_support

BUDGET = 200  # records re-evaluated within the transaction that caused it


@dataclass(slots=True)
class Propagated:
    """The result of a re-evaluation: new states, the changes to announce in the feed, and the number of records queued.

    `states` has only the records whose state changed.
    """

    states: dict[UUID, RecordState] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    queued: int = 0


async def derived_records(connection: Connection, caller: Caller, causes: Collection[UUID]) -> list[UUID]:
    """Return at most BUDGET records derived from `causes`, directly or not.

    Lock them together with `causes`, before taking the instant of the write.
    """
    return sorted(await fetch_downstream(connection, caller.tenant, causes))[:BUDGET]


async def reevaluate(
    connection: Connection,
    directory: Directory,
    caller: Caller,
    *,
    doubtful: Collection[UUID] = (),
    causes: Collection[UUID] = (),
    actor: str,
    at: datetime,
) -> Propagated:
    """Re-evaluate the `doubtful` records, those derived from `causes`, and all records whose state follows from theirs.

    `doubtful` are records whose own support may have changed. `causes` are records whose state has changed; their rows
    must have been written already. A record that has no valid source or an open dispute becomes contested, and active
    again once it has a valid source and no dispute, unless another fact has taken its slot. Superseded and retracted
    records keep their state. Call it once in a transaction, so that a record changes at most once.
    """
    evaluation = _Reevaluation(connection, directory, caller.unrestricted(), actor, at)
    await evaluation.run({*doubtful, *await evaluation.derived_from(causes)})
    return evaluation.done


@dataclass(slots=True)
class _Reevaluation:
    """One re-evaluation: new states are decided in memory and then written, so that each record changes at most once.

    First all records that lose their support are contested, then all that have support again become active. Within
    either pass support changes in one direction only, so both end even if records support each other in a cycle.
    """

    connection: Connection
    directory: Directory
    unrestricted: Caller
    actor: str
    at: datetime
    done: Propagated = field(default_factory=Propagated)
    budget: int = field(default_factory=lambda: BUDGET)
    records: dict[UUID, MemoryRecord] = field(default_factory=dict)
    support: dict[UUID, Support] = field(default_factory=dict)
    decided: dict[UUID, RecordState] = field(default_factory=dict)  # new states, where they differ from the rows

    async def run(self, ids: Collection[UUID]) -> None:
        if not ids:
            return
        async with elevated(self.connection, self.unrestricted.bounds):
            considered = await self._read(ids)
            frontier = considered
            while frontier:
                contested = {id_ for id_ in frontier if self._should_become(id_, RecordState.CONTESTED)}
                self.decided |= dict.fromkeys(contested, RecordState.CONTESTED)
                frontier = await self._read(await self.derived_from(contested))
                considered |= frontier
            frontier = considered
            while frontier:
                activated = {id_ for id_ in sorted(frontier) if await self._activate(id_)}
                frontier = await self._read(await self.derived_from(activated))
            await self._write()

    async def derived_from(self, causes: Collection[UUID]) -> list[UUID]:
        """Return the records derived directly from `causes`; if they exceed the budget, queue them and return none."""
        tenant = self.unrestricted.tenant
        level = await direct_dependents(self.connection, tenant, causes, known=(), limit=self.budget + 1)
        if len(level) > self.budget:
            self.done.queued += await queue_dependents(self.connection, tenant, causes, known=(), at=self.at)
            return []
        self.budget -= len(level)
        return level

    async def _read(self, ids: Collection[UUID]) -> set[UUID]:
        """Read those of `ids` that have not been read yet; return those that exist."""
        new = sorted(set(ids) - self.records.keys())
        found = await Reader(self.connection, self.directory, self.unrestricted, self.at).records(new)
        self.records |= found
        self.support |= await fetch_support(self.connection, self.unrestricted.tenant, found)
        return {id_ for id_ in ids if id_ in self.records}

    def _state(self, id_: UUID) -> RecordState:
        return self.decided.get(id_, self.records[id_].state)

    def _is_supported(self, id_: UUID) -> bool:
        support = self.support[id_]
        return any(
            self._state(ref) is RecordState.ACTIVE
            if isinstance(ref, UUID) and ref in self.records
            else ref not in support.invalid
            for ref in support.sources
        )

    def _should_become(self, id_: UUID, state: RecordState) -> bool:
        current = self._state(id_)
        if current is state:
            return False
        return self.support[id_].next_state(current, is_supported=self._is_supported(id_)) is state

    async def _activate(self, id_: UUID) -> bool:
        """Make the record active again if it should be; return whether it is.

        A fact stays contested if another fact has taken its slot since.
        """
        if not self._should_become(id_, RecordState.ACTIVE):
            return False
        if self.records[id_].state is RecordState.ACTIVE:
            del self.decided[id_]
            return True
        conflicting = await find_conflicting_fact(
            self.connection,
            self.unrestricted.tenant,
            id_,
            deactivating=self._decided_as(RecordState.CONTESTED),
            activating=self._decided_as(RecordState.ACTIVE),
        )
        if conflicting is not None:
            return False
        self.decided[id_] = RecordState.ACTIVE
        return True

    def _decided_as(self, wanted: RecordState) -> list[UUID]:
        return [id_ for id_, state in self.decided.items() if state is wanted]

    async def _write(self) -> None:
        """Write the new states, contested ones first, because a slot must be free before another fact takes it."""
        order = sorted(self.decided, key=lambda id_: (self.decided[id_] is RecordState.ACTIVE, id_))
        tenant = self.unrestricted.tenant
        edits = [Edit(id=id_, state=int(self.decided[id_])) for id_ in order]
        self.done.changes += await update_records(self.connection, self.directory, tenant, edits, at=self.at)
        events = [self._event(id_) for id_ in order]
        await write_audit(self.connection, tenant, events, actor=self.actor, at=self.at)
        self.done.states |= self.decided

    def _event(self, id_: UUID) -> AuditEvent:
        if self.decided[id_] is RecordState.ACTIVE:
            return AuditEvent(record=id_, action=AuditAction.REVISE, rationale="a source of this record is valid again")
        disputed = self.support[id_].disputed
        why = "another record contests this one" if disputed else "no source of this record is valid any more"
        return AuditEvent(record=id_, action=AuditAction.CONTEST, rationale=why)
