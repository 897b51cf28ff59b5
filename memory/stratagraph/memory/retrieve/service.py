"""Retrieval as callers use it: from a task in words to a ranked and bounded graph."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from stratagraph.memory.engines.service import Engines
from stratagraph.memory.retrieve.answer import Retrieved, connected, nodes_of
from stratagraph.memory.retrieve.names import candidate_names
from stratagraph.memory.retrieve.rank import Why, fuse, ranked
from stratagraph.memory.retrieve.rendering import render
from stratagraph.memory.retrieve.request import RetrieveRequest, check
from stratagraph.memory.retrieve.selection import select
from stratagraph.memory.retrieve.walk import Walk, confirmed_walk
from stratagraph.store.feed.sequence import Sequences
from stratagraph.store.feed.settling import past_instant, settle
from stratagraph.store.keys.callers import Caller
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.clock import Clock
from stratagraph.store.model.enums import Access, MemoryType
from stratagraph.store.model.ids import new_id
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Connection, Database
from stratagraph.store.records.entities import find_entities_by_name
from stratagraph.store.records.past import Past, PastReader
from stratagraph.store.records.reading import Reader
from stratagraph.store.search.recent_search import search_recent, search_recent_at
from stratagraph.store.search.retrievals import log_retrieval
from stratagraph.store.search.word_search import search_words, search_words_at
from stratagraph.store.traversal.neighbourhood import Limits

CANDIDATES = 200  # records found by words, before salience and confidence reorder them


class Retrieve:
    """The service that retrieves ranked records for a task. One per process; safe to call from many tasks."""

    def __init__(self, database: Database, directory: Directory, clock: Clock, engines: Engines) -> None:
        self._database = database
        self._directory = directory
        self._clock = clock
        self._engines = engines
        self._sequences = Sequences()

    async def retrieve(self, trust: Trust, request: RetrieveRequest) -> Retrieved:
        """Return the records that fit the task, and the graph around them within the request's limits.

        As of a past instant, entities are found by the names they have now; everything else is as it was then. The
        number of SQL statements does not depend on the data, except where the mirror answers: hubs that it names are
        checked, and if the mirror is behind, SQL answers instead. Raises InvalidInput, Forbidden, or StoreUnavailable.
        """
        check(request)
        trust.require(Access.READ)
        caller = await self._directory.resolve(trust.narrowed(scopes=request.scopes, ceiling=request.max_sensitivity))
        now = self._clock.now()
        at = past_instant(request.as_of, now=now) if request.as_of is not None else None
        if at is not None:
            await settle(self._database, caller.tenant.id, at)
        async with self._database.reading(caller.bounds) as connection:
            at_least = None
            if request.at_least_sequence is not None:
                at_least = await self._sequences.parse(
                    connection, caller.tenant, request.at_least_sequence, path=["atLeastSequence"]
                )
            reader = (
                Reader(connection, self._directory, caller, now)
                if at is None
                else PastReader(Past(connection, self._directory, caller), at)
            )
            why, heads = await self._candidates(connection, caller, request, reader, now=now, at=at)
            candidates = {
                id_: heads[id_]
                for id_ in why
                if request.min_salience is None or heads[id_].salience >= request.min_salience
            }
            order = ranked(candidates, why)
            scores = dict(order)
            wanted = min(request.root_limit, request.node_limit)
            roots = [id_ for id_, _ in order[:wanted]]
            found = await confirmed_walk(
                self._engines,
                connection,
                reader,
                Walk(caller, roots, _limits(request), scores, at or now),
                at_least=at_least,
                past=at is not None,
            )
        records, edges = found.records, found.relations
        if request.min_salience is not None:
            records = {
                id_: record
                for id_, record in records.items()
                if id_ in scores or record.salience >= request.min_salience
            }
        hops, edges = connected(roots, found.neighbourhood, records, edges, max_hops=request.max_hops)
        nodes = nodes_of(roots, hops, edges, records=records, scores=scores, why=why)
        reached = set(found.neighbourhood.reached)
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
            hubs=tuple(hub for hub in found.neighbourhood.hubs if hub in hops),
            engine=found.answered_by.engine,
            fallback=found.answered_by.fallback,
            mirror_lag_seconds=found.answered_by.mirror_lag_seconds,
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
        *,
        now: datetime,
        at: datetime | None,
    ) -> tuple[dict[UUID, Why], dict[UUID, MemoryRecord]]:
        """Return the candidates with what made them so, and their heads.

        A record that did not exist at the instant asked for is left out before scores are fused: it must not set the
        scale for the others, nor keep recent records from answering.
        """
        types = request.memory_types or tuple(MemoryType)
        task, most = request.task_descriptor, max(CANDIDATES, 2 * request.root_limit)
        words = (
            await search_words(connection, caller, task, types=types, now=now, limit=most)
            if at is None
            else await search_words_at(connection, caller, task, types=types, at=at, limit=most)
        )
        named = (
            await find_entities_by_name(connection, caller, candidate_names(task), limit=request.root_limit)
            if MemoryType.ENTITY in types
            else []
        )
        recent = (
            await search_recent(connection, types=types, now=now, limit=request.root_limit)
            if at is None
            else await search_recent_at(connection, types=types, at=at, limit=request.root_limit)
        )
        heads = await reader.heads({*(id_ for id_, _ in words), *(id_ for id_, _ in named), *recent})
        why = fuse(
            [(id_, score) for id_, score in words if id_ in heads],
            [(id_, name) for id_, name in named if id_ in heads],
            [id_ for id_ in recent if id_ in heads],
        )
        return why, heads


def _limits(request: RetrieveRequest) -> Limits:
    return Limits(nodes=request.node_limit, edges=request.edge_limit, hops=request.max_hops)
