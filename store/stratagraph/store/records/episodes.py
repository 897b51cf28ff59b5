"""Open episodes: claim the episode of a thread and append events to it.

An episode holds the records of one thread, from its first capture to its outcome or to a silence of 30 minutes
(docs/specification.md, Capture). The episode's own record holds references only; its timeline is read back for each
caller by `episode_timelines`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Caller, Tenant
from stratagraph.store.model.canonical import keyed_hash
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.model.ids import new_id
from stratagraph.store.postgres.bulk import insert_rows
from stratagraph.store.postgres.queries import defer, fetch
from stratagraph.store.postgres.schema import tables

SILENCE = timedelta(minutes=30)  # an episode is closed after this time without a capture


@dataclass(frozen=True, slots=True, order=True)
class Thread:
    """One conversation or task, within one scope and one sensitivity."""

    scope: int
    sensitivity: int
    key: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedEpisode:
    """The row of an open episode that is locked. It has no events if this transaction opened it."""

    id: UUID
    thread: Thread
    closes_at: datetime
    events: int
    last_record: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenEpisode:
    """The open episode of a thread, its row locked. `previous` is the episode it follows, if it was just opened."""

    id: UUID
    thread: Thread
    events: int
    last_record: UUID | None
    is_new: bool
    previous: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A record that joins an episode. `call_key` identifies a tool call within the thread."""

    record: UUID
    call_key: bytes | None = None


def thread_key(tenant: Tenant, thread: str) -> bytes:
    """Return the keyed hash of a thread's name."""
    return keyed_hash(tenant.index_key, "thread", thread.encode())


async def fetch_threads(connection: AsyncConnection, caller: Caller, ids: Collection[UUID]) -> dict[UUID, set[bytes]]:
    """Return the keyed hashes of the threads of events and episodes that the caller may read in full, by record."""
    if not ids:
        return {}
    found: dict[UUID, set[bytes]] = {}
    for row in await fetch(connection, "fetch_threads_of", tenant=caller.tenant.id, ids=list(ids)):
        found.setdefault(row["id"], set()).add(bytes(row["thread_key"]))
    return found


def thread_of(tenant: Tenant, thread: str, scope: int, sensitivity: Sensitivity) -> Thread:
    """Return the thread of this name in a scope and at a sensitivity."""
    return Thread(scope, int(sensitivity), thread_key(tenant, thread))


def call_key(tenant: Tenant, call: str) -> bytes:
    """Return the keyed hash of a tool call's id."""
    return keyed_hash(tenant.index_key, "call", call.encode())


async def claim_episodes(
    connection: AsyncConnection, tenant: Tenant, threads: Sequence[Thread], *, now: datetime
) -> list[LockedEpisode]:
    """Open an episode for each thread that has none; lock and return the threads' open episodes.

    If another writer closes a thread's episode while this one waits for its lock, that thread is missing from the
    result; call again to open a new one.
    """
    found = await _lock_open_episodes(connection, tenant, threads)
    if len(found) == len(threads):
        return found
    await insert_rows(
        connection,
        tables.episode,
        [
            {
                "tenant": tenant.id,
                "id": new_id(),
                "thread_key": thread.key,
                "scope": thread.scope,
                "sensitivity": thread.sensitivity,
                "opened_at": now,
                "closes_at": now + SILENCE,
                "events": 0,
            }
            for thread in threads
        ],
        suffix="ON CONFLICT (tenant, scope, sensitivity, thread_key) WHERE closed_at IS NULL DO NOTHING",
    )
    return await _lock_open_episodes(connection, tenant, threads)


async def _lock_open_episodes(
    connection: AsyncConnection, tenant: Tenant, threads: Sequence[Thread]
) -> list[LockedEpisode]:
    rows = await fetch(
        connection,
        "lock_open_episodes",
        tenant=tenant.id,
        scopes=[thread.scope for thread in threads],
        sensitivities=[thread.sensitivity for thread in threads],
        keys=[thread.key for thread in threads],
    )
    return [
        LockedEpisode(
            id=row["id"],
            thread=Thread(row["scope"], row["sensitivity"], row["thread_key"]),
            closes_at=row["closes_at"],
            events=row["events"],
            last_record=row["last_record"],
        )
        for row in rows
    ]


async def previous_episodes(connection: AsyncConnection, tenant: Tenant, keys: Sequence[bytes]) -> dict[Thread, UUID]:
    """Return the id of the latest closed episode of each thread, given by thread key."""
    if not keys:
        return {}
    rows = await fetch(connection, "previous_episodes", tenant=tenant.id, keys=list(keys))
    return {Thread(row["scope"], row["sensitivity"], bytes(row["thread_key"])): row["id"] for row in rows}


async def append_events(
    connection: AsyncConnection,
    tenant: Tenant,
    appended: Sequence[tuple[OpenEpisode, Sequence[Event]]],
    *,
    at: datetime,
) -> None:
    """Append records to locked episodes, in order of arrival.

    The cost depends on the number of appended events, not on the length of the episodes.
    """
    await insert_rows(
        connection,
        tables.episode_event,
        [
            {
                "tenant": tenant.id,
                "episode": episode.id,
                "position": episode.events + position,
                "record": event.record,
                "call_key": event.call_key,
            }
            for episode, events in appended
            for position, event in enumerate(events, 1)
        ],
    )
    await defer(
        connection,
        "extend_episodes",
        tables.episode.name,
        tenant=tenant.id,
        ids=[episode.id for episode, _ in appended],
        added=[len(events) for _, events in appended],
        last=[events[-1].record for _, events in appended],
        closes_at=at + SILENCE,
    )


async def find_calls(
    connection: AsyncConnection, tenant: Tenant, calls: Collection[tuple[UUID, bytes]]
) -> dict[tuple[UUID, bytes], UUID]:
    """Return the records of earlier tool calls, keyed by episode and call key."""
    if not calls:
        return {}
    rows = await fetch(
        connection,
        "find_calls",
        tenant=tenant.id,
        episodes=list({episode for episode, _ in calls}),
        keys=list({key for _, key in calls}),
    )
    return {(row["episode"], row["call_key"]): row["record"] for row in rows}
