"""What a run would learn, found out in transactions that are rolled back, and that end if a writer waits for them."""

from __future__ import annotations

import asyncio

from stratagraph.memory.learning.batches import Attempt, BatchDone, Batches
from stratagraph.store.keys.callers import Caller
from stratagraph.store.learning.groups import Group
from stratagraph.store.learning.runs import StoredRun
from stratagraph.store.postgres.database import Connection, Database
from stratagraph.store.postgres.giving_way import until_waited_for

ATTEMPTS = 3  # at previewing one group, of which the one that came farthest counts
PAUSE_S = 0.5  # between two of them


async def preview_group(
    database: Database, batches: Batches, run: StoredRun, group: Group, *, most: int, limit: int
) -> list[BatchDone]:
    """Return what a run would do with the first `most` due episodes of a group, in batches of at most `limit`.

    All batches are learned in one transaction, so that each sees those before it. Where writers of the group need its
    locks, it is rolled back and tried again, and after ATTEMPTS fewer episodes are previewed.
    """
    best: list[BatchDone] = []
    caller = await batches.caller(group)
    for attempt in range(ATTEMPTS):
        if attempt:
            await asyncio.sleep(PAUSE_S)
        found: list[BatchDone] = []
        is_whole = False
        try:
            async with database.writing(caller.bounds) as connection:
                work = _learn(batches, connection, caller, run, group, found, most=most, limit=limit)
                is_whole = await until_waited_for(database, connection, work)
                raise _RollBackError
        except _RollBackError:
            best = max(best, found, key=len)
        if is_whole:
            break
    return best


async def _learn(
    batches: Batches,
    connection: Connection,
    caller: Caller,
    run: StoredRun,
    group: Group,
    found: list[BatchDone],
    *,
    most: int,
    limit: int,
) -> None:
    """Learn from batches until `most` episodes were learned from; add what each did to `found`."""
    while sum(one.episodes for one in found) < most:
        done = await batches.learn(connection, caller, run, group, Attempt(limit=limit))
        if done is None:
            break
        found.append(done)


class _RollBackError(Exception):
    """Ends a transaction that must not be committed."""
