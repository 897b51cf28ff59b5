"""The end of episodes: recording an outcome, closing an episode, and inserting one that is closed from the start."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.audit.events import AuditEvent, write_audit
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.keys.sealing.contents import open_contents
from stratagraph.store.model.enums import AuditAction, Outcome
from stratagraph.store.postgres.bulk import insert_rows
from stratagraph.store.postgres.queries import Row, fetch, run
from stratagraph.store.postgres.schema import tables
from stratagraph.store.records.episodes import Thread

CLOSING_EVENTS = 500  # members read for the search terms of a closed episode, whatever its length


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """The fields of an episode's member from which the episode's name and text are made when it closes."""

    name: str
    text: str
    tool: str | None
    occurred_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedEpisode:
    """An episode that accepts no more events, with its first CLOSING_EVENTS members. `name` and `text` are present."""

    id: UUID
    name: str
    text: str
    payload: Mapping[str, Any]
    outcome: Outcome | None
    events: int
    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewClosedEpisode:
    """An episode that was captured as a whole and is closed from the start."""

    id: UUID
    thread: Thread
    outcome: Outcome | None


async def lock_episode_without_outcome(
    connection: AsyncConnection, tenant: Tenant, *, thread: Thread | None = None, record: UUID | None = None
) -> UUID | None:
    """Lock an episode that has no outcome and return its id, or None if there is none.

    With `thread`, the thread's latest such episode, open or closed; with `record`, the episode of that id.
    """
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
    needed_by: Collection[str],
) -> None:
    """Set the outcome of a locked episode that has none, and audit it.

    `needed_by` are the stages of learning that learn nothing from an episode without an outcome: those of them that
    have read the episode read it again, unless some of it has been deleted since.
    """
    stages = sorted(needed_by)
    await run(connection, "record_outcome", tenant=tenant.id, id=episode, outcome=int(outcome), stages=stages)
    await write_audit(
        connection,
        tenant,
        [AuditEvent(record=episode, action=AuditAction.CLOSE, rationale=reason or f"outcome: {outcome.label}")],
        actor=actor,
        at=at,
    )


async def mark_episodes_closed(
    connection: AsyncConnection, tenant: Tenant, ids: Sequence[UUID], *, at: datetime
) -> list[ClosedEpisode]:
    """Mark locked episodes as closed and return them with their first CLOSING_EVENTS members.

    From the members the caller makes the name and text of each episode's record.
    """
    rows = await _with_opened_content(
        tenant, await fetch(connection, "close_episodes", tenant=tenant.id, ids=list(ids), at=at)
    )
    by_episode = await read_members(connection, tenant, ids)
    return [
        ClosedEpisode(
            id=row["id"],
            name=row["name"],
            text=row["text"],
            payload=row["payload"],
            outcome=Outcome(row["outcome"]) if row["outcome"] is not None else None,
            events=row["events"],
            members=tuple(by_episode.get(row["id"], ())),
        )
        for row in rows
    ]


async def read_members(connection: AsyncConnection, tenant: Tenant, ids: Sequence[UUID]) -> dict[UUID, list[Member]]:
    """Return the first CLOSING_EVENTS members of each episode, in order of arrival."""
    members = await _with_opened_content(
        tenant, await fetch(connection, "episode_members", tenant=tenant.id, ids=list(ids), most=CLOSING_EVENTS)
    )
    by_episode: dict[UUID, list[Member]] = {}
    for row in members:
        by_episode.setdefault(row["episode"], []).append(
            Member(name=row["name"], text=row["text"], tool=row["tool"], occurred_at=row["occurred_at"])
        )
    return by_episode


async def _with_opened_content(tenant: Tenant, rows: Sequence[Row]) -> list[Mapping[Any, Any]]:
    """Return the rows with the content of sealed records decrypted, including each member's tool."""
    complete: list[Mapping[Any, Any]] = []
    for row, content in zip(rows, await open_contents(tenant.keyring, rows), strict=True):
        if content is None:
            complete.append(row)
        else:
            tools = content["payload"].get("tool_graph") or [{}]
            complete.append({**row, **content, "tool": tools[0].get("tool")})
    return complete


async def insert_closed_episodes(
    connection: AsyncConnection, tenant: Tenant, episodes: Sequence[NewClosedEpisode], *, at: datetime
) -> None:
    """Insert episodes that are closed from the start, so that a later outcome can find them."""
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


async def lock_silent_episodes(connection: AsyncConnection, *, now: datetime, limit: int) -> list[tuple[int, UUID]]:
    """Lock at most `limit` open episodes that are due to be closed at `now`, the longest due first.

    They have had no capture for 30 minutes. Returns them as (tenant, id). Rows that another transaction has locked are
    skipped.
    """
    table = tables.episode
    rows = await connection.execute(
        select(table.c.tenant, table.c.id)
        .where(table.c.closed_at.is_(None), table.c.closes_at <= now)
        .order_by(table.c.closes_at)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    return [(row.tenant, row.id) for row in rows]


async def postpone_closing(connection: AsyncConnection, tenant: int, id_: UUID, *, until: datetime) -> None:
    """Make an open episode that could not be closed due again at `until`. Does nothing if it is closed or missing."""
    table = tables.episode
    await connection.execute(
        update(table)
        .where(table.c.tenant == tenant, table.c.id == id_, table.c.closed_at.is_(None))
        .values(closes_at=until)
    )
