"""Word search: find candidate records by their words, from an index and never by a scan of the store.

The searches are functions in the database that check the caller's trust themselves, because a GIN index is not used
under row-level security. The GIN index over term numbers finds the records, and pgvector's inner product of impacts
and idf scores them with exact BM25 (S. Robertson and H. Zaragoza, "The Probabilistic Relevance Framework: BM25 and
Beyond", 2009).

In a small tenant a search matches any of the words. In a larger one it matches the rarest words and conjunctions of
the common ones, within a budget of records. For a caller with small scopes it reads all records of these scopes. See
docs/data-model.md, Search.
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

from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.words import query_terms, query_vector
from stratagraph.store.postgres.queries import fetch

SMALL_TENANT = 20_000  # records; below this number, matching any of the words is fast enough and exact
SMALL_SCOPES = 5_000  # records; if the caller's scopes hold no more, all their records are read and scored
BUDGET = 3_000  # records fetched and scored, about; up to 12,000 where the caller's scopes are part of the tenant
MAX_CONJUNCTIONS = 24  # groups of common words in one search


@dataclass(frozen=True, slots=True, kw_only=True)
class WordStatistics:
    """The counts of the word counter so far: documents of the tenant and of the caller's scopes, and those per term.

    A tenant that has not been counted yet has no documents.
    """

    documents: int
    in_scopes: int
    frequencies: Mapping[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """The records to fetch and score: those with any of some terms, with all terms of a group, or all in the scopes."""

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
    """Return the ids and BM25 scores of the best `limit` records for the words of `text`, best first.

    Only records that the caller may read in full are searched. Runs two statements, whatever the size of the store.
    With `history`, superseded and retracted records are included.
    """
    parameters = await _search_parameters(connection, caller, text, types, limit)
    if parameters is None:
        return []
    rows = await fetch(connection, "search_words", **parameters, now=now, history=history)
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
    """Return the ids of the best `limit` records that have all words of `text`, best first.

    Every word has the same weight. Only records that the caller may read in full are searched.
    """
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
    """Return the ids and BM25 scores of the best `limit` records that were current at `at`, best first.

    The caller must be able to read them in full then and now. The frequencies of words are the present ones, which
    changes the scores slightly and never the set of matches.
    """
    parameters = await _search_parameters(connection, caller, text, types, limit)
    if parameters is None:
        return []
    rows = await fetch(connection, "search_words_at", **parameters, at=at)
    return [(row["id"], -row["distance"]) for row in rows if row["distance"] < 0]


async def _search_parameters(
    connection: AsyncConnection, caller: Caller, text: str, types: Collection[MemoryType], limit: int
) -> dict[str, Any] | None:
    """Return the parameters of a word search; None if the text has no words."""
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
        in_scopes=row["in_scopes"],
        frequencies=dict(zip(row["terms"] or (), row["df"] or (), strict=True)),
    )


def _without_ceiling(caller: Caller) -> dict[str, Any]:
    parameters = caller.parameters()
    del parameters["ceiling"]
    return parameters


def _candidates(caller: Caller, terms: Sequence[int], statistics: WordStatistics) -> Candidates:
    if caller.scopes is not None and statistics.documents >= SMALL_TENANT and statistics.in_scopes <= SMALL_SCOPES:
        return Candidates(everything=True)
    if statistics.documents < SMALL_TENANT:
        return Candidates(any_of=terms)
    share = 1.0 if caller.scopes is None else max(1, statistics.in_scopes) / statistics.documents
    budget = BUDGET * min(4.0, 1.0 / share)
    rare, common, used = _rare_first(terms, statistics, budget)
    together = _conjunctions(common, statistics, max(budget - used, budget / 2))
    if not rare and not together:
        together = [tuple(common[:4])]
    return Candidates(any_of=rare, all_of=together)


def _padded(groups: Sequence[Sequence[int]]) -> list[list[int]]:
    """Pad the groups to one length, as nested arrays require. Repeating a term does not change a conjunction."""
    width = max(map(len, groups), default=0)
    return [[*group, *[group[0]] * (width - len(group))] for group in groups]


def _rare_first(terms: Sequence[int], statistics: WordStatistics, budget: float) -> tuple[list[int], list[int], int]:
    """Return the words to match alone (rarest first, within the budget), the other words, and the budget used."""
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
    """Return groups of common words whose conjunction is rare: pairs before larger groups, and the rarest first."""
    chosen: list[tuple[int, ...]] = []
    for size in (2, 3, 4):
        expected = sorted(
            (
                prod(statistics.frequencies.get(term, 1) / statistics.documents for term in group)
                * statistics.documents
                * 1.5,  # words of one topic occur together more often than independent ones
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
