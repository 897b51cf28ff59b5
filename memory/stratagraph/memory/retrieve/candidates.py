"""The candidates of a retrieval: records found by words, names, vectors and recency, and what ranks them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from stratagraph.memory.retrieve.names import candidate_names
from stratagraph.memory.retrieve.rank import Rankable, Signal, Why, fuse
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.retrieve.strength import covered_terms, strength
from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.words import record_terms
from stratagraph.store.postgres.database import Connection
from stratagraph.store.records.entities import find_entities_by_name
from stratagraph.store.records.past import PastReader
from stratagraph.store.search.candidates import find_candidates
from stratagraph.store.search.recent_search import search_recent_at
from stratagraph.store.search.vector_search import QuestionVector
from stratagraph.store.search.word_search import WordSearch, search_words_at

CANDIDATES = 200  # records found by words, before salience and confidence reorder them


@dataclass(frozen=True, slots=True)
class Candidates:
    """What made each record a candidate, and what ranks it, by id.

    A record that did not exist at the instant asked for, or may not be read in full, is left out before scores are
    fused: it must not set the scale for the others, nor keep recent records from answering.
    """

    why: Mapping[UUID, Why]
    heads: Mapping[UUID, Rankable]


async def present_candidates(
    connection: Connection,
    caller: Caller,
    request: RetrieveRequest,
    *,
    now: datetime,
    question: QuestionVector | None = None,
) -> Candidates:
    """Return the candidates of the present; `question` is the task as a vector, where there is an embedder."""
    types, task = request.memory_types or tuple(MemoryType), request.task_descriptor
    found = await find_candidates(
        connection,
        caller,
        task,
        candidate_names(task) if MemoryType.ENTITY in types else [],
        types=types,
        now=now,
        most_by_words=_words_wanted(request),
        most=request.root_limit,
        question=question,
    )
    lowest = question.lowest if question is not None else 0.0
    near = [(id_, nearness(similarity, lowest)) for id_, similarity in found.near]
    candidates = _fused(found.words, found.named, found.recent, found.heads, near)
    for id_, why in candidates.why.items():
        # What is near in meaning covers the question without sharing a word with it.
        by_words = strength(found.weights, found.heads[id_].covered)
        why.strength = max(by_words, why.signals.get(Signal.VECTORS, 0.0))
    return candidates


async def past_candidates(
    connection: Connection, caller: Caller, request: RetrieveRequest, reader: PastReader, *, at: datetime
) -> Candidates:
    """Return the candidates as of the past instant `at`; entities are found by the names they have now."""
    types, task = request.memory_types or tuple(MemoryType), request.task_descriptor
    search = WordSearch(caller, task, types=types, limit=_words_wanted(request))
    words, weights = await search_words_at(connection, search, at=at)
    named = (
        await find_entities_by_name(connection, caller, candidate_names(task), limit=request.root_limit)
        if MemoryType.ENTITY in types
        else []
    )
    recent = await search_recent_at(connection, types=types, at=at, limit=request.root_limit)
    heads = await reader.heads({*(id_ for id_, _ in words), *(id_ for id_, _ in named), *recent})
    candidates = _fused(words, named, recent, heads)
    for id_, why in candidates.why.items():
        present = record_terms(caller.tenant.index_key, heads[id_].text or "", heads[id_].name or "").numbers
        why.strength = strength(weights, covered_terms(search.terms, present))
    return candidates


def _words_wanted(request: RetrieveRequest) -> int:
    return max(CANDIDATES, 2 * request.root_limit)


def nearness(similarity: float, lowest: float) -> float:
    """Return how near in meaning two texts are, from 0 at the cosine similarity `lowest` to 1 at equal vectors.

    >>> nearness(0.65, 0.3), nearness(0.3, 0.3), nearness(1.001, 0.3)
    (0.5, 0.0, 1.0)
    """
    return max(0.0, min(1.0, (similarity - lowest) / (1 - lowest))) if lowest < 1 else 0.0


def _fused(
    words: list[tuple[UUID, float]],
    named: list[tuple[UUID, str]],
    recent: list[UUID],
    heads: Mapping[UUID, Rankable],
    near: list[tuple[UUID, float]] | None = None,
) -> Candidates:
    why = fuse(
        [(id_, score) for id_, score in words if id_ in heads],
        [(id_, name) for id_, name in named if id_ in heads],
        [id_ for id_ in recent if id_ in heads],
        [(id_, value) for id_, value in near or () if id_ in heads],
    )
    return Candidates(why, heads)
