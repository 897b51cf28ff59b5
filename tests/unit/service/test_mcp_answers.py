"""Plans as flowcharts, errors in the words of the tools, budgets, and what agents are told to configure."""

from __future__ import annotations

import ast
import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from fix_examples import examples
from graphql import build_schema
from hostile_texts import HOSTILE_TEXT
from hypothesis import given
from hypothesis import strategies as st

import stratagraph.graphql
import stratagraph.memory
import stratagraph.store
from stratagraph.graphql.schema import sdl
from stratagraph.service.mcp.client_configs import CLIENTS, Server, configuration
from stratagraph.service.mcp.definitions import BY_NAME
from stratagraph.service.mcp.mermaid import flowchart
from stratagraph.service.mcp.refusals import refused
from stratagraph.service.mcp.texts import Budget
from stratagraph.service.mcp.tools import Caller, Session, run
from stratagraph_client import AsyncMemory
from stratagraph_client.errors import Unavailable, error_of
from stratagraph_client.operations.plan_graph import PlanGraphResult

LINE = re.compile(r'flowchart LR|  s\d+\["[^"<>`\\\n]+"\]|  s\d+ (-->|-\.->) s\d+')


def plan_of(labels: list[str]) -> PlanGraphResult:
    step = {"kind": "STEP", "op": "op", "params": None, "guards": None, "rank": 0, "order": 0, "depth": 0, "count": 1}
    step |= {"status": "UNTRIED", "executions": 0, "failures": 0}
    now = datetime.now(UTC)
    return PlanGraphResult.model_validate(
        {
            "id": "i",
            "planId": "p",
            "version": "1",
            "composed": False,
            "intent": None,
            "state": "ACTIVE",
            "validFrom": now,
            "validTo": None,
            "collapsed": False,
            "stepCount": len(labels),
            "linkCount": 1,
            "criticalPath": [],
            "metrics": {"avgLatencyMs": None, "failureRate": None, "executionCount": 0, "lastExecutedAt": None},
            "steps": [step | {"id": f"node {number}", "label": label} for number, label in enumerate(labels)],
            "links": [
                {
                    "id": f"l{number}",
                    "source": f"node {number}",
                    "target": f"node {number + 1}",
                    "kind": kind,
                    "count": 1,
                }
                for number, kind in zip(range(len(labels)), ("CONTROL", "DATA") * len(labels), strict=False)
            ],
        }
    )


@given(st.lists(HOSTILE_TEXT, min_size=1, max_size=5))
@examples(50)
def test_a_flowchart_is_mermaid_whatever_steps_are_called(labels: list[str]) -> None:
    lines = flowchart(plan_of(labels)).split("\n")
    assert len(lines) == 2 * len(labels)  # the head, a line a step, and the links but the one to nowhere
    for line in lines:
        assert LINE.fullmatch(line), line


def test_a_flowchart_shows_steps_and_links() -> None:
    assert flowchart(plan_of(["build", 'run "tests"'])).split("\n") == [
        "flowchart LR",
        '  s0["build"]',
        '  s1["run #quot;tests#quot;"]',
        "  s0 --> s1",
    ]


@pytest.mark.parametrize(
    ("code", "message", "path", "said"),
    [
        ("INVALID_INPUT", "taskDescriptor: is empty; say more", ["taskDescriptor"], "query: is empty; say more."),
        ("INVALID_INPUT", "memory.agentTurn.threadId: too long", ["threadId"], "thread: too long."),
        ("INVALID_INPUT", "usedRecordIds.0: 'a' is bad.", ["usedRecordIds", "0"], "used_ids.0: 'a' is bad."),
        ("NOT_FOUND", "There is no record 1.", ["recordId"], "There is no record 1. Call recall for current ids."),
        (
            "NOT_FOUND",
            "no such thread",
            ["memory", "threadId"],
            "no such thread. Call log_step with this thread first.",
        ),
        ("FORBIDDEN", "Not allowed.", None, "Not allowed. Do not try again; tell the user that this credential"),
        ("RATE_LIMITED", "Too many.", None, "Too many. Wait 7 s before you call again"),
        ("UNAVAILABLE", "It is away.", None, "It is away. Go on without memory, and try again in 7 s."),
        ("EPISODIC_IMMUTABLE", "x", ["recordId"], "What has happened is never changed. Call forget with erase: true"),
    ],
)
def test_an_error_of_the_api_is_told_in_the_words_of_the_tools(
    code: str, message: str, path: list[str] | None, said: str
) -> None:
    fields = {"code": code, "path": path, "retryable": False, "retryAfter": 7.2}
    assert refused(error_of(fields, message)).message.startswith(said)


def advising() -> Iterator[str]:
    """Yield the text of each error that the rooms make, as far as it is written down."""
    for room in (stratagraph.store, stratagraph.memory, stratagraph.graphql):
        for folder in room.__path__:
            for path in Path(folder).rglob("*.py"):
                for node in ast.walk(ast.parse(path.read_text())) if "`" in path.read_text() else ():
                    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                        texts = [one.value for one in ast.walk(node) if isinstance(one, ast.Constant)]
                        yield "".join(text for text in texts if isinstance(text, str))


def test_no_refusal_advises_an_operation_that_is_no_tool() -> None:
    schema = build_schema(sdl())
    roots = (schema.query_type, schema.mutation_type, schema.subscription_type)
    operations = {name for root in roots if root is not None for name in root.fields} - set(BY_NAME)
    advised = [text for text in advising() if operations & set(re.findall(r"`(\w+)`", text))]
    assert len(advised) > 3, "the search finds nothing"
    for text in advised:
        for code in ("INVALID_INPUT", "NOT_FOUND", "IDEMPOTENCY_MISMATCH", "LIMIT_EXCEEDED", "VERSION_CONFLICT"):
            told = refused(error_of({"code": code}, text)).message
            assert not operations & set(re.findall(r"`(\w+)`", told)), f"{text}\n{told}"
            assert len(told) > 20


def test_an_outcome_that_was_reported_otherwise_is_told_without_operations() -> None:
    message = "retrievalId: the outcome of 1 was reported as success, with other details; it is reported once."
    advice = " Use `reinforce` or `penalize` to correct single records."
    told = refused(error_of({"code": "IDEMPOTENCY_MISMATCH", "path": ["retrievalId"]}, message + advice))
    assert told.message == message.replace("retrievalId", "retrieval_id") + (
        " Leave it as it is; call correct or forget for a memory that is wrong."
    )


async def test_a_service_that_is_not_there_is_told_as_such() -> None:
    async with AsyncMemory("http://127.0.0.1:9", timeout_s=0.2) as memory:
        with pytest.raises(Exception, match=r"cannot be reached.*Go on without memory") as told:
            await run(Caller(memory=memory, session=Session()), "recall", {"query": "parrot"})
    assert not isinstance(told.value, Unavailable)


@given(st.integers(50, 8_000), st.lists(st.integers(0, 50_000), max_size=60))
@examples(100)
def test_memories_fit_into_a_budget(tokens: int, lengths: list[int]) -> None:
    budget = Budget(tokens)
    taken: list[str] = []
    for length in lengths:
        text = budget.take("x" * length, is_first=not taken)
        if text is None:
            break
        taken.append(text)
    assert bool(taken) == bool(lengths)
    assert sum(len(text) // 4 for text in taken) <= tokens


SERVERS = [
    Server(command="/opt/my tools/stratagraph", data_dir='/home/a user/it\'s\\ "here"', url=None),
    Server(command="/opt/stratagraph", data_dir="/d", url="https://memory.example.org/mcp"),
]


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("client", CLIENTS)
def test_what_agents_are_told_can_be_read_by_them(client: str, server: Server) -> None:
    where, text = configuration(client, server)
    assert where.endswith(":")
    if client == "claude-code":
        words = shlex.split(text)
        assert words[:3] == ["claude", "mcp", "add"]
        if server.url is None:
            assert words[-2:] == [server.command, "mcp"]
            assert f"STRATAGRAPH_DATA_DIR={server.data_dir}" in words
        else:
            assert server.url in words
        return
    if client == "codex":
        entry = tomllib.loads(text)["mcp_servers"]["stratagraph"]
    else:
        entry = next(iter(json.loads(text).values() if client != "vscode" else [json.loads(text)["servers"]]))[
            "stratagraph"
        ]
    if server.url is None:
        assert (entry["command"], entry["args"]) == (server.command, ["mcp"])
        assert entry["env"] == {"STRATAGRAPH_DATA_DIR": server.data_dir}
    else:
        assert "https://memory.example.org" in json.dumps(entry)
    assert "sg_" not in text.replace("sg_...", "")
