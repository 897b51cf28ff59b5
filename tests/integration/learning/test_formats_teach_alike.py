"""The logs of one task teach the same plan and the same skill, whatever agent wrote them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from fix_learning import run_learning
from fix_memory import Memory, fresh_database, memory_of
from fix_spans import as_otlp, spans_of
from sqlalchemy import text
from trace_writers import WRITERS, Call, Turn, chat_completions

from stratagraph.memory.imports.conversation import Called, Returned, Said, Step
from stratagraph.memory.imports.traces import import_traces
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.master import LocalMasterKey
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.postgres.database import Database

WRITE = {"chat completions": chat_completions} | {
    name: WRITERS[name][0] for name in ("langgraph", "responses", "anthropic", "gemini")
}
LEARNED = (MemoryType.COMPETENCE, MemoryType.PLAN_GRAPH)


def runs() -> Iterator[list[Turn]]:
    """Yield six runs of one task: a step that fails, then the three that solve it."""
    for number, guest in enumerate(("Amra", "Bela", "Ciro", "Dana", "Edda", "Finn")):
        room, key = f"R{310 + 7 * number}", f"KEY-{52 + number}"
        yield [
            Turn(role="user", text=f"Please check {guest} in, who has booked room {room}."),
            Turn(
                role="assistant",
                calls=(Call(tool="read_passport", arguments={"room": room}, result="the reader is off", failed=True),),
            ),
            Turn(
                role="assistant",
                text="I look the booking up.",
                calls=(
                    Call(
                        tool="find_booking",
                        arguments={"room": room},
                        result=json.dumps({"booking": f"B-{room}", "nights": 2}),
                    ),
                ),
            ),
            Turn(
                role="assistant",
                calls=(Call(tool="cut_key", arguments={"booking": f"B-{room}"}, result=json.dumps({"key": key})),),
            ),
            Turn(role="assistant", calls=(Call(tool="hand_over_key", arguments={"key": key}, result="handed over"),)),
            Turn(role="assistant", text="Your guest is checked in."),
        ]


@asynccontextmanager
async def own_memory(postgres_url: str, template_database: str) -> AsyncIterator[Memory]:
    with fresh_database(postgres_url, template_database) as url:
        async with Database(url) as database:
            yield memory_of(database, Directory(database, Vault(database, LocalMasterKey(bytes(32)))))


def as_document(name: str, number: int, story: list[Turn]) -> dict[str, Any]:
    """Return the log of one run, with the outcome."""
    written = WRITE[name](story)
    document = {"messages": written} if isinstance(written, list) else written
    document.pop("id", None)
    return {**document, "conversation_id": f"stay-{number}", "success": True}


def as_spans(number: int, story: list[Turn]) -> dict[str, Any]:
    """Return the spans of one run as OTLP/JSON, with the outcome at the agent's."""
    steps: list[Step] = []
    for place, turn in enumerate(story):
        if turn.text:
            steps.append(Said(role=turn.role, text=turn.text))
        named = [(f"c{place}-{i}", call) for i, call in enumerate(turn.calls)]
        steps += [Called(tool=call.tool, arguments=call.arguments, turn=place, id=id_) for id_, call in named]
        steps += [Returned(text=call.result or "", id=id_, failed=True if call.failed else None) for id_, call in named]
    spans = [
        as_otlp(
            one if one.parent is not None else replace(one, attributes={**one.attributes, "success": True}),
            f"{number + 1:032x}",
        )
        for one in spans_of(steps, conversation=f"stay-{number}")
    ]
    return {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}


async def taught(memory: Memory, file: Path) -> list[list[str]]:
    """Import a file and learn from it; return what is learned, without ids, the lines of each text in order."""
    summary = await import_traces(memory.capture, memory.trust, file)
    assert (summary.refused, summary.items) == ([], 6)
    await run_learning(memory)
    caller = (await memory.directory.resolve(memory.trust)).unrestricted()
    async with memory.database.writing(caller.bounds) as connection:
        rows = await connection.execute(
            text("SELECT type, name, text, confidence FROM record WHERE type = ANY(:types) ORDER BY type, name, text"),
            {"types": [one.value for one in LEARNED]},
        )
        return [
            [str(value) for value in (kind, name, confidence)] + sorted(whole.splitlines())
            for kind, name, whole, confidence in rows
        ]


async def test_logs_of_one_task_teach_the_same_plan_and_skill(
    postgres_url: str, template_database: str, tmp_path: Path
) -> None:
    learned: dict[str, list[list[str]]] = {}
    for name in WRITE:
        file = tmp_path / "log.jsonl"
        file.write_text("".join(json.dumps(as_document(name, i, one)) + "\n" for i, one in enumerate(runs())))
        async with own_memory(postgres_url, template_database) as memory:
            learned[name] = await taught(memory, file)
    file.write_text("".join(json.dumps(as_spans(i, one)) + "\n" for i, one in enumerate(runs())))
    async with own_memory(postgres_url, template_database) as memory:
        learned["spans"] = await taught(memory, file)
    expected = learned["chat completions"]
    skill, plan = expected
    assert "may fail: read_passport: the reader is off" in skill
    assert "4. hand_over_key (key from cut_key: key)" in skill
    assert any(line.endswith("Steps: read_passport, find_booking, cut_key, hand_over_key") for line in plan)
    for name, found in learned.items():
        assert found == expected, name
