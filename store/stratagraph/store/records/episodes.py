"""Episodes: the records of one thread, from its first capture to its outcome or to silence (SPEC §4).

An episode's own record holds references only. Its timeline and tool graph are read back for each caller from the
records it refers to, without those the caller may not see (design decision 21).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import RowMapping, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.audit.events import AuditEvent, write_audit
from stratagraph.store.keys.sealing.contents import opened
from stratagraph.store.keys.tenancy import Caller, Tenant
from stratagraph.store.model.canonical import keyed_hash
from stratagraph.store.model.enums import AuditAction, MemoryType, Outcome, Sensitivity
from stratagraph.store.model.ids import new_id
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.postgres import tables
from stratagraph.store.postgres.bulk import insert_rows
from stratagraph.store.postgres.queries import fetch

SILENCE = timedelta(minutes=30)  # after so long without a capture an episode closes by itself
CLOSING_EVENTS = 500  # members read to make a closed episode's search terms: bounded, whatever its length
LISTED_EVENTS = 200  # events shown per episode where many records are listed; `record` shows all


@dataclass(frozen=True, slots=True, order=True)
class Thread:
    """One conversation or task, within one scope and one sensitivity."""

    scope: int
    sensitivity: int
    key: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenEpisode:
    """A thread's episode, its row locked. `previous` is the episode it follows, if it was just opened."""

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
    return keyed_hash(tenant.index_key, "thread", thread.encode())


def call_key(tenant: Tenant, call: str) -> bytes:
    return keyed_hash(tenant.index_key, "call", call.encode())


async def claim_episodes(
    connection: AsyncConnection, tenant: Tenant, threads: Sequence[Thread], *, now: datetime
) -> Sequence[Any]:
    """Insert an open episode per thread where there is none, and lock and return the row that is there.

    A thread whose open episode is closed by another writer while this one waits for its lock is missing.
    """
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
    table = tables.episode
    rows = await connection.execute(
        select(table)
        .where(
            table.c.tenant == tenant.id,
            table.c.thread_key.in_([thread.key for thread in threads]),
            table.c.closed_at.is_(None),
        )
        .order_by(table.c.scope, table.c.sensitivity, table.c.thread_key)
        .with_for_update()
    )
    wanted = set(threads)
    return [row for row in rows if Thread(row.scope, row.sensitivity, bytes(row.thread_key)) in wanted]


async def previous_episodes(connection: AsyncConnection, tenant: Tenant, keys: Sequence[bytes]) -> dict[Thread, UUID]:
    """Return the last closed episode of each thread, given by thread key."""
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
    """Add records to locked episodes, in their order of arrival. Costs what is added, not what is there."""
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
    await fetch(
        connection,
        "extend_episodes",
        tenant=tenant.id,
        ids=[episode.id for episode, _ in appended],
        added=[len(events) for _, events in appended],
        last=[events[-1].record for _, events in appended],
        closes_at=at + SILENCE,
    )


async def find_calls(
    connection: AsyncConnection, tenant: Tenant, calls: Collection[tuple[UUID, bytes]]
) -> dict[tuple[UUID, bytes], UUID]:
    """The records of earlier tool calls, by episode and call key."""
    if not calls:
        return {}
    table = tables.episode_event
    rows = await connection.execute(
        select(table.c.episode, table.c.call_key, table.c.record)
        .where(
            table.c.tenant == tenant.id,
            table.c.episode.in_({episode for episode, _ in calls}),
            table.c.call_key.in_([key for _, key in calls]),
        )
        .order_by(table.c.position)
    )
    return {(row.episode, bytes(row.call_key)): row.record for row in rows}


async def awaiting_outcome(
    connection: AsyncConnection, tenant: Tenant, *, thread: Thread | None = None, record: UUID | None = None
) -> UUID | None:
    """The thread's last episode without an outcome, or that very episode, open or closed; its row is locked."""
    table = tables.episode
    statement = select(table.c.id).where(table.c.tenant == tenant.id, table.c.outcome.is_(None))
    if thread is not None:
        statement = statement.where(
            table.c.thread_key == thread.key,
            table.c.scope == thread.scope,
            table.c.sensitivity == thread.sensitivity,
        )
    else:
        statement = statement.where(table.c.id == record)
    statement = statement.order_by(table.c.opened_at.desc()).limit(1).with_for_update()
    return (await connection.execute(statement)).scalar_one_or_none()


async def record_outcome(
    connection: AsyncConnection,
    tenant: Tenant,
    episode: UUID,
    outcome: Outcome,
    *,
    reason: str | None,
    actor: str,
    at: datetime,
) -> None:
    """Set the outcome of a locked episode, which has none yet, and audit it."""
    table = tables.episode
    await connection.execute(
        update(table).where(table.c.tenant == tenant.id, table.c.id == episode).values(outcome=int(outcome))
    )
    await write_audit(
        connection,
        tenant,
        [AuditEvent(record=episode, action=AuditAction.CLOSE, rationale=reason or f"outcome: {outcome.label}")],
        actor=actor,
        at=at,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A record of an episode, as far as a caption needs it."""

    name: str
    text: str
    tool: str | None
    occurred_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedEpisode:
    """An episode that takes no more events, and its first CLOSING_EVENTS members."""

    id: UUID
    payload: Mapping[str, Any]
    outcome: Outcome | None
    events: int
    members: tuple[Member, ...]


async def end_episodes(
    connection: AsyncConnection, tenant: Tenant, ids: Sequence[UUID], *, at: datetime
) -> list[EndedEpisode]:
    """Close locked episodes to further events and return them with their members, for their captions."""
    rows = await _whole(tenant, await fetch(connection, "close_episodes", tenant=tenant.id, ids=list(ids), at=at))
    members = await _whole(
        tenant, await fetch(connection, "episode_members", tenant=tenant.id, ids=list(ids), most=CLOSING_EVENTS)
    )
    by_episode: dict[UUID, list[Member]] = {}
    for row in members:
        by_episode.setdefault(row["episode"], []).append(
            Member(name=row["name"], text=row["text"], tool=row["tool"], occurred_at=row["occurred_at"])
        )
    return [
        EndedEpisode(
            id=row["id"],
            payload=row["payload"],
            outcome=Outcome(row["outcome"]) if row["outcome"] is not None else None,
            events=row["events"],
            members=tuple(by_episode.get(row["id"], ())),
        )
        for row in rows
    ]


async def _whole(tenant: Tenant, rows: Sequence[RowMapping]) -> list[Mapping[Any, Any]]:
    """Return the rows with the content of their blobs, and each member's tool."""
    whole: list[Mapping[Any, Any]] = []
    for row, content in zip(rows, await opened(tenant.keyring, rows), strict=True):
        if content is None:
            whole.append(row)
        else:
            tools = content["payload"].get("tool_graph") or [{}]
            whole.append({**row, **content, "tool": tools[0].get("tool")})
    return whole


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeEpisode:
    """An episode that was captured at once, and so is closed from the start."""

    id: UUID
    thread: Thread
    outcome: Outcome | None


async def insert_closed_episodes(
    connection: AsyncConnection, tenant: Tenant, episodes: Sequence[WholeEpisode], *, at: datetime
) -> None:
    """Insert episodes that are closed from the start, so that an outcome can still find them."""
    await insert_rows(
        connection,
        tables.episode,
        [
            {
                "tenant": tenant.id,
                "id": episode.id,
                "thread_key": episode.thread.key,
                "scope": episode.thread.scope,
                "sensitivity": episode.thread.sensitivity,
                "opened_at": at,
                "closes_at": at,
                "closed_at": at,
                "outcome": int(episode.outcome) if episode.outcome is not None else None,
                "events": 0,
            }
            for episode in episodes
        ],
    )


def is_thread_episode(record: MemoryRecord) -> bool:
    """Whether the record is the episode of a thread, which refers to its events instead of holding them."""
    payload = record.payload
    return (
        record.type is MemoryType.EPISODIC
        and payload is not None
        and "thread_id" in payload
        and not payload.get("timeline")
    )


async def assemble(
    connection: AsyncConnection, caller: Caller, records: Collection[MemoryRecord], *, most: int
) -> dict[UUID, dict[str, Any]]:
    """Payloads of thread episodes with timeline and tool graph, from the members the caller may see in full.

    At most `most` events each; `event_count` says how many there are in the caller's sight or beyond `most`.
    """
    episodes = {record.id: record for record in records if is_thread_episode(record)}
    if not episodes:
        return {}
    rows = await fetch(connection, "assemble_episodes", **caller.parameters(), ids=list(episodes), most=most)
    timelines: dict[UUID, list[Any]] = {id_: [] for id_ in episodes}
    tools: dict[UUID, list[Any]] = {id_: [] for id_ in episodes}
    for row, content in zip(rows, await opened(caller.tenant.keyring, rows, key="record"), strict=True):
        said = row if content is None else content["payload"]
        for event in said.get("timeline") or ():
            timelines[row["episode"]].append({**event, "record_id": str(row["record"])})
        for node in said.get("tool_graph") or ():
            tools[row["episode"]].append(node)
    assembled = {}
    for id_, record in episodes.items():
        payload = dict(record.payload or {})
        payload["timeline"] = sorted(timelines[id_], key=lambda event: str(event["t"]))
        if tools[id_]:
            payload["tool_graph"] = tools[id_]
        assembled[id_] = payload
    return assembled


async def fetch_due(connection: AsyncConnection, *, now: datetime, limit: int) -> list[tuple[int, UUID]]:
    """Open episodes that fell silent, as (tenant, id), locked; rows another closer holds are left to it."""
    table = tables.episode
    rows = await connection.execute(
        select(table.c.tenant, table.c.id)
        .where(table.c.closed_at.is_(None), table.c.closes_at <= now)
        .order_by(table.c.closes_at)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    return [(row.tenant, row.id) for row in rows]


def thread_of(tenant: Tenant, thread: str, scope: int, sensitivity: Sensitivity) -> Thread:
    return Thread(scope, int(sensitivity), thread_key(tenant, thread))
