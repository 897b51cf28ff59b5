"""Retrieval as callers use it: a task in words goes in, a ranked and bounded graph comes out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from uuid import UUID

from stratagraph.memory.retrieve.engine import Engines, Walk
from stratagraph.memory.retrieve.rank import HOP, Why, fuse, ranked
from stratagraph.memory.retrieve.rendering import render
from stratagraph.memory.retrieve.request import RetrieveRequest, check
from stratagraph.memory.retrieve.selection import Selection, select
from stratagraph.store.feed.sequence import Sequences
from stratagraph.store.feed.settling import past_instant, settle
from stratagraph.store.keys.tenancy import Caller, Directory
from stratagraph.store.model.clock import Clock
from stratagraph.store.model.enums import Access, MemoryType
from stratagraph.store.model.ids import new_id
from stratagraph.store.model.records import MemoryRecord, Relation
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Connection, Database
from stratagraph.store.records.entities import find_by_names
from stratagraph.store.records.past import Past, PastReader
from stratagraph.store.records.reading import Reader
from stratagraph.store.search.retrievals import log_retrieval
from stratagraph.store.search.word_search import search_recent, search_recent_at, search_words, search_words_at
from stratagraph.store.traversal.neighbourhood import Limits, Neighbourhood

CANDIDATES = 200  # by words, before salience and confidence reorder them
NAME_WORDS = 5  # words in the longest name looked up in the descriptor
DESCRIPTOR_WORDS = 64  # of the descriptor that are searched for names


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A record of the answer. `hop` is 0 for roots; `why` tells how it got here."""

    record: MemoryRecord
    root: bool
    hop: int
    score: float
    why: Why


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved:
    """The answer: nodes best first, roots before the rest; `reached` names the limits that cut something off.

    `at` is the past instant that it is as of, None for the present.
    """

    id: UUID
    roots: tuple[UUID, ...]
    nodes: tuple[Node, ...]
    edges: tuple[Relation, ...]
    selection: Selection | None
    reached: tuple[str, ...]
    hubs: tuple[UUID, ...]
    engine: str
    fallback: str | None
    mirror_lag_seconds: float | None
    rendering: str | None
    at: datetime | None


class Retrieve:
    """Finds. One per process; safe to call from many tasks."""

    def __init__(self, database: Database, directory: Directory, clock: Clock, engines: Engines) -> None:
        self._database = database
        self._directory = directory
        self._clock = clock
        self._engines = engines
        self._sequences = Sequences()

    async def retrieve(self, trust: Trust, request: RetrieveRequest) -> Retrieved:
        """Raises InvalidInput, Forbidden, or StoreUnavailable. The number of statements does not depend on the data,
        but where the mirror answers: what it says of hubs is looked up, and one that is behind is walked once more.

        As of a past instant, entities are found by the names they have now; all else is as it was.
        """
        check(request)
        trust.require(Access.READ)
        caller = await self._directory.caller(trust.narrowed(scopes=request.scopes, ceiling=request.max_sensitivity))
        now = self._clock.now()
        at = past_instant(request.as_of, now=now) if request.as_of is not None else None
        if at is not None:
            await settle(self._database, at)
        async with self._database.reading(caller.bounds) as connection:
            at_least = None
            if request.at_least_sequence is not None:
                at_least = await self._sequences.parse(connection, request.at_least_sequence, path=["atLeastSequence"])
            reader = (
                Reader(connection, self._directory, caller, now)
                if at is None
                else PastReader(Past(connection, self._directory, caller), at)
            )
            why, heads = await self._candidates(connection, caller, request, reader, at)
            candidates = {
                id_: heads[id_]
                for id_ in why
                if request.min_salience is None or heads[id_].salience >= request.min_salience
            }
            order = ranked(candidates, why)
            scores = dict(order)
            wanted = min(request.root_limit, request.node_limit)
            roots = [id_ for id_, _ in order[:wanted]]
            found = await self._engines.find(
                connection,
                reader,
                Walk(caller, roots, _limits(request), scores),
                at_least=at_least,
                at=at,
            )
        walked, records, edges = found.walked, found.records, found.relations
        if request.min_salience is not None:
            records = {
                id_: record
                for id_, record in records.items()
                if id_ in scores or record.salience >= request.min_salience
            }
        hops, edges = _still_connected(roots, walked.found, records, edges, max_hops=request.max_hops)
        nodes = _nodes(roots, hops, edges, records=records, scores=scores, why=why)
        reached = set(walked.found.reached)
        if len(order) > wanted:
            reached.add("roots")
        id_ = new_id()
        async with self._database.writing(caller.bounds) as connection:
            await log_retrieval(connection, caller, id_, roots=roots, nodes=[node.record.id for node in nodes], at=now)
        return Retrieved(
            id=id_,
            roots=tuple(roots),
            nodes=tuple(nodes),
            edges=tuple(edges),
            selection=select((records[root] for root in roots), request.context, at or now),
            reached=tuple(sorted(reached)),
            hubs=tuple(hub for hub in walked.found.hubs if hub in hops),
            engine=walked.engine,
            fallback=walked.fallback,
            mirror_lag_seconds=walked.lag_seconds,
            rendering=render((node.record for node in nodes), token_budget=request.token_budget)
            if request.token_budget is not None
            else None,
            at=at,
        )

    async def _candidates(
        self,
        connection: Connection,
        caller: Caller,
        request: RetrieveRequest,
        reader: Reader | PastReader,
        at: datetime | None,
    ) -> tuple[dict[UUID, Why], dict[UUID, MemoryRecord]]:
        """What might answer, and heads. What turns out not to have been there then is no candidate from the start: it
        neither sets the measure for the others nor keeps what is recent from answering."""
        types = request.memory_types or tuple(MemoryType)
        task, most = request.task_descriptor, max(CANDIDATES, 2 * request.root_limit)
        words = (
            await search_words(connection, caller, task, types=types, now=self._clock.now(), limit=most)
            if at is None
            else await search_words_at(connection, caller, task, types=types, at=at, limit=most)
        )
        named = (
            await find_by_names(connection, caller, names_in(task), limit=request.root_limit)
            if MemoryType.ENTITY in types
            else []
        )
        recent = (
            await search_recent(connection, types=types, now=self._clock.now(), limit=request.root_limit)
            if at is None
            else await search_recent_at(connection, caller, types=types, at=at, limit=request.root_limit)
        )
        heads = await reader.heads({*(id_ for id_, _ in words), *(id_ for id_, _ in named), *recent})
        why = fuse(
            [(id_, score) for id_, score in words if id_ in heads],
            [(id_, name) for id_, name in named if id_ in heads],
            [id_ for id_ in recent if id_ in heads],
        )
        return why, heads


def names_in(descriptor: str) -> list[str]:
    """Every run of up to NAME_WORDS words, longest first: each may be the name of an entity.

    >>> names_in("Alice's build")
    ["Alice's build", "Alice's", 'build', 'Alice']
    """
    words = [word.strip(".,;:!?()[]{}\"'`") for word in islice(descriptor.split(), DESCRIPTOR_WORDS)]
    runs = [
        " ".join(words[start : start + length])
        for length in range(NAME_WORDS, 0, -1)
        for start in range(len(words) - length + 1)
    ]
    runs += [run.removesuffix("'s").removesuffix("’s") for run in runs]
    return list(dict.fromkeys(run for run in runs if len(run) > 1))


def _limits(request: RetrieveRequest) -> Limits:
    return Limits(nodes=request.node_limit, edges=request.edge_limit, hops=request.max_hops)


def _still_connected(
    roots: Sequence[UUID],
    found: Neighbourhood,
    records: Mapping[UUID, MemoryRecord],
    edges: Sequence[Relation],
    *,
    max_hops: int,
) -> tuple[dict[UUID, int], list[Relation]]:
    """What is left once the truth has spoken: a record that is gone or hidden must not serve as a bridge.

    Walks again from the roots over the edges and records that were read back, never through a redacted one.
    """
    order = {id_: place for place, id_ in enumerate(found.edges)}
    usable = sorted(
        (edge for edge in edges if edge.source in records and edge.target in records), key=lambda edge: order[edge.id]
    )
    around: dict[UUID, list[Relation]] = {}
    for edge in usable:
        around.setdefault(edge.source, []).append(edge)
        around.setdefault(edge.target, []).append(edge)
    hops = {root: 0 for root in roots if root in records}
    frontier = list(hops)
    while frontier:
        reached = []
        for id_ in frontier:
            if records[id_].redacted or hops[id_] == max_hops:
                continue
            for edge in around.get(id_, ()):
                far = edge.target if edge.source == id_ else edge.source
                if far not in hops:
                    hops[far] = hops[id_] + 1
                    reached.append(far)
        frontier = reached
    kept = [
        edge
        for edge in usable
        if edge.source in hops
        and edge.target in hops
        and not (records[edge.source].redacted and records[edge.target].redacted)
    ]
    return hops, kept


def _nodes(
    roots: Sequence[UUID],
    hops: Mapping[UUID, int],
    edges: Sequence[Relation],
    *,
    records: Mapping[UUID, MemoryRecord],
    scores: Mapping[UUID, float],
    why: Mapping[UUID, Why],
) -> list[Node]:
    """Roots in their order, then the others by hop and score; a neighbour inherits from the best that leads to it."""
    inherited = {id_: scores.get(id_, 0.0) for id_ in hops}
    via: dict[UUID, UUID] = {}
    for hop in range(1, max(hops.values(), default=0) + 1):
        for edge in edges:
            for near, far in ((edge.source, edge.target), (edge.target, edge.source)):
                if hops[far] == hop and hops[near] == hop - 1:
                    passed = inherited[near] * edge.weight * HOP + scores.get(far, 0.0)
                    if far not in via or passed > inherited[far]:
                        inherited[far], via[far] = passed, near
    chosen = set(roots)
    nodes = [
        Node(
            record=records[id_],
            root=id_ in chosen,
            hop=hop,
            score=inherited[id_],
            why=_explained(why.get(id_), via.get(id_)),
        )
        for id_, hop in hops.items()
    ]
    place = {root: position for position, root in enumerate(roots)}
    nodes.sort(key=lambda node: (node.hop, place.get(node.record.id, 0), -node.score, node.record.id.int))
    return nodes


def _explained(why: Why | None, via: UUID | None) -> Why:
    found = why or Why()
    return Why(words=found.words, names=found.names, recency=found.recency, via=via)
