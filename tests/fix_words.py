"""The statistics of word search compared with a recount of the records."""

from __future__ import annotations

from typing import Any

from sqlalchemy import text

from stratagraph.store.postgres.database import Database
from stratagraph.store.search.word_counts import WordCounter

# All rows are compared in full, so a count of 0, of a scope that is gone, or in the wrong row is a difference as well.
DIFFERENCES = """
WITH recount AS (
  SELECT tenant, term, scope::bigint * 8 + sensitivity AS cell, count(*) AS records
  FROM record, unnest(0 || terms) AS term GROUP BY tenant, term, scope, sensitivity
), spread AS (
  SELECT tenant, term, true AS is_spread FROM word_count WHERE part >= 0 GROUP BY tenant, term
), expected AS (
  SELECT tenant, term, CASE WHEN is_spread THEN (cell / 128)::integer ELSE -1 END AS part, cell, records
  FROM recount LEFT JOIN spread USING (tenant, term)
  UNION ALL
  SELECT tenant, term, -1, cell & 7, sum(records) FROM recount JOIN spread USING (tenant, term)
  GROUP BY tenant, term, cell & 7
), counted AS (
  SELECT tenant, term, part, packed >> 29 AS cell, packed & 536870911 AS records
  FROM word_count, unnest(cells) AS packed
)
SELECT tenant, term, part, cell, c.records AS counted, e.records AS expected
FROM counted c FULL JOIN expected e USING (tenant, term, part, cell) WHERE c.records IS DISTINCT FROM e.records
UNION ALL
SELECT tenant, term, part, NULL, cardinality(cells), NULL FROM word_count
WHERE cells <> ARRAY(SELECT DISTINCT packed FROM unnest(cells) AS packed ORDER BY packed)
  OR cardinality(cells) > CASE WHEN part >= 0 THEN 80 ELSE 100 END
UNION ALL
SELECT tenant, NULL, NULL, scope::bigint * 8 + sensitivity, step, NULL FROM word_change
"""


async def count_all_words(database: Database, *, batch: int = 1_000) -> None:
    """Count every change that has been committed."""
    while (await WordCounter(database, batch=batch).count_changes()).more:
        pass


async def count_differences(database: Database) -> list[Any]:
    """Return what is wrong with the statistics of a store at rest, and the changes that are not counted."""
    async with database.engine.begin() as connection:
        return list((await connection.execute(text(DIFFERENCES))).mappings().all())


async def words_counted(database: Database) -> dict[tuple[int, int], int]:
    """Return the number of records of each (tenant, term) over all scopes and levels, as the first rows have them."""
    statement = (
        "SELECT tenant, term, sum(packed & 536870911) FROM word_count, unnest(cells) AS packed"
        " WHERE part = -1 GROUP BY tenant, term"
    )
    async with database.engine.begin() as connection:
        return {(row[0], row[1]): int(row[2]) for row in await connection.execute(text(statement))}
