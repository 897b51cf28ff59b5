"""A change re-evaluates what was derived from it, transitively (SPEC §5).

Up to a bound in the transaction of the change itself; what lies beyond is queued and looked at by housekeeping.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.audit import Deed, write_audit
from stratagraph.store.database import beyond
from stratagraph.store.enums import AuditAction, RecordState
from stratagraph.store.facts import in_the_way
from stratagraph.store.feed import Change
from stratagraph.store.reading import Reader
from stratagraph.store.records import MemoryRecord
from stratagraph.store.reevaluations import queue_dependents
from stratagraph.store.support import Standing, direct_dependents, downstream, standings
from stratagraph.store.tenancy import Directory, Reach
from stratagraph.store.writing import Edit, update_records

BUDGET = 200  # records re-evaluated within the transaction that caused it


@dataclass(slots=True)
class Propagated:
    """What followed from a change: records and the state they have now, and how many are still to be looked at."""

    moved: dict[UUID, RecordState] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    queued: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Impact:
    """What would become of a derived record: its state then, and how many sources would still hold it."""

    record: MemoryRecord
    becomes: RecordState
    sources_left: int


async def reachable(connection: AsyncConnection, reach: Reach, causes: Collection[UUID]) -> list[UUID]:
    """What a change of `causes` may concern, to be locked with them before the instant of the write is taken."""
    return sorted(await downstream(connection, reach.tenant, causes))[:BUDGET]


async def propagate(
    connection: AsyncConnection,
    directory: Directory,
    reach: Reach,
    causes: Collection[UUID],
    *,
    actor: str,
    at: datetime,
) -> Propagated:
    """Re-evaluate all that was derived from `causes`, whose rows have been changed already."""
    done = Propagated()
    tenant = reach.tenant
    frontier: set[UUID] = set(causes)
    left = BUDGET
    while frontier:
        # A record may come up again, by another way. Support only falls from here, or only grows: this comes to rest.
        level = await direct_dependents(connection, tenant, frontier, known=causes, limit=left + 1)
        if len(level) > left:
            done.queued += await queue_dependents(connection, tenant, frontier, known=causes, at=at)
            break
        left -= len(level)
        frontier = await _reconsider(connection, directory, reach.everything(), level, done, actor=actor, at=at)
    return done


async def reconsider(
    connection: AsyncConnection, directory: Directory, reach: Reach, ids: Collection[UUID], *, actor: str, at: datetime
) -> Propagated:
    """Re-evaluate `ids` themselves, and then what was derived from those that changed."""
    done = Propagated()
    moved = await _reconsider(connection, directory, reach.everything(), sorted(ids), done, actor=actor, at=at)
    if moved:
        further = await propagate(connection, directory, reach, moved, actor=actor, at=at)
        done.moved |= further.moved
        done.changes += further.changes
        done.queued += further.queued
    return done


async def _reconsider(
    connection: AsyncConnection,
    directory: Directory,
    everything: Reach,
    ids: Collection[UUID],
    done: Propagated,
    *,
    actor: str,
    at: datetime,
) -> set[UUID]:
    if not ids:
        return set()
    moved = set()
    async with beyond(connection, everything.bounds):
        records = await Reader(connection, directory, everything, at).records(ids)
        found = await standings(connection, everything.tenant, records)
        for id_, standing in found.items():
            state = standing.verdict(records[id_].state)
            if state is records[id_].state:
                continue
            changes = await _move(connection, directory, everything, id_, standing, state=state, actor=actor, at=at)
            if changes:
                done.changes += changes
                done.moved[id_] = state
                moved.add(id_)
    return moved


async def _move(
    connection: AsyncConnection,
    directory: Directory,
    everything: Reach,
    id_: UUID,
    standing: Standing,
    *,
    state: RecordState,
    actor: str,
    at: datetime,
) -> list[Change]:
    """Change one record's state. A fact whose place another one has taken meanwhile stays contested."""
    tenant = everything.tenant
    if state is RecordState.ACTIVE and await in_the_way(connection, tenant, id_) is not None:
        return []
    changes = await update_records(connection, directory, tenant, [Edit(id=id_, state=int(state))], at=at)
    if state is RecordState.CONTESTED:
        why = "another record contests it" if standing.disputed else "nothing that it was derived from still holds"
        deed = Deed(record=id_, action=AuditAction.CONTEST, rationale=why)
    else:
        held = len(standing.holding)
        deed = Deed(record=id_, action=AuditAction.REVISE, rationale=f"held again, by {held} of its sources")
    await write_audit(connection, tenant, [deed], actor=actor, at=at)
    return changes


async def impact(
    connection: AsyncConnection, directory: Directory, reach: Reach, id_: UUID, *, now: datetime
) -> list[Impact]:
    """What retracting or correcting `id_` would do to all derived from it, nearest first, changing nothing."""
    everything = reach.everything()
    async with beyond(connection, everything.bounds):
        derived = await downstream(connection, reach.tenant, [id_])
        order = _nearest_first(derived, id_)[:BUDGET]
        records = await Reader(connection, directory, everything, now).records(order)
        gone = {id_}
        while True:  # each round takes away what the round before left without support
            found = await standings(connection, everything.tenant, records, without=gone)
            fallen = {
                one for one, standing in found.items() if standing.verdict(records[one].state) is not RecordState.ACTIVE
            }
            if fallen <= gone:
                break
            gone |= fallen
    return [
        Impact(
            record=records[one],
            becomes=found[one].verdict(records[one].state),
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


def in_sight(impacts: Collection[Impact], seen: Mapping[UUID, MemoryRecord]) -> list[Impact]:
    """Those impacts on records that exist for the caller, each as the caller sees it."""
    return [
        Impact(record=seen[one.record.id], becomes=one.becomes, sources_left=one.sources_left)
        for one in impacts
        if one.record.id in seen
    ]
