"""The candidates of a retrieval: records found by words, by names and by recency, and what ranks them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from stratagraph.memory.retrieve.names import candidate_names
from stratagraph.memory.retrieve.rank import Rankable, Why, fuse
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.postgres.database import Connection
from stratagraph.store.records.entities import find_entities_by_name
from stratagraph.store.records.past import PastReader
from stratagraph.store.search.candidates import find_candidates
from stratagraph.store.search.recent_search import search_recent_at
from stratagraph.store.search.word_index import WordIndex
from stratagraph.store.search.word_search import search_words_at

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
    connection: Connection, index: WordIndex, caller: Caller, request: RetrieveRequest, *, now: datetime
) -> Candidates:
    """Return the candidates of the present."""
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
    )
    return _fused(found.words, found.named, found.recent, found.heads)


async def past_candidates(
    connection: Connection, caller: Caller, request: RetrieveRequest, reader: PastReader, *, at: datetime
) -> Candidates:
    """Return the candidates as of the past instant `at`; entities are found by the names they have now."""
    types, task = request.memory_types or tuple(MemoryType), request.task_descriptor
    words = await search_words_at(connection, caller, task, types=types, at=at, limit=_words_wanted(request))
    named = (
        await find_entities_by_name(connection, caller, candidate_names(task), limit=request.root_limit)
        if MemoryType.ENTITY in types
        else []
    )
    recent = await search_recent_at(connection, types=types, at=at, limit=request.root_limit)
    heads = await reader.heads({*(id_ for id_, _ in words), *(id_ for id_, _ in named), *recent})
    return _fused(words, named, recent, heads)


def _words_wanted(request: RetrieveRequest) -> int:
    return max(CANDIDATES, 2 * request.root_limit)


def _fused(
    words: list[tuple[UUID, float]],
    named: list[tuple[UUID, str]],
    recent: list[UUID],
    heads: Mapping[UUID, Rankable],
) -> Candidates:
    why = fuse(
        [(id_, score) for id_, score in words if id_ in heads],
        [(id_, name) for id_, name in named if id_ in heads],
        [id_ for id_ in recent if id_ in heads],
    )
    return Candidates(why, heads)
