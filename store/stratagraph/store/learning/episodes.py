"""Due episodes: which groups have some, their rows with those of their records, and the mark that a run has read them.

An episode is due once it is closed, until every stage of learning has read it. One without an outcome is due only
OUTCOME_WAIT after it was closed, because its outcome may still be reported.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Caller, Tenant
from stratagraph.store.keys.sealing.contents import open_contents
from stratagraph.store.learning.groups import Group
from stratagraph.store.model.enums import Outcome, Sensitivity
from stratagraph.store.postgres.queries import Row, fetch, run

OUTCOME_WAIT = timedelta(hours=6)  # for which learning waits for the outcome of an episode that silence closed
MAX_EVENTS = 1_000  # members of one episode that are read, the first
READ_BYTES = 8 << 20  # of the members that are read at once, as JSON, after which no further one is
NAMED = ("mentions_entity", "subject_entity", "object_entity", "uses")  # relations from records to what they name


@dataclass(frozen=True, slots=True, kw_only=True)
class DueEpisode:
    """An episode that is due, as it was read: `outcome` may be set before it is marked.

    `stages` are those that have read it already.
    """

    id: UUID
    closed_at: datetime
    outcome: Outcome | None
    stages: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMember:
    """A record of an episode, with its decrypted payload; the episode's own record is the first, at position 0."""

    record: UUID
    occurred_at: datetime
    payload: Mapping[str, Any]


async def find_due_group(
    connection: AsyncConnection, *, stages: Collection[str], now: datetime, after: Group | None
) -> Group | None:
    """Return the first group after `after`, in their order, with an episode that is due at `now` for one of `stages`.

    None if there is none. Read over all tenants, in a transaction of the role for jobs.
    """
    rows = await fetch(
        connection,
        "find_due_group",
        **_due(stages, now),
        tenant=after.tenant if after is not None else -1,
        scope=after.scope if after is not None else -1,
        sensitivity=int(after.sensitivity) if after is not None else -1,
    )
    return Group(rows[0]["tenant"], rows[0]["scope"], Sensitivity(rows[0]["sensitivity"])) if rows else None


async def fetch_due_episodes(
    connection: AsyncConnection, group: Group, *, stages: Collection[str], now: datetime, limit: int
) -> list[DueEpisode]:
    """Return at most `limit` episodes of a group that are due at `now` for one of `stages`, the longest closed first.

    They are not locked.
    """
    rows = await fetch(connection, "fetch_due_episodes", **_due(stages, now), **_group(group), limit=limit)
    return [_due_episode(row) for row in rows]


async def lock_due_episodes(
    connection: AsyncConnection, group: Group, due: Sequence[DueEpisode], *, stages: Collection[str], now: datetime
) -> list[DueEpisode]:
    """Lock the episodes of `due` that are still due, and return them as they are now, in the order of `due`.

    They cannot be deleted or get an outcome until the transaction ends.
    """
    ids = [one.id for one in due]
    rows = await fetch(connection, "lock_due_episodes", **_due(stages, now), tenant=group.tenant, ids=ids)
    locked = {row["id"]: _due_episode(row) for row in rows}
    return [locked[id_] for id_ in ids if id_ in locked]


async def fetch_members(
    connection: AsyncConnection, tenant: Tenant, group: Group, episodes: Sequence[UUID]
) -> dict[UUID, list[StoredMember]]:
    """Return the record of each episode followed by its first MAX_EVENTS members, in order of arrival.

    Only records of exactly the group's scope and sensitivity are returned, and only the first of `episodes` that have
    READ_BYTES together; of the first one alone, the first members, up to the one that exceeds READ_BYTES.
    """
    rows = await fetch(
        connection, "fetch_learned_members", **_group(group), ids=list(episodes), most=MAX_EVENTS, bytes=READ_BYTES
    )
    found: dict[UUID, list[StoredMember]] = {}
    for row, content in zip(rows, await open_contents(tenant.keyring, rows), strict=True):
        payload = row["payload"] if content is None else content["payload"]
        member = StoredMember(record=row["id"], occurred_at=row["occurred_at"], payload=payload)
        found.setdefault(row["episode"], []).append(member)
    return found


async def fetch_named_entities(
    connection: AsyncConnection, caller: Caller, records: Collection[UUID]
) -> dict[UUID, list[UUID]]:
    """Return the entities that records name, which the caller may read in full, keyed by record, in id order."""
    rows = await fetch(
        connection, "fetch_named_entities", **caller.parameters(), ids=list(records), predicates=list(NAMED)
    )
    return {row["source"]: list(row["entities"]) for row in rows}


async def mark_learned(
    connection: AsyncConnection,
    tenant: int,
    episodes: Sequence[DueEpisode],
    *,
    run_id: UUID,
    stages: Collection[str],
    all_stages: Collection[str],
    at: datetime,
) -> list[UUID] | None:
    """Mark episodes as read by the `stages` of a run; return those that all of `all_stages` have read now.

    These are due no more. Returns None where one of the episodes is not as it was read, because another run has read
    it, its outcome was set, or it was deleted: the caller rolls back.
    """
    rows = await fetch(
        connection,
        "mark_learned",
        tenant=tenant,
        ids=[one.id for one in episodes],
        outcomes=[int(one.outcome) if one.outcome is not None else None for one in episodes],
        run=run_id,
        stages=sorted(stages),
        all_stages=sorted(all_stages),
        at=at,
    )
    return [row["id"] for row in rows if row["is_done"]] if len(rows) == len(episodes) else None


async def relearn_run(connection: AsyncConnection, tenant: int, run_id: UUID, groups: Collection[Group]) -> int:
    """Make the episodes of an undone run due again, for the stages of the run; return how many.

    Only episodes of `groups` that it was the last run to read, and of which nothing has been deleted since.
    """
    return await run(
        connection,
        "relearn_run",
        tenant=tenant,
        run=run_id,
        scopes=[group.scope for group in groups],
        sensitivities=[int(group.sensitivity) for group in groups],
    )


async def postpone_learning(connection: AsyncConnection, tenant: int, episode: UUID, *, until: datetime) -> None:
    """Let an episode that could not be learned from be due again at `until`."""
    await run(connection, "postpone_learning", tenant=tenant, id=episode, until=until)


async def clear_learned_set_aside(connection: AsyncConnection, job: str) -> None:
    """Delete the entries of episodes that `job` had set aside and has learned from after all."""
    await run(connection, "clear_learned_set_aside", job=job)


async def count_due(
    connection: AsyncConnection, *, stages: Collection[str], now: datetime, most: int
) -> tuple[int, int]:
    """Return the numbers of episodes due at `now`, and of those that wait for an outcome; each up to `most`."""
    rows = await fetch(connection, "count_due_episodes", **_due(stages, now), most=most)
    return rows[0]["due"], rows[0]["waiting"]


def _due_episode(row: Row) -> DueEpisode:
    return DueEpisode(
        id=row["id"],
        closed_at=row["closed_at"],
        outcome=Outcome(row["outcome"]) if row["outcome"] is not None else None,
        stages=frozenset(row["learned_stages"]),
    )


def _due(stages: Collection[str], now: datetime) -> dict[str, Any]:
    return {"stages": sorted(stages), "now": now, "without_outcome": now - OUTCOME_WAIT}


def _group(group: Group) -> dict[str, Any]:
    return {"tenant": group.tenant, "scope": group.scope, "sensitivity": int(group.sensitivity)}
