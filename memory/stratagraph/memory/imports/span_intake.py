"""Spans that instrumented agents send: stored at once, imported as conversations when no more come for a while.

The spans of a conversation arrive in several requests, in any order and maybe more than once, children before their
parents. So they are stored first, and the sender is answered. A job then reads all spans of a conversation together, as
if they were those of a file, and imports what is new: as long as the conversation may go on, only what its next spans
will repeat; once its agent's run has ended, or after a long pause, all of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import orjson
import structlog

from stratagraph.memory.capture.service import Capture
from stratagraph.memory.imports.fields import Reading
from stratagraph.memory.imports.formats.otel_attributes import Kind, kind_of
from stratagraph.memory.imports.formats.otel_spans import Span
from stratagraph.memory.imports.formats.otel_steps import conversations_of, own_conversation
from stratagraph.memory.imports.progress import ImportSummary
from stratagraph.memory.imports.span_json import span_from_json, span_to_json
from stratagraph.memory.imports.trace_captures import captures_of
from stratagraph.memory.imports.traces import TraceImport
from stratagraph.memory.records.artifacts import Artifacts
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.clock import Clock
from stratagraph.store.model.enums import Access
from stratagraph.store.model.error_reports import error_report
from stratagraph.store.model.errors import InvalidInput, StratagraphError
from stratagraph.store.model.trust import SINGLE_USER, UNSCOPED, Trust
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.records.received_spans import (
    NewSpan,
    ReceivedSpans,
    TraceKey,
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
MAX_BYTES = 64 << 20  # of the spans of one conversation that are read together, the newest ones
SOURCE = "otlp"
_log = structlog.get_logger(__name__)


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

    async def due(self, *, now: datetime, limit: int) -> list[TraceKey]:
        """Return at most `limit` traces of all tenants whose new spans are to be imported at `now`."""
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

    async def finished(self, *, now: datetime, limit: int) -> list[TraceKey]:
        """Return at most `limit` traces of all tenants that are over at `now`."""
        async with self._database.background(Role.JOBS) as connection:
            return await finished_traces(connection, before=now - timedelta(seconds=FINISHED_S), limit=limit)

    async def import_trace(self, key: TraceKey, *, now: datetime) -> ImportSummary | None:
        """Import what is new of the conversations of a trace; None if it has no spans any more.

        What is refused is logged, by its kind alone. Raises StoreUnavailable, and nothing else.
        """
        tenant = await self._directory.tenant_by_id(key[0])
        async with self._database.background(Role.JOBS) as connection:
            received = await fetch_received_spans(connection, tenant, key[1], most_bytes=MAX_BYTES)
        if received is None:
            return None
        summary = ImportSummary(source=SOURCE)
        try:
            await self._import(received, summary, now=now)
        except StratagraphError as error:
            if error.retryable:
                raise
            _log.error("conversation of received spans not imported", **error_report(error))
        except Exception as error:  # a defect must not keep the conversations of others waiting
            _log.error("conversation of received spans not imported", **error_report(error))
        if summary.refused:
            _log.warning("conversations of received spans refused", conversations=len(summary.refused))
        await self._mark(tenant, received)
        return summary

    async def forget(self, key: TraceKey, *, now: datetime) -> int:
        """Delete the spans of a trace that is over; return their number."""
        async with self._database.background(Role.JOBS) as connection:
            return await delete_read_spans(connection, key, before=now - timedelta(seconds=FINISHED_S))

    async def _import(self, received: ReceivedSpans, summary: ImportSummary, *, now: datetime) -> None:
        spans = await asyncio.to_thread(_opened, received)
        is_over = received.newest_at <= now - timedelta(seconds=FINISHED_S) or _has_ended(spans)
        names = await self._directory.scope_names({received.scope})
        scope = names[received.scope]
        run = TraceImport(
            self._capture,
            received.trust,
            summary=summary,
            artifacts=self._artifacts,
            scope=None if scope == UNSCOPED else scope,
        )
        # Apart from the event loop: each call of a model repeats the whole conversation before it.
        found = await asyncio.to_thread(conversations_of, spans, lambda: Reading(zone=UTC), is_over=is_over)
        for conversation in found:
            await run.add(conversation.id or SOURCE, SOURCE, conversation)
        await run.store()

    async def _mark(self, tenant: Tenant, received: ReceivedSpans) -> None:
        async with self._database.background(Role.JOBS) as connection:
            await mark_spans_read(connection, tenant, received)


def _sorted(spans: Sequence[Span]) -> tuple[Receipt, list[NewSpan]]:
    """Return the spans to be stored: those of agents and models that can be read, each by itself."""
    receipt, kept = Receipt(), []
    for span in spans:
        if not span.is_genai or (kind_of(span) is Kind.OTHER and own_conversation(span) is None):
            receipt.ignored += 1
            continue
        try:
            for conversation in conversations_of([span], lambda: Reading(zone=UTC)):
                captures_of(conversation)
        except InvalidInput as error:
            receipt.refused.append(error.message)
        else:
            conversation_id, content = own_conversation(span), span_to_json(span)
            kept.append(NewSpan(trace=span.trace, id=span.id, conversation=conversation_id, content=content))
    return receipt, kept


def _opened(received: ReceivedSpans) -> list[Span]:
    return [span_from_json(orjson.loads(content)) for content in received.contents]


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
