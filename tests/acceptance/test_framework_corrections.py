"""Corrections of what a framework keeps, by other clients: its owner reads them, and goes on with the same thing."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from anthropic.lib.tools import ToolError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp import Client

from stratagraph_client import Memory
from stratagraph_client.frameworks.anthropic_memory import StratagraphMemoryTool
from stratagraph_client.frameworks.langgraph import StratagraphStore
from stratagraph_client.operations.enums import MemoryType, RecordState
from stratagraph_client.operations.input_types import RecordFilter

pytestmark = pytest.mark.xdist_group("framework_corrections")
ROUNDS = itertools.count(1)
Correct = Callable[[Memory, str, str], Any]


@pytest.fixture
def memory(service_url: str) -> Iterator[Memory]:
    with Memory(service_url) as opened:
        yield opened


def by_text(memory: Memory, id_: str, text: str) -> None:
    memory.correct(id_, text, "the user said so")


def by_patch(memory: Memory, id_: str, text: str) -> None:
    memory.correct(id_, {"object": {"text": text}}, "the user said so")


def by_mcp(memory: Memory, id_: str, text: str) -> None:
    answer = called(memory, id_, text)
    assert not answer.is_error, answer


def called(memory: Memory, id_: str, text: str) -> Any:
    async def call() -> Any:
        async with Client(f"{memory.url}/mcp") as client:
            return await client.call_tool("correct", {"id": id_, "text": text})

    return asyncio.run(call())


def current(memory: Memory, **wanted: Any) -> list[Any]:
    filter_ = RecordFilter(types=[MemoryType.SEMANTIC], states=[RecordState.ACTIVE, RecordState.CONTESTED], **wanted)
    return list(memory.operations.records(filter_=filter_).nodes)


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.sampled_from([by_text, by_patch, by_mcp]), min_size=1, max_size=2),
    st.sampled_from([None, ["text"], ["title"]]),
    st.sampled_from(["put", "delete"]),
)
def test_a_corrected_item_is_that_of_its_store(
    memory: Memory, corrections: list[Correct], index: Any, then: str
) -> None:
    scope = f"correction {next(ROUNDS)}"
    store = StratagraphStore(memory, scope=scope)
    place, field = (("crew", "ola"), "pet"), "title" if index == ["title"] else "text"
    value = {field: "Ola keeps a ferret", "n": 1}
    store.put(*place, value, index=index)
    for correct in corrections:
        (record,) = current(memory, scopes=[scope])
        text = f"Ola keeps a hamster, says {correct.__name__}"
        correct(memory, record.id, text)
        # A text takes the place of a whole object; where fields are searched, the others are kept beside it.
        value = {"text": text} if correct is by_text and index is None else value | {field: text}
        (found,) = store.search(("crew",), query="Who keeps a hamster?")
        item = store.get(*place)
        assert item is not None
        assert item.value == found.value == value
    if then == "put":
        store.put(*place, {"text": "Ola keeps a goldfish"})
        assert [one.value for one in store.search(())] == [{"text": "Ola keeps a goldfish"}]
        assert len(current(memory, scopes=[scope])) == 1
    else:
        store.delete(*place)
        assert store.search(()) == []
        assert current(memory, scopes=[scope]) == []


@pytest.mark.parametrize("correct", [by_text, by_patch, by_mcp])
def test_a_corrected_file_has_the_corrected_text(memory: Memory, correct: Correct) -> None:
    owner = f"agent of {correct.__name__}"
    tool = StratagraphMemoryTool(memory, owner=owner)

    def run(**command: Any) -> str:
        return str(tool.call(command))

    def files() -> list[Any]:
        return current(memory, subject=f"memories of {owner}")

    for path in ("/memories/p.md", "/memories/q.md"):
        run(command="create", path=path, file_text="Ola keeps a ferret\n")
    for path in ("/memories/p.md", "/memories/q.md"):
        (record,) = [one for one in files() if path in str(one.payload)]
        correct(memory, record.id, f"Ola keeps a hamster in {path[-4]}")
        assert run(command="view", path=path).splitlines()[1:] == [f"     1\tOla keeps a hamster in {path[-4]}"]
    assert run(command="view", path="/memories").count(".md") == 2
    with pytest.raises(ToolError, match="already exists"):
        run(command="create", path="/memories/p.md", file_text="Ola keeps a goldfish")
    run(command="str_replace", path="/memories/p.md", old_str="hamster", new_str="goldfish")
    run(command="rename", old_path="/memories/q.md", new_path="/memories/r.md")
    assert "hamster" in run(command="view", path="/memories/r.md")
    run(command="delete", path="/memories/r.md")
    assert ["goldfish" in str(one.payload) for one in files()] == [True]


def test_an_object_without_a_text_is_no_sentence(memory: Memory) -> None:
    store = StratagraphStore(memory, scope="no text")
    store.put(("crew",), "count", {"n": 1})
    (record,) = current(memory, scopes=["no text"])
    answer = called(memory, record.id, "There are two")
    assert answer.is_error
    assert "have that program change it" in answer.content[0].text
    assert store.search(())[0].value == {"n": 1}
