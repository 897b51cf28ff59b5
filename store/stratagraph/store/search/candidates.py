"""The candidates of a retrieval in the present: records found by words, by names and by recency, and their heads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.words import QueryWord, query_terms
from stratagraph.store.postgres.bulk import uuid_array
from stratagraph.store.postgres.queries import fetch_together, sending
from stratagraph.store.records.entities import NameSearch
from stratagraph.store.records.ranking import Head, fetching_heads, heads_of
from stratagraph.store.search.recent_search import searching_recent
from stratagraph.store.search.word_search import WordSearch, scores_of

# Of the best records by words, those whose neighbours in threads become candidates; more if more are wanted.
EXPANDED = 16
LINKING, LINKED = 4, 16  # named entities whose relations make candidates, and relations followed in each direction
STEPS, MOST_STEPS = 2, 100  # events before and after a record in its thread that are its neighbours


def steps(near: int, *, most: int) -> int:
    """Return how many neighbours each of `near` records has in each direction: more where few records were found.

    So a question with few words still gets about `most` candidates where their threads have them.
    """
    return min(MOST_STEPS, max(STEPS, ceil(most / max(1, near))))


def terms_of_names(caller: Caller, named: Sequence[tuple[UUID, str]]) -> set[int]:
    """Return the terms of the names by which entities were found."""
    return {term for _, name in named for term in query_terms(caller.tenant.index_key, name)}


def telling(links: Iterable[tuple[UUID, UUID]]) -> list[tuple[UUID, UUID]]:
    """Return the links, pairs of an entity and a record, of the entities that have fewer than LINKED.

    That a record has one of so many relations says little, and which of them were followed would be chance.
    """
    pairs = list(links)
    relations = Counter(entity for entity, _ in pairs)
    return [(entity, id_) for entity, id_ in pairs if relations[entity] < LINKED]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundCandidates:
    """Records found by words with their BM25 `scores`, best first, by the name given with each, and newest first.

    `linked` are pairs of a named entity and a record that has a relation with it.

    `heads` has what ranks them and their neighbours in threads, of those that the caller may read in full. `words` of
    the question have `weights`.
    """

    scores: list[tuple[UUID, float]]
    named: list[tuple[UUID, str]]
    linked: list[tuple[UUID, UUID]]
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
    recent records are looked up, then the words are searched and the relations of named entities followed, and then the
    heads of all are read, with their neighbours in threads.
    """
    words = WordSearch(caller, text, types=types, limit=most_by_words)
    by_name = NameSearch(caller, names, limit=most)
    counts, entities, newest = await fetch_together(
        connection, words.counting(), by_name.statement, searching_recent(types=types, now=now, limit=most)
    )
    scores: list[tuple[UUID, float]] = []
    weights: list[float] = []
    named = by_name.found(entities)
    linking = sending(
        "find_linked",
        {
            **caller.parameters(),
            "entities": uuid_array([id_ for id_, _ in named[:LINKING]]),
            "at": now,
            "most": LINKED,
        },
    )
    if words.has_words:
        statistics = await words.statistics(connection, counts)
        weights = words.weights(statistics)
        matches, links = await fetch_together(
            connection, words.searching(statistics, now=now, names=terms_of_names(caller, named)), linking
        )
        scores = scores_of(matches)
    else:
        (links,) = await fetch_together(connection, linking)
    linked = telling((row["entity"], row["far"]) for row in links)
    recent = [row["id"] for row in newest]
    ids = {*(id_ for id_, _ in scores), *(id_ for id_, _ in named), *(id_ for _, id_ in linked), *recent}
    near = [id_ for id_, _ in scores[: max(EXPANDED, most)]]
    (heads,) = await fetch_together(
        connection,
        fetching_heads(caller, ids, words.terms, near=near, steps=steps(len(near), most=most), types=types, now=now),
    )
    return FoundCandidates(
        scores=scores,
        named=named,
        linked=linked,
        recent=recent,
        heads=heads_of(heads, now=now),
        words=words.words,
        weights=weights,
    )
