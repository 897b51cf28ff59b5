"""Every saved query of the Neo4j Browser kit, run on an imported git history and on imported conversations.

A question that cannot have an answer in one of the two stores has one in the other.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import neo4j
import pytest
from fix_git import new_repository
from fix_memory import Memory
from story import sync_mirror

from stratagraph.graph_sync.browser import saved_queries
from stratagraph.memory.imports.git_history import import_history, open_repository
from stratagraph.memory.imports.traces import import_traces
from stratagraph.store.model.enums import MemoryType, SourceKind

pytestmark = pytest.mark.neo4j

SETTER, *QUERIES = saved_queries()
AIRLINE = Path(__file__).resolve().parents[4] / "shared" / "data" / "tau-airline" / "traces.jsonl"
CONVERSATIONS = 10  # of those recorded, which have calls that failed
# A history has no threads and no calls. Conversations have both, and what an agent learns from them.
NOT_IN_GIT = {"07", "08", "09", "10", "12", "13", "14", "15", "16", "17", "21", "22", "23", "24", "25"}


async def ask(bolt: str) -> tuple[dict[str, Any], dict[str, int]]:
    """Return the parameters that the first query sets, and the number of rows that each of the others returns."""
    async with neo4j.AsyncGraphDatabase.driver(bolt, warn_notification_severity="OFF") as driver:
        parameters: dict[str, Any] = {}
        for name, how in SETTER.parameters.items():
            parameters[name] = (await driver.execute_query(f"RETURN {how} AS value")).records[0]["value"]
        rows = {}
        for query in QUERIES:
            given = {name: parameters[name] for name in query.parameters}
            rows[query.title[:2]] = len((await driver.execute_query(query.text, given)).records)
        return parameters, rows


def empty(rows: dict[str, int]) -> set[str]:
    return {number for number, count in rows.items() if not count}


async def test_questions_about_an_imported_git_history_have_answers(
    memory: Memory, clean_neo4j: str, tmp_path: Path
) -> None:
    repository = new_repository(tmp_path / "widgets")
    for number, (path, author) in enumerate(
        [("api/session.py", "Ann <ann@a.example>"), ("api/tokens.py", "Ben <ben@a.example>")] * 4
    ):
        repository.write(path, f"{number}\n" * 9)
        repository.commit(f"Change {path}, which fixes #{number % 3}", author=author)
    summary = await import_history(memory.capture, memory.trust, await open_repository(repository.path))
    assert summary.items == 8
    await sync_mirror(memory, clean_neo4j)
    rows = (await ask(clean_neo4j))[1]
    assert empty(rows) == NOT_IN_GIT
    assert await labels(clean_neo4j) == {"Commit": 8}


CALLED = {"id": "c1", "function": {"name": "find_flight", "arguments": '{"to": "Houston"}'}}
BOOKED = {"id": "c2", "function": {"name": "book_flight", "arguments": '{"flight": "HAT001"}'}}
SPOKEN = {
    "id": "trip",
    "reward": 1.0,
    "messages": [
        {"role": "user", "content": "I want to fly to Houston"},
        {"role": "assistant", "content": "", "tool_calls": [CALLED]},
        {"role": "tool", "tool_call_id": "c1", "content": "HAT001, HAT002"},
        {"role": "assistant", "content": "", "tool_calls": [BOOKED]},
        {"role": "tool", "tool_call_id": "c2", "content": "Error: no seat is left"},
        {"role": "assistant", "content": "Flight HAT001 is full"},
    ],
}


@pytest.mark.parametrize("recorded", [True, False])
async def test_questions_about_imported_conversations_and_what_was_learned_from_them_have_answers(
    memory: Memory, clean_neo4j: str, tmp_path: Path, recorded: bool
) -> None:
    file = tmp_path / "traces.jsonl"
    if recorded and not AIRLINE.exists():
        pytest.skip(f"no recorded conversations at {AIRLINE}")
    lines = AIRLINE.read_text().splitlines()[:CONVERSATIONS] if recorded else [json.dumps(SPOKEN)]
    file.write_text("\n".join(lines))
    summary = await import_traces(memory.capture, memory.trust, file)
    assert (summary.items, summary.refused) == (len(lines), [])
    await learn(memory)
    await sync_mirror(memory, clean_neo4j)
    parameters, rows = await ask(clean_neo4j)
    assert None not in parameters.values()
    assert empty(rows) == set(), "what has no answer in a git history has one here"
    found = await labels(clean_neo4j)
    assert found["Episode"] == len(lines)
    assert {"Turn", "ToolCall"} <= found.keys() <= {"Turn", "ToolCall", "Episode", "Event"}


async def labels(bolt: str) -> dict[str, int]:
    """Return the number of episodic nodes with each label of a kind of event."""
    async with neo4j.AsyncGraphDatabase.driver(bolt) as driver:
        rows = await driver.execute_query(
            "MATCH (n:Episodic) UNWIND labels(n) AS label WITH label, count(*) AS nodes"
            " WHERE NOT label IN ['Mirrored', 'Memory', 'Past', 'Episodic'] RETURN label, nodes"
        )
    return {row["label"]: row["nodes"] for row in rows.records}


async def learn(memory: Memory) -> None:
    """Capture what an agent learns from the imported calls: a plan of the tools called, a skill, and facts."""
    async with memory.database.engine.begin() as connection:
        calls = (
            await connection.exec_driver_sql(
                "SELECT id, payload #>> '{tool_graph,0,tool}' AS tool, payload #>> '{timeline,0,event_kind}' AS kind"
                " FROM record WHERE payload -> 'tool_graph' IS NOT NULL ORDER BY id"
            )
        ).all()
    failed = next(call for call in calls if call.kind == "tool_error")
    tools = list(dict.fromkeys([failed.tool, *(call.tool for call in calls)]))[:5]
    plan = {
        "plan_id": "learned",
        "version": "1",
        "intent": "do as in the conversations",
        "nodes": [{"id": tool, "op": tool} for tool in tools],
        "edges": [{"from": near, "to": far, "kind": "control"} for near, far in pairwise(tools)],
    }
    await memory.remember(SourceKind.OBSERVATION, plan, proposed_type=MemoryType.PLAN_GRAPH)
    seen = [{"source_type": "event", "source_id": str(failed.id)}]
    for reason in ("a wrong argument", "an outage"):
        await memory.observe(failed.tool, "fails_because_of", reason, evidence=seen, revision_policy="contest")
    for limit in ("one attempt", "two attempts"):
        await memory.observe(failed.tool, "is_given_up_after", limit, evidence=seen, revision_policy="replace")
    task = {"thread_id": "learning", "state": "planning", "context_summary": f"Find out why {failed.tool} fails"}
    await memory.remember(SourceKind.WORKING_STATE, task)
    note = {"event_kind": "note", "ref": "n1", "summary": "the coffee machine is broken again"}
    await memory.remember(SourceKind.EVENT, note)
