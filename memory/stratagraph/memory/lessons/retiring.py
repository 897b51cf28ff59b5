"""Retiring lessons that do not help: they leave the current truth and stay as history."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from stratagraph.memory.lessons.block import Standing
from stratagraph.memory.lessons.utility import least_helpful
from stratagraph.memory.revise.withdrawal import withdraw
from stratagraph.store.feed.changes import append_changes
from stratagraph.store.keys.callers import Caller
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.clock import RESOLUTION
from stratagraph.store.model.enums import RecordState, Sensitivity
from stratagraph.store.postgres.database import Connection
from stratagraph.store.records.lessons import LessonGroup, lock_lessons

UNHELPFUL = "retired: often retrieved, and hardly ever helpful"


async def drop_unhelpful(
    connection: Connection,
    directory: Directory,
    caller: Caller,
    scope: int,
    *,
    retrievals: int,
    fraction: float,
    now: datetime,
) -> list[UUID]:
    """Retire the least helpful lessons of a scope, at each sensitivity up to the caller's ceiling; return their ids."""
    groups = [LessonGroup(scope, int(level)) for level in Sensitivity if level <= caller.ceiling]
    retired: list[UUID] = []
    changed_at: list[datetime] = []
    for lessons in (await lock_lessons(connection, caller.tenant, groups)).values():
        standings = {
            one.id: Standing.of(one.counted_payload, learned_at=one.learned_at, confidence=one.confidence)
            for one in lessons
        }
        retired += least_helpful(standings, retrievals=retrievals, fraction=fraction)
        changed_at += [one.updated_at + RESOLUTION for one in lessons]
    if retired:
        changes = await withdraw(
            connection,
            directory,
            caller,
            retired,
            RecordState.SUPERSEDED,
            rationale=UNHELPFUL,
            at=max([now, *changed_at]),
        )
        await append_changes(connection, caller.tenant, changes)
    return sorted(retired)
