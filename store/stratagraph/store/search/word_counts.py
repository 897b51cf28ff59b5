"""Maintain word search: the numbers of records with each term, by scope and sensitivity, and the word index.

A transaction that writes, edits or deletes a record appends its terms to `word_change` with a sign, so writers never
wait for the row of a common word. A job takes the changes of one tenant after another and adds them to `word_count`,
where the counts of a word are packed into one row, or into one for each 16 scopes if there are more than 100. Taking
and adding are one transaction, so each change is counted exactly once, whenever the job is stopped. Superseded and
retracted records count, because the history can be searched. See docs/decisions.md.

The same transaction indexes the records of the changes (`word_indexing`). So a search needs to read the changes that
are waiting and nothing else to know which records it does not find in the index as they are.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from stratagraph.store.event_log import get_logger
from stratagraph.store.model.errors import StoreUnavailable, error_kind
from stratagraph.store.postgres.database import Connection, Database, Role
from stratagraph.store.postgres.queries import fetch, run
from stratagraph.store.search.word_indexing import PURGE_AFTER_S, index_records, merge_segments

JOB = "count-words"
BATCH = 1_000  # changes in one transaction: about 20,000 terms
BATCHES = 50  # transactions for each tenant in one call
MERGES = 20  # segments of one tenant that are written again in one call
_log = get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """The numbers of changes that one call counted and of segments that it merged, and whether more are waiting."""

    changes: int
    merged: int
    more: bool


class WordCounter:
    """Adds the logged changes of records to the statistics of word search and to its index."""

    def __init__(self, database: Database, *, batch: int = BATCH, purge_after_s: float = PURGE_AFTER_S) -> None:
        """`batch` is the number of changes in one transaction.

        The postings of a deleted record are deleted after `purge_after_s` seconds at the latest.
        """
        self._database = database
        self._batch = batch
        self._purge_after_s = purge_after_s

    async def count_changes(self) -> Counted:
        """Add the changes of every tenant, one batch of each in turn, at most BATCHES of each; then merge segments.

        A tenant whose changes cannot be added, or whose segments cannot be merged, does not keep the others waiting;
        its error is raised at the end.
        """
        async with self._database.background(Role.FEED) as connection:
            tenants = [row["tenant"] for row in await fetch(connection, "find_tenants_with_word_changes")]
            due = [row["tenant"] for row in await fetch(connection, "find_tenants_with_due_segments")]
        merging = list(dict.fromkeys([*due, *tenants]))
        changes = merged = 0
        failures: list[Exception] = []
        for _ in range(BATCHES):
            unfinished = []
            for tenant in tenants:
                counted = await _isolated(self._count_batch, tenant, failures)
                changes += counted
                if counted == self._batch:
                    unfinished.append(tenant)
            tenants = unfinished
        for tenant in merging:
            merged += await _isolated(self._merge, tenant, failures)
        if failures:
            raise failures[0]
        return Counted(changes=changes, merged=merged, more=bool(tenants))

    async def _merge(self, tenant: int) -> int:
        """Merge segments of a tenant, each time in a transaction of its own; return how often."""
        for done in range(MERGES):
            async with self._database.background(Role.FEED) as connection:
                await fetch(connection, "lock_word_counts")
                if not await merge_segments(connection, tenant):
                    return done
        return MERGES

    async def _count_batch(self, tenant: int) -> int:
        """Add the first changes of a tenant in one transaction; return their number."""
        async with self._database.background(Role.FEED) as connection:
            await fetch(connection, "lock_word_counts")
            row = (await fetch(connection, "take_word_changes", tenant=tenant, limit=self._batch))[0]
            if row["terms"]:
                differences = {name: row[name] for name in ("terms", "scopes", "sensitivities", "steps")}
                await run(connection, "add_word_counts", tenant=tenant, **differences)
            if row["records"]:
                await index_records(connection, tenant, row["records"], purge_after_s=self._purge_after_s)
            return int(row["changes"])


async def _isolated(work: Callable[[int], Awaitable[int]], tenant: int, failures: list[Exception]) -> int:
    """Return the number of what was done for a tenant; 0, with the error added to `failures`, if that fails.

    Raises StoreUnavailable, since an outage concerns all tenants.
    """
    try:
        return await work(tenant)
    except StoreUnavailable:
        raise
    except Exception as error:  # also what the words of a damaged segment raise
        _log.warning("words of a tenant not counted or merged", tenant=tenant, error=error_kind(error))
        failures.append(error)
        return 0


async def lock_word_index(connection: Connection) -> None:
    """Wait for the job that counts and indexes words, and keep it waiting until the transaction ends."""
    await fetch(connection, "lock_word_index")
