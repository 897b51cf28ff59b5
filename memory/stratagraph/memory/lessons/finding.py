"""Finding lessons: the last learned ones, or those that are about a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from stratagraph.memory.embedding.questions import QuestionEmbedder
from stratagraph.memory.lessons.block import Standing, lesson_of, said
from stratagraph.memory.lessons.similarity import RELATED
from stratagraph.memory.lessons.utility import utility
from stratagraph.memory.records.listing import LOOKED_THEN, READ_THEN
from stratagraph.store.keys.callers import Caller
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.analysis.languages import is_function_word
from stratagraph.store.model.canonical import normalised_name
from stratagraph.store.model.clock import Clock
from stratagraph.store.model.enums import MemoryType, RecordState
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.words import QueryWord, name_terms, query_words, record_terms
from stratagraph.store.postgres.database import Database
from stratagraph.store.records.lessons import fetch_similarities, list_lessons
from stratagraph.store.records.listing import ListOrder, RecordLister
from stratagraph.store.records.listing import Wanted as RecordWanted
from stratagraph.store.records.past import Moment, Past
from stratagraph.store.records.reading import Reader
from stratagraph.store.search.vector_search import QuestionVector, vector_literal

CONSIDERED = 500  # lessons of one request, the last learned ones that the caller may read
SHARED_WORDS = 0.3  # added to the similarity of a lesson whose trigger has all words of the question


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which lessons are asked for: those learned from `since` on, of this source, with just this trigger or task."""

    since: datetime | None = None
    source: str | None = None
    trigger: str | None = None

    def matches(self, record: MemoryRecord) -> bool:
        block = lesson_of(record.payload)
        if block is None or (self.source is not None and block.get("source") != self.source):
            return False
        return self.trigger is None or normalised_name(self.trigger) in (
            normalised_name(said(block, "trigger")),
            normalised_name(said(block, "task")),
        )


class LessonFinder:
    """Finds lessons for one caller after the other. One per process; safe to call from many tasks."""

    def __init__(
        self, database: Database, directory: Directory, clock: Clock, questions: QuestionEmbedder | None
    ) -> None:
        self._database = database
        self._directory = directory
        self._clock = clock
        self._questions = questions

    async def recent(self, caller: Caller, wanted: Wanted, *, limit: int) -> list[MemoryRecord]:
        """Return the last learned lessons that the caller may read in full, newest first.

        They are among the last CONSIDERED ones.
        """
        is_plain = wanted.source is None and wanted.trigger is None
        terms = name_terms(caller.tenant.index_key, wanted.trigger) if wanted.trigger is not None else ()
        found = await self._read(caller, since=wanted.since, terms=terms, limit=limit if is_plain else CONSIDERED)
        return [record for record in found if wanted.matches(record)][:limit]

    async def about(self, caller: Caller, query: str, wanted: Wanted, *, limit: int) -> list[MemoryRecord]:
        """Return the lessons about a question, best first; none if none is.

        With vectors, those are about it whose distance is at most RELATED, ranked by similarity and by the words of the
        question that their trigger has. Without, and of lessons that have no vector, those with such words.
        """
        words = _asked_words(caller, query)
        asked = (await self._questions.embed(query)).vector if self._questions is not None else None
        if asked is None and not words:
            return []
        terms = [number for word in words for number in word.numbers] if asked is None else ()
        found = [
            record
            for record in await self._read(caller, since=wanted.since, terms=terms, limit=CONSIDERED)
            if wanted.matches(record)
        ]
        similarities = await self._similarities(caller, asked, [record.id for record in found])
        scores = {record.id: _score(caller, record, words, similarities) for record in found}
        return _ranked(found, scores)[:limit]

    async def as_of(self, caller: Caller, query: str | None, wanted: Wanted, at: datetime) -> list[MemoryRecord]:
        """Return the lessons that were current as of a past instant, as `recent` or `about` order them.

        They are among the last LOOKED_THEN skills and lessons that the caller may read. With a query, they are found by
        the words that they have in common.
        """
        everything = RecordWanted(types=(MemoryType.COMPETENCE,), is_past=True)
        found: list[MemoryRecord] = []
        async with self._database.reading(caller.bounds) as connection:
            reader = Reader(connection, self._directory, caller, self._clock.now())
            lister = RecordLister(connection, caller, self._clock.now(), reader.records)
            listed = await lister.page(everything, ListOrder.CREATED_DESC, first=LOOKED_THEN, after=None)
            past = Past(connection, self._directory, caller)
            for start in range(0, len(listed.records), READ_THEN):
                moments = [Moment(one.id, at) for one in listed.records[start : start + READ_THEN]]
                found += (await past.records(moments)).values()
        lessons = [
            record
            for record in found
            if record.state <= RecordState.CONTESTED
            and (wanted.since is None or record.occurred_at >= wanted.since)
            and wanted.matches(record)
        ]
        lessons.sort(key=lambda record: (record.occurred_at, record.id.int), reverse=True)
        if query is None:
            return lessons
        words = _asked_words(caller, query)
        return _ranked(lessons, {record.id: _score(caller, record, words, {}) for record in lessons})

    async def _read(
        self, caller: Caller, *, since: datetime | None, terms: Sequence[int], limit: int
    ) -> list[MemoryRecord]:
        async with self._database.reading(caller.bounds) as connection:
            ids = await list_lessons(connection, caller, since=since, terms=terms, limit=limit)
            records = await Reader(connection, self._directory, caller, self._clock.now()).records(ids, current=True)
        return [records[id_] for id_ in ids if id_ in records and not records[id_].redacted]

    async def _similarities(
        self, caller: Caller, asked: QuestionVector | None, ids: Sequence[UUID]
    ) -> Mapping[UUID, float]:
        if asked is None or not ids:
            return {}
        async with self._database.reading(caller.bounds) as connection:
            return await fetch_similarities(connection, ids, model=asked.model, vector=vector_literal(asked.vector))


def _asked_words(caller: Caller, query: str) -> list[QueryWord]:
    return [word for word in query_words(caller.tenant.index_key, query) if not is_function_word(word.text.casefold())]


def _ranked(found: Sequence[MemoryRecord], scores: Mapping[UUID, float | None]) -> list[MemoryRecord]:
    """Return the lessons that have a score, best first."""
    return sorted(
        (record for record in found if scores[record.id] is not None),
        key=lambda record: (-(scores[record.id] or 0), -_utility(record), -record.occurred_at.timestamp()),
    )


def _score(
    caller: Caller, record: MemoryRecord, words: Sequence[QueryWord], similarities: Mapping[UUID, float]
) -> float | None:
    """Return how well a lesson fits a question; None if it is not about it."""
    shared = _share_of_words(caller, record, words)
    similarity = similarities.get(record.id)
    if similarity is None:
        return SHARED_WORDS * shared if shared else None
    return similarity + SHARED_WORDS * shared if 1 - similarity <= RELATED else None


def _share_of_words(caller: Caller, record: MemoryRecord, words: Sequence[QueryWord]) -> float:
    """Return the share of the words that the lesson's trigger has, or its task where it has no trigger; 0 to 1."""
    trigger = said(lesson_of(record.payload) or {}, "trigger", "task")
    known = set(record_terms(caller.tenant.index_key, trigger).numbers)
    shared = sum(not known.isdisjoint(word.numbers) for word in words)
    return shared / len(words) if words else 0.0


def _utility(record: MemoryRecord) -> float:
    return utility(Standing.of(record.payload or {}, learned_at=record.occurred_at, confidence=record.confidence))
