"""Maintain the statistics of word search: the numbers of records with each term, by scope and sensitivity.

A transaction that writes, edits or deletes a record appends its terms to `word_change` with a sign, so writers never
wait for the row of a common word. A job takes the changes of one tenant after another and adds them to `word_count`,
where the counts of a word are packed into one row, or into one for each 16 scopes if there are more than 100. Taking
and adding are one transaction, so each change is counted exactly once, whenever the job is stopped. Superseded and
retracted records count, because the history can be searched. See docs/decisions/002-word-counts.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from stratagraph.store.model.errors import StoreUnavailable, StratagraphError, error_kind
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.postgres.queries import fetch, run

JOB = "count-words"
BATCH = 1_000  # changes in one transaction: about 20,000 terms
ROUNDS = 50  # transactions for each tenant in one call
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """The number of changes that one call counted, and whether more are waiting."""

    changes: int
    more: bool


class WordCounter:
    """Adds the logged changes of records to the statistics of word search."""

    def __init__(self, database: Database, *, batch: int = BATCH) -> None:
        """`batch` is the number of changes in one transaction."""
        self._database = database
        self._batch = batch

    async def count_changes(self) -> Counted:
        """Add the changes of every tenant, one batch of each in turn, in at most ROUNDS rounds.

        A tenant whose changes cannot be added does not keep the others waiting; its error is raised at the end.
        """
        async with self._database.background(Role.FEED) as connection:
            tenants = [row["tenant"] for row in await fetch(connection, "find_tenants_with_word_changes")]
        changes = 0
        failure: StratagraphError | None = None
        for _ in range(ROUNDS):
            unfinished = []
            for tenant in tenants:
                try:
                    counted = await self._count_batch(tenant)
                except StoreUnavailable:
                    raise
                except StratagraphError as error:
                    _log.warning("words of a tenant not counted", tenant=tenant, error=error_kind(error))
                    failure = failure or error
                else:
                    changes += counted
                    if counted == self._batch:
                        unfinished.append(tenant)
            tenants = unfinished
        if failure is not None:
            raise failure
        return Counted(changes=changes, more=bool(tenants))

    async def _count_batch(self, tenant: int) -> int:
        """Add the first changes of a tenant in one transaction; return their number."""
        async with self._database.background(Role.FEED) as connection:
            await fetch(connection, "lock_word_counts")
            row = (await fetch(connection, "take_word_changes", tenant=tenant, limit=self._batch))[0]
            if row["terms"]:
                differences = {name: row[name] for name in ("terms", "scopes", "sensitivities", "steps")}
                await run(connection, "add_word_counts", tenant=tenant, **differences)
            return int(row["changes"])
