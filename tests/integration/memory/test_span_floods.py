"""Very many spans of one caller: work in bounded parts, callers in turn, and a reading that ends when it is stopped."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from fix_conversations import chat_file, threads
from fix_jobs import resources_of
from fix_memory import Memory, trust_of
from fix_spans import MadeSpan, as_otlp, as_parts, spans_of
from structlog.testing import capture_logs

from stratagraph.consolidation.jobs.import_spans import ImportSpans, ImportSpansConfig
from stratagraph.memory.imports import span_intake
from stratagraph.memory.imports.conversation import Called, Returned, Said, Step
from stratagraph.memory.imports.formats.otel_spans import Span, read_span
from stratagraph.memory.imports.span_intake import FINISHED_S, QUIET_S
from stratagraph.memory.imports.traces import import_traces
from stratagraph.store.model.enums import Access

TRACE = "5b8efff798038103d269b633813fc60c"


def questions(count: int, conversation: str) -> list[MadeSpan]:
    """Calls of a model of which none continues another."""
    return [
        MadeSpan(
            id=place + 1,
            parent=999_999,
            name="chat",
            began=place,
            ended=place + 1,
            attributes={
                "gen_ai.operation.name": "chat",
                "gen_ai.conversation.id": conversation,
                "gen_ai.input.messages": json.dumps([as_parts([Said(role="user", text=f"Question {place}?")])]),
                "gen_ai.output.messages": json.dumps([as_parts([Said(role="assistant", text=f"Answer {place}.")])]),
            },
        )
        for place in range(count)
    ]


def read(spans: list[MadeSpan], trace: str = TRACE) -> list[Span]:
    return [read_span(as_otlp(one, trace), "") for one in spans]


async def test_the_flood_of_one_caller_delays_no_other_and_ends(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(span_intake, "MAX_SPANS", 25)
    monkeypatch.setattr(span_intake, "MAX_HISTORIES", 10)
    flood, victim = (trust_of(actor=name, access=Access.WRITE, scopes={f"project:{name}"}) for name in ("fay", "vic"))
    resources = resources_of(memory)
    intake = resources.span_intake
    job = ImportSpans(resources, ImportSpansConfig(longest_s=0.0))  # one conversation in each run
    for number in range(1, 4):
        await intake.receive(flood, read(questions(60, f"flood {number}"), f"{number:032x}"))
        memory.clock.forward(timedelta(seconds=QUIET_S))
    with capture_logs() as logs:
        result = await job.run_once(memory.clock.now())
    assert (result.more, result.counts["refused"]) == (True, 15)
    (refusal,) = [one for one in logs if one["event"] == "conversations of received spans refused"]
    assert (refusal["caller"], refusal["traces"]) == ("fay", [f"{1:032x}"])
    assert refusal["reasons"] == {"LIMIT_EXCEEDED": 15}
    assert "uestion" not in str(logs)
    await intake.receive(victim, read(questions(1, "victim")))
    memory.clock.forward(timedelta(seconds=QUIET_S))
    await job.run_once(memory.clock.now())  # the victim's turn, though the others have waited longer
    assert (await threads(memory, victim)).keys() == {"trace:victim"}
    runs = 0
    while (await job.run_once(memory.clock.now())).counts["traces_imported"]:
        runs += 1
    assert runs == 2 + 3 + 3  # of 60 spans, 25 at a time
    assert len(await threads(memory, flood)) == 3 * 10


async def test_a_conversation_of_very_many_spans_is_read_in_parts(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(span_intake, "MAX_SPANS", 3)
    steps: list[Step] = []
    for turn in range(1, 9):
        steps += [
            Said(role="user", text=f"Is a berth free at quay {turn}?"),
            Called(tool="find_berths", arguments={"quay": turn}, turn=turn, id=f"call_{turn}"),
            Returned(text=f'{{"berth": {turn}}}', id=f"call_{turn}"),
            Said(role="assistant", text=f"Berth {turn} is free."),
        ]
    resources = resources_of(memory)
    spans = spans_of(steps, conversation="x")
    await resources.span_intake.receive(memory.trust, read(spans))
    memory.clock.forward(timedelta(seconds=FINISHED_S + 1))
    runs = 0
    while await memory.value("SELECT count(*) AS n FROM received_span"):
        before = await memory.value("SELECT count(*) AS n FROM received_span WHERE is_new")
        await ImportSpans(resources).run_once(memory.clock.now())
        left = await memory.value("SELECT count(*) AS n FROM received_span WHERE is_new")
        assert left == max(0, before - 6)  # it was due, and finished
        runs += 1
    assert runs == -(-len(spans) // 6)
    await import_traces(memory.capture, memory.trust, chat_file(tmp_path, steps, id_="y"))
    both = await threads(memory)
    assert both["trace:x"] == both["trace:y"]


async def test_an_id_with_very_many_conversations_takes_no_more_of_them(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(span_intake, "MAX_HISTORIES", 5)
    resources = resources_of(memory)
    job = ImportSpans(resources)
    refused = 0
    for place, span in enumerate(questions(9, "x")):
        await resources.span_intake.receive(memory.trust, read([span], f"{place + 1:032x}"))
        memory.clock.forward(timedelta(seconds=FINISHED_S + 1))
        refused += (await job.run_once(memory.clock.now())).counts["refused"]
    assert (await threads(memory)).keys() == {"trace:x", *(f"trace:x#{number}" for number in range(2, 6))}
    assert refused >= 4
    # One that is known goes on.
    longer = questions(1, "x")[0]
    messages = [
        Said(role="user", text="Question 0?"),
        Said(role="assistant", text="Answer 0."),
        Said(role="user", text="Why?"),
    ]
    attributes: dict[str, Any] = {
        **longer.attributes,
        "gen_ai.input.messages": json.dumps([as_parts([one]) for one in messages]),
    }
    spans = [MadeSpan(id=99, parent=1, name="chat", began=99, ended=100, attributes=attributes)]
    await resources.span_intake.receive(memory.trust, read(spans, "f" * 32))
    memory.clock.forward(timedelta(seconds=FINISHED_S + 1))
    counts = (await job.run_once(memory.clock.now())).counts
    assert (counts["captures_stored"], counts["refused"]) == (2, 0)


async def test_reading_apart_from_the_loop_ends_when_it_is_cancelled() -> None:
    begun, ended = Event(), Event()

    def work(go_on: Callable[[], None]) -> None:
        try:
            while True:
                begun.set()
                go_on()
        finally:
            ended.set()

    task = asyncio.create_task(span_intake._apart(work))
    await asyncio.to_thread(begun.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(ended.wait, 10)
