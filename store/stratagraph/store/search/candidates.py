"""The candidates of a retrieval in the present: records found by words, by names and by recency, and their heads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.words import QueryWord, query_terms
from stratagraph.store.postgres.queries import fetch_together
from stratagraph.store.records.entities import NameSearch
from stratagraph.store.records.ranking import Head, fetching_heads, heads_of
from stratagraph.store.search.recent_search import searching_recent
from stratagraph.store.search.vector_search import QuestionVector, VectorSearch, similarities_of
from stratagraph.store.search.word_search import WordSearch, scores_of
from stratagraph.store.traversal.neighbourhood import Edge, edges_in, following

EXPANDED = 32  # of the best records by words, those whose neighbours in threads become candidates
LINKING, LINKED = 4, 16  # named entities whose relations make candidates, and relations followed in each direction
STEPS, MOST_STEPS = 2, 50  # events before and after a record in its thread that are its neighbours

MOST_NEAR = 50  # records found by the question's vector


def steps(near: int, *, most: int) -> int:
    """Return how many neighbours each of `near` records has in each direction: more where few records were found.

    So a question with few words still gets about `most` candidates where their threads have them.
    """
    return min(MOST_STEPS, max(STEPS, ceil(most / (2 * max(1, near)))))


def terms_of_names(caller: Caller, named: Sequence[tuple[UUID, str]]) -> set[int]:
    """Return the terms of the names by which entities were found."""
    return {term for _, name in named for term in query_terms(caller.tenant.index_key, name)}


def linked_by(edges: Sequence[Edge]) -> list[tuple[UUID, UUID]]:
    """Return pairs of a named entity and a record that has a relation with it.

    Entities with LINKED relations or more are left out: that a record has one of so many relations says little, and
    which of them were followed would be chance.
    """
    relations = Counter(edge.near for edge in edges)
    return [(edge.near, edge.far) for edge in edges if relations[edge.near] < LINKED]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundCandidates:
    """Records found by words with their BM25 `scores`, best first, by the name given with each, and newest first.

    `linked` are pairs of a named entity and a record that has a relation with it.

    `similar` are the records near to the question's vector, with their cosine similarities, nearest first.

    `heads` has what ranks them and their neighbours in threads, of those that the caller may read in full. `words` of
    the question have `weights`.
    """

    scores: list[tuple[UUID, float]]
    named: list[tuple[UUID, str]]
    linked: list[tuple[UUID, UUID]]
    recent: list[UUID]
    similar: list[tuple[UUID, float]]
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
    vector: QuestionVector | None = None,
) -> FoundCandidates:
    """Return at most `most_by_words` records of `types` that match the text, and the entities with one of the names.

    At most `most` entities and `most` of the newest records, and, where the question has a `vector`, at most MOST_NEAR
    records near to it. Takes three round trips: words are counted while names and
    recent records are looked up, then the words are searched and the relations of named entities followed, and then the
    heads of all are read, with their neighbours in threads.
    """
    words = WordSearch(caller, text, types=types, limit=most_by_words)
    by_name = NameSearch(caller, names, limit=most)
    counts, entities, newest = await fetch_together(
        connection, words.counting(), by_name.statement, searching_recent(types=types, now=now, limit=most)
    )
    weights: list[float] = []
    named = by_name.found(entities)
    searches = [following(caller, [id_ for id_, _ in named[:LINKING]], at=now, fan_out=LINKED)]
    if words.has_words or vector is not None:
        statistics = await words.statistics(connection, counts)
        if vector is not None:
            by_vector = VectorSearch(vector, types=types, limit=MOST_NEAR)
            searches.append(by_vector.searching(documents=statistics.documents, now=now))
        if words.has_words:
            weights = words.weights(statistics)
            searches.append(words.searching(statistics, now=now, names=terms_of_names(caller, named)))
    edges, *matches = await fetch_together(connection, *searches)
    similar = similarities_of(matches.pop(0)) if vector is not None else []
    scores = scores_of(matches[0]) if matches else []
    linked = linked_by(edges_in(edges))
    recent = [row["id"] for row in newest]
    ids = {*(id_ for id_, _ in scores), *(id_ for id_, _ in named), *(id_ for _, id_ in linked), *recent}
    ids |= {id_ for id_, _ in similar}
    near = [id_ for id_, _ in scores[:EXPANDED]]
    (heads,) = await fetch_together(
        connection,
        fetching_heads(caller, ids, words.terms, near=near, steps=steps(len(near), most=most), types=types, now=now),
    )
    return FoundCandidates(
        scores=scores,
        named=named,
        linked=linked,
        recent=recent,
        similar=similar,
        heads=heads_of(heads, now=now),
        words=words.words,
        weights=weights,
    )
