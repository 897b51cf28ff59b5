"""Retrieval as callers use it: from a task in words to a ranked and bounded graph."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from stratagraph.memory.embedding.questions import EmbeddedQuestion, QuestionEmbedder
from stratagraph.memory.engines.service import Engines
from stratagraph.memory.retrieve.answer import Retrieved, connected, nodes_of
from stratagraph.memory.retrieve.asked_words import AskedWords
from stratagraph.memory.retrieve.candidates import past_candidates, present_candidates
from stratagraph.memory.retrieve.coverage import STRONG_ENOUGH
from stratagraph.memory.retrieve.newest import newest_first
from stratagraph.memory.retrieve.phrases import with_phrases
from stratagraph.memory.retrieve.rank import ranked
from stratagraph.memory.retrieve.rendering import render
from stratagraph.memory.retrieve.request import RetrieveRequest, check
from stratagraph.memory.retrieve.selection import select
from stratagraph.memory.retrieve.time_words import time_words
from stratagraph.memory.retrieve.walk import Walk, confirmed_walk
from stratagraph.memory.retrieve.why_not import Search, WhyNot, explain_absence
from stratagraph.store.feed.sequence import Sequences
from stratagraph.store.feed.settling import past_instant, settle
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.clock import Clock
from stratagraph.store.model.enums import Access
from stratagraph.store.model.errors import RecordNotFound
from stratagraph.store.model.ids import new_id
from stratagraph.store.model.trust import Trust
from stratagraph.store.model.words import record_terms
from stratagraph.store.postgres.database import Database
from stratagraph.store.records.past import Past, PastReader
from stratagraph.store.records.reading import Reader
from stratagraph.store.search.retrievals import LoggedRetrieval, RetrievalLog
from stratagraph.store.search.word_index import CACHE_BYTES, WordIndex
from stratagraph.store.traversal.neighbourhood import Limits


class Retrieve:
    """The service that retrieves ranked records for a task. One per process; safe to call from many tasks.

    With `questions`, records are found by vectors too. What it returned is written to `log` in the background; close
    that before the database. At most `word_cache_bytes` of the word index are kept in memory.
    """

    def __init__(
        self,
        database: Database,
        directory: Directory,
        clock: Clock,
        engines: Engines,
        questions: QuestionEmbedder | None = None,
        *,
        word_cache_bytes: int = CACHE_BYTES,
    ) -> None:
        self._database = database
        self._directory = directory
        self._clock = clock
        self._engines = engines
        self._questions = questions
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
        search = await self._search(trust, request)
        answer = search.answer
        self.log.append(
            LoggedRetrieval(
                id=answer.id,
                roots=answer.roots,
                nodes=tuple(node.record.id for node in answer.nodes),
                at=search.at,
            ),
            search.caller,
        )
        return answer

    async def why_not(self, trust: Trust, id_: UUID, request: RetrieveRequest) -> WhyNot:
        """Return where a record is in the answer to a request, or why it is not there, by the same search.

        Raises RecordNotFound unless the credential may read the record in full, and what `retrieve` raises.
        """
        check(request)
        trust.require(Access.READ)
        caller = await self._directory.resolve(trust)
        now = self._clock.now()
        at = past_instant(request.as_of, now=now) if request.as_of is not None else None
        async with self._database.reading(caller.bounds) as connection:
            record = (await Reader(connection, self._directory, caller, now).records([id_])).get(id_)
            if record is None or record.redacted:
                raise RecordNotFound(id_, path=["id"])
            existed = True
            if at is not None:
                then = (await PastReader(Past(connection, self._directory, caller), at).records([id_])).get(id_)
                existed, record = then is not None, then or record
        search = await self._search(trust, replace(request, token_budget=None))
        terms = record_terms(caller.tenant.index_key, record.text or "", record.name or "")
        covered = search.answer.asked.covered_by(set(terms.numbers))
        return explain_absence(record, search, request, covered=covered, existed=existed)

    async def _search(self, trust: Trust, request: RetrieveRequest) -> Search:
        """Return the answer to a request, and what it was chosen from."""
        check(request)
        trust.require(Access.READ)
        caller = await self._directory.resolve(trust.narrowed(scopes=request.scopes, ceiling=request.max_sensitivity))
        now = self._clock.now()
        at = past_instant(request.as_of, now=now) if request.as_of is not None else None
        if at is not None:
            await settle(self._database, caller.tenant.id, at)
        question = await self._embedded(request)
        async with self._database.reading(caller.bounds) as connection:
            at_least = None
            if request.at_least_sequence is not None:
                at_least = await self._sequences.parse(
                    connection, caller.tenant, request.at_least_sequence, path=["atLeastSequence"]
                )
            reader: Reader | PastReader
            if at is None:
                reader = Reader(connection, self._directory, caller, now)
                candidates = await present_candidates(
                    connection, self._words, caller, request, now=now, vector=question.vector
                )
            else:
                reader = PastReader(Past(connection, self._directory, caller), at)
                candidates = await past_candidates(connection, caller, request, reader, at=at)
            why = await with_phrases(reader, request.task_descriptor, candidates.why)
            least = request.min_salience
            nothing_known = max((one.strength for one in why.values()), default=0.0) < STRONG_ENOUGH
            if nothing_known:
                why = {}
            order = ranked(
                {id_: candidates.heads[id_] for id_ in why if least is None or candidates.heads[id_].salience >= least},
                why,
            )
            if time_words(request.task_descriptor, at or now).newest:
                order = newest_first(order, candidates.heads)
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
        answer = Retrieved(
            id=new_id(),
            roots=tuple(roots),
            nodes=tuple(nodes),
            edges=tuple(edges),
            selection=select((records[root] for root in roots), request.context, at or now),
            asked=AskedWords(caller.tenant.index_key, request.task_descriptor),
            candidates=len(order),
            reached=tuple(sorted(reached)),
            hubs=tuple(hub for hub in found.neighbourhood.hubs if hub in hops),
            engine=found.answered_by.engine,
            fallback=found.answered_by.fallback,
            mirror_lag_seconds=found.answered_by.mirror_lag_seconds,
            vector_fallback=question.fallback,
            rendering=render((node.record for node in nodes), token_budget=request.token_budget)
            if request.token_budget is not None
            else None,
            nothing_known=nothing_known,
            at=at,
        )
        return Search(caller=caller, at=now, why=candidates.why, order=order, wanted=wanted, answer=answer)

    async def _embedded(self, request: RetrieveRequest) -> EmbeddedQuestion:
        """Return the vector of the task, or why it has none; neither without an embedder."""
        if self._questions is None:
            return EmbeddedQuestion()
        if request.as_of is not None:
            return EmbeddedQuestion(fallback="vectors find records of the present only")
        return await self._questions.embed(request.task_descriptor)


def _limits(request: RetrieveRequest) -> Limits:
    return Limits(nodes=request.node_limit, edges=request.edge_limit, hops=request.max_hops)
