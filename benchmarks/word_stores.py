"""Stores of any number of records for the benchmark of word search, and the exact answers to its questions.

Records are copied into their table, without the service: nothing but word search can be asked of such a store. Scopes
are of Zipf's law, so that one of them holds 1.7 % of the records and one 0.1 %.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from math import exp, log
from typing import Any
from uuid import UUID

import numpy as np
import psycopg
from harness import Store
from numpy.typing import NDArray
from rich.progress import Progress
from sqlalchemy import text
from wording import Wording

from stratagraph.store.keys.callers import Caller, Tenant
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.model.ids import new_id
from stratagraph.store.model.words import Terms, idf, query_terms, record_terms

SCOPES = tuple(f"team/{number}" for number in range(100))
LEVELS = {Sensitivity.PUBLIC: 20, Sensitivity.LOW: 50, Sensitivity.MEDIUM: 20, Sensitivity.HIGH: 10}
MEAN_WORDS = 30  # of a text; lengths are lognormal
COLUMNS = (
    "tenant, id, type, scope, sensitivity, state, confidence, tags, name, text, payload, provenance, created_at,"
    " occurred_at, updated_at, version, row_version, terms, impacts"
)
# As the job counts them: see migration 0022.
COUNT = """
WITH counted AS MATERIALIZED (
  SELECT tenant, term, scope::bigint * 8 + sensitivity AS acl, count(*) AS records
  FROM record, unnest(0 || terms) AS term GROUP BY tenant, term, scope, sensitivity
), word AS MATERIALIZED (
  SELECT tenant, term, count(*) > 100 AS is_spread FROM counted GROUP BY tenant, term
)
INSERT INTO word_count (tenant, term, part, cells)
SELECT tenant, term, part, array_agg(cell ORDER BY cell) FROM (
  SELECT tenant, term, CASE WHEN is_spread THEN (acl / 128)::integer ELSE -1 END AS part, (acl << 29) + records AS cell
  FROM counted JOIN word USING (tenant, term)
  UNION ALL
  SELECT tenant, term, -1, ((acl & 7) << 29) + sum(records)::bigint FROM counted JOIN word USING (tenant, term)
  WHERE is_spread GROUP BY tenant, term, acl & 7
) c
GROUP BY tenant, term, part ORDER BY tenant, term, part
"""
LOG = (
    "INSERT INTO word_change (tenant, record, scope, sensitivity, step, terms)"
    " SELECT tenant, id, scope, sensitivity, 0, '{}' FROM record ORDER BY id"
)
PLAIN = """
CREATE TABLE plain AS SELECT id, scope, sensitivity, to_tsvector('english', text) AS said FROM record;
CREATE INDEX ON plain USING gin (said);
CREATE INDEX ON plain (scope, sensitivity);
GRANT SELECT ON plain TO PUBLIC
"""


@dataclass
class WordStore:
    """A filled store: its records' words as arrays, for exact answers, and texts to ask about."""

    where: Store
    tenant: Tenant
    wording: Wording
    size: int
    said: list[str] = field(default_factory=list)
    numbers: dict[UUID, int] = field(default_factory=dict)  # of the records, by id

    async def fill(self, bars: Progress) -> None:
        """Copy the records into the store, count their words, and log them to be indexed."""
        scopes = await self.where.directory.scopes(self.tenant, set(SCOPES), create=True)
        bar = bars.add_task(f"{self.size:,} records", total=self.size)
        self._scopes = np.empty(self.size, np.int32)
        self._levels = np.empty(self.size, np.int16)
        terms: list[NDArray[np.int64]] = []
        impacts: list[NDArray[np.float32]] = []
        async with await psycopg.AsyncConnection.connect(self.where.url) as connection:
            async with connection.cursor().copy(f"COPY record ({COLUMNS}) FROM STDIN") as copy:
                for number, (row, found) in enumerate(self._rows(scopes)):
                    await copy.write_row(row)
                    self._scopes[number], self._levels[number] = row[3], row[4]
                    terms.append(np.array(found.numbers))
                    impacts.append(np.array(found.impacts, np.float32))
                    if number % 1_000 == 999:
                        bars.advance(bar, 1_000)
            await connection.execute("SET work_mem = '256MB'")
            await connection.execute(COUNT)
            await connection.execute(LOG)
            await connection.commit()
            await connection.set_autocommit(True)
            await connection.execute("VACUUM ANALYZE")
        documents = np.repeat(np.arange(self.size), [len(each) for each in terms])
        all_terms = np.concatenate(terms)
        order = np.argsort(all_terms, kind="stable")
        self._terms, self._documents = all_terms[order], documents[order]
        self._impacts = np.concatenate(impacts)[order]

    async def add_plain_index(self) -> None:
        """Make the table that is searched by PostgreSQL's full-text search alone."""
        async with await psycopg.AsyncConnection.connect(self.where.url, autocommit=True) as connection:
            for statement in PLAIN.split(";"):
                await connection.execute(statement)
            await connection.execute("VACUUM ANALYZE plain")

    def _rows(self, scopes: dict[str, int]) -> Iterator[tuple[tuple[Any, ...], Terms]]:
        pick, now = self.wording.random, datetime.now(UTC)
        numbers = [scopes[name] for name in SCOPES]
        weights = list(accumulate(1 / (rank + 1) ** 1.2 for rank in range(len(SCOPES))))
        levels, shares = [int(level) for level in LEVELS], list(accumulate(LEVELS.values()))
        for number in range(self.size):
            words = min(200, max(3, round(exp(pick.gauss(log(MEAN_WORDS) - 0.15, 0.55)))))
            said = self.wording.text(words)
            if number < 2_000:
                self.said.append(said)
            found = record_terms(self.tenant.index_key, said)
            id_, at = new_id(), now - timedelta(seconds=self.size - number)
            self.numbers[id_] = number
            (scope,) = pick.choices(numbers, cum_weights=weights)
            (level,) = pick.choices(levels, cum_weights=shares)
            content = (
                said[:80],
                said,
                '{"kind": "episodic", "timeline": []}',
                '{"sources": [], "created_by": "bench"}',
            )
            row: tuple[Any, ...] = (
                self.tenant.id,
                id_,
                1,
                scope,
                level,
                1,
                0.8,
                [],
                *content,
                at,
                at,
                at,
                1,
                1,
            )
            yield (*row, found.numbers, found.as_sparsevec()), found

    def questions(self, kind: str, number: int) -> list[str]:
        """Return questions: `normal`, `common` (words that 5 % of all records have), or `long` (30 to 60 words)."""
        pick, wording = self.wording.random, self.wording
        if kind == "normal":
            return [wording.query_about(pick.choice(self.said), pick.randint(5, 12)) for _ in range(number)]
        if kind == "common":
            return [" ".join(pick.sample(wording.words[:25], pick.randint(5, 12))) for _ in range(number)]
        return [wording.text(pick.randint(46, 92), topic=wording.some_topic(), paths=False) for _ in range(number)]

    def scores(self, caller: Caller, question: str) -> NDArray[np.float64]:
        """Return the exact scores of all records, in the order in which they were copied.

        They are BM25 by the statistics of the records that the caller may read; those of other records are 0.
        """
        readable = self._levels <= int(caller.ceiling)
        if caller.scopes is not None:
            readable &= np.isin(self._scopes, caller.scopes)
        scores = np.zeros(self.size)
        for term in query_terms(caller.tenant.index_key, question):
            start, end = np.searchsorted(self._terms, (term, term + 1)).tolist()
            documents = self._documents[start:end]
            seen = readable[documents]
            weight = idf(int(readable.sum()), int(seen.sum()))
            scores[documents[seen]] += self._impacts[start:end][seen].astype(np.float64) * weight
        return scores

    def recall(self, caller: Caller, question: str, found: Sequence[UUID], *, place: int) -> float | None:
        """Return the share of the best `place` records that are among the first `place` of `found`.

        Of all records that match, if they are fewer; None if there are none. A record of equal score counts as well.
        """
        scores = self.scores(caller, question)
        place = min(place, int((scores > 0).sum()))
        if not place:
            return None
        least = float(np.partition(scores, self.size - place)[self.size - place])
        return sum(bool(scores[self.numbers[id_]] >= least - 1e-4) for id_ in found[:place]) / place


async def plain_search(connection: Any, caller: Caller, question: str) -> list[UUID]:
    """Return the best 200 records by PostgreSQL's full-text search, ordered by ts_rank: any of the words."""
    words = " | ".join(dict.fromkeys(word.strip(".").lower() for word in question.split()))
    rows = await connection.execute(
        text(
            "SELECT id FROM plain, to_tsquery('english', :words) AS wanted WHERE said @@ wanted"
            " AND sensitivity <= :ceiling AND (CAST(:all_scopes AS boolean) OR scope = ANY(CAST(:scopes AS integer[])))"
            " ORDER BY ts_rank(said, wanted) DESC LIMIT 200"
        ),
        {
            "words": words,
            "ceiling": int(caller.ceiling),
            "all_scopes": caller.scopes is None,
            "scopes": list(caller.scopes or ()),
        },
    )
    return [row[0] for row in rows]
