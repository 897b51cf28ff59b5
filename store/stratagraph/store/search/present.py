"""A snapshot of the present: what the store has for a question, found in three round trips."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest
from math import ceil
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.words import query_terms
from stratagraph.store.postgres.driver import Sending
from stratagraph.store.postgres.queries import fetch_together, sending
from stratagraph.store.records.entities import NameSearch
from stratagraph.store.records.ranking import Head, fetching_heads, read_heads
from stratagraph.store.search.recent_search import Interval, searching_named_times, searching_recent
from stratagraph.store.search.similar_names import (
    SimilarName,
    finding_similar_names,
    similar_names,
    unknown_words,
)
from stratagraph.store.search.vector_search import QuestionVector, VectorSearch, nearness, similarities_of
from stratagraph.store.search.word_index import Searching, WordIndex
from stratagraph.store.search.word_search import WordMatches, WordSearch

# Of the best records by words, those whose neighbours in threads become candidates; more if more are wanted.
EXPANDED = 10
_PLACES = ("first", "second", "third", "fourth")  # of the entities in the statement `find_linked`
# Named entities whose relations make candidates, and relations followed in each direction.
LINKING, LINKED = len(_PLACES), 16
STEPS, MOST_STEPS = 2, 100  # events before and after a record in its thread that are its neighbours

MOST_TIMED = 64  # records found by the times that a question names
MOST_NEAR = 50  # records found by the question's vector; more if more are wanted
NO_WORDS = Searching((), lambda _: [])  # the search of a question without words


def steps(near: int, *, most: int) -> int:
    """Return how many neighbours each of `near` records has in each direction: more where few records were found.

    So a question with few words still gets about `most` candidates where their threads have them.
    """
    return min(MOST_STEPS, max(STEPS, ceil(most / max(1, near))))


def terms_of_names(caller: Caller, named: Sequence[tuple[UUID, str]]) -> set[int]:
    """Return the terms of the names by which entities were found."""
    return {term for _, name in named for term in query_terms(caller.tenant.index_key, name)}


def selective(links: Iterable[tuple[UUID, UUID]]) -> list[tuple[UUID, UUID]]:
    """Return the links, pairs of an entity and a record, of the entities with fewer than LINKED in both directions.

    That a record has one of so many relations says little, and which of them were followed would be chance.
    """
    pairs = list(links)
    relations = Counter(entity for entity, _ in pairs)
    return [(entity, id_) for entity, id_ in pairs if relations[entity] < LINKED]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """What a question asks of the store.

    At most `most_by_words` records of `types` by the words of `text`, at most `most` entities with one of the `names`
    and `most` of the newest records, and, where the question has a `vector`, at most MOST_NEAR records near to it, or
    `most`. With `required`, words find only records with all of these terms. With `intervals`, their records with most
    of the words, at least MOST_TIMED, take the place of the newest. `dated` are the words that name them, and
    `template` terms as in `fetching_heads`.
    """

    text: str
    names: Sequence[str]
    types: Collection[MemoryType]
    most: int
    most_by_words: int
    template: Sequence[int]
    required: Sequence[int] = ()
    intervals: Sequence[Interval] = ()
    dated: Collection[str] = ()
    vector: QuestionVector | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PresentSnapshot:
    """What the store has for a question now.

    `words` are the matches of its words, and `names` entities with the name that found each. `similar` are entities
    whose name a word of the question misspells. `linked` are pairs of a named entity and a record that has a relation
    with it. `vectors` are the records near to the question's vector, from 0 to 1, nearest first. `recent` are the
    newest, newest first, or those of the times that the question names. `heads` has what ranks all of these and their
    neighbours in threads, of those that the caller may read in full.
    """

    words: WordMatches
    names: list[tuple[UUID, str]]
    similar: list[SimilarName]
    linked: list[tuple[UUID, UUID]]
    vectors: list[tuple[UUID, float]]
    recent: list[UUID]
    heads: dict[UUID, Head]


async def present_snapshot(
    connection: AsyncConnection, index: WordIndex, caller: Caller, sought: Sought, *, now: datetime
) -> PresentSnapshot:
    """Return what the store has for a question.

    Words are counted while names are looked up; then words are searched, or what that needs is read, while recent
    records are looked up and the relations of named entities are followed; then the heads of all are read, with their
    neighbours in threads.
    """
    types, most, vector = sought.types, sought.most, sought.vector
    words = WordSearch(
        caller, sought.text, types=types, limit=sought.most_by_words, required=sought.required, dated=sought.dated
    )
    by_name = NameSearch(caller, sought.names, limit=most)
    counts, (state,), entities = await fetch_together(connection, words.counting(), index.reading(), by_name.statement)
    named = by_name.found(entities)
    statistics = await words.statistics(connection, counts)
    searches = [
        searching_named_times(sought.intervals, words.terms, types=types, now=now, limit=max(MOST_TIMED, most))
        if sought.intervals
        else searching_recent(types=types, now=now, limit=most),
        _finding_linked(caller, [id_ for id_, _ in named[:LINKING]], now=now),
        finding_similar_names(unknown_words(words.words if sought.names else (), statistics.frequencies)),
    ]
    if vector is not None:
        by_vector = VectorSearch(vector, types=types, limit=max(MOST_NEAR, most))
        searches.append(by_vector.searching(documents=statistics.documents, now=now))
    by_words = NO_WORDS
    if words.has_words:
        by_words = words.searching(statistics, index, state, now=now, names=terms_of_names(caller, named))
        searches += by_words.statements
    newest, links, alike, *found = await fetch_together(connection, *searches, meanwhile=by_words.ahead)
    linked = selective((row["entity"], row["far"]) for row in links)
    similar = similar_names(alike, limit=most)
    nearest = similarities_of(found.pop(0)) if vector is not None else []
    scores = by_words.found(found)
    recent = [row["id"] for row in newest]
    ids = {*(id_ for id_, _ in scores), *(id_ for id_, _ in named), *(id_ for _, id_ in linked), *recent}
    ids |= {*(one.entity for one in similar), *(id_ for id_, _ in nearest)}
    near = [id_ for id_, _ in scores[: max(EXPANDED, most)]]
    near += [id_ for id_, _ in nearest[: max(EXPANDED, most)] if id_ not in near]
    heads = await read_heads(
        connection,
        fetching_heads(
            caller,
            ids,
            words.terms,
            near=near,
            steps=steps(len(near), most=most),
            types=types,
            template=sought.template,
            now=now,
        ),
        now=now,
    )
    return PresentSnapshot(
        words=words.matches(scores, statistics),
        names=named,
        similar=similar,
        linked=linked,
        vectors=[(id_, nearness(value, vector.lowest)) for id_, value in nearest] if vector is not None else [],
        recent=recent,
        heads=heads,
    )


def _finding_linked(caller: Caller, entities: Sequence[UUID], *, now: datetime) -> Sending:
    """Return the statement that finds the records which have a relation with one of the entities, at most LINKING."""
    parameters = {**dict(zip_longest(_PLACES, entities)), "at": now, "most": LINKED}
    return sending("find_linked", {**caller.parameters(), **parameters})
