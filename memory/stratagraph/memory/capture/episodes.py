"""Episodes of threads: opened by the first capture, closed by an outcome or by 30 minutes of silence.

The rows are in `stratagraph.store.records.episodes`; this module decides the name, text and search terms of a closed
episode.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from stratagraph.store.feed.changes import Change
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.enums import Outcome
from stratagraph.store.model.words import record_terms
from stratagraph.store.postgres.database import Connection
from stratagraph.store.records.editing import Edit, update_records
from stratagraph.store.records.episode_endings import ClosedEpisode, Member, mark_episodes_closed, record_outcome
from stratagraph.store.records.episodes import OpenEpisode, Thread, claim_episodes, previous_episodes

CAPTION_CHARACTERS = 120
MEMBER_CHARACTERS = 400  # of each member's text, for the episode's search terms
TOOLS_NAMED = 12
_QUESTIONS = {
    Outcome.SUCCESS: "Why it succeeded",
    Outcome.FAILURE: "Why it failed",
    Outcome.PARTIAL: "Why it succeeded in part",
    None: "Why it ended",
}
NEED_OUTCOME = frozenset({"structural-facts", "competence", "plans", "needs"})  # names of stages


async def lock_episodes(
    connection: Connection, directory: Directory, tenant: Tenant, threads: Collection[Thread], *, now: datetime
) -> tuple[dict[Thread, OpenEpisode], list[Change]]:
    """Lock the open episode of each thread, opening one where there is none.

    An open episode whose thread has had no capture for 30 minutes is closed first, and a new one is opened. Returns the
    open episodes by thread, and the changes of those that were closed, for the feed.
    """
    if not threads:
        return {}, []
    changes: list[Change] = []
    episodes = await claim_episodes(connection, tenant, sorted(threads), now=now)
    # An episode that was closed while this statement waited for its lock is not returned; its successor is.
    if len(episodes) < len(threads):
        episodes = await claim_episodes(connection, tenant, sorted(threads), now=now)
    silent = [row for row in episodes if row.closes_at <= now]
    if silent:
        changes += await close_episodes(connection, directory, tenant, [row.id for row in silent], at=now)
        episodes = await claim_episodes(connection, tenant, sorted(threads), now=now)
    new = [row.thread.key for row in episodes if row.events == 0]
    previous = await previous_episodes(connection, tenant, new)
    found = {}
    for row in episodes:
        is_new = row.events == 0
        found[row.thread] = OpenEpisode(
            id=row.id,
            thread=row.thread,
            events=row.events,
            last_record=row.last_record,
            is_new=is_new,
            previous=previous.get(row.thread) if is_new else None,
        )
    return found, changes


async def set_outcome(
    connection: Connection,
    directory: Directory,
    tenant: Tenant,
    episode: UUID,
    outcome: Outcome,
    *,
    reason: str | None,
    actor: str,
    at: datetime,
) -> list[Change]:
    """Set the outcome of a locked episode, open or closed, and close it if it is open; return the changes for the feed.

    `reason` is why it ended so, or None; it becomes part of the episode's payload and text, and of the audit log.
    `actor` is who set the outcome.
    """
    await record_outcome(
        connection, tenant, episode, outcome, reason=reason, actor=actor, at=at, needed_by=NEED_OUTCOME
    )
    return await close_episodes(connection, directory, tenant, [episode], at=at, reason=reason)


async def close_episodes(
    connection: Connection,
    directory: Directory,
    tenant: Tenant,
    ids: Sequence[UUID],
    *,
    at: datetime,
    reason: str | None = None,
) -> list[Change]:
    """Close locked episodes: no more events are appended, and word search finds them by the words of their events.

    `reason` is that of the outcome that closes them, if one does; its words find them as well. Returns the changes for
    the feed.
    """
    ended = await mark_episodes_closed(connection, tenant, ids, at=at)
    return await update_records(connection, directory, tenant, [_edit(tenant, one, reason) for one in ended], at=at)


def _edit(tenant: Tenant, episode: ClosedEpisode, reason: str | None) -> Edit:
    payload = {key: value for key, value in episode.payload.items() if key != "outcome"}
    if episode.outcome is not None:
        payload["outcome"] = episode.outcome.label
    if reason is not None:
        payload["outcome_reason"] = reason
    if payload.get("timeline") or payload.get("tool_graph"):
        return _edit_of_whole(tenant, episode, payload, reason)
    name, text = _caption(episode), _description(episode, payload.get("outcome_reason"))
    words = member_words(episode.members)
    return Edit(
        id=episode.id,
        name=name,
        text=text,
        payload=orjson.dumps(payload).decode(),
        # The reason counts as a summary, so that many events do not outweigh it.
        terms=record_terms(tenant.index_key, f"{text}\n{words}", f"{name}\n{payload.get('outcome_reason', '')}"),
        occurred_at=min((member.occurred_at for member in episode.members), default=None),
        is_revision=False,
    )


def member_words(members: Sequence[Member]) -> str:
    """Return the text of an episode's members by whose words the episode is found."""
    return "\n".join(f"{member.name}\n{member.text[:MEMBER_CHARACTERS]}" for member in members)


def _edit_of_whole(tenant: Tenant, episode: ClosedEpisode, payload: dict[str, Any], reason: str | None) -> Edit:
    """Return the edit of an episode that was captured as a whole: it keeps its name and text, and gains its outcome."""
    text = episode.text
    if episode.outcome is not None and "outcome" not in episode.payload:
        text += f"\nOutcome: {episode.outcome.label}."
    if reason is not None:
        text += f"\n{because(episode.outcome, reason)}"
    return Edit(
        id=episode.id,
        text=text,
        payload=orjson.dumps(payload).decode(),
        terms=record_terms(tenant.index_key, text, f"{episode.name}\n{reason or ''}"),
        is_revision=False,
    )


def _caption(episode: ClosedEpisode) -> str:
    return f"Episode {episode.payload.get('thread_id', '')}{_outcome(episode)}"[:CAPTION_CHARACTERS]


def _description(episode: ClosedEpisode, reason: str | None) -> str:
    tools = Counter(member.tool for member in episode.members if member.tool)
    used = ", ".join(f"{tool} ×{count}" if count > 1 else tool for tool, count in tools.most_common(TOOLS_NAMED))
    opening = next((member.name for member in episode.members), "")
    text = f"Episode of {episode.payload.get('thread_id', '')}: {episode.events} events{_outcome(episode)}."
    if opening:
        text += f" It began with: {opening}."
    if used:
        text += f" Tools used: {used}."
    if reason:
        text += f" {because(episode.outcome, reason)}"
    return text


def because(outcome: Outcome | None, reason: str) -> str:
    """Return the reason as a sentence with the words in which people ask for it.

    >>> because(Outcome.FAILURE, "the disk was full")
    'Why it failed: the disk was full'
    """
    return f"{_QUESTIONS[outcome]}: {reason}"


def _outcome(episode: ClosedEpisode) -> str:
    return f", {episode.outcome.label}" if episode.outcome is not None else ""
