"""One conversation in files of several formats is stored once."""

from __future__ import annotations

import json
from pathlib import Path

from fix_memory import Memory
from trace_writers import WRITERS, Call, Turn, chat_completions

from stratagraph.memory.imports.traces import import_traces

STORY = [
    Turn(role="user", text="Is the sluice open?"),
    Turn(role="assistant", text="I ask it.", calls=(Call(tool="sluice", arguments={"gate": 3}, result="closed"),)),
    Turn(role="assistant", calls=(Call(tool="open_sluice", arguments={"gate": 3}, result="Error: no power"),)),
    Turn(role="assistant", text="It is closed, and has no power."),
]


async def test_a_conversation_is_stored_once_whatever_format_its_files_have(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    file.write_text(json.dumps(chat_completions(STORY)))
    first = await import_traces(memory.capture, memory.trust, file)
    assert (first.captured, first.refused) == (5, [])
    for name, (write, _) in WRITERS.items():
        file.write_text(json.dumps(write(STORY)))
        again = await import_traces(memory.capture, memory.trust, file)
        assert (again.captured, again.replayed, again.edited, again.refused) == (0, 5, [], []), name


async def test_a_conversation_goes_on_in_another_format(memory: Memory, tmp_path: Path) -> None:
    """A LangGraph thread that is logged as Anthropic messages later has only its new turns added."""
    file = tmp_path / "t.json"
    file.write_text(json.dumps(WRITERS["langgraph"][0](STORY[:2])))
    assert (await import_traces(memory.capture, memory.trust, file)).captured == 3
    file.write_text(json.dumps(WRITERS["anthropic"][0](STORY)))
    longer = await import_traces(memory.capture, memory.trust, file)
    assert (longer.captured, longer.replayed, longer.continued) == (2, 3, 1)
