"""Spans that instrumented agents send: stored at once, imported as conversations when no more come for a while.

The spans of a conversation arrive in several requests, in any order and maybe more than once, children before their
parents. So they are stored first, and the sender is answered. A job then reads all spans of a conversation together, as
if they were those of a file, and imports what is new: as long as the conversation may go on, only what its next spans
will repeat; once its agent's run has ended, or after a long pause, all of it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from threading import Event
from typing import TypeVar

import orjson

from stratagraph.memory.capture.service import Capture
from stratagraph.memory.imports.conversation import Conversation
from stratagraph.memory.imports.fields import Reading
from stratagraph.memory.imports.formats.otel_attributes import Kind, kind_of
from stratagraph.memory.imports.formats.otel_spans import Span
from stratagraph.memory.imports.formats.otel_steps import conversations_of, own_conversation
from stratagraph.memory.imports.progress import ImportSummary
from stratagraph.memory.imports.span_json import span_from_json, span_to_json
from stratagraph.memory.imports.trace_captures import check_texts
from stratagraph.memory.imports.traces import TraceImport
from stratagraph.memory.records.artifacts import Artifacts
from stratagraph.store.event_log import get_logger
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.clock import Clock
from stratagraph.store.model.enums import Access
from stratagraph.store.model.error_reports import error_report
from stratagraph.store.model.errors import DeadlineExceeded, InvalidInput, LimitExceeded, StratagraphError
from stratagraph.store.model.trust import SINGLE_USER, UNSCOPED, Trust
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.records.received_spans import (
    NewSpan,
    ReceivedSpans,
    TraceKey,
    WaitingTrace,
    delete_read_spans,
    due_traces,
    fetch_received_spans,
    finished_traces,
    insert_received_spans,
    mark_spans_read,
    spans_wait,
)

QUIET_S = 3.0  # seconds without a further span of a trace, after which its new ones are imported
AT_LATEST_S = 30.0  # seconds after which a new span is imported, though more come
FINISHED_S = 900.0  # seconds without a further span, after which a conversation is over
MAX_SPANS = 2_000  # of one conversation that are read together: as many new ones, and as many that were read before
MAX_BYTES = 16 << 20  # of these, also of each
MAX_HISTORIES = 200  # conversations of one id, where calls of models do not continue each other
IMPORT_S = 60.0  # seconds that the import of the spans of one conversation may take
MAX_LOGGED = 5  # traces of a conversation that a line of the log names
SOURCE = "otlp"
_LATEST = datetime.max.replace(tzinfo=UTC)
T = TypeVar("T")
_log = get_logger(__name__)


@dataclass(slots=True, kw_only=True)
class Receipt:
    """What became of the spans of one request. `refused` has the reason for each span that was not stored."""

    stored: int = 0
    repeated: int = 0
    ignored: int = 0
    refused: list[str] = field(default_factory=list)


class SpanIntake:
    """The service that takes spans and imports their conversations. One per process; safe to call from many tasks."""

    def __init__(
        self, database: Database, directory: Directory, clock: Clock, capture: Capture, artifacts: Artifacts
    ) -> None:
        self._database = database
        self._directory = directory
        self._clock = clock
        self._capture = capture
        self._artifacts = artifacts

    async def receive(self, trust: Trust, spans: Iterable[Span], *, scope: str | None = None) -> Receipt:
        """Store the spans of agents and models; return how many were stored, known, ignored and refused.

        `scope` is that of the records to be; without one it is chosen as for a capture. A span that no import could
        read is refused; the others are stored in one transaction. Raises Forbidden or InvalidInput for a scope or an
        access that does not allow it, and StoreUnavailable.
        """
        trust.require(Access.WRITE)
        name = trust.scope_for_write(scope)
        # Apart from the event loop: the messages of some hundred spans are much to read.
        receipt, kept = await asyncio.to_thread(_sorted, list(spans))
        if kept:
            # In single-user mode, the caller is who imports files too, so that neither repeats what the other stored.
            sender = replace(trust, actor="import") if trust == SINGLE_USER else trust
            caller = await self._directory.resolve(sender)
            number = (await self._directory.scopes(caller.tenant, {name}, create=True))[name]
            async with self._database.writing(caller.bounds) as connection:
                receipt.stored = await insert_received_spans(connection, caller, number, kept, at=self._clock.now())
            receipt.repeated = len(kept) - receipt.stored
        return receipt

    async def due(self, *, now: datetime, limit: int) -> list[WaitingTrace]:
        """Return at most `limit` traces of all tenants whose new spans are to be imported at `now`, by turns."""
        async with self._database.background(Role.JOBS) as connection:
            return await due_traces(
                connection,
                quiet_since=now - timedelta(seconds=QUIET_S),
                at_latest=now - timedelta(seconds=AT_LATEST_S),
                limit=limit,
            )

    async def is_waiting(self) -> bool:
        """Return whether any span waits to be imported."""
        async with self._database.background(Role.JOBS) as connection:
            return await spans_wait(connection)

    async def finished(self, *, now: datetime, limit: int) -> list[WaitingTrace]:
        """Return at most `limit` traces of all tenants that are over at `now`, by turns."""
        async with self._database.background(Role.JOBS) as connection:
            return await finished_traces(connection, before=now - timedelta(seconds=FINISHED_S), limit=limit)

    async def import_trace(self, key: TraceKey, *, now: datetime) -> ImportSummary | None:
        """Import what is new of the conversations of a trace; None if it has no spans any more.

        Of very many spans, a part is imported, and the others wait for the next time. What is refused is logged by its
        trace, its caller and the kind of the reason. Raises StoreUnavailable, and nothing else.
        """
        tenant = await self._directory.tenant_by_id(key[0])
        async with self._database.background(Role.JOBS) as connection:
            received = await fetch_received_spans(
                connection, tenant, key[1], most_spans=MAX_SPANS, most_bytes=MAX_BYTES
            )
        if received is None:
            return None
        summary = ImportSummary(source=SOURCE)
        log = _log.bind(tenant=tenant.name, caller=received.trust.actor)
        try:
            spans = await _apart(partial(_opened, received))
            log = log.bind(traces=sorted({span.trace for span in spans})[:MAX_LOGGED])
            async with asyncio.timeout(IMPORT_S):
                await self._import(received, spans, summary, now=now)
        except TimeoutError:
            log.error("conversation of received spans not imported", error=f"stopped after {IMPORT_S:g} s")
            summary.refuse(SOURCE, f"not imported within {IMPORT_S:g} s", code=DeadlineExceeded.code)
        except StratagraphError as error:
            if error.retryable:
                raise
            log.error("conversation of received spans not imported", **error_report(error))
            summary.refuse(SOURCE, error.message, code=error.code)
        except Exception as error:  # a defect must not keep the conversations of others waiting
            log.error("conversation of received spans not imported", **error_report(error))
            summary.refuse(SOURCE, "a defect", code="INTERNAL")
        else:
            reasons = Counter(one.code for one in summary.refused)
            if reasons:
                log.warning("conversations of received spans refused", reasons=dict(reasons))
        await self._mark(tenant, received)
        return summary

    async def forget(self, key: TraceKey, *, now: datetime) -> int:
        """Delete the spans of a trace that is over; return their number."""
        async with self._database.background(Role.JOBS) as connection:
            return await delete_read_spans(connection, key, before=now - timedelta(seconds=FINISHED_S))

    async def _import(
        self, received: ReceivedSpans, spans: Sequence[Span], summary: ImportSummary, *, now: datetime
    ) -> None:
        is_over = not received.more_new and (
            received.newest_at <= now - timedelta(seconds=FINISHED_S) or _has_ended(spans)
        )
        names = await self._directory.scope_names({received.scope})
        scope = names[received.scope]
        run = TraceImport(
            self._capture,
            received.trust,
            summary=summary,
            artifacts=self._artifacts,
            scope=None if scope == UNSCOPED else scope,
            most_versions=MAX_HISTORIES,
        )

        def read(before_each: Callable[[], None]) -> list[Conversation]:
            return conversations_of(spans, lambda: Reading(zone=UTC), is_over=is_over, before_each=before_each)

        # Apart from the event loop: each call of a model repeats the whole conversation before it.
        found = await _apart(read)
        for conversation in _longest(found):
            await run.add(conversation.id or SOURCE, SOURCE, conversation)
        await run.store()
        left_out = len(found) - len(_longest(found))
        for _ in range(left_out):
            summary.refuse(SOURCE, f"its id has over {MAX_HISTORIES} conversations", code=LimitExceeded.code)

    async def _mark(self, tenant: Tenant, received: ReceivedSpans) -> None:
        async with self._database.background(Role.JOBS) as connection:
            await mark_spans_read(connection, tenant, received)


def _sorted(spans: Sequence[Span]) -> tuple[Receipt, list[NewSpan]]:
    """Return the spans to be stored: those of agents and models that can be read, each by itself.

    They are in the order of their ends, in which parts of very many are read.
    """
    receipt, kept = Receipt(), []
    for span in sorted(spans, key=_ended_at):
        if not span.is_genai or (kind_of(span) is Kind.OTHER and own_conversation(span) is None):
            receipt.ignored += 1
            continue
        try:
            for conversation in conversations_of([span], lambda: Reading(zone=UTC)):
                check_texts(conversation)
        except InvalidInput as error:
            receipt.refused.append(error.message)
        else:
            conversation_id, content = own_conversation(span), span_to_json(span)
            kept.append(NewSpan(trace=span.trace, id=span.id, conversation=conversation_id, content=content))
    return receipt, kept


def _ended_at(span: Span) -> datetime:
    return span.ended_at or span.began_at or _LATEST


class _Stopped(Exception):
    """Nobody waits for what is read."""


async def _apart(work: Callable[[Callable[[], None]], T]) -> T:
    """Return what `work` returns, which runs apart from the event loop.

    It is given what it calls now and then, which ends it once this is cancelled: else a stop of the service waits.
    """
    is_stopped = Event()

    def go_on() -> None:
        if is_stopped.is_set():
            raise _Stopped

    try:
        return await asyncio.to_thread(work, go_on)
    finally:
        is_stopped.set()


def _opened(received: ReceivedSpans, before_each: Callable[[], None]) -> list[Span]:
    spans = []
    for content in received.contents:
        before_each()
        spans.append(span_from_json(orjson.loads(content)))
    return spans


def _longest(found: Sequence[Conversation]) -> list[Conversation]:
    """Return the longest MAX_HISTORIES conversations of each id, in their order."""
    places: dict[str | None, list[int]] = {}
    for place, one in enumerate(found):
        places.setdefault(one.id, []).append(place)
    kept = {
        place
        for group in places.values()
        for place in sorted(group, key=lambda place: -len(found[place].steps))[:MAX_HISTORIES]
    }
    return [one for place, one in enumerate(found) if place in kept]


def _has_ended(spans: Iterable[Span]) -> bool:
    """Return whether the run of an agent that is the root of the newest trace has ended: its span is sent then."""
    newest: tuple[datetime, str] | None = None
    ended = set[str]()
    for span in spans:
        at = span.began_at or span.ended_at
        if at is not None and (newest is None or at > newest[0]):
            newest = at, span.trace
        if span.parent is None and kind_of(span) is Kind.AGENT:
            ended.add(span.trace)
    return newest is not None and newest[1] in ended
