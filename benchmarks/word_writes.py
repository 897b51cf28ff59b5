"""What the text index adds to a write, end to end: ours beside a plain GIN index of tsvectors.

Three tables tell what each index adds to the same rows, from the text on. A whole write of records by the store (with
salience, audit and what else belongs to them) then gives what it would take with a plain index instead of ours.
"""

from __future__ import annotations

import statistics
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import psycopg
from word_stores import WordStore

from stratagraph.store.model.ids import new_id
from stratagraph.store.model.words import record_terms
from stratagraph.store.postgres.bulk import array_literal

PRESENT = 20_000  # rows that each table begins with, at most
BATCH = 100
# Three tables with the same rows: with no text index, with a plain one, and with ours, which also logs the words to be
# counted and indexed.
TABLES = """
CREATE TABLE written_bare (tenant bigint, id uuid PRIMARY KEY, body text NOT NULL);
INSERT INTO written_bare SELECT tenant, id, text FROM record LIMIT {present};
CREATE TABLE written_plain (tenant bigint, id uuid PRIMARY KEY, body text NOT NULL, said tsvector NOT NULL);
INSERT INTO written_plain SELECT tenant, id, text, to_tsvector('english', text) FROM record LIMIT {present};
CREATE INDEX ON written_plain USING gin (said) WITH (fastupdate = on, gin_pending_list_limit = 512);
CREATE TABLE written (
  tenant bigint, id uuid PRIMARY KEY, body text NOT NULL, terms integer[] NOT NULL, impacts sparsevec NOT NULL
);
INSERT INTO written SELECT tenant, id, text, terms, impacts FROM record LIMIT {present};
CREATE INDEX ON written USING gin (terms) WITH (fastupdate = on, gin_pending_list_limit = 512);
CREATE TABLE written_change (LIKE word_change INCLUDING ALL);
VACUUM ANALYZE
"""
BARE = "INSERT INTO written_bare SELECT 1, * FROM unnest(%s::uuid[], %s::text[])"
PLAIN = (
    "INSERT INTO written_plain SELECT 1, id, body, to_tsvector('english', body)"
    " FROM unnest(%s::uuid[], %s::text[]) AS r(id, body)"
)
OURS = (
    "WITH logged AS (INSERT INTO written_change (tenant, record, scope, sensitivity, step, terms)"
    " SELECT 1, id, 1, 1, 1, 0 || terms::integer[] FROM unnest(%s::uuid[], %s::text[]) AS r(id, terms))"
    " INSERT INTO written SELECT 1, id, body, terms::integer[], impacts::sparsevec"
    " FROM unnest(%s::uuid[], %s::text[], %s::text[], %s::text[]) AS r(id, body, terms, impacts)"
)


@dataclass
class WriteCost:
    """Inserts the same texts into three tables in turn, in batches and singly, each a transaction."""

    filled: WordStore

    async def measure(self, rounds: int, write_records: Callable[[int], Awaitable[object]]) -> dict[str, Any]:
        """Return median milliseconds of each write, and the ratio of whole writes with our index and a plain one.

        `write_records` makes and writes so many records.
        """
        figures: dict[str, Any] = {}
        async with await psycopg.AsyncConnection.connect(self.filled.where.url, autocommit=True) as connection:
            for statement in TABLES.format(present=PRESENT).split(";"):
                await connection.execute(statement)
            for name, number in (("batch of 100", BATCH), ("single", 1)):
                took: dict[str, list[float]] = {"bare": [], "plain": [], "ours": [], "whole": []}
                for _ in range(rounds * (1 if number > 1 else 5)):
                    said = [self.filled.wording.text(30) for _ in range(number)]
                    for how, times in took.items():
                        began = perf_counter()
                        await (write_records(number) if how == "whole" else self._write(connection, how, said))
                        times.append((perf_counter() - began) * 1_000)
                medians = {how: statistics.median(times) for how, times in took.items()}
                with_plain = medians["whole"] - medians["ours"] + medians["plain"]
                figures[name] = {
                    **{f"{how}_ms": round(median, 3) for how, median in medians.items()},
                    "ratio": round(medians["whole"] / with_plain, 3),
                }
        return figures

    async def _write(self, connection: psycopg.AsyncConnection[Any], how: str, said: Sequence[str]) -> None:
        ids = array_literal([new_id() for _ in said])
        if how == "ours":
            found = [record_terms(self.filled.tenant.index_key, one) for one in said]
            terms = array_literal([array_literal(each.numbers) for each in found])
            impacts = array_literal([each.as_sparsevec() for each in found])
            await connection.execute(OURS, (ids, terms, ids, array_literal(said), terms, impacts))
        else:
            await connection.execute(BARE if how == "bare" else PLAIN, (ids, array_literal(said)))
