"""The candidates of a retrieval in the present: records found by words, by names and by recency, and their heads."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.words import QueryWord
from stratagraph.store.postgres.queries import fetch_together
from stratagraph.store.records.entities import NameSearch
from stratagraph.store.records.ranking import Head, fetching_heads, heads_of
from stratagraph.store.search.recent_search import searching_recent
from stratagraph.store.search.word_search import WordSearch, scores_of

EXPANDED = 32  # of the best records by words, those whose neighbours in threads become candidates


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundCandidates:
    """Records found by words with their BM25 `scores`, best first, by the name given with each, and newest first.

    `heads` has what ranks them and their neighbours in threads, of those that the caller may read in full. `words` of
    the question have `weights`.
    """

    scores: list[tuple[UUID, float]]
    named: list[tuple[UUID, str]]
    recent: list[UUID]
    heads: dict[UUID, Head]
    words: Sequence[QueryWord]
    weights: list[float]


async def find_candidates(
    connection: AsyncConnection,
    caller: Caller,
    text: str,
    names: Sequence[str],
    *,
    types: Collection[MemoryType],
    now: datetime,
    most_by_words: int,
    most: int,
) -> FoundCandidates:
    """Return at most `most_by_words` records of `types` that match the text, and the entities with one of the names.

    At most `most` entities and `most` of the newest records. Takes three round trips: words are counted while names and
    recent records are looked up, then the words are searched, and then the heads of all are read.
    """
    words = WordSearch(caller, text, types=types, limit=most_by_words)
    by_name = NameSearch(caller, names, limit=most)
    counts, entities, newest = await fetch_together(
        connection, words.counting(), by_name.statement, searching_recent(types=types, now=now, limit=most)
    )
    scores: list[tuple[UUID, float]] = []
    weights: list[float] = []
    if words.has_words:
        statistics = await words.statistics(connection, counts)
        weights = words.weights(statistics)
        (matches,) = await fetch_together(connection, words.searching(statistics, now=now))
        scores = scores_of(matches)
    named = by_name.found(entities)
    recent = [row["id"] for row in newest]
    ids = {*(id_ for id_, _ in scores), *(id_ for id_, _ in named), *recent}
    near = [id_ for id_, _ in scores[:EXPANDED]]
    (heads,) = await fetch_together(
        connection, fetching_heads(caller, ids, words.terms, near=near, types=types, now=now)
    )
    return FoundCandidates(
        scores=scores,
        named=named,
        recent=recent,
        heads=heads_of(heads, now=now),
        words=words.words,
        weights=weights,
    )
