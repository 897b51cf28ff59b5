"""Retrieval as callers use it: from a task in words to a ranked and bounded graph."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID

from stratagraph.memory.embedding.questions import EmbeddedQuestion, QuestionEmbedder
from stratagraph.memory.engines.service import Engines
from stratagraph.memory.retrieve.answer import Retrieved, connected, nodes_of
from stratagraph.memory.retrieve.asked_words import AskedWords
from stratagraph.memory.retrieve.candidates import Candidates, past_candidates, present_candidates
from stratagraph.memory.retrieve.coverage import STRONG_ENOUGH
from stratagraph.memory.retrieve.learned_tasks import ranked_by_tasks
from stratagraph.memory.retrieve.newest import newest_first
from stratagraph.memory.retrieve.phrases import phrases_of, with_phrases, without_phrases
from stratagraph.memory.retrieve.rank import Why, ranked
from stratagraph.memory.retrieve.rendering import render
from stratagraph.memory.retrieve.request import RetrieveRequest, check
from stratagraph.memory.retrieve.selection import select
from stratagraph.memory.retrieve.walk import Walk, confirmed_walk
from stratagraph.memory.retrieve.why_not import Search, WhyNot, explain_absence, match
from stratagraph.store.feed.sequence import Sequences
from stratagraph.store.feed.settling import past_instant, settle
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.clock import Clock
from stratagraph.store.model.enums import Access
from stratagraph.store.model.errors import RecordNotFound
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

    With `questions`, records are found by vectors too. What it returned is written to `log` in the background, and at
    the latest before the database is closed. At most `word_cache_bytes` of the word index are kept in memory.
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
        number of SQL statements does not depend on the data, with these exceptions: one of them is left out while no
        record has changed, and two while what the words need is in memory; where the mirror answers, hubs that it names
        are checked, and if the mirror is behind, SQL answers instead; where no record has the phrases of a question
        that says more, its words are searched again without them. Raises InvalidInput, Forbidden, or StoreUnavailable.
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
        matched = await asyncio.to_thread(match, record, search)  # its text may be long
        return explain_absence(record, search, request, matched, existed=existed)

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
            reader = (
                Reader(connection, self._directory, caller, now)
                if at is None
                else PastReader(Past(connection, self._directory, caller), at)
            )

            async def found(asked: RetrieveRequest) -> Candidates:
                if isinstance(reader, PastReader):
                    return await past_candidates(connection, caller, asked, reader, at=at or now)
                return await present_candidates(connection, self._words, caller, asked, now=now, vector=question.vector)

            candidates = await found(request)
            phrases = phrases_of(request.task_descriptor)
            why = await with_phrases(reader, phrases, candidates.why)
            plain = without_phrases(request.task_descriptor) if phrases and not why else None
            if plain is not None:
                request, phrases = replace(request, task_descriptor=plain), []
                candidates = await found(request)
                why = candidates.why
            why, fit = await ranked_by_tasks(
                reader, caller.tenant.index_key, candidates.question, why, candidates.heads
            )
            wanted = min(request.root_limit, request.node_limit)
            ranking = _ranking(candidates, why, least=request.min_salience)
            chosen = candidates.differing(ranking, why, wanted=wanted)
            order = chosen.order
            scores = dict(ranking) | dict(order)
            roots = [id_ for id_, _ in order[:wanted]]
            walk = await confirmed_walk(
                self._engines,
                connection,
                reader,
                Walk(caller, roots, _limits(request), scores, at or now),
                at_least=at_least,
                past=at is not None,
            )
        records, edges = walk.records, walk.relations
        if request.min_salience is not None:
            records = {
                id_: record
                for id_, record in records.items()
                if id_ in scores or record.salience >= request.min_salience
            }
        hops, edges = connected(roots, walk.neighbourhood, records, edges, max_hops=request.max_hops)
        nodes = nodes_of(roots, hops, edges, records=records, scores=scores, why=why, duplicates=chosen.duplicates)
        reached = set(walk.neighbourhood.reached)
        if len(order) > wanted:
            reached.add("roots")
        answer = Retrieved(
            id=new_id(),
            roots=tuple(roots),
            nodes=tuple(nodes),
            edges=tuple(edges),
            selection=select((records[root] for root in roots), request.context, at or now, fit=fit),
            asked=AskedWords(caller.tenant.index_key, request.task_descriptor),
            candidates=len(order),
            reached=tuple(sorted(reached)),
            hubs=tuple(hub for hub in walk.neighbourhood.hubs if hub in hops),
            engine=walk.answered_by.engine,
            fallback=walk.answered_by.fallback,
            mirror_lag_seconds=walk.answered_by.mirror_lag_seconds,
            vector_fallback=question.fallback,
            rendering=render(
                [node.record for node in nodes if node.root],
                [node.record for node in nodes if not node.root],
                token_budget=request.token_budget,
                repeated={id_: len(others) for id_, others in chosen.duplicates.items()},
            )
            if request.token_budget is not None
            else None,
            nothing_known=not ranking,
            times=candidates.times.times,
            at=at,
        )
        return Search(
            caller=caller, at=now, phrases=phrases, why=candidates.why, chosen=chosen, wanted=wanted, answer=answer
        )

    async def _embedded(self, request: RetrieveRequest) -> EmbeddedQuestion:
        """Return the vector of the task, or why it has none; neither without an embedder."""
        if self._questions is None:
            return EmbeddedQuestion()
        if request.as_of is not None:
            return EmbeddedQuestion(fallback="vectors find records of the present only")
        return await self._questions.embed(request.task_descriptor, names_apart=True)


def _ranking(candidates: Candidates, why: Mapping[UUID, Why], *, least: float | None) -> list[tuple[UUID, float]]:
    """Return the candidates with a salience of at least `least`, best first; none where none is strong enough."""
    heads = {id_: candidates.heads[id_] for id_ in why}
    if least is not None:
        heads = {id_: head for id_, head in heads.items() if head.salience >= least}
    if max((why[id_].strength for id_ in heads), default=0.0) < STRONG_ENOUGH:
        return []
    order = ranked(heads, why)
    return newest_first(order, heads) if candidates.times.newest else order


def _limits(request: RetrieveRequest) -> Limits:
    return Limits(nodes=request.node_limit, edges=request.edge_limit, hops=request.max_hops)
