"""Candidates for retrieval, from indexes only: words, entity names, recency. Never a scan of the store.

Both searches are functions in the database that hold to the caller's trust by themselves: under row-level security a
GIN index would not be used, and a bounded look at the newest would not be bounded.

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

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.feed.settling import LEEWAY
from stratagraph.store.keys.tenancy import Caller
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.words import query_terms, query_vector
from stratagraph.store.postgres.queries import fetch

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Which records are fetched and scored: by one of some terms, by all terms of a group, or all in the caller's
    scopes."""

    any_of: Sequence[int] = ()
    all_of: Sequence[Sequence[int]] = ()
    everything: bool = False


async def search_words(
    connection: AsyncConnection,
    caller: Caller,
    text: str,
    *,
    types: Collection[MemoryType],
    now: datetime,
    limit: int,
    history: bool = False,
) -> list[tuple[UUID, float]]:
    """The best `limit` records by BM25, with their scores, best first. Two statements, whatever the store's size."""
    asked = await _asked(connection, caller, text, types, limit)
    if asked is None:
        return []
    rows = await fetch(connection, "search_words", **asked, now=now, history=history)
    return [(row["id"], -row["distance"]) for row in rows if row["distance"] < 0]


async def search_all_words(
    connection: AsyncConnection,
    caller: Caller,
    text: str,
    *,
    types: Collection[MemoryType],
    now: datetime,
    limit: int,
) -> list[UUID]:
    """Return the best `limit` records that have all words of `text`, best first; every word counts the same."""
    terms = query_terms(caller.tenant.index_key, text)
    rows = await fetch(
        connection,
        "search_words",
        any_of=[],
        all_of=[terms],
        everything=False,
        vector=query_vector(terms, {}, 1),
        types=[int(memory_type) for memory_type in types],
        now=now,
        history=False,
        limit=limit,
    )
    return [row["id"] for row in rows]


async def search_words_at(
    connection: AsyncConnection,
    caller: Caller,
    text: str,
    *,
    types: Collection[MemoryType],
    at: datetime,
    limit: int,
) -> list[tuple[UUID, float]]:
    """The best `limit` records by BM25 as they stood at `at`, best first; current then, and in full sight then and
    now. How rare a word is, is counted as of now, which moves the scores a little and never what matches."""
    asked = await _asked(connection, caller, text, types, limit)
    if asked is None:
        return []
    rows = await fetch(connection, "search_words_at", **asked, at=at)
    return [(row["id"], -row["distance"]) for row in rows if row["distance"] < 0]


async def _asked(
    connection: AsyncConnection, caller: Caller, text: str, types: Collection[MemoryType], limit: int
) -> dict[str, Any] | None:
    """What a word search asks the database for; None where the text has no words."""
    terms = query_terms(caller.tenant.index_key, text)
    if not terms:
        return None
    statistics = await _statistics(connection, caller, terms)
    candidates = _candidates(caller, terms, statistics)
    return {
        "any_of": list(candidates.any_of),
        "all_of": _padded(candidates.all_of),
        "everything": candidates.everything,
        "vector": query_vector(terms, statistics.frequencies, max(statistics.documents, 1)),
        "types": [int(memory_type) for memory_type in types],
        "limit": limit,
    }


async def _statistics(connection: AsyncConnection, caller: Caller, terms: Sequence[int]) -> WordStatistics:
    rows = await fetch(connection, "word_statistics", **_without_ceiling(caller), terms=list(terms))
    row = rows[0]
    return WordStatistics(
        documents=row["documents"],
        in_reach=row["in_reach"],
        frequencies=dict(zip(row["terms"] or (), row["df"] or (), strict=True)),
    )


def _without_ceiling(caller: Caller) -> dict[str, Any]:
    parameters = caller.parameters()
    del parameters["ceiling"]
    return parameters


def _candidates(caller: Caller, terms: Sequence[int], statistics: WordStatistics) -> Candidates:
    if caller.scopes is not None and statistics.documents >= SMALL_TENANT and statistics.in_reach <= NARROW_SCOPES:
        return Candidates(everything=True)
    if statistics.documents < SMALL_TENANT:
        return Candidates(any_of=terms)
    share = 1.0 if caller.scopes is None else max(1, statistics.in_reach) / statistics.documents
    budget = BUDGET * min(4.0, 1.0 / share)
    rare, common, used = _rare_first(terms, statistics, budget)
    together = _conjunctions(common, statistics, max(budget - used, budget / 2))
    if not rare and not together:
        together = [tuple(common[:4])]
    return Candidates(any_of=rare, all_of=together)


def _padded(groups: Sequence[Sequence[int]]) -> list[list[int]]:
    """Groups as rows of one width, as arrays of arrays must be; a term said twice asks for nothing more."""
    width = max(map(len, groups), default=0)
    return [[*group, *[group[0]] * (width - len(group))] for group in groups]


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


async def search_recent(
    connection: AsyncConnection, *, types: Collection[MemoryType], now: datetime, limit: int
) -> list[UUID]:
    """The newest records in full sight that hold now, among the last RECENT_WINDOW, newest first."""
    rows = await fetch(
        connection,
        "search_recent",
        types=[int(memory_type) for memory_type in types],
        now=now,
        window=RECENT_WINDOW,
        limit=limit,
    )
    return [row["id"] for row in rows]


async def search_recent_at(
    connection: AsyncConnection, caller: Caller, *, types: Collection[MemoryType], at: datetime, limit: int
) -> list[UUID]:
    """The newest of the last RECENT_WINDOW records that were there at `at`, newest first."""
    rows = await fetch(
        connection,
        "search_recent_at",
        **caller.parameters(),
        types=[int(memory_type) for memory_type in types],
        at=at,
        below=_first_id_after(at),
        window=RECENT_WINDOW,
        limit=limit,
    )
    return [row["id"] for row in rows]


def _first_id_after(at: datetime) -> UUID:
    """Records that existed at `at` have UUIDv7s below this one: ids are made in the second in which a write begins."""
    milliseconds = max(0, int((at + LEEWAY).timestamp() * 1_000))
    return UUID(int=milliseconds << 80)
