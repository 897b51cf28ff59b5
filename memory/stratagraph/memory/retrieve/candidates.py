"""The candidates of a retrieval: records found by words, by names and by recency, and what ranks them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from stratagraph.memory.retrieve.coverage import Question, asks_only_when, emphasis, words_named, words_written_as_names
from stratagraph.memory.retrieve.names import candidate_names
from stratagraph.memory.retrieve.rank import Found, Rankable, Why, fuse
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.retrieve.time_words import TimeWords, time_words
from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.words import QueryWord, query_terms, record_terms
from stratagraph.store.postgres.database import Connection
from stratagraph.store.records.entities import find_entities_by_name
from stratagraph.store.records.past import PastReader
from stratagraph.store.records.ranking import thread_neighbours
from stratagraph.store.search.candidates import (
    EXPANDED,
    LINKED,
    LINKING,
    FoundCandidates,
    find_candidates,
    steps,
    telling,
    terms_of_names,
)
from stratagraph.store.search.recent_search import search_recent_at
from stratagraph.store.search.similar_names import SimilarName
from stratagraph.store.search.vector_search import QuestionVector
from stratagraph.store.search.word_index import WordIndex
from stratagraph.store.search.word_search import WordSearch, search_words_at
from stratagraph.store.traversal.past import PastGraphReader

CANDIDATES = 100  # records found by words, before the other signals, salience and confidence reorder them

MISSPELT = 0.5  # share of a word's weight that an entity has whose name the question misspells, times the similarity


@dataclass(frozen=True, slots=True)
class Candidates:
    """What made each record a candidate, and what ranks it, by id.

    A record that did not exist at the instant asked for, or may not be read in full, is left out before scores are
    fused: it must not set the scale for the others.
    """

    why: Mapping[UUID, Why]
    heads: Mapping[UUID, Rankable]


async def present_candidates(
    connection: Connection,
    index: WordIndex,
    caller: Caller,
    request: RetrieveRequest,
    *,
    now: datetime,
    vector: QuestionVector | None = None,
) -> Candidates:
    """Return the candidates of the present; `vector` is that of the task, where there is an embedder."""
    types, task = request.memory_types or tuple(MemoryType), request.task_descriptor
    found = await find_candidates(
        connection,
        index,
        caller,
        task,
        candidate_names(task) if MemoryType.ENTITY in types else [],
        types=types,
        now=now,
        most_by_words=_words_wanted(request),
        most=request.root_limit,
        vector=vector,
    )
    names = _Names(caller, found.words, found.named)
    names.add_similar(found.similar)
    times = time_words(task, now)
    question = names.question(task, found.weights, times)
    words = {id_: question.words_at(head.covered) | names.of.get(id_, 0) for id_, head in found.heads.items()}
    names.add_linked(words, found.linked)
    if request.memory_types:
        words = {id_: bits for id_, bits in words.items() if found.heads[id_].type in types}
    neighbours = {id_: (head.before, head.after) for id_, head in found.heads.items() if head.before or head.after}
    why = fuse(
        Found(
            question=question,
            scores=found.scores,
            named=[*found.named, *((one.entity, one.name) for one in found.similar)],
            recent=found.recent,
            words=words,
            neighbours=neighbours,
            fit=_fits(found.heads, times),
            wants_recent=_wants_recent(found.words, times),
            similarity={one.entity: MISSPELT * one.similarity for one in found.similar},
            nearness=_nearness(found, vector),
        )
    )
    return Candidates(why, found.heads)


async def past_candidates(
    connection: Connection, caller: Caller, request: RetrieveRequest, reader: PastReader, *, at: datetime
) -> Candidates:
    """Return the candidates as of the past instant `at`; entities are found by the names they have now."""
    types, task = request.memory_types or tuple(MemoryType), request.task_descriptor
    search = WordSearch(caller, task, types=types, limit=_words_wanted(request))
    named = (
        await find_entities_by_name(connection, caller, candidate_names(task), limit=request.root_limit)
        if MemoryType.ENTITY in types
        else []
    )
    known = await reader.heads({id_ for id_, _ in named})
    named = [(id_, name) for id_, name in named if id_ in known and not known[id_].redacted]
    scores, weights = await search_words_at(connection, search, at=at, names=terms_of_names(caller, named))
    recent = await search_recent_at(connection, types=types, at=at, limit=request.root_limit)
    near = [id_ for id_, _ in scores[: max(EXPANDED, request.root_limit)]]
    neighbours = await thread_neighbours(
        connection, caller, near, steps=steps(len(near), most=request.root_limit), types=types, now=at
    )
    around = {id_ for sides in neighbours.values() for side in sides for id_ in side}
    edges = await PastGraphReader(connection).edges_of(
        caller, [id_ for id_, _ in named[:LINKING]], at=at, fan_out=LINKED, history=False
    )
    linked = telling((edge.near, edge.far) for edge in edges)
    around |= {id_ for _, id_ in linked}
    found = await reader.heads({*(id_ for id_, _ in scores), *(id_ for id_, _ in named), *recent, *around})
    heads = {id_: record for id_, record in found.items() if not record.redacted}
    names = _Names(caller, search.words, named)
    times = time_words(task, at)
    question = names.question(task, weights, times)
    words = {id_: names.of.get(id_, 0) for id_ in heads}
    for id_, _ in scores:  # a record that word search did not find may have had no terms then, as an open episode
        if id_ in heads:
            terms = record_terms(caller.tenant.index_key, heads[id_].text or "", heads[id_].name or "").numbers
            words[id_] |= question.words_of({*terms})
    names.add_linked(words, linked)
    if request.memory_types:
        words = {id_: bits for id_, bits in words.items() if heads[id_].type in types}
    why = fuse(
        Found(
            question=question,
            scores=scores,
            named=named,
            recent=recent,
            words=words,
            neighbours=neighbours,
            fit=_fits(heads, times),
            wants_recent=_wants_recent(search.words, times),
        )
    )
    return Candidates(why, heads)


class _Names:
    """The words of a question that belong to names of known entities: of all of them, and of each entity."""

    def __init__(self, caller: Caller, words: Sequence[QueryWord], named: Sequence[tuple[UUID, str]]) -> None:
        self.terms = [word.numbers for word in words]
        self._texts = [word.text for word in words]
        key = caller.tenant.index_key
        self.of = {id_: words_named(self.terms, [query_terms(key, name)]) for id_, name in named}
        self.words = 0
        for bits in self.of.values():
            self.words |= bits

    def question(self, descriptor: str, weights: Sequence[float], times: TimeWords) -> Question:
        """Return the question, given the rarities of its words and the times that it names."""
        dated = [time.words for time in times.times]
        stressed = emphasis(descriptor, self._texts, dated=dated)
        return Question(
            weights=weights,
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

    def add_linked(self, words: dict[UUID, int], linked: Iterable[tuple[UUID, UUID]]) -> None:
        """Add to the words of records those of the names of the entities with which they have relations."""
        for entity, id_ in linked:
            if id_ in words:
                words[id_] |= self.of.get(entity, 0)


def _words_wanted(request: RetrieveRequest) -> int:
    return max(CANDIDATES, 2 * request.root_limit)


def nearness(similarity: float, lowest: float) -> float:
    """Return how near in meaning two texts are, from 0 at the cosine similarity `lowest` to 1 at equal vectors.

    >>> nearness(0.65, 0.3), nearness(0.3, 0.3), nearness(1.001, 0.3)
    (0.5, 0.0, 1.0)
    """
    return max(0.0, min(1.0, (similarity - lowest) / (1 - lowest)))


def _nearness(found: FoundCandidates, vector: QuestionVector | None) -> dict[UUID, float]:
    if vector is None:
        return {}
    return {id_: nearness(value, vector.lowest) for id_, value in found.nearest if id_ in found.heads}


def _fits(heads: Mapping[UUID, Rankable], times: TimeWords) -> dict[UUID, float]:
    return {id_: times.fit(head.occurred_at) for id_, head in heads.items()} if times.times else {}


def _wants_recent(words: Sequence[QueryWord], times: TimeWords) -> bool:
    if not times.times and not times.newest:
        return False
    return asks_only_when([word.text for word in words], dated=[time.words for time in times.times])
