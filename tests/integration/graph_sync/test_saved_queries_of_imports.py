"""Every saved query of the Neo4j Browser kit, run on nothing but an imported git history and imported conversations."""

from __future__ import annotations

import json
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

pytestmark = pytest.mark.neo4j

SETTER, *QUERIES = saved_queries()
AIRLINE = Path(__file__).resolve().parents[4] / "shared" / "data" / "tau-airline" / "traces.jsonl"
CONVERSATIONS = 10  # of those recorded, which have calls that failed
# A history has no threads and no calls, and conversations replace nothing. Together they answer everything.
LEARNED = {"26", "27", "28"}  # by consolidation, from what was imported
NOT_IN_GIT = LEARNED | {"07", "08", "14", "15", "16", "17", "24", "25"}
NOT_IN_CONVERSATIONS = LEARNED | {"09"}


async def ask(bolt: str) -> tuple[dict[str, Any], set[str]]:
    """Return the parameters that the first query sets, and the numbers of the queries that return no rows.

    Check that no query warns, as of a name that the database does not know.
    """
    async with neo4j.AsyncGraphDatabase.driver(bolt, warn_notification_severity="OFF") as driver:
        parameters: dict[str, Any] = {}
        for name, how in SETTER.parameters.items():
            parameters[name] = (await driver.execute_query(f"RETURN {how} AS value")).records[0]["value"]
        empty = set()
        for query in QUERIES:
            given = {name: parameters[name] for name in query.parameters}
            result = await driver.execute_query(query.text, given)
            assert not any(status.is_notification for status in result.summary.gql_status_objects), query.title
            if not result.records:
                empty.add(query.title[:2])
        return parameters, empty


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


async def test_every_question_about_an_imported_history_and_an_imported_conversation_has_an_answer(
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
    assert (await ask(clean_neo4j))[1] == NOT_IN_GIT
    assert await labels(clean_neo4j) == {"Commit": 8}

    (tmp_path / "traces.jsonl").write_text(json.dumps(SPOKEN))
    summary = await import_traces(memory.capture, memory.trust, tmp_path / "traces.jsonl")
    assert (summary.items, summary.refused) == (1, [])
    await sync_mirror(memory, clean_neo4j)
    parameters, empty = await ask(clean_neo4j)
    assert None not in parameters.values()
    assert empty == LEARNED


async def test_questions_about_recorded_conversations_have_answers(
    memory: Memory, clean_neo4j: str, tmp_path: Path
) -> None:
    if not AIRLINE.exists():
        pytest.skip(f"no recorded conversations at {AIRLINE}")
    file = tmp_path / "traces.jsonl"
    file.write_text("\n".join(AIRLINE.read_text().splitlines()[:CONVERSATIONS]))
    summary = await import_traces(memory.capture, memory.trust, file)
    assert (summary.items, summary.refused) == (CONVERSATIONS, [])
    await sync_mirror(memory, clean_neo4j)
    assert (await ask(clean_neo4j))[1] == NOT_IN_CONVERSATIONS
    found = await labels(clean_neo4j)
    assert found["Episode"] == CONVERSATIONS
    assert {"Turn", "ToolCall"} <= found.keys() <= {"Turn", "ToolCall", "Episode", "Event"}


async def labels(bolt: str) -> dict[str, int]:
    """Return the number of episodic nodes with each label of a kind of event."""
    async with neo4j.AsyncGraphDatabase.driver(bolt) as driver:
        rows = await driver.execute_query(
            "MATCH (n:Episodic) UNWIND labels(n) AS label WITH label, count(*) AS nodes"
            " WHERE NOT label IN ['Mirrored', 'Memory', 'Past', 'Episodic'] RETURN label, nodes"
        )
    return {row["label"]: row["nodes"] for row in rows.records}
