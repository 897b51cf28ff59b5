"""A preview of what retracting or correcting a record would do to the records derived from it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from stratagraph.memory.propagation import reevaluation as propagation
from stratagraph.memory.propagation.grounding import Grounds
from stratagraph.store.keys.callers import Caller
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.enums import RecordState
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.postgres.database import Connection, elevated
from stratagraph.store.records.support import fetch_downstream


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionImpact:
    """The effect of a revision that was not made on one derived record.

    `becomes` is the state that the record would have, and `sources_left` the number of its sources still valid.
    """

    record: MemoryRecord
    becomes: RecordState
    sources_left: int


async def preview_impact(
    connection: Connection, directory: Directory, caller: Caller, id_: UUID, *, now: datetime
) -> list[RevisionImpact]:
    """Return the impact of retracting or correcting `id_` on the records derived from it, nearest first.

    Considers at most `propagation.BUDGET` records, all of which the caller may read in full, and changes nothing.
    """
    derived = await fetch_downstream(connection, caller, [id_])
    unrestricted = caller.unrestricted()
    async with elevated(connection, unrestricted.bounds):
        order = _nearest_first(derived, id_)[: propagation.BUDGET]
        grounds = Grounds(connection, directory, unrestricted, now, propagation.SOURCES, without={id_})
        considered = await grounds.read(order)
        becomes: dict[UUID, RecordState] = {}

        def state(one: UUID) -> RecordState:
            return becomes.get(one, grounds.records[one].state)

        while True:  # each pass finds the records that rested on those found by the one before
            grounded = await grounds.grounded(considered, state)
            fallen = {
                one
                for one in considered
                if state(one) is RecordState.ACTIVE
                and grounds.support[one].next_state(RecordState.ACTIVE, is_supported=one in grounded)
                is RecordState.CONTESTED
            }
            if not fallen:
                break
            becomes |= dict.fromkeys(fallen, RecordState.CONTESTED)
    return [
        RevisionImpact(
            record=grounds.records[one],
            becomes=grounds.support[one].next_state(state(one), is_supported=one in grounded),
            sources_left=grounds.sources_left(one, state),
        )
        for one in order
        if one in considered
    ]


def _nearest_first(derived: Mapping[UUID, frozenset[UUID]], start: UUID) -> list[UUID]:
    """Return the derived records in the order of their distance from `start`, by id within one distance."""
    order: dict[UUID, None] = {start: None}  # which may be derived from itself, in a circle
    frontier = {start}
    while frontier:
        level = sorted(id_ for id_, sources in derived.items() if id_ not in order and sources & frontier)
        order |= dict.fromkeys(level)
        frontier = set(level)
    return list(order)[1:]


def visible_impacts(impacts: Collection[RevisionImpact], visible: Mapping[UUID, MemoryRecord]) -> list[RevisionImpact]:
    """Return the impacts on records in `visible`, with these records as the caller may see them.

    Impacts on other records are left out.
    """
    return [replace(one, record=visible[one.record.id]) for one in impacts if one.record.id in visible]
