"""Retrieval as callers use it: from a task in words to a ranked and bounded graph.

The way of one question: ask, gather, fuse, choose, expand, answer. It is read. A snapshot of the store is taken, now or
as of a past instant, by all of the SQL that ranking needs (`stratagraph.store.search.present`, or `past` beside this
module). Each signal says what speaks for each of the snapshot's records. These are fused into one score, procedures
learned for such a task are lifted, roots are chosen among the best, and the graph around them is the answer.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import reduce
from operator import or_
from uuid import UUID

from stratagraph.memory.embedding.questions import EmbeddedQuestion, QuestionEmbedder
from stratagraph.memory.engines.service import Engines
from stratagraph.memory.retrieve.answer import Node, Retrieved, nodes_of, with_composed
from stratagraph.memory.retrieve.candidates import Asked, Candidate, Rows, Why, only_by_event, read
from stratagraph.memory.retrieve.choose import choose, fingerprint_of, template_terms, to_compare
from stratagraph.memory.retrieve.expand import Walk, confirmed_walk, connected
from stratagraph.memory.retrieve.fuse import Scored, fuse, gather, newest_first, ranked
from stratagraph.memory.retrieve.messages import SHORT, asking_sentences, question_first
from stratagraph.memory.retrieve.needed_tools import ByNeed, ToolModels, ranked_by_need
from stratagraph.memory.retrieve.passages import words_asked
from stratagraph.memory.retrieve.past import past_snapshot
from stratagraph.memory.retrieve.phrases import phrases_of, terms_of_phrases, without_phrases
from stratagraph.memory.retrieve.procedures import select
from stratagraph.memory.retrieve.question import AskedWords, candidate_names, words_aside
from stratagraph.memory.retrieve.rendering import Rendering, render
from stratagraph.memory.retrieve.request import RetrieveRequest, check
from stratagraph.memory.retrieve.signals.dates import basis
from stratagraph.memory.retrieve.spellings import spellings
from stratagraph.memory.retrieve.texts import echoes, named_first, sequences, with_phrases
from stratagraph.memory.retrieve.times import EARLIEST, TimeWords, time_words
from stratagraph.memory.retrieve.weights import (
    CANDIDATES,
    FOR_NEWEST,
    MOST_RESPELLED,
    WITH_PHRASES,
    Signal,
)
from stratagraph.memory.retrieve.why_not import Search, WhyNot, explain_absence, match
from stratagraph.store.feed.sequence import Sequences
from stratagraph.store.feed.settling import past_instant, settle
from stratagraph.store.keys.callers import Caller
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.analysis.folding import folded
from stratagraph.store.model.clock import Clock
from stratagraph.store.model.enums import Access, MemoryType
from stratagraph.store.model.errors import RecordNotFound
from stratagraph.store.model.ids import new_id
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Connection, Database
from stratagraph.store.records.past import Past, PastReader
from stratagraph.store.records.ranking import records_of_threads
from stratagraph.store.records.reading import Reader
from stratagraph.store.search.present import Sought, present_snapshot
from stratagraph.store.search.retrievals import LoggedRetrieval, RetrievalLog
from stratagraph.store.search.similar_names import distance
from stratagraph.store.search.vector_search import QuestionVector
from stratagraph.store.search.word_index import CACHE_BYTES, WordIndex
from stratagraph.store.search.word_search import count_words
from stratagraph.store.traversal.neighbourhood import Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """The transaction that a question is answered in: whose it is, and the instant that the answer is as of.

    The records `left_out` are neither found nor neighbours of what is.
    """

    connection: Connection
    caller: Caller
    reader: Reader | PastReader
    at: datetime
    vector: QuestionVector | None
    left_out: frozenset[UUID] = frozenset()


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
        self._models = ToolModels()
        self.log = RetrievalLog(database)

    async def retrieve(self, trust: Trust, request: RetrieveRequest) -> Retrieved:
        """Return the records that fit the task, and the graph around them within the request's limits.

        As of a past instant, entities are found by the names they have now; everything else is as it was then. The
        number of SQL statements does not depend on the data, with these exceptions: one of them is left out while no
        record has changed, and two while what the words need is in memory; where the mirror answers, hubs that it names
        are checked, and if the mirror is behind, SQL answers instead; where no record has the phrases of a question
        that says more, its words are searched again without them; where events may say the same, or records have a
        first name of the question, their texts are read; threads to leave out are read; models of the tools that tasks
        need are read where they have changed, and up to three times procedures where they know the task. All is
        searched once more where a record echoes the question, where a name is spelled otherwise in the store, and where
        an event names the time.
        Raises InvalidInput, Forbidden, or StoreUnavailable.
        """
        search = await self._search(trust, request)
        answer = search.answer
        self.log.append(
            LoggedRetrieval(
                id=answer.id,
                roots=answer.roots,
                # Parts beyond the limits on nodes are credited too.
                nodes=tuple(dict.fromkeys([*(node.record.id for node in answer.nodes), *answer.parts])),
                at=search.at,
                composed=answer.composed,
                parts=answer.parts,
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
        request = replace(request, task_descriptor=question_first(request.task_descriptor))
        trust.require(Access.READ)
        caller = await self._directory.resolve(trust.narrowed(scopes=request.scopes, ceiling=request.max_sensitivity))
        now = self._clock.now()
        past = past_instant(request.as_of, now=now) if request.as_of is not None else None
        if past is not None:
            await settle(self._database, caller.tenant.id, past)
        embedded = await self._embedded(request)
        async with self._database.reading(caller.bounds) as connection:
            at_least: tuple[str, ...] = ()
            if request.at_least_sequence is not None:
                at_least = await self._sequences.parse(
                    connection, caller.tenant, request.at_least_sequence, path=["atLeastSequence"]
                )
            reading = _Reading(
                connection=connection,
                caller=caller,
                reader=Reader(connection, self._directory, caller, now)
                if past is None
                else PastReader(Past(connection, self._directory, caller), past, request.valid_at),
                at=past or now,
                vector=embedded.vector,
            )
            phrases = phrases_of(request.task_descriptor)
            reading, request, asked, rows = await self._read(reading, request)
            found: Sequence[Candidate] = fuse(asked, rows, gather(asked, rows))
            candidates = await with_phrases(reading.reader, phrases, found)
            plain = without_phrases(request.task_descriptor) if phrases and not candidates else None
            if plain is not None:
                request, phrases = replace(request, task_descriptor=plain), []
                asked, rows = await self._snapshot(reading, request)
                candidates = found = fuse(asked, rows, gather(asked, rows))
            asked, candidates = await named_first(reading.reader, request.task_descriptor, asked, candidates)
            by_need = await self._by_need(reading, request, candidates)
            candidates = by_need.candidates
            least = _least_strength(asked, candidates, request)
            ranking = _ranking(asked, candidates, request, least)
            composed = by_need.best(ranking, request, least=least)
            wanted = min(request.root_limit, request.node_limit) - (composed is not None)
            says = [fingerprint_of(one.head) for one, _ in ranking]
            words = await sequences(reading.reader, to_compare(ranking, says))
            chosen = choose(ranking, says, words, wanted=wanted, is_survey=not asked.times.newest)
            scores = {one.head.id: score for one, score in chosen.order}
            if chosen.duplicates:
                scores = {one.head.id: score for one, score in ranking} | scores
            roots = [one.head.id for one, _ in chosen.order[:wanted]]
            past_roots = frozenset(
                one.head.id
                for one, _ in chosen.order[:wanted]
                if not (one.head.is_current and one.head.holds_at(request.valid_at or reading.at))
            )
            walk = await confirmed_walk(
                self._engines,
                connection,
                reading.reader,
                Walk(
                    caller,
                    roots,
                    _limits(request),
                    scores,
                    reading.at,
                    past_roots,
                    request.valid_at,
                    request.hop_types,
                ),
                at_least=at_least,
                past=past is not None or request.valid_at is not None or bool(past_roots),
            )
        # A relation may lead to what the request leaves out.
        records, edges = _wanted(walk.records, reading, request, scores), walk.relations
        hops, edges = connected(roots, walk.neighbourhood, records, edges, max_hops=request.max_hops)
        nodes = nodes_of(
            roots,
            hops,
            edges,
            records=records,
            scores=scores,
            why=_why(asked, candidates),
            duplicates=chosen.duplicates,
        )
        if composed is not None:
            roots, nodes, edges = with_composed(composed, roots, nodes, edges, request=request)
        reached = set(walk.neighbourhood.reached)
        if len(chosen.order) > wanted:
            reached.add("roots")
        rendering = await _rendering(request, nodes, asked.question.weights)
        answer = Retrieved(
            id=new_id(),
            roots=tuple(roots),
            nodes=tuple(nodes),
            edges=tuple(edges),
            selection=select(
                (node.record for node in nodes if node.root), request.context, reading.at, fit=by_need.fit
            ),
            asked=AskedWords(caller.tenant.index_key, request.task_descriptor),
            candidates=len(chosen.order),
            reached=tuple(sorted(reached)),
            hubs=tuple(hub for hub in walk.neighbourhood.hubs if hub in hops),
            engine=walk.answered_by.engine,
            fallback=walk.answered_by.fallback,
            mirror_lag_seconds=walk.answered_by.mirror_lag_seconds,
            vector_fallback=embedded.fallback,
            rendering=rendering.text if rendering is not None else None,
            citations=rendering.cited if rendering is not None else (),
            nothing_known=not ranking and composed is None,
            composed=None if composed is None else (composed.record.id, composed.plan_id),
            parts=() if composed is None else tuple(part.record.id for part in composed.parts),
            times=asked.times.times,
            at=past,
        )
        return Search(
            caller=caller,
            at=now,
            phrases=phrases,
            found=by_need.ranked(found),
            chosen=chosen,
            wanted=wanted,
            least=least,
            left_out=reading.left_out,
            answer=answer,
        )

    async def _by_need(self, reading: _Reading, request: RetrieveRequest, candidates: Sequence[Candidate]) -> ByNeed:
        """Return the candidates, with procedures ranked by the tools that the task needs; as they are in the past."""
        if isinstance(reading.reader, PastReader):
            return ByNeed(candidates=candidates)
        return await ranked_by_need(
            reading.reader,
            self._models,
            request.task_descriptor,
            candidates,
            types=request.memory_types,
            left_out=reading.left_out,
        )

    async def _read(self, reading: _Reading, request: RetrieveRequest) -> tuple[_Reading, RetrieveRequest, Asked, Rows]:
        """Return the reading, the request, the question as it is read, and the records that a snapshot has for it.

        It is searched again without its own echoes, and where a name is spelled otherwise in the store.
        """
        text, threads = request.task_descriptor, request.exclude_thread_ids
        if threads:
            reading = replace(reading, left_out=await records_of_threads(reading.connection, reading.caller, threads))
        asked, rows = await self._snapshot(reading, request)
        echoed = await echoes(reading.reader, text, asked, rows)
        if echoed:
            reading = replace(reading, left_out=reading.left_out | echoed)
            asked, rows = await self._snapshot(reading, request)
        spelled = await _respelled(reading, asked, rows, text)
        if spelled is not None:
            request = replace(request, task_descriptor=spelled)
            asked, rows = await self._snapshot(reading, request)
        return reading, request, asked, rows

    async def _snapshot(self, reading: _Reading, request: RetrieveRequest) -> tuple[Asked, Rows]:
        """Return the question as it is read, and the records that a snapshot has for it.

        One that asks for what happened before or after an event alone is searched twice, the second time with the date
        of the event.
        """
        times = _times(request.task_descriptor, reading.at)
        asked, rows, by_event = await self._found(reading, request, times)
        if by_event:
            asked, rows, _ = await self._found(reading, request, asked.times)
        return asked, rows

    async def _found(self, reading: _Reading, request: RetrieveRequest, times: TimeWords) -> tuple[Asked, Rows, bool]:
        """Return the question, what a snapshot has for it, and whether it only asks for times that an event names."""
        caller, task = reading.caller, request.task_descriptor
        types = request.memory_types or tuple(MemoryType)
        required = terms_of_phrases(caller.tenant.index_key, task)
        # More where other signals choose among them.
        most_by_words = WITH_PHRASES if required else FOR_NEWEST if times.newest else CANDIDATES
        sought = Sought(
            text=task,
            names=candidate_names(task) if MemoryType.ENTITY in types else [],
            types=types,
            most=request.root_limit,
            most_by_words=max(most_by_words, 2 * request.root_limit),
            template=template_terms(caller.tenant.index_key),
            required=required,
            intervals=times.intervals,
            ever=[(EARLIEST, reading.at)] if times.past and not times.newest else (),
            dated=times.words,
            aside=words_aside(task),
            vector=reading.vector,
            valid_at=request.valid_at,
            left_out=reading.left_out,
        )
        connection, at = reading.connection, reading.at
        snapshot = (
            await past_snapshot(connection, caller, sought, reading.reader, at=at)
            if isinstance(reading.reader, PastReader)
            else await present_snapshot(connection, self._words, caller, sought, now=at)
        )
        asked, rows = read(snapshot, task, caller.tenant.index_key, times, types=types, at=at)
        return asked, rows, only_by_event(asked, times, snapshot.words.words)

    async def _embedded(self, request: RetrieveRequest) -> EmbeddedQuestion:
        """Return the vector of the task, or why it has none; neither without an embedder."""
        if self._questions is None:
            return EmbeddedQuestion()
        if request.as_of is not None:
            return EmbeddedQuestion(fallback="vectors find records of the present only")
        return await self._questions.embed(request.task_descriptor, names_apart=True)


async def _respelled(reading: _Reading, asked: Asked, rows: Rows, text: str) -> str | None:
    """Return the question with the names that no record has in the spelling of the records; None where there is none.

    One statement, where the question has such a name.
    """
    question = asked.question
    unknown = question.unknown_names(reduce(or_, rows.words, 0))
    words = AskedWords(reading.caller.tenant.index_key, text).spelled(unknown)[:MOST_RESPELLED]
    others = {word: await asyncio.to_thread(spellings, word) for word in words}
    if not any(others.values()):
        return None
    counts = await count_words(reading.connection, reading.caller, set().union(*others.values()))
    spelled = text
    for word, its in others.items():
        known = [one for one in its if one in counts]
        if known:
            nearest = max(known, key=lambda one: (-distance(folded(word), one, most=3), counts[one], one))
            spelled = re.sub(rf"\b{re.escape(word)}\b", nearest, spelled)
    return spelled if spelled != text else None


async def _rendering(request: RetrieveRequest, nodes: Sequence[Node], weights: Sequence[float]) -> Rendering | None:
    """Return the answer as text, if it is asked for. Made beside the event loop: texts may be long."""
    if request.token_budget is None:
        return None
    return await asyncio.to_thread(
        render,
        [node.record for node in nodes if node.root],
        [node.record for node in nodes if not node.root],
        token_budget=request.token_budget,
        repeated={node.record.id: len(node.duplicates) for node in nodes},
        words=words_asked(request.task_descriptor, weights),
        style=request.citation_style,
    )


def _wanted(
    records: Mapping[UUID, MemoryRecord], reading: _Reading, request: RetrieveRequest, scores: Collection[UUID]
) -> dict[UUID, MemoryRecord]:
    """Return the records that are not left out, candidates or with the salience that is asked for."""
    least = request.min_salience
    return {
        id_: record
        for id_, record in records.items()
        if id_ not in reading.left_out and (least is None or id_ in scores or record.salience >= least)
    }


def _times(text: str, at: datetime) -> TimeWords:
    """Return the times that a message asks for; those around its question only if that names none."""
    asking = " ".join(asking_sentences(text))
    asked_for = time_words(asking or text, at)
    return asked_for if asked_for.times or not asking or len(text) > SHORT else time_words(text, at)


def _least_strength(asked: Asked, candidates: Sequence[Candidate], request: RetrieveRequest) -> float:
    """Return the strength that each root must have, or, without `min_strength`, the best of them."""
    if request.min_strength is not None:
        return request.min_strength
    return asked.question.least_strength(reduce(or_, (one.why.covered for one in candidates), 0))


def _ranking(asked: Asked, candidates: Sequence[Candidate], request: RetrieveRequest, least: float) -> list[Scored]:
    """Return the candidates with the salience and strength that are asked for, best first."""
    if request.min_salience is not None:
        candidates = [one for one in candidates if one.head.salience >= request.min_salience]
    if request.min_strength is not None:
        candidates = [one for one in candidates if one.why.strength >= least]
    elif max((one.why.strength for one in candidates), default=0.0) < least:
        return []
    order = ranked(candidates)
    return newest_first(order) if asked.times.newest else order


def _why(asked: Asked, candidates: Sequence[Candidate]) -> dict[UUID, Why]:
    """Return what made each record a candidate, with what of it fits the times of the question."""
    for one in candidates:
        if Signal.TIME in one.why.signals:
            one.why.timed_by = basis(asked.times, one.head)
    return {one.head.id: one.why for one in candidates}


def _limits(request: RetrieveRequest) -> Limits:
    return Limits(nodes=request.node_limit, edges=request.edge_limit, hops=request.max_hops)
