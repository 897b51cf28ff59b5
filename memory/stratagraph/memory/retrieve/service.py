"""Retrieval as callers use it: from a task in words to a ranked and bounded graph."""

from __future__ import annotations

from stratagraph.memory.engines.service import Engines
from stratagraph.memory.retrieve.answer import Retrieved, connected, nodes_of
from stratagraph.memory.retrieve.candidates import past_candidates, present_candidates
from stratagraph.memory.retrieve.rank import ranked
from stratagraph.memory.retrieve.rendering import render
from stratagraph.memory.retrieve.request import RetrieveRequest, check
from stratagraph.memory.retrieve.selection import select
from stratagraph.memory.retrieve.walk import Walk, confirmed_walk
from stratagraph.store.feed.sequence import Sequences
from stratagraph.store.feed.settling import past_instant, settle
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.clock import Clock
from stratagraph.store.model.enums import Access
from stratagraph.store.model.ids import new_id
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Database
from stratagraph.store.records.past import Past, PastReader
from stratagraph.store.records.reading import Reader
from stratagraph.store.search.retrievals import LoggedRetrieval, RetrievalLog
from stratagraph.store.search.word_index import CACHE_BYTES, WordIndex
from stratagraph.store.traversal.neighbourhood import Limits


class Retrieve:
    """The service that retrieves ranked records for a task. One per process; safe to call from many tasks.

    What it returned is written to `log` in the background; close that before the database. At most `word_cache_bytes`
    of the word index are kept in memory.
    """

    def __init__(
        self,
        database: Database,
        directory: Directory,
        clock: Clock,
        engines: Engines,
        *,
        word_cache_bytes: int = CACHE_BYTES,
    ) -> None:
        self._database = database
        self._directory = directory
        self._clock = clock
        self._engines = engines
        self._sequences = Sequences()
        self._words = WordIndex(cache_bytes=word_cache_bytes)
        self.log = RetrievalLog(database)

    async def retrieve(self, trust: Trust, request: RetrieveRequest) -> Retrieved:
        """Return the records that fit the task, and the graph around them within the request's limits.

        As of a past instant, entities are found by the names they have now; everything else is as it was then. The
        number of SQL statements does not depend on the data, with two exceptions: three of them are left out while what
        the words need is in memory and no record has changed, and where the mirror answers, hubs that it names are
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
            reader: Reader | PastReader
            if at is None:
                reader = Reader(connection, self._directory, caller, now)
                candidates = await present_candidates(connection, self._words, caller, request, now=now)
            else:
                reader = PastReader(Past(connection, self._directory, caller), at)
                candidates = await past_candidates(connection, caller, request, reader, at=at)
            why, least = candidates.why, request.min_salience
            order = ranked(
                {id_: candidates.heads[id_] for id_ in why if least is None or candidates.heads[id_].salience >= least},
                why,
            )
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
        self.log.append(
            LoggedRetrieval(id=id_, roots=tuple(roots), nodes=tuple(node.record.id for node in nodes), at=now), caller
        )
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


def _limits(request: RetrieveRequest) -> Limits:
    return Limits(nodes=request.node_limit, edges=request.edge_limit, hops=request.max_hops)
