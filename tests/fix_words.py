"""The statistics of word search compared with a recount of the records."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import numpy as np
from sqlalchemy import text

from stratagraph.store.postgres.database import Database
from stratagraph.store.search.word_counts import WordCounter
from stratagraph.store.search.word_segments import LEAST, MOST, STEPS, Block, Head

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
    """Return what is wrong with statistics and index of a store at rest, and the changes that are not counted."""
    async with database.engine.begin() as connection:
        differences = list((await connection.execute(text(DIFFERENCES))).mappings().all())
    indexed, expected = await indexed_words(database), await words_of_records(database)
    wrong = [key for key in indexed.keys() | expected.keys() if indexed.get(key) != expected.get(key)]
    return [*differences, *((key, indexed.get(key), expected.get(key)) for key in wrong)]


Indexed = tuple[int, int, int, bool, int, int, dict[int, float]]  # scope, level, type, past, since, until, impacts


async def indexed_words(database: Database) -> dict[tuple[int, UUID], Indexed]:
    """Return what the word index has of each record, by tenant and id. Fails if it has a record twice."""
    found: dict[tuple[int, UUID], Indexed] = {}
    async with database.engine.begin() as connection:
        segments = (await connection.execute(text("SELECT * FROM word_segment"))).mappings().all()
        for row in segments:
            blocks = await connection.execute(
                text("SELECT postings FROM word_block WHERE tenant = :tenant AND segment = :id"), dict(row)
            )
            words = Head.of(row).kept(np.array(row["removed"], int), [Block(block.postings) for block in blocks])
            impacts: list[dict[int, float]] = [{} for _ in range(words.records)]
            for term, position, impact in zip(
                words.term.tolist(), words.position.tolist(), words.impact.tolist(), strict=True
            ):
                impacts[position][term] = impact
            columns = (
                words.high,
                words.low,
                words.scope,
                words.level,
                words.type,
                words.past,
                words.since,
                words.until,
            )
            for place, (high, low, scope, level, type_, past, since, until) in enumerate(
                zip(*(column.tolist() for column in columns), strict=True)
            ):
                key = (row["tenant"], UUID(int=high << 64 | low))
                assert key not in found
                found[key] = (scope, level, type_, bool(past), since, until, impacts[place])
    return found


async def words_of_records(database: Database) -> dict[tuple[int, UUID], Indexed]:
    """Return what the word index is to have of each record."""
    statement = """
    SELECT tenant, id, scope, sensitivity, type, state > 2 AS past, impacts::text AS impacts,
      (extract(epoch FROM CASE WHEN NOT isempty(validity) THEN lower(validity) END) * 1000000)::bigint AS since,
      (extract(epoch FROM CASE WHEN NOT isempty(validity) THEN upper(validity) END) * 1000000)::bigint AS until
    FROM record
    """

    def impacts_of(vector: str) -> dict[int, float]:
        pairs = (pair.split(":") for pair in vector[1 : vector.index("}")].split(",") if pair)
        return {int(term): round(float(np.float32(impact)) * STEPS) / STEPS for term, impact in pairs}

    async with database.engine.begin() as connection:
        return {
            (row.tenant, row.id): (
                row.scope,
                row.sensitivity,
                row.type,
                row.past,
                LEAST if row.since is None else row.since,
                MOST if row.until is None else row.until,
                impacts_of(row.impacts),
            )
            for row in await connection.execute(text(statement))
        }


async def words_counted(database: Database) -> dict[tuple[int, int], int]:
    """Return the number of records of each (tenant, term) over all scopes and levels, as the first rows have them."""
    statement = (
        "SELECT tenant, term, sum(packed & 536870911) FROM word_count, unnest(cells) AS packed"
        " WHERE part = -1 GROUP BY tenant, term"
    )
    async with database.engine.begin() as connection:
        return {(row[0], row[1]): int(row[2]) for row in await connection.execute(text(statement))}


async def stored_terms(database: Database) -> set[int]:
    """Return all terms of which the word index has postings, also of records that are removed from it."""
    async with database.engine.begin() as connection:
        blocks = (await connection.execute(text("SELECT postings FROM word_block"))).scalars().all()
    return {term for block in blocks for term in Block(block).unpacked()[0].tolist()}
