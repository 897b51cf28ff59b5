"""Random sequences of MCP calls, valid and not: no fault, no half write, and no answer without bounds."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pytest
from fix_examples import repeated
from fix_mcp import LEGACY, MODERN, Served, Wire, serving_mcp
from hostile_texts import HOSTILE, MARKERS, SEQUENCES
from stored_tables import Tables, changed
from structlog.testing import capture_logs
from uuid_utils import uuid7

from stratagraph.service.mcp.definitions import BY_NAME, Argument, Kind
from stratagraph.store.model.enums import Access, Sensitivity
from stratagraph.store.model.trust import Trust

SEQUENCES_OF_CALLS = 300
MAX_ANSWER = 200_000  # characters of a tool's answer: of a budget of 8,000 tokens, with the rest of each memory
MAX_RESOURCE = 700_000  # characters of both forms of a resource
FAULTS = re.compile(r"Traceback|Error\(|\.py\b|0x[0-9a-f]{6,}|pydantic|psycopg|site-packages", re.IGNORECASE)
LOGGED = {"internal error", "tool failed", "request failed", "capture failed", "unhandled exception"}
WORDS = ("parrot", "speaks", "Basque", "nuts", "moved", "Berlin", "tea", "deploy", "failed", "Friday")
WRONG: tuple[Any, ...] = (
    *("", " ", "\0", "\ud800", "x\udfff", "x" * 300, "x" * 120_000, HOSTILE, *MARKERS[:3], *SEQUENCES[:3]),
    *(0, -1, 1, 10**9, 2**70, 1.5, 5.0, float("nan"), True, False, None),
    *([], [""], [1], ["x"] * 60, [["x"]], {}, {"a": "\ud800"}, {"a": {"b": [None, 1e300]}}, {"\0": 1}),
    *("null", "undefined", "../../etc/passwd", "'; DROP TABLE record; --", "{{7*7}}", "${x}", "%s%n", "$(reboot)"),
)


class Caller:
    """Makes calls of which about half are valid, with what it has learned of earlier answers.

    `foreign` are ids of another tenant.
    """

    def __init__(self, foreign: Sequence[str]) -> None:
        self.rng = Random()
        self.foreign = foreign
        self.ids: dict[str, list[str]] = {"id": [], "retrieval_id": [], "playbook_id": [], "thread": []}

    def request(self) -> tuple[str, dict[str, Any]]:
        rng = self.rng
        if rng.random() < 0.85:
            name = rng.choice([*BY_NAME])
            return "tools/call", {"name": name, "arguments": self._arguments(BY_NAME[name].arguments)}
        kind = rng.choice(("record", "episode", "thread", "plan", "passwd"))
        name = self._id("thread" if kind == "thread" else "id")
        return rng.choice(
            (
                ("resources/read", {"uri": f"stratagraph://{kind}/{name}"}),
                ("resources/read", {"uri": str(rng.choice(WRONG))}),
                (
                    "prompts/get",
                    {"name": rng.choice(("use_memory", "reflect", "x")), "arguments": {"task": self._text()}},
                ),
                ("tools/call", {"name": str(rng.choice(WRONG)), "arguments": {}}),
                ("tools/call", {"name": "recall", "arguments": rng.choice(WRONG)}),
                (str(rng.choice(WRONG)), {}),
                ("tools/list", {"cursor": rng.choice(WRONG)}),
                ("subscriptions/listen", {}),
            )
        )

    def _arguments(self, known: Mapping[str, Argument]) -> dict[str, Any]:
        rng = self.rng
        given = {
            name: self._value(name, argument)
            for name, argument in known.items()
            if argument.is_required or rng.random() < 0.4
        }
        if rng.random() < 0.35:
            given[rng.choice([*known, "bogus"])] = rng.choice(WRONG)
        if given and rng.random() < 0.1:
            del given[rng.choice([*given])]
        return given

    def _value(self, name: str, argument: Argument) -> Any:
        rng = self.rng
        makers: dict[Kind, Callable[[], Any]] = {
            Kind.TEXT: self._text,
            Kind.ID: lambda: self._id(name),
            Kind.TEXTS: lambda: rng.sample(WORDS, rng.randint(0, 3)),
            Kind.IDS: lambda: [self._id("id") for _ in range(rng.randint(0, 3))],
            Kind.INTEGER: lambda: rng.randint(argument.least, argument.most),
            Kind.FLAG: lambda: rng.random() < 0.5,
            Kind.OBJECT: lambda: {"query": self._text(), "n": rng.randint(0, 9)},
        }
        if argument.choices:
            return rng.choice(argument.choices)
        return self._id("thread") if name == "thread" else makers[argument.kind]()

    def _text(self) -> str:
        return " ".join(self.rng.choices(WORDS, k=self.rng.randint(1, 6)))

    def _id(self, name: str) -> str:
        rng = self.rng
        own = self.ids[name if name in self.ids else "id"]
        if own and rng.random() < 0.75:
            return rng.choice(own[-20:])
        return rng.choice([*self.foreign, "x", "01980d6e-6c1f-7c11-8d5e-2f9a3b4c5d6e", str(uuid7())])

    def learn(self, answer: Mapping[str, Any]) -> None:
        for name, known in self.ids.items():
            if isinstance(answer.get(name), str):
                known.append(answer[name])


def is_refused(answer: Mapping[str, Any]) -> bool:
    return "error" in answer or bool(answer.get("result", {}).get("isError"))


async def sent(wire: Wire, method: str, params: dict[str, Any]) -> Mapping[str, Any]:
    """Send a request, and return its answer within bounds."""
    response = await wire.post(method, params)
    assert response.status_code < 500, response.text
    text = response.text
    assert len(text) <= (MAX_RESOURCE if method == "resources/read" else 2 * MAX_ANSWER), len(text)
    answer: dict[str, Any] = response.json()
    if is_refused(answer):
        assert not FAULTS.search(text.replace("etc/passwd", "")), text[:2_000]
        assert len(text) < 4_000
    return answer


async def token(served: Served, tenant: str) -> str:
    trust = Trust(tenant=tenant, actor="agent", access=Access.WRITE, ceiling=Sensitivity.LOW, scopes=None)
    _, made = await served.runtime.credentials.create(trust)
    return made


async def test_random_sequences_of_calls_leave_no_fault_and_no_half_write(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stratagraph.memory.feedback.waiting.WAIT_S", 0.0)
    monkeypatch.setattr("stratagraph.memory.feedback.waiting.YOUNG_S", 0.0)  # or the client would try again
    ends: Counter[str] = Counter()
    settings = {"single_user": "off", "rate": "1000000", "burst": "1000000"}
    async with serving_mcp(database_url, tmp_path, **settings) as served:
        wires = [Wire(served.http, revision, await token(served, "own")) for revision in (MODERN, LEGACY)]
        other = served.wire(await token(served, "other"))
        foreign = [
            (await other.call("remember", text="The parrot of another tenant"))["id"],
            (await other.call("log_step", text="hidden"))["thread"],
            (await other.call("recall", query="parrot"))["retrieval_id"],
        ]
        with psycopg.connect(database_url, autocommit=True) as connection, capture_logs() as logs:
            tables = Tables(connection)
            before = tables.state()
            caller = Caller(foreign)
            for number in range(repeated(SEQUENCES_OF_CALLS)):
                caller.rng.seed(number)
                for _ in range(caller.rng.randint(1, 4)):
                    method, params = caller.request()
                    wire = caller.rng.choice(wires)
                    case = f"sequence {number}, {method} {json.dumps(params)[:2_000]}"
                    answer = await sent(wire, method, params)
                    assert not [event for event in logs if event["event"] in LOGGED], (case, logs)
                    assert "another tenant" not in json.dumps(answer), case
                    after = tables.state()
                    writes = method == "tools/call" and params["name"] in BY_NAME and BY_NAME[params["name"]].writes
                    if is_refused(answer) or not writes:
                        assert changed(before, after) == {}, (case, answer)
                    before = after
                    logs.clear()
                    result = answer.get("result", {})
                    what = params.get("name") if method == "tools/call" and params["name"] in BY_NAME else method
                    ends[f"{what} {'refused' if is_refused(answer) else 'answered'}"] += 1
                    if isinstance(result.get("structuredContent"), dict) and not is_refused(answer):
                        assert json.loads(result["content"][0]["text"]) == result["structuredContent"], case
                        caller.learn(result["structuredContent"])
    for name in BY_NAME:
        assert ends[f"{name} answered"] > 5, ends
        assert ends[f"{name} refused"] > 5, ends
