"""The memory as an agent's program uses it: remember, recall, threads, and the whole API beneath as `operations`."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar, cast
from uuid import uuid4

import httpx
from pydantic import JsonValue

from stratagraph_client._sync.operations import Operations
from stratagraph_client._sync.thread import Thread
from stratagraph_client.errors import NotFound
from stratagraph_client.inputs import listed
from stratagraph_client.memories import (
    Explanation,
    Lessons,
    Recalled,
    Remembered,
    corrected,
    explanation,
    learned,
    recalled,
    remembered,
)
from stratagraph_client.operations.base_model import UNSET
from stratagraph_client.operations.enums import (
    CitationStyle,
    MemoryType,
    Outcome,
    RecordOrder,
    RevisionPolicy,
    Sensitivity,
)
from stratagraph_client.operations.fragments import ChangeFields, RecordFields
from stratagraph_client.operations.input_types import (
    AmendInput,
    ChangeFilter,
    ContextInput,
    CreditLessonsInput,
    EraseInput,
    EraseTargetInput,
    FactInput,
    LearnLessonInput,
    MemoryInput,
    MentionInput,
    NoteInput,
    RecordFilter,
    RememberInput,
    ReportOutcomeInput,
    RetractInput,
    RetrieveGraphInput,
)
from stratagraph_client.pages import Page
from stratagraph_client.requests import endpoint_of

P = ParamSpec("P")
T = TypeVar("T")
# Requests at a time; the service runs 4 of one credential and lets 32 wait. It closes idle connections after 75 s.
LIMITS = httpx.Limits(max_connections=32, max_keepalive_connections=32, keepalive_expiry=60.0)
ERASING_S = 600.0  # an erasure may take twenty times as long as other operations


class Memory:
    """A client of one Stratagraph service.

        with Memory() as memory:
            memory.remember("Alice moved to Berlin in May")
            print((memory.recall("Where does Alice live?")).text)

    `url` and `api_key` are by default those of the environment, STRATAGRAPH_URL and STRATAGRAPH_API_KEY; a service on
    this machine that is for a single user needs no key. `source` says who reports what is remembered. `timeout_s`
    bounds each call with its retries. `after` is the `sequence` of another client, whose writes are to be seen.
    `traceparent` returns the W3C trace context of a request; by default it is that of OpenTelemetry's current span.
    `verify` is the TLS context or False, `transport` takes the place of the network, and `http` is an HTTP client of
    the caller's own, which stays open. Every method raises StratagraphError.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        api_key: str | None = None,
        source: str = "python",
        timeout_s: float = 30.0,
        after: str | None = None,
        traceparent: Callable[[], str | None] | None = None,
        verify: ssl.SSLContext | bool = True,
        transport: httpx.BaseTransport | None = None,
        http: httpx.Client | None = None,
    ) -> None:
        endpoint = endpoint_of(url)
        key = api_key or os.environ.get("STRATAGRAPH_API_KEY")
        self.source = source
        self.url = endpoint.removesuffix("/graphql")
        self.operations = Operations(
            http or httpx.Client(verify=verify, transport=transport, limits=LIMITS),
            endpoint=endpoint,
            headers={"authorization": f"Bearer {key}"} if key else {},
            timeout_s=timeout_s,
            trace=traceparent,
            after=after,
            owns_http=http is None,
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self.operations.close()

    @property
    def sequence(self) -> str | None:
        """What another client takes as `after`, so that it sees this one's writes; None before the first one."""
        return self.operations.carried.sequence

    def remember(
        self,
        text: str,
        *,
        about: str | None = None,
        mentions: Sequence[str] = (),
        tags: Sequence[str] = (),
        scope: str | None = None,
        sensitivity: Sensitivity | None = None,
        idempotency_key: str | None = None,
    ) -> Remembered:
        """Remember a text that is to last, such as "Alice moved to Berlin". The same text again strengthens it.

        `about` names whom or what it concerns, `mentions` what else it names.
        """
        note = NoteInput(text=text) if about is None else NoteInput(text=text, about=about)
        return self._remember(MemoryInput(note=note), mentions, tags, scope, sensitivity, idempotency_key)

    def remember_fact(
        self,
        subject: str,
        predicate: str,
        value: JsonValue,
        *,
        replaces: bool = False,
        mentions: Sequence[str] = (),
        tags: Sequence[str] = (),
        scope: str | None = None,
        sensitivity: Sensitivity | None = None,
        idempotency_key: str | None = None,
    ) -> Remembered:
        """Remember a fact beside others of its subject and predicate, of which several may hold: `likes`, `works_at`.

        With `replaces` it takes the place of those that it contradicts, and from then on the subject has one value of
        the predicate at a time: a further fact replaces this one. So it is from the first for predicates that have a
        single value, such as `age`; `operations.predicates` lists them, `operations.set_predicate` adds one.
        """
        fact = FactInput(subject=subject, predicate=predicate, object_=value)
        if replaces:
            fact.revisionPolicy = RevisionPolicy.REPLACE
        memory = MemoryInput(fact=fact)
        return self._remember(memory, mentions, tags, scope, sensitivity, idempotency_key)

    def _remember(
        self,
        memory: MemoryInput,
        mentions: Sequence[str],
        tags: Sequence[str],
        scope: str | None,
        sensitivity: Sensitivity | None,
        idempotency_key: str | None,
    ) -> Remembered:
        captured = self.operations.remember(
            RememberInput(
                source=self.source,
                memory=memory,
                context=ContextInput(mentions=[MentionInput(name=name) for name in listed(mentions)])
                if mentions
                else None,
                tags=listed(tags) or None,
                scope=scope,
                sensitivity=sensitivity,
                idempotencyKey=idempotency_key,
            )
        )
        return remembered(captured)

    def recall(
        self,
        query: str,
        *,
        limit: int = 10,
        types: Sequence[MemoryType] = (),
        scopes: Sequence[str] | None = None,
        min_strength: float | None = None,
        token_budget: int = 1_000,
        exclude_threads: Sequence[str] = (),
        as_of: datetime | None = None,
        valid_at: datetime | None = None,
    ) -> Recalled:
        """Return the memories that fit a question or a task best, at most `limit`, and their text for a prompt.

        The text has a line for each memory, as far as `token_budget` has room, and none where it has not room for one.
        What this client wrote before is among what is searched. `as_of` asks what was known then, `valid_at` what held
        then. `exclude_threads` leaves the turns of conversations out. `operations.retrieve_graph` has the relations
        between memories, and why each was found.
        """
        found = self.operations.recall(
            RetrieveGraphInput(
                taskDescriptor=query,
                rootLimit=limit,
                nodeLimit=limit,
                maxHops=0,
                memoryTypes=listed(types) or None,
                scopes=listed(scopes) if scopes is not None else None,
                minStrength=min_strength,
                tokenBudget=token_budget,
                citationStyle=CitationStyle.NUMBER,
                excludeThreadIds=listed(exclude_threads) or None,
                asOf=as_of,
                validAt=valid_at,
            )
        )
        return recalled(found)

    def explain(self, record_id: str) -> Explanation:
        """Return why a memory is known: its sources, its versions, who changed it, and what it is related to."""
        found = self.operations.explain(record_id)
        if found.record is None:
            raise NotFound(
                f"There is no record {record_id!r} that this credential may read; take an id from recall or records.",
                code="NOT_FOUND",
                path=["id"],
            )
        return explanation(found.record, found)

    def correct(
        self,
        record_id: str,
        correction: str | Mapping[str, JsonValue],
        reason: str,
        *,
        expected_version: int | None = None,
        idempotency_key: str | None = None,
    ) -> Remembered:
        """Replace a memory by what a person says is right; the old one stays in the history.

        A text takes the place of what was remembered, or of the object of a fact. A mapping is a merge patch of the
        payload (RFC 7396): what it does not name stays. With `expected_version`, VersionConflict is raised if the
        record has changed since.
        """
        revised = self.operations.amend(
            AmendInput(
                recordId=record_id,
                changes=_changes(correction),
                evidence=[{"kind": "human", "ref": self.source}],
                rationale=reason,
                expectedVersion=expected_version,
                idempotencyKey=idempotency_key,
            )
        )
        return corrected(revised, record_id)

    def forget(self, record_id: str, reason: str, *, erase: bool = False, timeout_s: float | None = None) -> None:
        """Retract a memory: it is no longer recalled, and stays in the history.

        With `erase`, remove it and all that was derived from it alone, with every trace; `reason` must not repeat it.
        `timeout_s` bounds the call; without it the client's does, or for an erasure 600 seconds, which it may need.
        """
        if erase:
            target = EraseTargetInput(recordId=record_id)
            timeout = ERASING_S if timeout_s is None else timeout_s
            self.operations.erase(EraseInput(target=target, rationale=reason), timeout_s=timeout)
        else:
            self.operations.retract(RetractInput(recordId=record_id, rationale=reason), timeout_s=timeout_s)

    def report_outcome(self, recalled: Recalled | str, outcome: Outcome, *, used_ids: Sequence[str] = ()) -> None:
        """Say how a task ended for which memories were recalled; those that were used are strengthened or weakened."""
        retrieval_id = recalled if isinstance(recalled, str) else recalled.retrieval_id
        self.operations.report_outcome(
            ReportOutcomeInput(retrievalId=retrieval_id, outcome=outcome, usedRecordIds=listed(used_ids))
        )

    def lessons(self, task: str | None = None, *, limit: int = 10) -> Lessons:
        """Return lessons from earlier mistakes for a task."""
        playbook = self.operations.playbook(query=task, limit=limit)
        return Lessons(text=playbook.text, lesson_ids=tuple(playbook.lessonIds), playbook_id=playbook.playbookId)

    def credit(self, lessons: Lessons, *, helpful_ids: Sequence[str] | None = None) -> None:
        """Say that lessons helped: all of them, or those with `helpful_ids`. They come first the next time."""
        ids = listed(helpful_ids) if helpful_ids is not None else None
        self.operations.credit_lessons(CreditLessonsInput(playbookId=lessons.playbook_id, lessonIds=ids))

    def learn_lesson(
        self,
        task: str,
        solution: str,
        *,
        mistake: str | None = None,
        trigger: str | None = None,
        scope: str | None = None,
        idempotency_key: str | None = None,
    ) -> Remembered:
        """Remember what to do for a task, and the mistake that taught it. A lesson on the same task is merged."""
        lesson = LearnLessonInput(
            task=task,
            solution=solution,
            mistake=mistake,
            trigger=trigger,
            scope=scope,
            source=self.source,
            idempotencyKey=idempotency_key,
        )
        return learned(self.operations.learn_lesson(lesson))

    def records(
        self,
        filter: RecordFilter | None = None,  # noqa: A002 - the word of the API
        *,
        order: RecordOrder = RecordOrder.CREATED_DESC,
        as_of: datetime | None = None,
        page_size: int = 50,
    ) -> Generator[RecordFields]:
        """Yield the records that a filter leaves, page by page."""
        since = UNSET if as_of is None else as_of
        return self.every(self.operations.records, filter, order, since, first=page_size)

    def every(self, page: Callable[P, Page[T]], *args: P.args, **kwargs: P.kwargs) -> Generator[T]:
        """Yield all items of a connection: of an operation that takes `after`, with these arguments.

        for run in memory.every(memory.operations.consolidation_runs, first=50):
            ...
        """
        fetch = cast("Callable[..., Page[T]]", page)
        given: dict[str, Any] = dict(kwargs)
        while True:
            found = fetch(*args, **given)
            for node in found.nodes:
                yield node
            if not found.pageInfo.hasNextPage or found.pageInfo.endCursor is None:
                return
            given["after"] = found.pageInfo.endCursor

    def position(self) -> str:
        """Return the present position in the log of changes, after which `changes` goes on."""
        return self.operations.position()

    def changes(
        self,
        after: str | None = None,
        filter: ChangeFilter | None = None,  # noqa: A002
    ) -> Generator[ChangeFields]:
        """Yield what changes after a position as it comes, each change once; without one, what changes from now on.

        Goes on where it was after the connection or the service was lost, for ten minutes without any connection. Keep
        the `position` of a change with what you made of it, to go on from there later. Raises PositionExpired for a
        position that is older than a day.
        """
        return self.operations.changed(after=after, filter_=filter)

    @contextmanager
    def thread(self, thread_id: str | None = None) -> Generator[Thread]:
        """Capture a conversation. At the end it is closed with its outcome, so that something can be learned from it.

        An exception that leaves the block is the outcome FAILURE, unless one was given; the end of the block without
        one is SUCCESS. A block that is interrupted, as by a cancelled task, leaves the conversation open.
        """
        thread = Thread(self, thread_id or str(uuid4()))
        try:
            yield thread
        except BaseException as error:
            thread.end(error)
            raise
        thread.end(None)


def _changes(correction: str | Mapping[str, JsonValue]) -> JsonValue:
    """Return a correction as changes of a payload; the service refuses what is neither text nor mapping."""
    if isinstance(correction, str):
        return {"object": correction}
    return dict(correction) if isinstance(correction, Mapping) else correction
