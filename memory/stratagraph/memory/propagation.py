"""A change re-evaluates what was derived from it, transitively (SPEC §5).

Up to a bound in the transaction of the change itself; what lies beyond is queued and looked at by housekeeping.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.audit import Deed, write_audit
from stratagraph.store.database import beyond
from stratagraph.store.enums import AuditAction, RecordState
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
    seen: set[UUID] = set(causes)
    left = BUDGET
    while frontier:
        level = await direct_dependents(connection, tenant, frontier, known=seen, limit=left + 1)
        if len(level) > left:
            done.queued += await queue_dependents(connection, tenant, frontier, known=seen, at=at)
            break
        left -= len(level)
        seen |= set(level)
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
    """Change one record's state. What has meanwhile been replaced by another active fact stays contested."""
    try:
        async with connection.begin_nested():
            changes = await update_records(
                connection, directory, everything.tenant, [Edit(id=id_, state=int(state))], at=at
            )
    except IntegrityError:
        return []
    if state is RecordState.CONTESTED:
        deed = Deed(record=id_, action=AuditAction.CONTEST, rationale="nothing that it was derived from still holds")
    else:
        held = len(standing.holding)
        deed = Deed(record=id_, action=AuditAction.REVISE, rationale=f"held again, by {held} of its sources")
    await write_audit(connection, everything.tenant, [deed], actor=actor, at=at)
    return changes


async def impact(
    connection: AsyncConnection, directory: Directory, reach: Reach, id_: UUID, *, now: datetime
) -> list[Impact]:
    """What retracting or correcting `id_` would do to all derived from it, nearest first, changing nothing."""
    everything = reach.everything()
    gone, frontier, told = {id_}, {id_}, dict[UUID, Impact]()
    async with beyond(connection, everything.bounds):
        derived = await downstream(connection, reach.tenant, [id_])
        records = await Reader(connection, directory, everything, now).records(sorted(derived)[:BUDGET])
        while frontier:
            level = {one: record for one, record in records.items() if one not in told and derived[one] & frontier}
            found = await standings(connection, everything.tenant, level, without=gone)
            frontier = set()
            for one, standing in found.items():
                becomes = standing.verdict(level[one].state)
                told[one] = Impact(record=level[one], becomes=becomes, sources_left=len(standing.holding))
                if becomes is not RecordState.ACTIVE:
                    frontier.add(one)
            gone |= frontier
    return list(told.values())


def in_sight(impacts: Collection[Impact], seen: Mapping[UUID, MemoryRecord]) -> list[Impact]:
    """Those impacts on records that exist for the caller, each as the caller sees it."""
    return [
        Impact(record=seen[one.record.id], becomes=one.becomes, sources_left=one.sources_left)
        for one in impacts
        if one.record.id in seen
    ]
