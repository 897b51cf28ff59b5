"""The statistics of word search compared with a recount of the records."""

from __future__ import annotations

from typing import Any

from sqlalchemy import text

from stratagraph.store.postgres.database import Database
from stratagraph.store.search.word_counts import WordCounter

# Both tables are compared in full, so a row with a count of 0, or of a scope that is gone, is a difference as well.
DIFFERENCES = """
WITH recount AS (
  SELECT tenant, term, scope, sensitivity, count(*) AS records FROM record, unnest(0 || terms) AS term
  GROUP BY tenant, term, scope, sensitivity
), totals AS (
  SELECT tenant, term, sensitivity, sum(records) AS records FROM recount GROUP BY tenant, term, sensitivity
)
SELECT tenant, term, scope, sensitivity, c.records AS counted, r.records AS recounted
FROM word_count c FULL JOIN recount r USING (tenant, term, scope, sensitivity)
WHERE c.records IS DISTINCT FROM r.records
UNION ALL
SELECT tenant, term, NULL, sensitivity, c.records, r.records
FROM word_total c FULL JOIN totals r USING (tenant, term, sensitivity) WHERE c.records IS DISTINCT FROM r.records
UNION ALL
SELECT tenant, NULL, scope, sensitivity, step, NULL FROM word_change
"""


async def count_all_words(database: Database, *, batch: int = 1_000) -> None:
    """Count every change that has been committed."""
    while (await WordCounter(database, batch=batch).count_changes()).more:
        pass


async def count_differences(database: Database) -> list[Any]:
    """Return what is wrong with the statistics of a store at rest, and the changes that are not counted."""
    async with database.engine.begin() as connection:
        return list((await connection.execute(text(DIFFERENCES))).mappings().all())
