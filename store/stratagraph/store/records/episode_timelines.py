"""The timeline and tool graph of a thread's episode, assembled for one caller.

The record of a thread's episode refers to its members and does not copy them. Its timeline and tool graph are read
from the members that the caller may read in full, so that an episode reveals nothing that its members would not
(docs/data-model.md, Episodes).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Caller
from stratagraph.store.keys.sealing.contents import open_contents
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.postgres.queries import fetch

LISTED_EVENTS = 200  # events shown per episode in lists of records; `record` shows all


def is_thread_episode(record: MemoryRecord) -> bool:
    """Return whether the record is the episode of a thread, whose payload refers to its events and has no timeline."""
    payload = record.payload
    return (
        record.type is MemoryType.EPISODIC
        and payload is not None
        and "thread_id" in payload
        and not payload.get("timeline")
    )


async def assemble_episodes(
    connection: AsyncConnection, caller: Caller, records: Collection[MemoryRecord], *, most: int
) -> dict[UUID, dict[str, Any]]:
    """Return the payloads of the thread episodes among `records`, keyed by id, with timeline and tool graph.

    They are assembled from the first `most` members of each episode, without those that the caller may not read in
    full.
    """
    episodes = {record.id: record for record in records if is_thread_episode(record)}
    if not episodes:
        return {}
    rows = await fetch(connection, "assemble_episodes", **caller.parameters(), ids=list(episodes), most=most)
    members: dict[UUID, list[tuple[UUID, Mapping[Any, Any]]]] = {id_: [] for id_ in episodes}
    for row, content in zip(rows, await open_contents(caller.tenant.keyring, rows, key="record"), strict=True):
        members[row["episode"]].append((row["record"], row if content is None else content["payload"]))
    return {id_: assembled_payload(episode, members[id_]) for id_, episode in episodes.items()}


def assembled_payload(episode: MemoryRecord, members: Sequence[tuple[UUID, Mapping[Any, Any]]]) -> dict[str, Any]:
    """Return the episode's payload with the timelines and tool graphs of its members, given as (id, payload)."""
    timeline = [{**event, "record_id": str(id_)} for id_, payload in members for event in payload.get("timeline") or ()]
    tools = [node for _, payload in members for node in payload.get("tool_graph") or ()]
    payload = {**(episode.payload or {}), "timeline": sorted(timeline, key=lambda event: str(event["t"]))}
    return payload | {"tool_graph": tools} if tools else payload
