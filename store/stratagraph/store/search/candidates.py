"""The candidates of a retrieval in the present: records found by words, by names and by recency, and their heads."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.postgres.queries import fetch_together
from stratagraph.store.records.entities import NameSearch
from stratagraph.store.records.ranking import Head, fetching_heads, heads_of
from stratagraph.store.search.recent_search import searching_recent
from stratagraph.store.search.vector_search import QuestionVector, VectorSearch, similarities_of
from stratagraph.store.search.word_search import WordSearch, scores_of

MOST_NEAR = 50  # records found by the question's vector


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundCandidates:
    """Records found by words with their BM25 scores, best first, by the name given with each, and newest first.

    `near` are the records near to the question's vector with their cosine similarities, nearest first. `heads` has what
    ranks them, of those that the caller may read in full. `weights` are the rarities of the question's terms, in the
    order of the bits of `covered` in the heads.
    """

    words: list[tuple[UUID, float]]
    named: list[tuple[UUID, str]]
    recent: list[UUID]
    near: list[tuple[UUID, float]]
    heads: dict[UUID, Head]
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
    question: QuestionVector | None = None,
) -> FoundCandidates:
    """Return at most `most_by_words` records of `types` that match the text, and the entities with one of the names.

    At most `most` entities and `most` of the newest records, and, where the `question` has a vector, at most MOST_NEAR
    records near to it. Takes three round trips: words are counted while names and
    recent records are looked up, then the words and the vector are searched, and then the heads of all are read.
    """
    words = WordSearch(caller, text, types=types, limit=most_by_words)
    by_name = NameSearch(caller, names, limit=most)
    counts, entities, newest = await fetch_together(
        connection, words.counting(), by_name.statement, searching_recent(types=types, now=now, limit=most)
    )
    weights: list[float] = []
    searches = []
    if words.has_words or question is not None:
        statistics = await words.statistics(connection, counts)
        if words.has_words:
            weights = words.weights(statistics)
            searches.append(words.searching(statistics, now=now))
        if question is not None:
            vectors = VectorSearch(question, types=types, limit=MOST_NEAR)
            searches.append(vectors.searching(documents=statistics.documents, now=now))
    matches = await fetch_together(connection, *searches) if searches else []
    near = similarities_of(matches.pop()) if question is not None else []
    scores = scores_of(matches[0]) if matches else []
    named = by_name.found(entities)
    recent = [row["id"] for row in newest]
    ids = {*(id_ for id_, _ in scores), *(id_ for id_, _ in named), *recent, *(id_ for id_, _ in near)}
    (heads,) = await fetch_together(connection, fetching_heads(caller, ids, words.terms))
    return FoundCandidates(
        words=scores, named=named, recent=recent, near=near, heads=heads_of(heads, now=now), weights=weights
    )
