"""Word search: find the records with the highest BM25 scores for some words, from an index and never by a scan.

Scores are BM25 (S. Robertson and H. Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009) by the
statistics of the records that the caller may read in full. The word index gives the exact answer, at any size of the
store: see `word_index`.

Every answer of a store at rest depends on the records that the caller may read in full and on their counts, never on
others, so that hidden records change neither the answer nor its scores.

While more readable records have changed than the index can do without (an import, the first minutes after an upgrade),
and in the past, functions in the database search the records' GIN index over terms. They check the caller's trust
themselves, because that index is not used under row-level security, and score in single precision: to six digits as the
index does. Where the caller may read few records, all of them are read; otherwise a search matches any of the words. Of
many readable records it matches the rarest words and conjunctions of the common ones, within a budget of records. See
docs/data-model.md, Search.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations
from math import prod
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.analysis.languages import BASE, stem
from stratagraph.store.model.enums import MemoryType, Sensitivity
from stratagraph.store.model.words import (
    QueryWord,
    idf,
    likely_name_terms,
    query_vector,
    query_words,
    term_number,
    term_weights,
    word_shares,
)
from stratagraph.store.postgres.driver import Sending
from stratagraph.store.postgres.queries import Row, fetch, fetch_together, sending
from stratagraph.store.search.word_index import PreparedSearch, WordIndex
from stratagraph.store.search.word_segments import NONE_HELD, Held

LARGE_STORE = 1_000  # readable records, of which those of the last seconds are a small part
BACKGROUND = 100  # records that are thought beside those of a store, or a word that all records have would be none
SMALL_STORE = 20_000  # readable records; below this number, matching any of the words is fast enough and exact
FEW_RECORDS = 5_000  # readable records; up to this number, all are read unless the caller may read everything
BUDGET = 3_000  # records fetched and scored, about
MAX_CONJUNCTIONS = 24  # of common words in one search
MAX_COUNTS = 20_000  # counts read for one search: terms, times scopes of the caller, times sensitivities
EVERY_RECORD = 0  # the term that every record has


@dataclass(frozen=True, slots=True, kw_only=True)
class WordStatistics:
    """The numbers of records that the caller may read in full: of all, and of those with each term.

    They lag behind the records by a few seconds. Records that have not been counted yet are missing.
    """

    documents: int
    frequencies: Mapping[int, int]

    def with_found(self, terms: Sequence[int], found: Collection[int]) -> WordStatistics:
        """Return the numbers with at least the records `found`, some of which may not be counted yet.

        Each is given by which of `terms` it has, as bits. In a large store they make no difference.
        """
        if self.documents >= LARGE_STORE:
            return self
        least = {term: sum(bits >> place & 1 for bits in found) for place, term in enumerate(terms)}
        return WordStatistics(
            documents=max(self.documents, len(found)),
            frequencies={term: number for term in terms if (number := max(least[term], self.frequencies.get(term, 0)))},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """The records to fetch and score: those with any of some terms, or all of a conjunction, or all readable ones.

    Where the store at rest has fewer than `cap` of them, no more are read even if the counts lag far behind.
    """

    any_of: Sequence[int] = ()
    all_of: Sequence[Sequence[int]] = ()
    everything: bool = False
    cap: int | None = None


class WordMatches(NamedTuple):
    """The words of a question with their weights, and the BM25 scores of the records that they find, best first.

    `rarities` are those among BACKGROUND more records: how much each word says, however small the store is.
    `documents` is the number of records that the caller may read, as far as it is counted.
    """

    words: Sequence[QueryWord]
    weights: Sequence[float]
    rarities: Sequence[float]
    scores: Sequence[tuple[UUID, float]]
    documents: int


class WordSearch:
    """The search of one question's words, in two steps: the second depends on the counts that the first reads.

    So the first can share a round trip with what else the question needs. Without words, `has_words` is false, and
    there is nothing to search.
    """

    def __init__(
        self,
        caller: Caller,
        text: str,
        *,
        types: Collection[MemoryType],
        limit: int,
        required: Sequence[int] = (),
        dated: Collection[str] = (),
        aside: Collection[str] = (),
    ) -> None:
        """With `required`, only records with all of these terms are found.

        The words `dated` name a time, and those said `aside` are none of the question.
        """
        self._caller = caller
        self.words = query_words(caller.tenant.index_key, text)
        self.terms = list(dict.fromkeys(number for word in self.words for number in word.numbers))
        self._dated = {number for word in self.words if word.text in dated for number in word.numbers}
        self._aside = {number for word in self.words if word.text in aside for number in word.numbers}
        self._parts = {number for word in self.words if word.is_part for number in word.numbers}
        self._types = [int(memory_type) for memory_type in types]
        self._limit = limit
        self._required = list(required)
        self._counted = [EVERY_RECORD, *self.terms]
        # Scopes of which the counts may be read.
        self._most = max(1, MAX_COUNTS // (len(self._counted) * (int(caller.ceiling) + 1)))

    @property
    def has_words(self) -> bool:
        return bool(self.terms)

    def counting(self) -> Sending:
        """Return the statement that reads the counts of the records that the caller may read in full."""
        scopes = self._caller.scopes
        if scopes is None:
            return sending("count_terms_in_all_scopes", {"terms": self._counted})
        if len(scopes) <= self._most:
            return self._counting_in(scopes)
        return sending("count_scopes", {"scopes": list(scopes)})

    async def statistics(self, connection: AsyncConnection, rows: Sequence[Mapping[str, Any]]) -> WordStatistics:
        """Return the counts of the rows of `counting`.

        If the caller has more scopes than MAX_COUNTS allows to read, this runs another statement: the frequencies are
        estimated from those of its scopes with most readable records.
        """
        if self._caller.scopes is None or len(self._caller.scopes) <= self._most:
            return _of_rows(rows)
        largest = [row["scope"] for row in rows[: self._most]]
        (counted,) = await fetch_together(connection, self._counting_in(largest))
        part = _of_rows(counted)
        documents = sum(row["records"] for row in rows)
        scale = documents / max(1, part.documents)
        return WordStatistics(
            documents=documents, frequencies={term: round(n * scale) for term, n in part.frequencies.items()}
        )

    def weights(self, statistics: WordStatistics, *, background: int = 0) -> list[float]:
        """Return the rarity of each of the words, in their order; that of its commonest form.

        A word that no record has is the rarest, but a part of one that no record has is no word. They are the rarities
        in a store with `background` more records that have none of the words.
        Words that name a time have their share of it: see `word_shares`.
        """
        documents, frequencies = background + max(statistics.documents, 1), statistics.frequencies
        shares = word_shares(self.terms, dated=self._dated, parts=self._parts)
        return [
            idf(documents, number) * shares.get(word.numbers[0], 1.0)
            if (number := max(frequencies.get(term, 0) for term in word.numbers)) or not word.is_part
            else 0.0
            for word in self.words
        ]

    def searching(
        self,
        statistics: WordStatistics,
        index: WordIndex,
        state: Row,
        *,
        now: datetime,
        history: bool = False,
        held: Held = NONE_HELD,
        names: Collection[int] = (),
    ) -> PreparedSearch:
        """Return the search for the best records; `state` is the row of `index.reading`, read in this transaction.

        The terms `names` find records as the others do, but have less weight in the scores: see `word_shares`. With
        `history`, superseded and retracted records are included. With `held`, so are facts that
        are past or have not begun.
        """
        shares = self.shares(names)
        if not index.is_current(state):
            parameters = {**self.parameters(statistics, shares), "now": now, "history": history, **held.parameters}
            return PreparedSearch((sending("search_words", parameters),), lambda results: _scores_of(results[0]))
        return index.searching(
            self._caller,
            state,
            term_weights(self.terms, self._frequencies(statistics), max(statistics.documents, 1), shares=shares),
            types=self._types,
            now=now,
            history=history,
            held=held,
            limit=self._limit,
            required=self._required,
        )

    def matches(
        self, scores: Sequence[tuple[UUID, float]], statistics: WordStatistics, found: Collection[int]
    ) -> WordMatches:
        """Return the words with what they find; `found` are the terms of the records that were read, as bits."""
        statistics = statistics.with_found(self.terms, found)
        rarities = self.weights(statistics, background=BACKGROUND)
        return WordMatches(self.words, self.weights(statistics), rarities, scores, statistics.documents)

    def shares(self, names: Collection[int]) -> dict[int, float]:
        """Return the shares of their weight that terms have in scores, where `names` are those of known entities."""
        return word_shares(self.terms, names=names, dated=self._dated, parts=self._parts, aside=self._aside)

    def vector(self, statistics: WordStatistics, names: Collection[int] = ()) -> str:
        """Return the weights of the terms as a sparsevec: its inner product with a record's impacts is BM25."""
        return self._vector(statistics, self.shares(names))

    def _vector(self, statistics: WordStatistics, shares: Mapping[int, float]) -> str:
        return query_vector(self.terms, self._frequencies(statistics), max(statistics.documents, 1), shares=shares)

    def parameters(self, statistics: WordStatistics, shares: Mapping[int, float]) -> dict[str, Any]:
        """Return the parameters of a search, now or in the past, except its instant."""
        matching = (
            Matching(all_of=[self._required]) if self._required else _matching(self._caller, self.terms, statistics)
        )
        return {
            "any_of": list(matching.any_of),
            "all_of": _padded(matching.all_of),
            "everything": matching.everything,
            "cap": matching.cap,
            "vector": self._vector(statistics, shares),
            "types": self._types,
            "limit": self._limit,
        }

    def _frequencies(self, statistics: WordStatistics) -> dict[int, int]:
        """Return for each term the frequency of the commonest form of its word."""
        frequencies = statistics.frequencies
        return {
            term: max(frequencies.get(one, 1) for one in word.numbers) for word in self.words for term in word.numbers
        }

    def _counting_in(self, scopes: Sequence[int]) -> Sending:
        return sending("count_terms", {"terms": self._counted, "scopes": list(scopes)})


def _scores_of(rows: Sequence[Mapping[Any, Any]]) -> list[tuple[UUID, float]]:
    """Return the ids and BM25 scores of the rows of a search, in their order, without those that match no word."""
    return [(row["id"], -row["distance"]) for row in rows if row["distance"] < 0]


async def count_words(connection: AsyncConnection, caller: Caller, words: Iterable[str]) -> dict[str, int]:
    """Return how many readable records have each of some words; those that no record has are left out.

    Of a caller with many scopes, only the first ones are read.
    """
    terms = {term_number(caller.tenant.index_key, stem(word, BASE)): word for word in words}
    sought = {"terms": list(terms)}
    if caller.scopes is None:
        counting = sending("count_terms_in_all_scopes", sought)
    else:
        counting = sending("count_terms", {**sought, "scopes": list(caller.scopes)[: max(1, MAX_COUNTS // len(terms))]})
    (rows,) = await fetch_together(connection, counting)
    return {terms[row["term"]]: row["records"] for row in rows if row["records"]}


async def search_words(
    connection: AsyncConnection,
    index: WordIndex,
    caller: Caller,
    text: str,
    *,
    types: Collection[MemoryType],
    now: datetime,
    limit: int,
    history: bool = False,
) -> list[tuple[UUID, float]]:
    """Return the ids and BM25 scores of the best `limit` records for the words of `text`, best first.

    Only records that the caller may read in full are searched. Takes at most two round trips, whatever the size of the
    store, and a third for callers with very many scopes. With `history`, superseded and retracted records are included.
    """
    search = WordSearch(caller, text, types=types, limit=limit)
    if not search.has_words:
        return []
    counts, (state,) = await fetch_together(connection, search.counting(), index.reading())
    searching = search.searching(await search.statistics(connection, counts), index, state, now=now, history=history)
    return searching.found(await fetch_together(connection, *searching.statements) if searching.statements else ())


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
    key = caller.tenant.index_key
    terms = likely_name_terms(key, text)
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
        cap=None,
        limit=limit,
        **NONE_HELD.parameters,
    )
    return [row["id"] for row in rows]


async def search_all_words_at(
    connection: AsyncConnection,
    caller: Caller,
    text: str,
    *,
    types: Collection[MemoryType],
    at: datetime,
    limit: int,
) -> list[UUID]:
    """Return what `search_all_words` does of the records that were current at a past instant, as they were then.

    The caller must be able to read them in full then and now.
    """
    terms = likely_name_terms(caller.tenant.index_key, text)
    rows = await fetch(
        connection,
        "search_words_at",
        any_of=[],
        all_of=[terms],
        everything=False,
        vector=query_vector(terms, {}, 1),
        types=[int(memory_type) for memory_type in types],
        at=at,
        valid_at=None,
        cap=None,
        limit=limit,
    )
    return [row["id"] for row in rows]


async def search_words_at(
    connection: AsyncConnection,
    search: WordSearch,
    *,
    at: datetime,
    valid_at: datetime | None = None,
    names: Collection[int] = (),
) -> tuple[list[tuple[UUID, float]], WordStatistics]:
    """Return the ids and BM25 scores of the best records that were current at `at`, best first, and the statistics.

    Facts must hold at `valid_at`, or else then.

    The caller must be able to read them in full then and now. The frequencies of words are those of the present
    readable records, which changes the scores slightly and never the set of matches.
    """
    if not search.has_words:
        return [], WordStatistics(documents=0, frequencies={})
    (counts,) = await fetch_together(connection, search.counting())
    statistics = await search.statistics(connection, counts)
    parameters = search.parameters(statistics, search.shares(names))
    rows = await fetch(connection, "search_words_at", **parameters, at=at, valid_at=valid_at)
    return _scores_of(rows), statistics


def _of_rows(rows: Sequence[Row]) -> WordStatistics:
    counts = {row["term"]: row["records"] for row in rows}
    return WordStatistics(documents=counts.pop(EVERY_RECORD, 0), frequencies=counts)


def _matching(caller: Caller, terms: Sequence[int], statistics: WordStatistics) -> Matching:
    may_read_everything = caller.scopes is None and caller.ceiling is Sensitivity.HYPER
    if statistics.documents <= FEW_RECORDS and not may_read_everything:
        # The index of terms has hidden records too, however many; those of the caller's scopes and levels have none.
        return Matching(everything=True, cap=4 * FEW_RECORDS)
    if statistics.documents < SMALL_STORE:
        return Matching(any_of=terms, cap=SMALL_STORE)
    rare, common, used = _rare_first(terms, statistics, BUDGET)
    together = _conjunctions(common, statistics, max(BUDGET - used, BUDGET / 2))
    if not rare and not together:
        together = [tuple(common[:4])]
    return Matching(any_of=rare, all_of=together)


def _padded(conjunctions: Sequence[Sequence[int]]) -> list[list[int]]:
    """Pad conjunctions to one length, as nested arrays require. Repeating a term does not change one."""
    width = max(map(len, conjunctions), default=0)
    return [[*terms, *[terms[0]] * (width - len(terms))] for terms in conjunctions]


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
    """Return conjunctions of common words that few records have: pairs before larger ones, and the rarest first."""
    chosen: list[tuple[int, ...]] = []
    for size in (2, 3, 4):
        expected = sorted(
            (
                prod(statistics.frequencies.get(term, 1) / statistics.documents for term in terms)
                * statistics.documents
                * 1.5,  # words of one topic occur together more often than independent ones
                terms,
            )
            for terms in combinations(common[:10], size)
        )
        for records, terms in expected:
            if len(chosen) >= MAX_CONJUNCTIONS or records > budget:
                break
            if any(set(smaller) <= set(terms) for smaller in chosen):
                continue
            chosen.append(terms)
            budget -= records
    return chosen
