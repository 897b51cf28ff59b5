"""A snapshot of the past: what the store had for a question at one instant.

Entities are found by the names they have now.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from stratagraph.memory.retrieve.choose import template_terms
from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.analysis.sequences import word_sequence
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.sketches import Sketch, sketch_of
from stratagraph.store.model.words import record_terms
from stratagraph.store.postgres.database import Connection
from stratagraph.store.records.entities import find_entities_by_name
from stratagraph.store.records.past import PastReader
from stratagraph.store.records.ranking import FOLLOWED, RELATED, RELATING, SYSTEM, Head, thread_neighbours
from stratagraph.store.search.present import (
    EXPANDED,
    LINKING,
    MOST_TIMED,
    Sought,
    search_named_times_at,
    search_recent_at,
    selective,
    steps,
    terms_of_names,
    word_search,
)
from stratagraph.store.search.similar_names import SimilarName, find_similar_names, unknown_words
from stratagraph.store.search.word_search import WordMatches, search_words_at
from stratagraph.store.traversal.past import PastGraphReader


@dataclass(frozen=True, slots=True, kw_only=True)
class PastSnapshot:
    """What the store had for a question at a past instant, as `candidates.Snapshot`; no record is found by vectors."""

    words: WordMatches
    names: Sequence[tuple[UUID, str]]
    similar: Sequence[SimilarName]
    linked: Sequence[tuple[UUID, UUID]]
    recent: Sequence[UUID]
    heads: Mapping[UUID, Head]
    vectors: Sequence[tuple[UUID, float]] = ()


async def past_snapshot(
    connection: Connection, caller: Caller, sought: Sought, reader: PastReader, *, at: datetime
) -> PastSnapshot:
    """Return what the store had for a question at the instant `at`."""
    types, most = sought.types, sought.most
    search = word_search(caller, sought)
    by_name = await find_entities_by_name(connection, caller, sought.names, limit=most) if sought.names else []
    known = await reader.heads({id_ for id_, _ in by_name})
    named = [(id_, name) for id_, name in by_name if id_ in known and not known[id_].redacted]
    scores, statistics = await search_words_at(
        connection, search, at=at, valid_at=sought.valid_at, names=terms_of_names(caller, named)
    )
    scores = [each for each in scores if each[0] not in sought.left_out][: sought.most_by_words]
    unknown = unknown_words(search.words if sought.names else (), statistics.frequencies)
    similar = await find_similar_names(connection, unknown, limit=most)
    if sought.intervals:
        wanted = max(MOST_TIMED, most)
        recent = await search_named_times_at(
            connection, sought.intervals, search.terms, types=types, at=at, limit=wanted + len(sought.left_out)
        )
    else:
        wanted = most
        recent = await search_recent_at(connection, types=types, at=at, limit=wanted + len(sought.left_out))
    recent = [id_ for id_ in recent if id_ not in sought.left_out][:wanted]
    near = [id_ for id_, _ in scores[: max(EXPANDED, most)]]
    threads = await thread_neighbours(connection, caller, near, steps=steps(len(near), most=most), types=types, now=at)
    entities = [id_ for id_, _ in named[:LINKING]]
    links = await PastGraphReader(connection, sought.valid_at).links_of(
        caller, [*entities, *near[:RELATING]], at=at, fan_out=FOLLOWED
    )
    linked = selective((entity, far) for entity, far, _ in links if entity in entities)
    related: dict[UUID, list[UUID]] = {}
    for id_, far, predicate in links:
        if id_ not in entities and predicate not in SYSTEM:
            related.setdefault(id_, []).append(far)
    related = {id_: others[:RELATED] for id_, others in related.items()}
    ids = {*(id_ for id_, _ in scores), *(id_ for id_, _ in named), *(id_ for _, id_ in linked), *recent}
    ids |= {one.entity for one in similar}
    ids |= {other for before, after in threads.values() for other in (*before, *after)}
    ids |= {other for others in related.values() for other in others}
    records = {
        id_: record for id_, record in (await reader.heads(ids - sought.left_out)).items() if not record.redacted
    }
    heads = await asyncio.to_thread(_heads, caller.tenant.index_key, records, search.terms, dict(scores))
    for id_ in threads.keys() | related.keys():
        if id_ in heads:
            before, after = threads.get(id_, ((), ()))
            heads[id_] = heads[id_]._replace(before=before, after=after, related=related.get(id_, ()))
    return PastSnapshot(
        words=search.matches(scores, statistics, [head.covered for head in heads.values()]),
        names=named,
        similar=similar,
        linked=linked,
        recent=recent,
        heads=heads,
    )


def _heads(
    index_key: bytes, records: Mapping[UUID, MemoryRecord], terms: Sequence[int], scores: Mapping[UUID, float]
) -> dict[UUID, Head]:
    """Return the heads of records, given the terms of the question, and the scores of the records found by words.

    A record that word search did not find may have had no terms then, as an open episode. Texts may be long, so this is
    run beside the event loop.
    """
    template = {*template_terms(index_key)}
    heads = {}
    for id_, record in records.items():
        numbers = record_terms(index_key, record.text or "", record.name or "").numbers
        has = {*numbers}
        fingerprint: Sketch | str | None = None
        quoted: Sketch | None = None
        if record.type is MemoryType.EPISODIC:
            fingerprint = sketch_of(numbers)
        elif record.type is MemoryType.SEMANTIC:
            fingerprint = word_sequence(record.text or "")
            if template <= has:
                quoted = sketch_of([number for number in numbers if number not in template])
        heads[id_] = Head(
            id=id_,
            type=record.type,
            confidence=record.confidence,
            salience=record.salience,
            occurred_at=record.occurred_at,
            covered=sum(1 << place for place, term in enumerate(terms) if term in has) if id_ in scores else 0,
            score=scores.get(id_, 0.0),
            fingerprint=fingerprint,
            quoted=quoted,
            is_bare=record.is_bare,
            valid_from=record.valid_from,
            valid_to=record.valid_to,
        )
    return heads
