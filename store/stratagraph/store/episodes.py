"""Episodes: the records of one thread, from its first capture to its outcome or to silence (SPEC §4).

An episode's own record holds references only. Its timeline and tool graph are read back for each caller from the
records it refers to, without those the caller may not see (design decision 21).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import orjson
from sqlalchemy import RowMapping, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store import tables
from stratagraph.store.audit import Deed, write_audit
from stratagraph.store.bulk import insert_rows
from stratagraph.store.canonical import keyed_hash
from stratagraph.store.database import fetch
from stratagraph.store.enums import AuditAction, MemoryType, Outcome, Sensitivity
from stratagraph.store.feed import Change
from stratagraph.store.ids import new_id
from stratagraph.store.records import MemoryRecord
from stratagraph.store.sealing.contents import opened
from stratagraph.store.tenancy import Directory, Reach, Tenant
from stratagraph.store.words import record_terms
from stratagraph.store.writing import Edit, update_records

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


async def lock_episodes(
    connection: AsyncConnection, directory: Directory, tenant: Tenant, threads: Collection[Thread], *, now: datetime
) -> tuple[dict[Thread, OpenEpisode], list[Change]]:
    """The open episode of each thread, opened where there is none; one that fell silent is closed first."""
    if not threads:
        return {}, []
    changes: list[Change] = []
    episodes = await _open(connection, tenant, sorted(threads), now)
    if len(episodes) < len(threads):  # the one we waited for was closed meanwhile: another is in its place, or ours
        episodes = await _open(connection, tenant, sorted(threads), now)
    silent = [row for row in episodes if row.closes_at <= now]
    if silent:
        changes += await close_episodes(connection, directory, tenant, [row.id for row in silent], at=now)
        episodes = await _open(connection, tenant, sorted(threads), now)
    new = [row.thread_key for row in episodes if row.events == 0]
    previous = await _previous(connection, tenant, new)
    found = {}
    for row in episodes:
        thread = Thread(row.scope, row.sensitivity, bytes(row.thread_key))
        is_new = row.events == 0
        found[thread] = OpenEpisode(
            id=row.id,
            thread=thread,
            events=row.events,
            last_record=row.last_record,
            is_new=is_new,
            previous=previous.get(thread) if is_new else None,
        )
    return found, changes


async def _open(connection: AsyncConnection, tenant: Tenant, threads: Sequence[Thread], now: datetime) -> Sequence[Any]:
    """Claim a row per thread, then lock whichever row is there: ours, or that of whoever was first."""
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


async def _previous(connection: AsyncConnection, tenant: Tenant, keys: Sequence[bytes]) -> dict[Thread, UUID]:
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
        "touch_episodes",
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


async def set_outcome(
    connection: AsyncConnection,
    directory: Directory,
    tenant: Tenant,
    episode: UUID,
    outcome: Outcome,
    *,
    reason: str | None,
    actor: str,
    at: datetime,
) -> list[Change]:
    """Set a locked episode's outcome, once, and close it."""
    table = tables.episode
    await connection.execute(
        update(table).where(table.c.tenant == tenant.id, table.c.id == episode).values(outcome=int(outcome))
    )
    await write_audit(
        connection,
        tenant,
        [Deed(record=episode, action=AuditAction.CLOSE, rationale=reason or f"outcome: {outcome.label}")],
        actor=actor,
        at=at,
    )
    return await close_episodes(connection, directory, tenant, [episode], at=at)


async def close_episodes(
    connection: AsyncConnection, directory: Directory, tenant: Tenant, ids: Sequence[UUID], *, at: datetime
) -> list[Change]:
    """Close locked episodes: no more events, and now they can be found by what happened in them."""
    rows = await _whole(tenant, await fetch(connection, "close_episodes", tenant=tenant.id, ids=list(ids), at=at))
    members = await _whole(
        tenant, await fetch(connection, "episode_members", tenant=tenant.id, ids=list(ids), most=CLOSING_EVENTS)
    )
    by_episode: dict[UUID, list[Any]] = {}
    for member in members:
        by_episode.setdefault(member["episode"], []).append(member)
    edits = []
    for row in rows:
        name, text, occurred_at = _described(row, by_episode.get(row["id"], []))
        words = "\n".join(f"{member['name']}\n{member['text'][:400]}" for member in by_episode.get(row["id"], []))
        payload = {key: value for key, value in row["payload"].items() if key != "outcome"}
        if row["outcome"] is not None:
            payload["outcome"] = Outcome(row["outcome"]).label
        edits.append(
            Edit(
                id=row["id"],
                name=name,
                text=text,
                payload=orjson.dumps(payload).decode(),
                terms=record_terms(tenant.index_key, f"{text}\n{words}", name),
                occurred_at=occurred_at,
                is_revision=False,
            )
        )
    return await update_records(connection, directory, tenant, edits, at=at)


async def _whole(tenant: Tenant, rows: Sequence[RowMapping]) -> list[Mapping[Any, Any]]:
    """The rows with what their blobs hold, and a member's tool out of it."""
    whole: list[Mapping[Any, Any]] = []
    for row, content in zip(rows, await opened(tenant.keyring, rows), strict=True):
        if content is None:
            whole.append(row)
        else:
            tools = content["payload"].get("tool_graph") or [{}]
            whole.append({**row, **content, "tool": tools[0].get("tool")})
    return whole


def _described(row: Any, members: Sequence[Any]) -> tuple[str, str, datetime | None]:
    """A caption, a paragraph and the start of what happened."""
    thread = row["payload"].get("thread_id", "")
    tools = Counter(member["tool"] for member in members if member["tool"])
    outcome = f", {Outcome(row['outcome']).label}" if row["outcome"] is not None else ""
    opening = next((member["name"] for member in members), "")
    used = ", ".join(f"{tool} ×{count}" if count > 1 else tool for tool, count in tools.most_common(12))
    text = f"Episode of {thread}: {row['events']} events{outcome}."
    if opening:
        text += f" It began with: {opening}."
    if used:
        text += f" Tools used: {used}."
    start = min((member["occurred_at"] for member in members), default=None)
    return f"Episode {thread}{outcome}"[:120], text, start


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
    connection: AsyncConnection, reach: Reach, records: Collection[MemoryRecord], *, most: int
) -> dict[UUID, dict[str, Any]]:
    """Payloads of thread episodes with timeline and tool graph, from the members the caller may see in full.

    At most `most` events each; `event_count` says how many there are in the caller's sight or beyond `most`.
    """
    episodes = {record.id: record for record in records if is_thread_episode(record)}
    if not episodes:
        return {}
    rows = await fetch(connection, "assemble_episodes", **reach.parameters(), ids=list(episodes), most=most)
    timelines: dict[UUID, list[Any]] = {id_: [] for id_ in episodes}
    tools: dict[UUID, list[Any]] = {id_: [] for id_ in episodes}
    for row, content in zip(rows, await opened(reach.tenant.keyring, rows, key="record"), strict=True):
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
