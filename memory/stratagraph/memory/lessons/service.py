"""The service of lessons: learn, find, return as a playbook, credit, and retire those that do not help."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from uuid import UUID

import orjson

from stratagraph.memory.capture.answers import Captured
from stratagraph.memory.capture.draft import Draft
from stratagraph.memory.capture.secrets import sealing_level
from stratagraph.memory.capture.service import Capture
from stratagraph.memory.embedding.embedder import Embedder
from stratagraph.memory.embedding.questions import QuestionEmbedder
from stratagraph.memory.feedback.deleted import deleted_among
from stratagraph.memory.feedback.waiting import NotLoggedError, when_logged
from stratagraph.memory.lessons import request as requests
from stratagraph.memory.lessons.block import Standing
from stratagraph.memory.lessons.finding import CONSIDERED, LessonFinder, Wanted
from stratagraph.memory.lessons.playbook import (
    DEFAULT_TOKENS,
    MAX_TOKENS,
    MIN_TOKENS,
    RECENT,
    RELEVANT,
    failures_text,
    playbook_text,
)
from stratagraph.memory.lessons.request import LearnLesson
from stratagraph.memory.lessons.similarity import UNEMBEDDED, LessonSimilarity, cosine, embedded_text, near
from stratagraph.memory.lessons.utility import DROPPED, KEPT, STALE_RETRIEVALS, least_helpful
from stratagraph.memory.lessons.windows import Window, start_of
from stratagraph.memory.records.changes import Effect
from stratagraph.memory.records.cursors import ListCursor
from stratagraph.memory.records.pictures import ShownPage
from stratagraph.memory.requests.bounds import check_between
from stratagraph.memory.requests.retrying import retried
from stratagraph.memory.requests.warnings import RequestWarning, camel_case, replaced_path
from stratagraph.memory.retrieve.request import check_length
from stratagraph.memory.revise.withdrawal import withdraw
from stratagraph.store.feed.changes import append_changes
from stratagraph.store.feed.settling import past_instant, settle
from stratagraph.store.keys.callers import Caller
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.analysis.sequences import negations
from stratagraph.store.model.canonical import check_json
from stratagraph.store.model.clock import RESOLUTION, Clock
from stratagraph.store.model.enums import Access, RecordState, Sensitivity
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.ids import new_id
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Connection, Database
from stratagraph.store.records.lessons import (
    LessonGroup,
    credit_playbook,
    credit_playbooks,
    fetch_similarities,
    list_lessons,
    lock_lessons,
)
from stratagraph.store.records.reading import Reader
from stratagraph.store.search.outcomes import RetrievalEntry, fetch_retrieval
from stratagraph.store.search.retrievals import RETENTION, LoggedRetrieval, RetrievalLog
from stratagraph.store.search.vector_search import vector_literal

MAX_LISTED = 100  # lessons in one answer
DEFAULT_CREDITED_S = 300  # seconds back to which playbooks are credited
MAX_CREDITED_S = int(RETENTION.total_seconds())
UNHELPFUL = "retired: often retrieved, and hardly ever helpful"


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedLesson:
    """The result of learning a lesson.

    `is_merged` is whether it was merged with one that was known; `retired` are the lessons, as far as the caller may
    see them, that left the playbook because of it. `captured` is the capture that stored it.
    """

    captured: Captured
    is_merged: bool
    retired: tuple[UUID, ...]

    @property
    def warnings(self) -> tuple[RequestWarning, ...]:
        """The warnings of the capture, about the fields of the lesson as its caller gave them."""
        return tuple(
            replaced_path(one, (camel_case(one.path[-1]),)) if one.path[:2] == ("content", "lesson") else one
            for one in self.captured.warnings
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Playbook:
    """Lessons as text for a prompt: `lessons` are the ids of those in it, the first cited in the text as `[1]`.

    The caller can credit it by its `id` for RETENTION.
    """

    id: UUID
    text: str
    lessons: tuple[UUID, ...]


class Lessons:
    """The service of lessons. One per process; safe to call from many tasks.

    `log` is where playbooks wait to be logged and counted.
    """

    def __init__(
        self,
        database: Database,
        directory: Directory,
        clock: Clock,
        capture: Capture,
        log: RetrievalLog,
        *,
        embedder: Embedder | None = None,
        questions: QuestionEmbedder | None = None,
    ) -> None:
        self._database = database
        self._directory = directory
        self._clock = clock
        self._capture = capture
        self._log = log
        self._similarity = LessonSimilarity(database, embedder) if embedder is not None else None
        self._finder = LessonFinder(database, directory, clock, questions)

    async def learn(self, trust: Trust, request: LearnLesson) -> LearnedLesson:
        """Store a lesson, or merge it with the one of its scope and sensitivity that has its task or says the same.

        Without an embedder, or where it does not answer, only an equal task is the same. At most KEPT lessons of a
        scope and sensitivity stay. Raises what a capture raises.
        """
        trust.require(Access.WRITE)
        requests.check(request)
        capture = request.as_capture()
        repeats = await self._like(trust, await self._capture.draft(trust, capture))
        (captured,) = await self._capture.capture(trust, [request.as_capture(repeats=repeats)])
        return LearnedLesson(
            captured=captured,
            # Of a lesson that a policy rule raised above its writer's ceiling, the answer says only that it is stored.
            is_merged=not captured.primary.redacted
            and captured.primary.id not in {record.id for record in captured.created},
            retired=tuple(
                change.record.id
                for change in captured.changes
                if change.effect is Effect.SUPERSEDED and change.record.id != captured.primary.id
            ),
        )

    async def _like(self, trust: Trust, draft: Draft) -> UUID | None:
        """Return the stored lesson, of the draft's scope and sensitivity, that says the same by their vectors."""
        level = sealing_level(self._directory.vault)
        if self._similarity is None or (level is not None and draft.sensitivity >= level):
            return None  # nothing that is sealed leaves the process
        caller = await self._directory.resolve(trust)
        scope = (await self._directory.scopes(caller.tenant, {draft.scope}, create=False)).get(draft.scope)
        made = await self._similarity.vectors_of([_text_of(draft)]) if scope is not None else None
        if made is None or scope is None:
            return None
        model = await self._similarity.model_of(made[0])
        async with self._database.reading(caller.bounds) as connection:
            ids = await list_lessons(connection, caller, limit=KEPT, scope=scope, sensitivity=draft.sensitivity)
            similarities = (
                await fetch_similarities(connection, ids, model=model, vector=vector_literal(made[0]))
                if model is not None
                else {}
            )
            missing = [id_ for id_ in ids if id_ not in similarities][:UNEMBEDDED]
            reader = Reader(connection, self._directory, caller, self._clock.now())
            records = await reader.records([*missing, *near(similarities)])
        others = [record for id_, record in records.items() if id_ in missing]
        vectors = await self._similarity.vectors_of([embedded_text(one) for one in others]) if others else None
        if vectors is not None:
            similarities |= {one.id: cosine(made[0], vector) for one, vector in zip(others, vectors, strict=True)}
        said = negations(draft.text)  # texts that are near in meaning may say the opposite
        alike = near(similarities)
        return next((id_ for id_ in alike if id_ in records and negations(records[id_].text or "") == said), None)

    async def find(
        self,
        trust: Trust,
        *,
        query: str | None = None,
        scope: str | None = None,
        window: Window = Window.ALL,
        zone: tzinfo = UTC,
        source: str | None = None,
        trigger: str | None = None,
        first: int = 20,
    ) -> list[MemoryRecord]:
        """Return current lessons that the caller may read in full, at most `first`.

        With a query those that are about it, best first; else the last learned first. `scope` narrows to a scope and
        the unscoped ones. `window` bounds the time by the clock of `zone`, UTC by default; `source` and `trigger` name
        the lesson's own. Raises InvalidInput, and Forbidden for a scope that the credential does not cover.
        """
        check_between("first", first, 1, MAX_LISTED)
        caller = await self._reader(trust, scope, query=query, source=source, trigger=trigger)
        since = start_of(window, self._clock.now(), zone)
        wanted = Wanted(since=since, source=source, trigger=trigger)
        if query is None:
            return await self._finder.recent(caller, wanted, limit=first)
        return await self._finder.about(caller, query, wanted, limit=first)

    async def page(
        self,
        trust: Trust,
        *,
        query: str | None = None,
        scope: str | None = None,
        window: Window = Window.ALL,
        zone: tzinfo = UTC,
        source: str | None = None,
        trigger: str | None = None,
        first: int = 20,
        after: str | None = None,
        as_of: datetime | None = None,
    ) -> ShownPage:
        """Return a page of the lessons that `find` returns, of the last CONSIDERED; with `as_of`, of those then."""
        check_between("first", first, 1, MAX_LISTED)
        caller = await self._reader(trust, scope, query=query, source=source, trigger=trigger)
        now = self._clock.now()
        instant = past_instant(as_of, now=now) if as_of is not None else None
        asked = orjson.dumps([query, scope, window.name, str(zone), source, trigger, instant])
        mark = f"lessons {hashlib.sha256(asked).hexdigest()[:16]}"
        cursor = ListCursor.decode(after, mark) if after is not None else None
        wanted = Wanted(since=start_of(window, instant or now, zone), source=source, trigger=trigger)
        most = CONSIDERED if cursor is not None else first + 1
        if instant is not None:
            await settle(self._database, caller.tenant.id, instant)
            found = await self._finder.as_of(caller, query, wanted, instant)
        elif query is None:
            found = await self._finder.recent(caller, wanted, limit=most)
        else:
            found = await self._finder.about(caller, query, wanted, limit=most)
        begin = _begin(found, cursor)
        page = found[begin : begin + first]
        end = None
        if page:
            place = float(begin + len(page))
            end = ListCursor(mark=mark, id=page[-1].id, value=place, at=now).encode()
        return ShownPage(records=tuple(page), end_cursor=end, has_next=len(found) > begin + first, as_of=instant)

    async def playbook(
        self,
        trust: Trust,
        *,
        query: str | None = None,
        scope: str | None = None,
        limit: int = 10,
        token_budget: int = DEFAULT_TOKENS,
        is_counted: bool = False,
    ) -> Playbook:
        """Return lessons as text for a system prompt, at most `limit` of them, of at most `token_budget` tokens.

        With a query those that are about it, and nothing if none is; without, the last learned. With `is_counted`, each
        lesson in the text counts as retrieved; else it does so when the playbook is credited. Raises as `find` does.
        """
        check_between("limit", limit, 1, KEPT)
        check_between("tokenBudget", token_budget, MIN_TOKENS, MAX_TOKENS)
        caller = await self._reader(trust, scope, query=query)
        if query is None:
            found = await self._finder.recent(caller, Wanted(), limit=limit)
        else:
            found = await self._finder.about(caller, query, Wanted(), limit=limit)
        text, shown = playbook_text(found, heading=RECENT if query is None else RELEVANT, token_budget=token_budget)
        entry = LoggedRetrieval(
            id=new_id(), roots=shown if is_counted else (), nodes=shown, at=self._clock.now(), is_playbook=True
        )
        self._log.append(entry, caller)
        return Playbook(id=entry.id, text=text, lessons=tuple(shown))

    async def failures(
        self, trust: Trust, *, scope: str | None = None, limit: int = 10, token_budget: int = DEFAULT_TOKENS
    ) -> str:
        """Return the mistakes of the last learned lessons as text for a prompt; counts nothing. Raises as `find`."""
        check_between("limit", limit, 1, KEPT)
        check_between("tokenBudget", token_budget, MIN_TOKENS, MAX_TOKENS)
        caller = await self._reader(trust, scope)
        return failures_text(await self._finder.recent(caller, Wanted(), limit=limit), token_budget=token_budget)[0]

    async def credit(self, trust: Trust, *, window_s: int = DEFAULT_CREDITED_S) -> list[UUID]:
        """Credit the lessons in the playbooks that the caller got in the last `window_s` seconds as helpful.

        Return their ids. A playbook is credited once, so the same window again counts nothing. Lessons are left out
        that the caller may not change. Raises InvalidInput or Forbidden.
        """
        trust.require(Access.WRITE)
        check_between("windowSeconds", window_s, 1, MAX_CREDITED_S)
        caller = await self._directory.resolve(trust)
        await self._log.flush()

        async def commit() -> list[UUID]:
            async with self._database.writing(caller.bounds) as connection:
                now = self._clock.now()
                return await credit_playbooks(connection, caller, since=now - timedelta(seconds=window_s), at=now)

        return await retried(commit)

    async def credit_playbook(self, trust: Trust, id_: UUID, *, lessons: Sequence[UUID] | None = None) -> list[UUID]:
        """Credit the lessons in one playbook that the caller got as helpful, or those of them in `lessons`.

        Return their ids. A playbook is credited once: later, the ids of the first time are returned. Lessons are left
        out that the caller may not change. Raises InvalidInput, Forbidden, or RecordNotFound for a playbook of another
        caller or one that is older than RETENTION.
        """
        trust.require(Access.WRITE)
        if lessons is not None and len(lessons) > KEPT:
            raise InvalidInput(f"lessonIds: {len(lessons)} ids; a playbook has at most {KEPT}", path=["lessonIds"])
        caller = await self._directory.resolve(trust)
        await self._log.write_now(id_)

        async def commit() -> list[UUID]:
            async with self._database.writing(caller.bounds) as connection:
                entry = await self._playbook(connection, caller, id_)
                others = set(lessons or ()) - set(entry.nodes)
                if others and entry.report is None:
                    await self._refuse_others(connection, caller, others)
                if entry.report is None:
                    await credit_playbook(connection, caller, id_, only=lessons, at=self._clock.now())
                    entry = await self._playbook(connection, caller, id_)
                assert entry.report is not None  # by this request, or by one beside it
                return sorted(entry.report.credited)

        return await when_logged(commit, of="playbook")

    async def _playbook(self, connection: Connection, caller: Caller, id_: UUID) -> RetrievalEntry:
        entry = await fetch_retrieval(connection, caller, id_)
        if entry is None:
            raise NotLoggedError(id_, ["playbookId"])
        if not entry.is_playbook:
            raise InvalidInput(
                f"playbookId: {id_} is the id of a retrieval; report what came of it with `reportOutcome`",
                path=["playbookId"],
            )
        return entry

    async def _refuse_others(self, connection: Connection, caller: Caller, ids: Collection[UUID]) -> None:
        """Raise InvalidInput for lessons that the playbook does not have, unless they were deleted since."""
        unknown = set(ids) - await deleted_among(connection, self._directory, caller, ids)
        if unknown:
            raise InvalidInput(
                f"lessonIds: the playbook does not have {min(unknown)}; give only ids of its lessonIds",
                path=["lessonIds"],
            )

    async def drop(
        self,
        trust: Trust,
        *,
        scope: str | None = None,
        retrievals: int = STALE_RETRIEVALS,
        fraction: float = DROPPED,
    ) -> list[UUID]:
        """Retire the part `fraction` of the unhelpful lessons of a scope that has the least utility; return their ids.

        Unhelpful are those that were retrieved at least `retrievals` times and hardly ever helped. Each sensitivity
        counts by itself, up to the caller's ceiling. Without a scope, it is the one that the caller writes to. Raises
        InvalidInput or Forbidden.
        """
        trust.require(Access.WRITE)
        check_between("minRetrievals", retrievals, 1, 1_000_000)
        check_between("fraction", fraction, 0, 1)
        check_json(scope, path=["scope"])
        name = trust.scope_for_write(scope)
        caller = await self._directory.resolve(trust)
        number = (await self._directory.scopes(caller.tenant, {name}, create=False)).get(name)
        if number is None:
            return []

        async def commit() -> list[UUID]:
            async with self._database.writing(caller.bounds) as connection:
                return await drop_unhelpful(
                    connection,
                    self._directory,
                    caller,
                    number,
                    retrievals=retrievals,
                    fraction=fraction,
                    now=self._clock.now(),
                )

        return await retried(commit)

    async def _reader(self, trust: Trust, scope: str | None, **texts: str | None) -> Caller:
        """Return the caller, narrowed to a scope, after checking the texts that the request gives."""
        trust.require(Access.READ)
        for name, text in (("scope", scope), *texts.items()):
            check_json(text, path=[name])
            if text is not None:
                check_length(text, name)
        return await self._directory.resolve(trust if scope is None else trust.narrowed(scopes=[scope]))


def _text_of(draft: Draft) -> str:
    """Return the text by which the vector of the draft's record will be made, as `embedded_text` does."""
    return draft.text if draft.text.startswith(draft.name) else f"{draft.name}\n{draft.text}"


async def drop_unhelpful(
    connection: Connection,
    directory: Directory,
    caller: Caller,
    scope: int,
    *,
    retrievals: int,
    fraction: float,
    now: datetime,
) -> list[UUID]:
    """Retire the least helpful lessons of a scope, at each sensitivity up to the caller's ceiling; return their ids."""
    groups = [LessonGroup(scope, int(level)) for level in Sensitivity if level <= caller.ceiling]
    retired: list[UUID] = []
    changed_at: list[datetime] = []
    for lessons in (await lock_lessons(connection, caller.tenant, groups)).values():
        standings = {
            one.id: Standing.of(one.counted_payload, learned_at=one.learned_at, confidence=one.confidence)
            for one in lessons
        }
        retired += least_helpful(standings, retrievals=retrievals, fraction=fraction)
        changed_at += [one.updated_at + RESOLUTION for one in lessons]
    if retired:
        changes = await withdraw(
            connection,
            directory,
            caller,
            retired,
            RecordState.SUPERSEDED,
            rationale=UNHELPFUL,
            at=max([now, *changed_at]),
        )
        await append_changes(connection, caller.tenant, changes)
    return sorted(retired)


def _begin(found: Sequence[MemoryRecord], cursor: ListCursor | None) -> int:
    """Return where the page behind a cursor begins: behind its lesson, or at its place if that is no longer there."""
    if cursor is None:
        return 0
    ids = [record.id for record in found]
    if cursor.id in ids:
        return ids.index(cursor.id) + 1
    return int(cursor.value) if isinstance(cursor.value, float) and 0 <= cursor.value <= len(ids) else len(ids)
