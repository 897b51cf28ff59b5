"""What a front end shows around a record or a name: slots, threads, disputes, versions, entities, relations.

Each is read by an index, in its order, up to a number. What the caller may not read in full is left out, but for
redacted parties of disputes and redacted ends of relations.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Caller
from stratagraph.store.postgres.queries import fetch
from stratagraph.store.records.entities import name_key
from stratagraph.store.records.listing import FactSlot

PARTIES = 200  # of a dispute; more than can join one
EPISODES = 100  # of a thread that are looked into for one page of events
LATEST = datetime(9999, 12, 31, tzinfo=UTC)
GREATEST_ID = UUID(int=2**128 - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """An event of a thread: its record, and its position in its episode, which was opened at `opened_at`."""

    record: UUID
    episode: UUID
    opened_at: datetime
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadEpisode:
    """An episode of a thread, and when it was opened."""

    id: UUID
    opened_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class DisputeParty:
    """A party of a dispute; `since` is when it was first contested, None where it only contests others."""

    id: UUID
    is_contested: bool
    since: datetime | None


async def list_slot(
    connection: AsyncConnection, caller: Caller, slot: FactSlot, *, most: int, below: UUID = GREATEST_ID
) -> list[UUID]:
    """Return the ids of the facts that held a slot, in any state, the last stored first, those below `below`."""
    rows = await fetch(
        connection,
        "list_slot",
        **caller.parameters(),
        slot=slot.key,
        slot_scope=slot.scope,
        slot_level=slot.sensitivity,
        below=below,
        most=most,
    )
    return [row["id"] for row in rows]


async def find_versions(
    connection: AsyncConnection,
    caller: Caller,
    handle: bytes,
    *,
    version: bytes | None,
    at: datetime | None,
    most: int,
) -> list[UUID]:
    """Return the ids of the newest records with a handle, and with a version where its key is given.

    With `at`, only those that were created by then.
    """
    rows = await fetch(
        connection, "fetch_by_version", **caller.parameters(), handle=handle, version=version, at=at, most=most
    )
    return [row["id"] for row in rows]


async def list_episodes(
    connection: AsyncConnection,
    caller: Caller,
    thread: bytes,
    *,
    most: int,
    at: datetime | None = None,
    before: ThreadEpisode | None = None,
) -> list[ThreadEpisode]:
    """Return the episodes of a thread, the last opened first, those behind `before`, and opened by `at`."""
    rows = await fetch(
        connection,
        "list_episodes_of_thread",
        **caller.parameters(),
        thread=thread,
        opened_by=at or LATEST,
        opened_at=before.opened_at if before is not None else LATEST,
        below=before.id if before is not None else GREATEST_ID,
        most=most,
    )
    return [ThreadEpisode(id=row["id"], opened_at=row["opened_at"]) for row in rows]


async def list_events(
    connection: AsyncConnection,
    caller: Caller,
    episodes: Sequence[ThreadEpisode],
    *,
    most: int,
    at: datetime | None = None,
    before: int = 2**31 - 1,
) -> list[Event]:
    """Return the last events of episodes in the order of these, of the first episode those at positions below `before`.

    With `at`, only those that were stored by then.
    """
    rows = await fetch(
        connection,
        "list_events_of_episodes",
        **caller.parameters(),
        episodes=[episode.id for episode in episodes],
        position=before,
        at=at or LATEST,
        most=most,
    )
    return [
        Event(
            record=row["record"],
            episode=row["episode"],
            opened_at=episodes[row["place"] - 1].opened_at,
            position=row["position"],
        )
        for row in rows
    ]


async def list_contested(connection: AsyncConnection, caller: Caller, *, below: UUID, most: int) -> list[UUID]:
    """Return the ids of the contested records, the newest first, those below `below`."""
    rows = await fetch(connection, "list_contested", **caller.parameters(), below=below, most=most)
    return [row["id"] for row in rows]


async def list_parties(
    connection: AsyncConnection, caller: Caller, ids: Collection[UUID]
) -> dict[UUID, list[DisputeParty]]:
    """Return the parties of the dispute of each of `ids`, which are contested and readable, at most PARTIES of each.

    Two records are parties of one dispute if contests connect them over records that the caller may read in full.
    """
    rows = await fetch(connection, "list_parties", **caller.parameters(), ids=list(ids), most=PARTIES)
    found: dict[UUID, list[DisputeParty]] = {id_: [] for id_ in ids}
    for row in rows:
        party = DisputeParty(id=row["id"], is_contested=row["is_contested"], since=row["since"])
        found[row["asked"]].append(party)
    return found


async def list_entities(
    connection: AsyncConnection,
    caller: Caller,
    name: str,
    *,
    scope: int | None,
    above: UUID,
    at: datetime | None,
    most: int,
) -> list[UUID]:
    """Return the ids of the current entities with a name or alias, the oldest first, those above `above`.

    With `at`, in any state, those that existed then.
    """
    rows = await fetch(
        connection,
        "list_entities_named",
        **caller.parameters(),
        name=name_key(caller.tenant, name),
        scope=scope,
        above=above,
        at=at,
        most=most,
    )
    return [row["id"] for row in rows]
