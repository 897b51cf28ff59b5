"""The candidates of a retrieval: records found by words, by names and by recency, and what ranks them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from uuid import UUID

from stratagraph.memory.retrieve.alike import Chosen, Said, Saying, differing
from stratagraph.memory.retrieve.coverage import (
    Question,
    asks_only_when,
    emphasis,
    is_a_name,
    words_named,
    words_written_as_names,
)
from stratagraph.memory.retrieve.landmarks import with_landmarks
from stratagraph.memory.retrieve.names import candidate_names
from stratagraph.memory.retrieve.phrases import spaced, terms_of_phrases
from stratagraph.memory.retrieve.quotations import Quotation, frame_terms
from stratagraph.memory.retrieve.rank import Found, Rankable, Why, fuse
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.retrieve.threads import sides
from stratagraph.memory.retrieve.time_words import TimeWords, time_words
from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.sketches import sketch_of, stored_sketch
from stratagraph.store.model.words import QueryWord, query_terms, record_terms
from stratagraph.store.postgres.database import Connection
from stratagraph.store.records.entities import find_entities_by_name
from stratagraph.store.records.past import PastReader
from stratagraph.store.records.ranking import FOLLOWED, RELATED, RELATING, SYSTEM, Head, thread_neighbours
from stratagraph.store.search.candidates import (
    EXPANDED,
    LINKING,
    MOST_TIMED,
    FoundCandidates,
    find_candidates,
    steps,
    telling,
    terms_of_names,
)
from stratagraph.store.search.recent_search import search_named_times_at, search_recent_at
from stratagraph.store.search.similar_names import SimilarName, find_similar_names, unknown_words
from stratagraph.store.search.vector_search import QuestionVector
from stratagraph.store.search.word_index import WordIndex
from stratagraph.store.search.word_search import WordSearch, search_words_at
from stratagraph.store.traversal.past import PastGraphReader

CANDIDATES = 48  # records found by words, before the other signals, salience and confidence reorder them
FOR_NEWEST = 100  # the same of a question for what is newest: of very many that match, the newest may match less
WITH_PHRASES = 400  # the same of a question with phrases, for which few records with all of their words may have them

MISSPELT = 0.5  # share of a word's weight that an entity has whose name the question misspells, times the similarity


@dataclass(frozen=True, slots=True)
class Candidates:
    """What made each record a candidate, what ranks it, and what it says, by id, with the words of the task.

    A record that did not exist at the instant asked for, or may not be read in full, is left out before scores are
    fused: it must not set the scale for the others. `fits` is how well the date of each fits the times that the task
    names, and `times` are these.
    """

    why: Mapping[UUID, Why]
    heads: Mapping[UUID, Rankable]
    fits: Mapping[UUID, float]
    said: Said
    question: Question
    times: TimeWords

    def differing(self, ranking: Sequence[tuple[UUID, float]], why: Mapping[UUID, Why], *, wanted: int) -> Chosen:
        """Return the ranked candidates of which `wanted` are to be roots, without those that say the same as others."""
        return differing(ranking, self.heads, why, self.fits, self.said, wanted=wanted, is_survey=not self.times.newest)


async def present_candidates(
    connection: Connection,
    index: WordIndex,
    caller: Caller,
    request: RetrieveRequest,
    *,
    now: datetime,
    vector: QuestionVector | None = None,
) -> Candidates:
    """Return the candidates of the present; `vector` is that of the task, where there is an embedder.

    A task that asks for what happened before or after an event alone is searched twice, the second time with
    the date of the event.
    """
    times = time_words(request.task_descriptor, now)
    found, timed = await _present(connection, index, caller, request, times, now=now, vector=vector)
    if timed is None:
        return found
    return (await _present(connection, index, caller, request, timed, now=now, vector=vector))[0]


async def _present(
    connection: Connection,
    index: WordIndex,
    caller: Caller,
    request: RetrieveRequest,
    times: TimeWords,
    *,
    now: datetime,
    vector: QuestionVector | None,
) -> tuple[Candidates, TimeWords | None]:
    """Return the candidates of a task that names `times`, and the times by an event if it asks for nothing else."""
    types, task = request.memory_types or tuple(MemoryType), request.task_descriptor
    required = terms_of_phrases(caller.tenant.index_key, task)
    found = await find_candidates(
        connection,
        index,
        caller,
        task,
        candidate_names(task) if MemoryType.ENTITY in types else [],
        types=types,
        now=now,
        most_by_words=_words_wanted(request, times, required),
        most=request.root_limit,
        vector=vector,
        required=required,
        intervals=times.intervals,
        dated=times.words,
        frame=frame_terms(caller.tenant.index_key),
    )
    names = _Names(caller, task, found.words, found.named)
    names.add_similar(found.similar)
    question = names.question(found.weights, times)
    words = {id_: question.words_at(head.covered) for id_, head in found.heads.items()}
    names.add_own(words)
    names.add_linked(words, found.linked)
    if request.memory_types:
        words = {id_: bits for id_, bits in words.items() if found.heads[id_].type in types}
    neighbours = {
        id_: sides(head.before, head.after, head.related)
        for id_, head in found.heads.items()
        if head.before or head.after or head.related
    }
    timed = with_landmarks(times, task, question, [word.text for word in found.words], words, found.heads, now=now)
    fits = _fits(found.heads, timed)
    why = fuse(
        Found(
            question=question,
            scores=found.scores,
            named=[*found.named, *((one.entity, one.name) for one in found.similar)],
            recent=_newest(found.recent, found.heads) if times.times else found.recent,
            words=words,
            neighbours=neighbours,
            fit=fits,
            wants_recent=_wants_recent(found.words, times),
            naming=times.texts_naming([word.text for word in found.words]),
            similarity=_similarity(found.similar),
            nearness=_nearness(found, vector),
            documents=found.documents,
        )
    )
    candidates = Candidates(why, found.heads, fits, _said(found.heads), question, timed)
    return candidates, _asked_alone(found.words, times, timed)


async def past_candidates(
    connection: Connection, caller: Caller, request: RetrieveRequest, reader: PastReader, *, at: datetime
) -> Candidates:
    """Return the candidates as of the past instant `at`; entities are found by the names they have now.

    A task that asks only for what happened before or after an event is searched twice, as in the present.
    """
    found, timed = await _past(connection, caller, request, reader, time_words(request.task_descriptor, at), at=at)
    if timed is None:
        return found
    return (await _past(connection, caller, request, reader, timed, at=at))[0]


async def _past(
    connection: Connection,
    caller: Caller,
    request: RetrieveRequest,
    reader: PastReader,
    times: TimeWords,
    *,
    at: datetime,
) -> tuple[Candidates, TimeWords | None]:
    """Return the candidates of a task as `_present` does, as of the past instant `at`."""
    types, task = request.memory_types or tuple(MemoryType), request.task_descriptor
    required = terms_of_phrases(caller.tenant.index_key, task)
    most = _words_wanted(request, times, required)
    search = WordSearch(caller, task, types=types, limit=most, required=required, dated=times.words)
    named = (
        await find_entities_by_name(connection, caller, candidate_names(task), limit=request.root_limit)
        if MemoryType.ENTITY in types
        else []
    )
    known = await reader.heads({id_ for id_, _ in named})
    named = [(id_, name) for id_, name in named if id_ in known and not known[id_].redacted]
    scores, statistics = await search_words_at(connection, search, at=at, names=terms_of_names(caller, named))
    unknown = unknown_words(search.words if MemoryType.ENTITY in types else (), statistics.frequencies)
    similar = await find_similar_names(connection, unknown, limit=request.root_limit)
    recent = (
        await search_named_times_at(
            connection,
            times.intervals,
            search.terms,
            types=types,
            at=at,
            limit=max(MOST_TIMED, request.root_limit),
        )
        if times.times
        else await search_recent_at(connection, types=types, at=at, limit=request.root_limit)
    )
    near = [id_ for id_, _ in scores[: max(EXPANDED, request.root_limit)]]
    in_threads = await thread_neighbours(
        connection, caller, near, steps=steps(len(near), most=request.root_limit), types=types, now=at
    )
    entities = [id_ for id_, _ in named[:LINKING]]
    links = await PastGraphReader(connection).links_of(caller, [*entities, *near[:RELATING]], at=at, fan_out=FOLLOWED)
    linked = telling((entity, far) for entity, far, _ in links if entity in entities)
    related: dict[UUID, list[UUID]] = {}
    for id_, far, predicate in links:
        if id_ not in entities and predicate not in SYSTEM:
            related.setdefault(id_, []).append(far)
    neighbours = {
        id_: sides(*in_threads.get(id_, ((), ())), related.get(id_, ())[:RELATED])
        for id_ in in_threads.keys() | related
    }
    around = {other for sides_ in neighbours.values() for side in sides_ for other in side}
    around |= {id_ for _, id_ in linked}
    around |= {one.entity for one in similar}
    found = await reader.heads({*(id_ for id_, _ in scores), *(id_ for id_, _ in named), *recent, *around})
    heads = {id_: record for id_, record in found.items() if not record.redacted}
    similar = [one for one in similar if one.entity in heads]
    names = _Names(caller, task, search.words, named)
    names.add_similar(similar)
    question = names.question(search.weights(statistics), times)
    words = {id_: names.of.get(id_, 0) for id_ in heads}
    terms, said = await asyncio.to_thread(_analysed, caller, heads)
    for id_, _ in scores:  # a record that word search did not find may have had no terms then, as an open episode
        if id_ in heads:
            words[id_] |= question.words_of({*terms[id_]})
    names.add_linked(words, linked)
    if request.memory_types:
        words = {id_: bits for id_, bits in words.items() if heads[id_].type in types}
    timed = with_landmarks(times, task, question, [word.text for word in search.words], words, heads, now=at)
    fits = _fits(heads, timed)
    why = fuse(
        Found(
            question=question,
            scores=scores,
            named=[*named, *((one.entity, one.name) for one in similar)],
            recent=_newest(recent, heads) if times.times else recent,
            words=words,
            neighbours=neighbours,
            fit=fits,
            wants_recent=_wants_recent(search.words, times),
            naming=times.texts_naming([word.text for word in search.words]),
            similarity=_similarity(similar),
        )
    )
    return Candidates(why, heads, fits, said.get, question, timed), _asked_alone(search.words, times, timed)


class _Names:
    """The words of a question that belong to names of known entities: of all of them, and of each entity.

    A name that is a function word ("Will", "IT") is a word of the question if it is written as a name. No record is
    found by it, but the entity has it, and what is linked to the entity.
    """

    def __init__(
        self, caller: Caller, descriptor: str, words: Sequence[QueryWord], named: Sequence[tuple[UUID, str]]
    ) -> None:
        self.terms = [word.numbers for word in words]
        self._descriptor, self._texts = descriptor, [word.text for word in words]
        key = caller.tenant.index_key
        self.of = {id_: words_named(self.terms, [query_terms(key, name)]) for id_, name in named}
        for name in dict.fromkeys(name for id_, name in named if not self.of[id_] and is_a_name(name, descriptor)):
            self.of |= {id_: 1 << len(self.terms) for id_, other in named if other == name}
            self.terms.append((-len(self.terms),))  # the number of no term
            self._texts.append(name)
        self.words = 0
        for bits in self.of.values():
            self.words |= bits

    def question(self, weights: Sequence[float], times: TimeWords) -> Question:
        """Return the question, given the rarities of its words and the times that it names.

        A name that is a function word is as rare as the rarest of the words.
        """
        stressed = emphasis(self._descriptor, self._texts, dated=times.words)
        return Question(
            weights=[*weights, *[max(weights, default=1.0)] * (len(self.terms) - len(weights))],
            terms=self.terms,
            emphasis=stressed,
            apart=self.words,
            names=self.words | words_written_as_names(self._texts, stressed),
        )

    def add_similar(self, similar: Iterable[SimilarName]) -> None:
        """Give entities the word of the question that misspells their name; it is no name of the question."""
        for one in similar:
            bits = sum(1 << place for place, text in enumerate(self._texts) if text == one.word)
            self.of[one.entity] = self.of.get(one.entity, 0) | bits

    def add_own(self, words: dict[UUID, int]) -> None:
        """Add to the words of entities those of their names."""
        for id_, bits in self.of.items():
            if id_ in words:
                words[id_] |= bits

    def add_linked(self, words: dict[UUID, int], linked: Iterable[tuple[UUID, UUID]]) -> None:
        """Add to the words of records those of the names of the entities with which they have relations."""
        for entity, id_ in linked:
            if id_ in words:
                words[id_] |= self.of.get(entity, 0)


def _similarity(similar: Iterable[SimilarName]) -> dict[UUID, float]:
    return {one.entity: MISSPELT * one.similarity for one in similar}


def _words_wanted(request: RetrieveRequest, times: TimeWords, required: Sequence[int]) -> int:
    """Return how many records words should find, more where other signals choose among them."""
    most = WITH_PHRASES if required else FOR_NEWEST if times.newest else CANDIDATES
    return max(most, 2 * request.root_limit)


def _analysed(caller: Caller, records: Mapping[UUID, MemoryRecord]) -> tuple[dict[UUID, list[int]], dict[UUID, Saying]]:
    """Return the terms of records, and what they say: the sketch of an event, the folded text of a fact.

    Their texts may be long, so this is run beside the event loop.
    """
    key = caller.tenant.index_key
    frame = {*frame_terms(key)}
    terms: dict[UUID, list[int]] = {}
    said: dict[UUID, Saying] = {}
    for id_, record in records.items():
        terms[id_] = record_terms(key, record.text or "", record.name or "").numbers
        if record.type is MemoryType.EPISODIC:
            said[id_] = sketch_of(terms[id_])
        elif record.type is MemoryType.SEMANTIC:
            stated = spaced(record.text or "")
            quoted = sketch_of([number for number in terms[id_] if number not in frame])
            said[id_] = Quotation(stated, quoted) if frame <= {*terms[id_]} else stated
    return terms, said


def _said(heads: Mapping[UUID, Head]) -> Said:
    """Return what each record says: the sketch of an event, the key of a fact with what it quotes, or nothing."""

    @cache
    def said(id_: UUID) -> Saying:
        head = heads[id_]
        if head.said is not None and head.quoted is not None:
            return Quotation(head.said, stored_sketch(head.quoted))
        return stored_sketch(head.said) if head.said is not None and head.type is MemoryType.EPISODIC else head.said

    return said


def nearness(similarity: float, lowest: float) -> float:
    """Return how near in meaning two texts are, from 0 at the cosine similarity `lowest` to 1 at equal vectors.

    >>> nearness(0.75, 0.5), nearness(0.5, 0.5), nearness(1.001, 0.5)
    (0.5, 0.0, 1.0)
    """
    return max(0.0, min(1.0, (similarity - lowest) / (1 - lowest)))


def _nearness(found: FoundCandidates, vector: QuestionVector | None) -> dict[UUID, float]:
    if vector is None:
        return {}
    return {id_: nearness(value, vector.lowest) for id_, value in found.nearest if id_ in found.heads}


def _newest(ids: Iterable[UUID], heads: Mapping[UUID, Rankable]) -> list[UUID]:
    found = [id_ for id_ in ids if id_ in heads]
    return sorted(found, key=lambda id_: (-heads[id_].occurred_at.timestamp(), id_.int))


def _fits(heads: Mapping[UUID, Rankable], times: TimeWords) -> dict[UUID, float]:
    return {id_: times.fit(head.occurred_at) for id_, head in heads.items()} if times.times else {}


def _wants_recent(words: Sequence[QueryWord], times: TimeWords) -> bool:
    if not times.times and not times.newest:
        return False
    return asks_only_when([word.text for word in words], dated=times.words)


def _asked_alone(words: Sequence[QueryWord], times: TimeWords, timed: TimeWords) -> TimeWords | None:
    """Return `timed`, which has times that `times` lacks, if the question asks for nothing else; None otherwise."""
    return timed if timed is not times and _wants_recent(words, timed) else None
