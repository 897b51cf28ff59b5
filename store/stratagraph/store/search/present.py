"""A snapshot of the present: what the store has for a question, found in three round trips.

Searches by time, now or as of a past instant, read a bounded number of records. They are functions in the database
that check the caller's trust themselves: under row-level security, a bounded read of the newest records would not be
bounded. Hidden records are not read at all, because the indexes are ordered within each scope and sensitivity.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import zip_longest
from math import ceil
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.feed.settling import LEEWAY
from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.words import query_terms
from stratagraph.store.postgres.driver import Sending
from stratagraph.store.postgres.queries import fetch, fetch_together, sending
from stratagraph.store.records.entities import NameSearch
from stratagraph.store.records.ranking import Head, fetching_heads, read_heads
from stratagraph.store.search.similar_names import (
    SimilarName,
    finding_similar_names,
    similar_names,
    unknown_words,
)
from stratagraph.store.search.vector_search import QuestionVector, VectorSearch, nearness, similarities_of
from stratagraph.store.search.word_index import PreparedSearch, WordIndex
from stratagraph.store.search.word_search import WordMatches, WordSearch
from stratagraph.store.search.word_segments import Held, Interval

# Of the best records by words, those whose neighbours in threads become candidates; more if more are wanted.
EXPANDED = 10
_PLACES = ("first", "second", "third", "fourth")  # of the entities in the statement `find_linked`
# Named entities whose relations make candidates, and relations followed in each direction.
LINKING, LINKED = len(_PLACES), 16
STEPS, MOST_STEPS = 2, 100  # events before and after a record in its thread that are its neighbours

MOST_TIMED = 64  # records found by the times that a question names
MOST_NEAR = 50  # records found by the question's vector; more if more are wanted
NO_WORDS = PreparedSearch((), lambda _: [])  # the search of a question without words
RECENT_WINDOW = 400  # newest readable records read, including those of other types or states
_TICK = timedelta(microseconds=1)
_LAST = datetime.max.replace(tzinfo=UTC) - _TICK
FEW = 4  # times as many as are wanted are read first, which is enough where most are current and of the types asked for


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
    `most`. With `required`, words find only records with all of these terms. `template` are terms as in
    `fetching_heads`.

    With `intervals`, their records with most of the words, at least MOST_TIMED, take the place of the newest, and words
    find facts that held then, too, past ones included. `dated` are the words that name them, and `aside` those said
    beside the question. Without intervals, words
    find facts that held `ever` in some, but no superseded ones. Where `valid_at` is given, facts must hold then
    instead of now, and words find superseded ones that did. The records `left_out` are not found.
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
    aside: Collection[str] = ()
    vector: QuestionVector | None = None
    ever: Sequence[Interval] = ()
    valid_at: datetime | None = None
    left_out: frozenset[UUID] = frozenset()

    @property
    def held(self) -> Held:
        """The facts that are sought besides those that hold now."""
        if self.valid_at is not None:
            at = min(self.valid_at, _LAST)
            return Held([(at, at + _TICK)], superseded=True)
        return Held(self.intervals or self.ever, superseded=bool(self.intervals))


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


def word_search(caller: Caller, sought: Sought) -> WordSearch:
    """Return the search of the words that are sought."""
    return WordSearch(
        caller,
        sought.text,
        types=sought.types,
        limit=sought.most_by_words + len(sought.left_out),
        required=sought.required,
        dated=sought.dated,
        aside=sought.aside,
    )


async def present_snapshot(
    connection: AsyncConnection, index: WordIndex, caller: Caller, sought: Sought, *, now: datetime
) -> PresentSnapshot:
    """Return what the store has for a question.

    Words are counted while names are looked up; then words are searched, or what that needs is read, while recent
    records are looked up and the relations of named entities are followed; then the heads of all are read, with their
    neighbours in threads.
    """
    types, most, vector, at = sought.types, sought.most, sought.vector, sought.valid_at or now
    words = word_search(caller, sought)
    by_name = NameSearch(caller, sought.names, limit=most)
    counts, (state,), entities = await fetch_together(connection, words.counting(), index.reading(), by_name.statement)
    named = by_name.found(entities)
    statistics = await words.statistics(connection, counts)
    searches = [
        searching_named_times(
            sought.intervals, words.terms, types=types, now=at, limit=max(MOST_TIMED, most) + len(sought.left_out)
        )
        if sought.intervals
        else searching_recent(types=types, now=at, limit=most + len(sought.left_out)),
        _finding_linked(caller, [id_ for id_, _ in named[:LINKING]], now=at),
        finding_similar_names(unknown_words(words.words if sought.names else (), statistics.frequencies)),
    ]
    if vector is not None:
        by_vector = VectorSearch(vector, types=types, limit=max(MOST_NEAR, most) + len(sought.left_out))
        searches.append(by_vector.searching(documents=statistics.documents, now=at))
    by_words = NO_WORDS
    if words.has_words:
        by_words = words.searching(
            statistics, index, state, now=at, held=sought.held, names=terms_of_names(caller, named)
        )
        searches += by_words.statements
    newest, links, alike, *found = await fetch_together(connection, *searches, meanwhile=by_words.ahead)
    linked = selective((row["entity"], row["far"]) for row in links)
    similar = similar_names(alike, limit=most)
    nearest = similarities_of(found.pop(0)) if vector is not None else []
    scores = by_words.found(found)
    if sought.left_out:
        nearest = [each for each in nearest if each[0] not in sought.left_out][: max(MOST_NEAR, most)]
        scores = [each for each in scores if each[0] not in sought.left_out][: sought.most_by_words]
    recent = [row["id"] for row in newest if row["id"] not in sought.left_out]
    recent = recent[: max(MOST_TIMED, most) if sought.intervals else most]
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
            vector=words.vector(statistics, terms_of_names(caller, named)),
            now=at,
            by_time=bool(sought.held.intervals),
        ),
        now=now,
    )
    if sought.held.intervals:
        heads = {
            id_: head
            for id_, head in heads.items()
            if (head.is_current and head.holds_at(at))
            or head.held(sought.held.intervals, superseded=sought.held.superseded)
        }
    heads = {id_: head for id_, head in heads.items() if id_ not in sought.left_out}
    return PresentSnapshot(
        words=words.matches(scores, statistics, [head.covered for head in heads.values()]),
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


def searching_recent(*, types: Collection[MemoryType], now: datetime, limit: int) -> Sending:
    """Return the statement that finds at most `limit` of the newest current records, as ids, newest first.

    Only records that the caller may read in full are found, and a fact only if its validity includes `now`. Only the
    last RECENT_WINDOW readable records are read, so older ones are never found. The caller is the one for whom the
    transaction was opened that runs the statement.
    """
    parameters = {
        "types": [int(memory_type) for memory_type in types],
        "now": now,
        "few": min(RECENT_WINDOW, FEW * limit),
        "window": RECENT_WINDOW,
        "limit": limit,
    }
    return sending("search_recent", parameters)


def searching_named_times(
    intervals: Sequence[Interval], terms: Sequence[int], *, types: Collection[MemoryType], now: datetime, limit: int
) -> Sending:
    """Return the statement that finds at most `limit` current records that occurred in one of the intervals, as ids.

    Of the newest RECENT_WINDOW readable ones of all intervals together, those with most of the terms are found, and of
    these the newest. Otherwise as `searching_recent`.
    """
    return sending("search_named_times", _named_times(intervals, terms, types=types, at=now, limit=limit))


async def search_named_times_at(
    connection: AsyncConnection,
    intervals: Sequence[Interval],
    terms: Sequence[int],
    *,
    types: Collection[MemoryType],
    at: datetime,
    limit: int,
) -> list[UUID]:
    """Return what `searching_named_times` finds of the records that were current at `at`."""
    parameters = _named_times(intervals, terms, types=types, at=at, limit=limit)
    return [row["id"] for row in await fetch(connection, "search_named_times_at", **parameters)]


def _named_times(
    intervals: Sequence[Interval], terms: Sequence[int], *, types: Collection[MemoryType], at: datetime, limit: int
) -> dict[str, Any]:
    return {
        "types": [int(memory_type) for memory_type in types],
        "at": at,
        "since": [since for since, _ in intervals],
        "until": [until for _, until in intervals],
        "terms": list(terms),
        "window": RECENT_WINDOW,
        "limit": limit,
    }


async def search_recent(
    connection: AsyncConnection, *, types: Collection[MemoryType], now: datetime, limit: int
) -> list[UUID]:
    """Return the ids of the records that `searching_recent` finds."""
    (rows,) = await fetch_together(connection, searching_recent(types=types, now=now, limit=limit))
    return [row["id"] for row in rows]


async def search_recent_at(
    connection: AsyncConnection, *, types: Collection[MemoryType], at: datetime, limit: int
) -> list[UUID]:
    """Return the ids of at most `limit` of the newest records that were current at `at`, newest first.

    Only the last RECENT_WINDOW readable records that existed then are read. Records that the caller could not read in
    full then, or may not now, are left out.
    """
    rows = await fetch(
        connection,
        "search_recent_at",
        types=[int(memory_type) for memory_type in types],
        at=at,
        below=_first_id_after(at),
        window=RECENT_WINDOW,
        limit=limit,
    )
    return [row["id"] for row in rows]


def _first_id_after(at: datetime) -> UUID:
    """Return a UUID above the UUIDv7 of every record that existed at `at`.

    An id is made when its write begins, and the clocks of writers differ by at most LEEWAY.
    """
    milliseconds = max(0, int((at + LEEWAY).timestamp() * 1_000))
    return UUID(int=milliseconds << 80)
