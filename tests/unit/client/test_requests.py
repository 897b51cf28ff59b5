"""When the Python client sends a request again, and when not: over scripted answers, on a clock that only it moves."""

from __future__ import annotations

import asyncio
import json
import logging
import multiprocessing
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stratagraph_client import AnswerLost, AsyncMemory, InvalidInput, Memory, StratagraphError, Unavailable
from stratagraph_client.operations.input_types import RetireLessonsInput, RetractInput
from stratagraph_client.timing import Timing

TIMEOUT_S = 30.0
LATENCY_S = 0.01
KEY = "key-that-is-secret"
RECORD = {
    "id": "1", "type": "SEMANTIC", "state": "ACTIVE", "version": 1, "name": "n", "text": "t", "payload": {},
    "scope": "s", "sensitivity": "LOW", "tags": [], "salience": 1.0, "confidence": 1.0, "conditions": None,
    "redacted": False, "createdAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-01T00:00:00Z",
    "occurredAt": None, "validFrom": None, "validTo": None,
}  # fmt: skip
RECEIPT = {
    "candidateId": "1", "sequence": "SEQ", "state": "COMMITTED", "mentions": [], "changes": [], "unindexedTerms": 0,
    "textReading": None, "warnings": [],
}  # fmt: skip
REVISED = {"record": RECORD, "records": [], "edges": [], "receipt": RECEIPT, "queued": 0, "replayed": False}
DATA: dict[str, Any] = {
    "Retract": {"retract": REVISED},
    "RetireLessons": {"retireLessons": {"lessonIds": []}},
    "Predicates": {"predicates": []},
    "Playbook": {"playbook": {"text": "", "lessonIds": [], "playbookId": "1"}},
}


@dataclass
class Script:
    """Answers requests one after the other as `steps` say, then well. `seen` are the bodies that arrived."""

    steps: Sequence[str]
    now: float = 0.0
    seen: list[dict[str, Any]] = field(default_factory=list)
    headers: list[httpx.Headers] = field(default_factory=list)
    slept: list[float] = field(default_factory=list)

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.now += LATENCY_S
        step = self.steps[len(self.seen)] if len(self.seen) < len(self.steps) else "ok"
        body = json.loads(request.content)
        self.seen.append(body)
        self.headers.append(request.headers)
        match step.split():
            case ["refused"]:
                raise httpx.ConnectError("refused", request=request)
            case ["lost"]:
                raise httpx.RemoteProtocolError("cut off", request=request)
            case ["slow"]:
                self.now += request.extensions["timeout"]["read"]
                raise httpx.ReadTimeout("slow", request=request)
            case ["away", seconds]:
                return httpx.Response(503, headers={"retry-after": seconds}, content=b"<html>")
            case ["busy", seconds]:
                fields = {"code": "RATE_LIMITED", "retryable": True, "retryAfter": float(seconds)}
                return httpx.Response(429, json={"errors": [{"message": "Slow down.", "extensions": fields}]})
            case ["wrong"]:
                fields = {"code": "INVALID_INPUT", "retryable": False, "path": ["input", "x"]}
                return httpx.Response(200, json={"errors": [{"message": "Wrong.", "extensions": fields}]})
        return httpx.Response(200, json={"data": DATA[body["operationName"]]})

    def timing(self) -> Timing:
        async def async_sleep(seconds: float) -> None:
            self.sleep(seconds)

        return Timing(
            clock=lambda: self.now, sleep=self.sleep, async_sleep=async_sleep, chance=random.Random(len(self.steps))
        )

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


STEPS = st.sampled_from(["refused", "lost", "slow", "away 3", "away 0", "busy 2", "busy 20"])
CALLS: dict[str, Callable[[Any], Any]] = {
    "Retract": lambda memory: memory.operations.retract(RetractInput(recordId="1", rationale="gone")),
    "RetireLessons": lambda memory: memory.operations.retire_lessons(RetireLessonsInput()),
    "Predicates": lambda memory: memory.operations.predicates(),
}


def outcome_of(script: Script, call: str, *, is_async: bool) -> StratagraphError | None:
    """Make a call, and return what it raised."""

    async def made() -> None:
        transport = httpx.MockTransport(script.answer)
        async with AsyncMemory("http://host", api_key=KEY, timeout_s=TIMEOUT_S, transport=transport) as memory:
            memory.operations.timing = script.timing()
            await CALLS[call](memory)

    try:
        if is_async:
            asyncio.run(made())
        else:
            transport = httpx.MockTransport(script.answer)
            with Memory("http://host", api_key=KEY, timeout_s=TIMEOUT_S, transport=transport) as memory:
                memory.operations.timing = script.timing()
                CALLS[call](memory)
    except StratagraphError as error:
        return error
    return None


@given(st.lists(STEPS, max_size=8), st.sampled_from(sorted(CALLS)), st.booleans())
def test_a_request_is_sent_again_where_that_may_help_and_does_no_harm(
    steps: list[str], call: str, is_async: bool
) -> None:
    script = Script(steps)
    failed = outcome_of(script, call, is_async=is_async)
    sent = len(script.seen)
    assert script.now <= TIMEOUT_S + 2 * LATENCY_S
    assert all(one == script.seen[0] for one in script.seen)  # the same request, with the same idempotency key
    if call == "Retract":
        assert script.seen[0]["variables"]["input"]["idempotencyKey"]
    for step, slept in zip(steps, script.slept, strict=False):
        if step.startswith(("away", "busy")):
            assert slept >= float(step.split()[1])
    answered = [*steps, "ok"][sent - 1]
    assert (failed is None) == (answered == "ok")
    if call == "RetireLessons":  # has no idempotency key: never again after it may have been carried out
        assert not any(step.startswith(("lost", "slow", "away")) for step in steps[: sent - 1])
        if answered.startswith(("lost", "slow", "away")):
            assert isinstance(failed, AnswerLost)
            assert not failed.retryable
    elif failed is not None:
        assert isinstance(failed, Unavailable)
    assert KEY not in f"{failed!r} {failed} {failed and vars(failed)}"


def test_async_and_sync_do_the_same_at_the_same_moments() -> None:
    steps = ["refused", "away 1", "busy 2", "lost"]
    scripts = [Script(steps), Script(steps)]
    for script, is_async in zip(scripts, (True, False), strict=True):
        assert outcome_of(script, "Predicates", is_async=is_async) is None
    assert scripts[0].slept == scripts[1].slept
    assert scripts[0].seen == scripts[1].seen


@given(st.lists(STEPS, max_size=8), st.booleans())
def test_a_service_that_was_never_there_is_waited_for_shortly_and_one_that_is_lost_until_the_deadline(
    steps: list[str], is_async: bool
) -> None:
    script = Script([*steps, *["refused"] * 99])
    failed = outcome_of(script, "Predicates", is_async=is_async)
    assert isinstance(failed, Unavailable)
    if all(step == "refused" for step in steps):
        assert script.now <= 3.0 + 2 * LATENCY_S
        assert len(script.seen) > 3  # it is tried more than once
        assert "stratagraph serve" in str(failed)
    else:
        assert script.now > TIMEOUT_S - 20.0  # the longest pause, for which there is no time


def test_what_is_wrong_is_sent_once() -> None:
    script = Script(["wrong"])
    failed = outcome_of(script, "Retract", is_async=False)
    assert isinstance(failed, InvalidInput)
    assert (failed.path, len(script.seen)) == (["input", "x"], 1)


def test_an_answer_that_drips_is_cut_off_at_the_deadline() -> None:
    script = Script([])

    class Dripping(httpx.SyncByteStream):
        def __iter__(self) -> Any:
            while True:
                script.now += 1.0
                yield b" "

    transport = httpx.MockTransport(lambda _: httpx.Response(200, stream=Dripping()))
    with Memory("http://host", timeout_s=5.0, transport=transport) as memory:
        memory.operations.timing = script.timing()
        with pytest.raises(Unavailable, match="has not answered in time"):
            memory.operations.predicates()
    assert script.now < 7.0


def test_a_deadline_may_be_given_for_one_call() -> None:
    script = Script(["away 3"] * 20)
    with Memory("http://host", transport=httpx.MockTransport(script.answer)) as memory:
        memory.operations.timing = script.timing()
        with pytest.raises(Unavailable):
            memory.operations.predicates(timeout_s=4.0)
    assert len(script.seen) == 2


def test_the_credential_is_sent_and_never_shown(caplog: pytest.LogCaptureFixture) -> None:
    script = Script([])
    caplog.set_level(logging.DEBUG)
    with Memory("http://host", api_key=KEY, transport=httpx.MockTransport(script.answer)) as memory:
        memory.lessons("a task that is private")
        assert KEY not in repr(memory) + repr(memory.operations) + repr(vars(memory))
        assert repr(memory) == "Memory('http://host')"
    assert script.headers[0]["authorization"] == f"Bearer {KEY}"
    assert KEY not in caplog.text
    assert "private" not in caplog.text


def test_the_trace_context_is_that_of_the_caller_or_of_the_current_span(monkeypatch: pytest.MonkeyPatch) -> None:
    script = Script([])
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    with Memory("http://host", traceparent=lambda: parent, transport=httpx.MockTransport(script.answer)) as memory:
        memory.operations.predicates()
    context = SimpleNamespace(
        is_valid=True, trace_id=0x0AF7651916CD43DD8448EB211C80319C, span_id=0xB7AD6B7169203331, trace_flags=1
    )
    module = ModuleType("opentelemetry.trace")
    monkeypatch.setattr(
        module, "get_current_span", lambda: SimpleNamespace(get_span_context=lambda: context), raising=False
    )
    with Memory("http://host", transport=httpx.MockTransport(script.answer)) as memory:
        monkeypatch.delitem(sys.modules, "opentelemetry.trace", raising=False)
        memory.operations.predicates()
        monkeypatch.setitem(sys.modules, "opentelemetry.trace", module)
        memory.operations.predicates()
        context.is_valid = False
        memory.operations.predicates()
    assert [headers.get("traceparent") for headers in script.headers] == [parent, None, parent, None]


def test_a_client_in_another_event_loop_or_process_says_what_to_do() -> None:
    script = Script([])
    memory = AsyncMemory("http://host", transport=httpx.MockTransport(script.answer))
    asyncio.run(memory.operations.predicates())
    with pytest.raises(RuntimeError, match="another event loop"):
        asyncio.run(memory.operations.predicates())
    blocking = Memory("http://host", transport=httpx.MockTransport(script.answer))
    context = multiprocessing.get_context("fork")
    told: Any = context.Queue()

    def child() -> None:
        try:
            blocking.operations.predicates()
        except RuntimeError as error:
            told.put(str(error))

    process = context.Process(target=child)
    process.start()
    assert "before the process forked" in told.get(timeout=10)
    process.join(10)
    blocking.close()


def test_a_client_of_the_callers_own_stays_open() -> None:
    script = Script([])
    with httpx.Client(transport=httpx.MockTransport(script.answer)) as http:
        with Memory("http://host/prefix", http=http) as memory:
            memory.operations.predicates()
        assert not http.is_closed
    assert str(script.headers[0]["host"]) == "host"
