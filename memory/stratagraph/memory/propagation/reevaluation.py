"""Re-evaluation of derived records after a change of the records they were derived from, transitively.

Up to BUDGET records are re-evaluated in the transaction of the change; the remaining ones are queued for the background
jobs. See docs/specification.md, Revision.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from uuid import UUID

from stratagraph.memory.propagation.grounding import Grounds
from stratagraph.memory.requests.retrying import StaleRead
from stratagraph.store.audit.events import AuditEvent, write_audit
from stratagraph.store.feed.changes import Change
from stratagraph.store.keys.callers import Caller
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.clock import RESOLUTION
from stratagraph.store.model.enums import AuditAction, RecordState
from stratagraph.store.model.trust import Visibility
from stratagraph.store.postgres.database import Connection, elevated
from stratagraph.store.records.editing import Edit, update_records
from stratagraph.store.records.facts import find_conflicting_fact
from stratagraph.store.records.locking import lock_records
from stratagraph.store.records.reevaluations import queue_dependents, queue_records
from stratagraph.store.records.support import direct_dependents, fetch_downstream

BUDGET = 200  # records re-evaluated within the transaction that caused it
SOURCES = 1_000  # source records read within that transaction to find out whether a record is grounded
QUEUED_SOURCES = 20_000  # the same for a re-evaluation from the queue


@dataclass(slots=True)
class Propagated:
    """The result of a re-evaluation: new states, the changes to announce in the feed, and the number of records queued.

    `states` has only the records whose state changed. `queued` counts only records that the caller may read in full.
    """

    states: dict[UUID, RecordState] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    queued: int = 0


async def derived_records(connection: Connection, caller: Caller, causes: Collection[UUID]) -> list[UUID]:
    """Return at most BUDGET records derived from `causes`, directly or not.

    Lock them together with `causes`, before taking the instant of the write.
    """
    return sorted(await fetch_downstream(connection, caller.unrestricted(), causes))[:BUDGET]


async def reevaluate(
    connection: Connection,
    directory: Directory,
    caller: Caller,
    *,
    doubtful: Collection[UUID] = (),
    causes: Collection[UUID] = (),
    new: Collection[UUID] = (),
    actor: str,
    at: datetime,
    is_queued: bool = False,
) -> Propagated:
    """Re-evaluate the `doubtful` records, those derived from `causes`, and all records whose state follows from theirs.

    `doubtful` are records whose own support may have changed. `causes` are records whose state has changed; their rows
    must have been written already. The caller has locked both before it took the instant `at`. `new` are doubtful
    records that this transaction wrote and on which no record rests yet: an active source is enough for them. A record
    that is not grounded (see `grounding`) or has an open dispute becomes contested, and active again once it is
    grounded and undisputed, unless another fact has taken its slot. Superseded and retracted records keep their state.
    Call it once in a transaction, so that a record changes at most once.

    A record whose ground is not found among SOURCES records is queued and keeps its state until then; with `is_queued`,
    for entries of that queue, QUEUED_SOURCES records are read, and a record that they do not decide keeps its state.
    """
    limit = QUEUED_SOURCES if is_queued else SOURCES
    grounds = Grounds(connection, directory, caller.unrestricted(), at, limit)
    evaluation = _Reevaluation(grounds, caller, actor, frozenset(doubtful), frozenset(new), is_queued)
    await evaluation.run({*doubtful, *await evaluation.derived_from(causes)})
    return evaluation.done


@dataclass(slots=True)
class _Reevaluation:
    """One re-evaluation: new states are decided in memory and then written, so that each record changes at most once.

    First all records that lose their ground are contested, then all that are grounded again become active. Within
    either pass support changes in one direction only, so both end even if records support each other in a circle. The
    records that the budget leaves to the queue may be active without a ground until then; no other record is held or
    made active by them.
    """

    grounds: Grounds
    caller: Caller
    actor: str
    given: frozenset[UUID]  # whose rows the caller has locked or written
    new: frozenset[UUID]
    is_queued: bool
    done: Propagated = field(default_factory=Propagated)
    budgets: dict[bool, int] = field(default_factory=lambda: dict.fromkeys((False, True), BUDGET))
    decided: dict[UUID, RecordState] = field(default_factory=dict)  # new states, where they differ from the rows
    unsupported: set[UUID] = field(default_factory=set)  # records that lost their ground here

    async def run(self, ids: Collection[UUID]) -> None:
        if not ids:
            return
        grounds = self.grounds
        async with elevated(grounds.connection, grounds.unrestricted.bounds):
            considered = await grounds.read(ids)
            frontier = considered
            while frontier:
                active = {id_ for id_ in frontier if self._state(id_) is RecordState.ACTIVE}
                grounded = {id_ for id_ in active & self.new if grounds.sources_left(id_, self._state)}
                grounded |= await grounds.grounded(active - self.new, self._state)
                contested = {
                    id_
                    for id_ in active
                    if self._next_state(id_, is_supported=id_ in grounded) is RecordState.CONTESTED
                }
                self.decided |= dict.fromkeys(contested, RecordState.CONTESTED)
                self.unsupported |= contested - grounded
                frontier = await grounds.read(await self.derived_from(contested))
                considered = considered | frontier
            frontier = considered
            while frontier:
                inactive = {id_ for id_ in frontier if self._state(id_) is RecordState.CONTESTED}
                grounded = await grounds.grounded(inactive, self._state) - grounds.undecided
                activated = {id_ for id_ in sorted(grounded) if await self._activate(id_)}
                frontier = await grounds.read(await self.derived_from(activated))
            await self._write()

    async def derived_from(self, causes: Collection[UUID]) -> list[UUID]:
        """Return the records derived directly from `causes`; queue them instead where they exceed the budget.

        Records that the caller may read in full, and those that are hidden from it, have a budget each.
        """
        connection, found = self.grounds.connection, list[UUID]()
        for hidden, budget in self.budgets.items():
            level = await direct_dependents(connection, self.caller, causes, hidden=hidden, limit=budget + 1)
            if len(level) > budget:
                added = await queue_dependents(connection, self.caller, causes, hidden=hidden, at=self.grounds.at)
                self.done.queued += 0 if hidden else added
            else:
                self.budgets[hidden] -= len(level)
                found += level
        return found

    def _state(self, id_: UUID) -> RecordState:
        return self.decided.get(id_, self.grounds.records[id_].state)

    def _next_state(self, id_: UUID, *, is_supported: bool) -> RecordState:
        return self.grounds.support[id_].next_state(self._state(id_), is_supported=is_supported)

    async def _activate(self, id_: UUID) -> bool:
        """Make a grounded record active again if it should be; return whether it is.

        A fact stays contested if another fact has taken its slot since.
        """
        if self._next_state(id_, is_supported=True) is not RecordState.ACTIVE:
            return False
        if self.grounds.records[id_].state is RecordState.ACTIVE:
            del self.decided[id_]
            return True
        conflicting = await find_conflicting_fact(
            self.grounds.connection,
            self.grounds.unrestricted.tenant,
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
        connection, tenant, at = self.grounds.connection, self.grounds.unrestricted.tenant, self.grounds.at
        instants = await self._instants(order)
        for moment, ids in groupby(order, key=instants.__getitem__):
            changed = list(ids)
            edits = [Edit(id=id_, state=int(self.decided[id_])) for id_ in changed]
            self.done.changes += await update_records(connection, self.grounds.directory, tenant, edits, at=moment)
            events = [self._event(id_) for id_ in changed]
            await write_audit(connection, tenant, events, actor=self.actor, at=moment)
        self.done.states |= self.decided
        if not self.is_queued:
            await queue_records(connection, tenant, self.grounds.undecided, at=at)
            self.done.queued += sum(1 for id_ in self.grounds.undecided if self._is_readable(id_))

    async def _instants(self, ids: Sequence[UUID]) -> dict[UUID, datetime]:
        """Lock the records to be written, and return the instant of each write.

        The caller has locked the first BUDGET records that are derived from its own before it took its instant. One
        beyond those may have been written at that instant or later, and is then written after that. Raises StaleRead
        if a record was changed since it was read here.
        """
        at = self.grounds.at
        rows = await lock_records(self.grounds.connection, self.grounds.unrestricted.tenant, ids)
        if any(id_ not in rows or rows[id_].updated_at != self.grounds.records[id_].updated_at for id_ in ids):
            raise StaleRead
        return {id_: at if id_ in self.given else max(at, rows[id_].updated_at + RESOLUTION) for id_ in ids}

    def _is_readable(self, id_: UUID) -> bool:
        record = self.grounds.records[id_]
        found = self.caller.trust.visibility(scope=record.scope, sensitivity=record.sensitivity)
        return found is Visibility.FULL

    def _event(self, id_: UUID) -> AuditEvent:
        if self.decided[id_] is RecordState.ACTIVE:
            return AuditEvent(record=id_, action=AuditAction.REVISE, rationale="a source of this record is valid again")
        why = "no source of this record is valid any more" if id_ in self.unsupported else ""
        if self.grounds.support[id_].disputed:
            why = f"{why}, and another record contests it" if why else "another record contests this one"
        return AuditEvent(record=id_, action=AuditAction.CONTEST, rationale=why)
