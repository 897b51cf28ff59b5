"""A change re-evaluates what was derived from it, transitively (SPEC §5).

Up to a bound in the transaction of the change itself; what lies beyond is queued and looked at by housekeeping.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from stratagraph.store.audit.events import AuditEvent, write_audit
from stratagraph.store.feed.consumer import Change
from stratagraph.store.keys.tenancy import Caller, Directory
from stratagraph.store.model.enums import AuditAction, RecordState
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.postgres.database import Connection, elevated
from stratagraph.store.records.facts import in_the_way
from stratagraph.store.records.reading import Reader
from stratagraph.store.records.reevaluations import queue_dependents
from stratagraph.store.records.support import Standing, direct_dependents, downstream, standings
from stratagraph.store.records.writing import Edit, update_records

BUDGET = 200  # records re-evaluated within the transaction that caused it


@dataclass(slots=True)
class Propagated:
    """What followed from a change: records and the state they have now, and how many are still to be looked at."""

    moved: dict[UUID, RecordState] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    queued: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionImpact:
    """What would become of a derived record: its state then, and how many sources would still hold it."""

    record: MemoryRecord
    becomes: RecordState
    sources_left: int


async def reachable(connection: Connection, caller: Caller, causes: Collection[UUID]) -> list[UUID]:
    """What a change of `causes` may concern, to be locked with them before the instant of the write is taken."""
    return sorted(await downstream(connection, caller.tenant, causes))[:BUDGET]


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
    """Look again at the records that are `doubtful`, at what was derived from `causes`, whose rows have been changed
    already, and at all that follows from it. Once in a transaction, so that a record changes at most once by it."""
    spread = _Reevaluation(connection, directory, caller.everything(), actor, at)
    await spread.run({*doubtful, *await spread.derived_from(causes)})
    return spread.done


@dataclass(slots=True)
class _Reevaluation:
    """One re-evaluation on its way: decided in memory, then written, so that each record changes at most once.

    First all that falls, however far, then all that may rise again: in either half support only changes one way, so
    it comes to rest whatever rests on what.
    """

    connection: Connection
    directory: Directory
    everything: Caller
    actor: str
    at: datetime
    done: Propagated = field(default_factory=Propagated)
    left: int = field(default_factory=lambda: BUDGET)
    records: dict[UUID, MemoryRecord] = field(default_factory=dict)
    standings: dict[UUID, Standing] = field(default_factory=dict)
    decided: dict[UUID, RecordState] = field(default_factory=dict)  # what differs from the rows as they are

    async def run(self, ids: Collection[UUID]) -> None:
        if not ids:
            return
        async with elevated(self.connection, self.everything.bounds):
            touched = await self._look_at(ids)
            frontier = touched
            while frontier:
                fallen = {id_ for id_ in frontier if self._would_be(id_, RecordState.CONTESTED)}
                self.decided |= dict.fromkeys(fallen, RecordState.CONTESTED)
                frontier = await self._look_at(await self.derived_from(fallen))
                touched |= frontier
            frontier = touched
            while frontier:
                risen = {id_ for id_ in sorted(frontier) if await self._rises(id_)}
                frontier = await self._look_at(await self.derived_from(risen))
            await self._write()

    async def derived_from(self, causes: Collection[UUID]) -> list[UUID]:
        """What rests on `causes` directly; with no budget left it is queued instead."""
        tenant = self.everything.tenant
        level = await direct_dependents(self.connection, tenant, causes, known=(), limit=self.left + 1)
        if len(level) > self.left:
            self.done.queued += await queue_dependents(self.connection, tenant, causes, known=(), at=self.at)
            return []
        self.left -= len(level)
        return level

    async def _look_at(self, ids: Collection[UUID]) -> set[UUID]:
        """Read those of `ids` that were not looked at yet; those that are there."""
        new = sorted(set(ids) - self.records.keys())
        found = await Reader(self.connection, self.directory, self.everything, self.at).records(new)
        self.records |= found
        self.standings |= await standings(self.connection, self.everything.tenant, found)
        return {id_ for id_ in ids if id_ in self.records}

    def _state(self, id_: UUID) -> RecordState:
        return self.decided.get(id_, self.records[id_].state)

    def _is_held(self, id_: UUID) -> bool:
        standing = self.standings[id_]
        return any(
            self._state(ref) is RecordState.ACTIVE
            if isinstance(ref, UUID) and ref in self.records
            else ref not in standing.lapsed
            for ref in standing.grounds
        )

    def _would_be(self, id_: UUID, state: RecordState) -> bool:
        now = self._state(id_)
        return now is not state and self.standings[id_].verdict(now, is_held=self._is_held(id_)) is state

    async def _rises(self, id_: UUID) -> bool:
        """Whether it is active again. A fact whose place another one has taken meanwhile stays contested."""
        if not self._would_be(id_, RecordState.ACTIVE):
            return False
        if self.records[id_].state is RecordState.ACTIVE:
            del self.decided[id_]
            return True
        leaving = [one for one, state in self.decided.items() if state is RecordState.CONTESTED]
        joining = [one for one, state in self.decided.items() if state is RecordState.ACTIVE]
        tenant = self.everything.tenant
        if await in_the_way(self.connection, tenant, id_, leaving=leaving, joining=joining) is not None:
            return False
        self.decided[id_] = RecordState.ACTIVE
        return True

    async def _write(self) -> None:
        """Falls before rises: a slot must be free before it is taken."""
        order = sorted(self.decided, key=lambda id_: (self.decided[id_] is RecordState.ACTIVE, id_))
        tenant = self.everything.tenant
        edits = [Edit(id=id_, state=int(self.decided[id_])) for id_ in order]
        self.done.changes += await update_records(self.connection, self.directory, tenant, edits, at=self.at)
        events = [self._event(id_) for id_ in order]
        await write_audit(self.connection, tenant, events, actor=self.actor, at=self.at)
        self.done.moved |= self.decided

    def _event(self, id_: UUID) -> AuditEvent:
        if self.decided[id_] is RecordState.ACTIVE:
            return AuditEvent(record=id_, action=AuditAction.REVISE, rationale="what it rests on holds again")
        disputed = self.standings[id_].disputed
        why = "another record contests it" if disputed else "nothing that it was derived from still holds"
        return AuditEvent(record=id_, action=AuditAction.CONTEST, rationale=why)


async def impact(
    connection: Connection, directory: Directory, caller: Caller, id_: UUID, *, now: datetime
) -> list[RevisionImpact]:
    """What retracting or correcting `id_` would do to all derived from it, nearest first, changing nothing."""
    everything = caller.everything()
    async with elevated(connection, everything.bounds):
        derived = await downstream(connection, caller.tenant, [id_])
        order = _nearest_first(derived, id_)[:BUDGET]
        records = await Reader(connection, directory, everything, now).records(order)
        gone = {id_}
        while True:  # each round takes away what the round before left without support
            found = await standings(connection, everything.tenant, records, without=gone)
            fallen = {
                one
                for one, standing in found.items()
                if standing.verdict(records[one].state, is_held=bool(standing.holding)) is not RecordState.ACTIVE
            }
            if fallen <= gone:
                break
            gone |= fallen
    return [
        RevisionImpact(
            record=records[one],
            becomes=found[one].verdict(records[one].state, is_held=bool(found[one].holding)),
            sources_left=len(found[one].holding),
        )
        for one in order
        if one in records
    ]


def _nearest_first(derived: Mapping[UUID, frozenset[UUID]], start: UUID) -> list[UUID]:
    order: dict[UUID, None] = {}
    frontier = {start}
    while frontier:
        level = sorted(id_ for id_, sources in derived.items() if id_ not in order and sources & frontier)
        order |= dict.fromkeys(level)
        frontier = set(level)
    return list(order)


def in_sight(impacts: Collection[RevisionImpact], seen: Mapping[UUID, MemoryRecord]) -> list[RevisionImpact]:
    """Those impacts on records that exist for the caller, each as the caller sees it."""
    return [
        RevisionImpact(record=seen[one.record.id], becomes=one.becomes, sources_left=one.sources_left)
        for one in impacts
        if one.record.id in seen
    ]
