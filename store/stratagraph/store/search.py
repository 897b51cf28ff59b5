"""Candidates for retrieval, from indexes only: words, entity names, recency. Never a scan of the store.

Word search is stage 1 of the project's search study. GIN over term numbers finds the records, pgvector's inner
product of impacts and idf scores them as exact BM25. Small tenants take the OR of all words; larger ones the
rarest words, and conjunctions of the common ones, within a budget; callers of narrow scopes scan just those.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations
from math import prod
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, and_, bindparam, cast, or_, select, true
from sqlalchemy.dialects.postgresql import ARRAY, array
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.types import Float, Integer

from stratagraph.store import tables
from stratagraph.store.database import fetch
from stratagraph.store.enums import MemoryType
from stratagraph.store.tables.base import Instant, SparseVec
from stratagraph.store.tenancy import Reach
from stratagraph.store.words import query_terms, query_vector

SMALL_TENANT = 20_000  # records; below it the OR of all words is quick enough and exact
NARROW_SCOPES = 5_000  # records; the caller's scopes are scanned exactly when they hold no more
BUDGET = 3_000  # records fetched and scored, at most about
MAX_CONJUNCTIONS = 24
RECENT_WINDOW = 400  # newest records looked at for recency, whatever the caller may see of them


@dataclass(frozen=True, slots=True, kw_only=True)
class WordStatistics:
    """What the word counter has counted so far; an uncounted tenant has no documents."""

    documents: int
    in_reach: int
    frequencies: Mapping[int, int]


async def search_words(
    connection: AsyncConnection,
    reach: Reach,
    text: str,
    *,
    types: Collection[MemoryType],
    now: datetime,
    limit: int,
    history: bool = False,
) -> list[tuple[UUID, float]]:
    """The best `limit` records by BM25, with their scores, best first. Two statements, whatever the store's size."""
    terms = query_terms(reach.tenant.index_key, text)
    if not terms:
        return []
    statistics = await _statistics(connection, reach, terms)
    where = _candidates(reach, terms, statistics)
    table = tables.record
    vector = query_vector(terms, statistics.frequencies, max(statistics.documents, 1))
    # Materialised, or a filter beside the terms may draw the planner away from the GIN index.
    found = (
        select(
            table.c.id,
            table.c.tenant,
            table.c.scope,
            table.c.sensitivity,
            table.c.state,
            table.c.type,
            table.c.validity,
            table.c.impacts,
        )
        .where(where)
        .cte("found")
        .prefix_with("MATERIALIZED", dialect="postgresql")
    )
    distance: ColumnElement[float] = found.c.impacts.op("<#>", return_type=Float())(
        cast(bindparam("vector", vector), SparseVec())
    )
    statement = (
        select(found.c.id, distance.label("distance"))
        .where(
            _in_full_sight(reach, found.c), _current(found.c, now, history), found.c.type.in_([int(t) for t in types])
        )
        .order_by(distance, found.c.id)
        .limit(limit)
    )
    rows = await connection.execute(statement)
    return [(row.id, -row.distance) for row in rows if row.distance < 0]


async def _statistics(connection: AsyncConnection, reach: Reach, terms: Sequence[int]) -> WordStatistics:
    rows = await fetch(connection, "word_statistics", **_without_ceiling(reach), terms=list(terms))
    row = rows[0]
    return WordStatistics(
        documents=row["documents"],
        in_reach=row["in_reach"],
        frequencies=dict(zip(row["terms"] or (), row["df"] or (), strict=True)),
    )


def _without_ceiling(reach: Reach) -> dict[str, Any]:
    parameters = reach.parameters()
    del parameters["ceiling"]
    return parameters


def _candidates(reach: Reach, terms: Sequence[int], statistics: WordStatistics) -> ColumnElement[bool]:
    """Which records are fetched and scored."""
    table = tables.record
    if reach.scopes is not None and statistics.documents >= SMALL_TENANT and statistics.in_reach <= NARROW_SCOPES:
        return and_(
            table.c.tenant == reach.tenant.id,
            table.c.scope.in_(reach.scopes),
            table.c.sensitivity <= int(reach.ceiling),
        )
    if statistics.documents < SMALL_TENANT:
        return _any_of(terms)
    share = 1.0 if reach.scopes is None else max(1, statistics.in_reach) / statistics.documents
    budget = BUDGET * min(4.0, 1.0 / share)
    rare, common, used = _rare_first(terms, statistics, budget)
    clauses = [_any_of(rare)] if rare else []
    clauses += [_all_of(group) for group in _conjunctions(common, statistics, max(budget - used, budget / 2))]
    return or_(*clauses) if clauses else _all_of(common[:4])


def _rare_first(terms: Sequence[int], statistics: WordStatistics, budget: float) -> tuple[list[int], list[int], int]:
    """Words taken alone, rarest first, until the budget is spent; the rest; and what was spent."""
    by_rarity = sorted(terms, key=lambda term: statistics.frequencies.get(term, 1))
    alone: list[int] = []
    used = 0
    for term in by_rarity:
        frequency = statistics.frequencies.get(term, 1)
        if used + frequency > budget and (alone or frequency > 2 * budget):
            break
        alone.append(term)
        used += frequency
    return alone, by_rarity[len(alone) :], used


def _conjunctions(common: Sequence[int], statistics: WordStatistics, budget: float) -> list[tuple[int, ...]]:
    """Groups of common words that few records hold together: for these the conjunction is what is rare."""
    chosen: list[tuple[int, ...]] = []
    for size in (2, 3, 4):
        expected = sorted(
            (
                prod(statistics.frequencies.get(term, 1) / statistics.documents for term in group)
                * statistics.documents
                * 1.5,  # words of one topic meet more often than chance
                group,
            )
            for group in combinations(common[:10], size)
        )
        for records, group in expected:
            if len(chosen) >= MAX_CONJUNCTIONS or records > budget:
                break
            if any(set(smaller) <= set(group) for smaller in chosen):
                continue
            chosen.append(group)
            budget -= records
    return chosen


def _any_of(terms: Sequence[int]) -> ColumnElement[bool]:
    return tables.record.c.terms.op("&&", is_comparison=True)(cast(array(terms), ARRAY(Integer)))


def _all_of(terms: Sequence[int]) -> ColumnElement[bool]:
    return tables.record.c.terms.op("@>", is_comparison=True)(cast(array(terms), ARRAY(Integer)))


def _in_full_sight(reach: Reach, columns: Any) -> ColumnElement[bool]:
    sight: ColumnElement[bool] = and_(columns.tenant == reach.tenant.id, columns.sensitivity <= int(reach.ceiling))
    return sight if reach.scopes is None else and_(sight, columns.scope.in_(reach.scopes))


def _current(columns: Any, now: datetime, history: bool) -> ColumnElement[bool]:
    """Part of the current truth: neither superseded nor retracted, and a fact only while it is valid."""
    if history:
        return true()
    return and_(
        columns.state <= 2,
        or_(columns.validity.is_(None), columns.validity.op("@>", is_comparison=True)(cast(now, Instant))),
    )


async def search_recent(
    connection: AsyncConnection, reach: Reach, *, types: Collection[MemoryType], limit: int
) -> list[UUID]:
    """The newest records in full sight among the last RECENT_WINDOW, newest first."""
    rows = await fetch(
        connection,
        "search_recent",
        **reach.parameters(),
        types=[int(memory_type) for memory_type in types],
        window=RECENT_WINDOW,
        limit=limit,
    )
    return [row["id"] for row in rows]
