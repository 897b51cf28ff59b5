"""Anthropic's memory tool over a service: the answers of the SDK's own tool, and files that every client recalls."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from typing import Any

import pytest
from anthropic.lib.tools import ToolError
from anthropic.lib.tools._beta_builtin_memory_tool import BetaLocalFilesystemMemoryTool
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stratagraph_client import AsyncMemory, Memory
from stratagraph_client.frameworks.anthropic_memory import AsyncStratagraphMemoryTool, StratagraphMemoryTool

pytestmark = pytest.mark.xdist_group("memory_tool")
PATHS = st.sampled_from(
    ["/memories", "/memories/a.md", "/memories/A.md", "/memories/d", "/memories/d/b", "/memories/d/e/c"]
)
TEXTS = st.lists(st.sampled_from(["one", "One", "Köln", " ", "\n"]), max_size=5).map("".join)
COMMANDS = st.lists(
    st.one_of(
        st.builds(lambda path: {"command": "view", "path": path}, PATHS),
        st.builds(lambda path, text: {"command": "create", "path": path, "file_text": text}, PATHS, TEXTS),
        st.builds(
            lambda path, old, new: {"command": "str_replace", "path": path, "old_str": old, "new_str": new},
            PATHS,
            TEXTS.filter(bool),
            TEXTS,
        ),
        st.builds(
            lambda path, line, text: {"command": "insert", "path": path, "insert_line": line, "insert_text": text},
            PATHS,
            st.integers(0, 3),
            TEXTS,
        ),
        st.builds(lambda path: {"command": "delete", "path": path}, PATHS),
    ),
    min_size=3,
    max_size=10,
)


def outcome(tool: Any, command: dict[str, Any]) -> str | None:
    try:
        return "\n".join(line for line in str(tool.call(command)).split("\n") if "/memories" not in line[:20])
    except ToolError as error:
        return f"refused: {error}"
    except OSError:
        return None


def test_random_histories_have_the_answers_of_the_sdks_own_tool(service_url: str) -> None:
    owners = iter(range(100))

    @settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
    @given(COMMANDS)
    def histories(commands: list[dict[str, Any]]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            theirs = BetaLocalFilesystemMemoryTool(folder)
            owner = f"agent {next(owners)}"
            for command in commands:
                # A tool made anew for each command: nothing is kept in the program.
                found = outcome(StratagraphMemoryTool(opened, owner=owner), command)
                expected = outcome(theirs, command)
                assert found == expected or expected is None, command
                if expected is None:  # a fault of the file system, of which the tool says nothing
                    assert (found or "").startswith("refused: ")

    with Memory(service_url) as opened:
        histories()


@pytest.fixture
async def memory(service_url: str) -> AsyncIterator[AsyncMemory]:
    async with AsyncMemory(service_url) as opened:
        yield opened


async def test_files_are_memories_with_a_history(memory: AsyncMemory) -> None:
    tool = AsyncStratagraphMemoryTool(memory)
    path = "/memories/trips/depot.md"

    async def run(**command: Any) -> str:
        return str(await tool.call(command))

    await run(command="create", path=path, file_text="The depot in Köln is number 7.\n")
    await run(command="str_replace", path=path, old_str="number 7", new_str="number 9")
    recalled = await memory.recall("Which number has the depot in Köln?")
    assert "number 9" in recalled.text
    assert "number 7" not in recalled.text
    await run(command="rename", old_path="/memories/trips", new_path="/memories/journeys")
    assert "number 9" in await run(command="view", path="/memories/journeys/depot.md")
    (record,) = [one for one in (await memory.recall("depot in Köln")).memories if "number 9" in one.text]
    kept = await memory.operations.record(id=record.id)
    assert kept is not None
    assert kept.lifecycle is not None
    assert kept.lifecycle.pinned, "a file that is not pinned is pruned some day"
    versions = await memory.operations.slot_history(id=record.id, first=10)
    texts = [str(one.payload) for one in versions]
    assert ["number 7" in text for text in texts] == [True, False, False]
    assert ["journeys" in text for text in texts] == [False, False, True]

    # Two programs create one file at once: one of them is told that it exists.
    results = await asyncio.gather(
        *(
            AsyncStratagraphMemoryTool(memory).call(
                {"command": "create", "path": "/memories/x", "file_text": f"text {n}"}
            )
            for n in range(3)
        ),
        return_exceptions=True,
    )
    made = [one for one in results if isinstance(one, str)]
    assert len(made) == 1, results
    assert all(str(one) == "File /memories/x already exists" for one in results if not isinstance(one, str))
    # Two edit it at once: none of the edits is lost.
    await asyncio.gather(
        *(
            AsyncStratagraphMemoryTool(memory).call(
                {"command": "insert", "path": "/memories/x", "insert_line": 0, "insert_text": f"line {n}"}
            )
            for n in range(3)
        )
    )
    shown = await run(command="view", path="/memories/x")
    assert all(f"line {n}" in shown for n in range(3))

    other = AsyncStratagraphMemoryTool(memory, owner="another agent")
    with pytest.raises(ToolError, match="does not exist"):
        await other.call({"command": "view", "path": "/memories/x"})
    await run(command="delete", path="/memories/x")
    assert "line 1" not in (await memory.recall("line 1 text")).text
    assert await tool.clear_all_memory() == "All memory cleared"
    assert (await run(command="view", path="/memories")).endswith("\n0B\t/memories")
