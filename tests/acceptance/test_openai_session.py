"""A session of the OpenAI Agents SDK: its items as they were added, and the conversation as every client recalls it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from agents import Agent, RunConfig, Runner, SQLiteSession, function_tool
from agents.memory import SessionSettings
from agents.testing import ScriptedModel, assistant_message, function_call
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trace_writers import responses, stories

from stratagraph_client import AsyncMemory
from stratagraph_client.errors import StratagraphError
from stratagraph_client.frameworks.item_log import PART
from stratagraph_client.frameworks.openai_agents import StratagraphSession

pytestmark = pytest.mark.xdist_group("openai_session")


@pytest.fixture
async def memory(service_url: str) -> AsyncIterator[AsyncMemory]:
    async with AsyncMemory(service_url) as opened:
        yield opened


async def texts(memory: AsyncMemory, thread: str) -> list[str]:
    """Return the turns and calls of a thread, in their order."""
    found = await memory.operations.thread(id=thread, first=50)
    return [node.text or "" for node in found.turns.nodes[::-1]] if found is not None else []


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)
ITEMS = stories().map(lambda story: responses(story)["input"][:4]) | st.lists(
    st.dictionaries(st.sampled_from(["type", "role", "content", "id", "x"]), JSON, min_size=1, max_size=3), max_size=2
)
STEPS = st.lists(
    st.tuples(st.just("add"), ITEMS)
    | st.tuples(st.just("get"), st.integers(-2, 6))
    | st.just(("pop", None))
    | st.just(("clear", None))
    | st.just(("reopen", None)),
    max_size=9,
)


async def test_random_histories_are_those_of_the_sdks_own_session(memory: AsyncMemory) -> None:
    @settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
    @given(STEPS)
    def histories(steps: list[tuple[str, Any]]) -> None:
        found.append(steps)

    found: list[list[tuple[str, Any]]] = []
    histories()  # they are run in this event loop
    for steps in found:
        name = str(uuid4())
        ours, theirs = StratagraphSession(name, memory), SQLiteSession(name)
        for step, value in [*steps, ("get", None)]:
            if step == "reopen":
                ours = StratagraphSession(name, memory)
                continue
            expected = await done(theirs, step, value)
            # Byte for byte, also the order of keys and the form of numbers.
            assert json.dumps(await done(ours, step, value)) == json.dumps(expected), (steps, step)
        theirs.close()


async def done(session: Any, step: str, value: Any) -> Any:
    match step:
        case "add":
            return await session.add_items(value)
        case "get":
            return await session.get_items(value)
        case "pop":
            return await session.pop_item()
    return await session.clear_session()


async def test_runs_on_one_session_see_each_other_and_are_an_episode(memory: AsyncMemory) -> None:
    @function_tool
    def find_depot(city: str) -> str:
        """Find the depot of a city."""
        return f"depot 7 in {city}"

    model = ScriptedModel(
        [
            [function_call("find_depot", {"city": "Köln"}, call_id="c1")],
            [assistant_message("Ann, it is depot 7.")],
            [assistant_message("Your name is Ann.")],
        ]
    )
    agent = Agent(name="Guide", model=model, tools=[find_depot])
    quiet = RunConfig(tracing_disabled=True)
    await Runner.run(
        agent, "I am Ann. Which depot is in Köln?", session=StratagraphSession("s", memory), run_config=quiet
    )
    other = StratagraphSession("s", memory, session_settings=SessionSettings(limit=4))
    result = await Runner.run(agent, "What is my name?", session=other, run_config=quiet)
    assert result.final_output == "Your name is Ann."
    seen = model.calls[-1].input
    assert [item.get("type", "message") for item in seen] == [
        "message",
        "function_call",
        "function_call_output",
        "message",
        "message",
    ][-len(seen) :]
    assert "depot 7 in Köln" in json.dumps(seen, ensure_ascii=False)

    assert await texts(memory, "s") == [
        "user: I am Ann. Which depot is in Köln?",
        'find_depot({"city":"Köln"}) → depot 7 in Köln',
        "assistant: Ann, it is depot 7.",
        "user: What is my name?",
        "assistant: Your name is Ann.",
    ]
    async with AsyncMemory(memory.url) as another:
        recalled = await another.recall("Which depot is in Köln?")
        assert "depot 7 in Köln" in recalled.text
        assert "…" not in recalled.text, "the log of items is found by a question"

    # Two runners at once: each one's items stay together and in order, and none is lost.
    both = [StratagraphSession("both", memory) for _ in range(2)]
    await asyncio.gather(*(add_numbers(session, place) for place, session in enumerate(both)))
    items = [json.loads(item["content"]) for item in await both[0].get_items()]  # type: ignore[typeddict-item,arg-type]
    assert len(items) == 2 * 6 * 3
    for runner in range(2):
        assert [item for item in items if item[0] == runner] == [[runner, n, k] for n in range(6) for k in range(3)]
    runs = [items[place : place + 3] for place in range(0, len(items), 3)]
    assert all(run == [[*run[0][:2], k] for k in range(3)] for run in runs)
    popped = await asyncio.gather(*(session.pop_item() for session in both for _ in range(5)))
    assert sorted(json.loads(item["content"]) for item in popped if item) == sorted(items[-10:])  # type: ignore[typeddict-item,arg-type]
    assert len(await texts(memory, "both")) == len(items) - 10, "what is taken back is no turn any more"

    # A picture larger than one event may be, a secret, and a call whose result never comes.
    large = {
        "role": "user",
        "content": [{"type": "input_image", "image_url": "data:image/png;base64," + "A" * (9 * PART)}],
    }
    secret = {"role": "user", "content": "the key is ghp_0123456789abcdefghijklmnopqrstuvwxyz"}
    call = {"type": "function_call", "call_id": "x", "name": "wait", "arguments": "{}"}
    third = StratagraphSession("third", memory)
    for item in (large, secret, call):
        await third.add_items([item])  # type: ignore[list-item]
    assert await StratagraphSession("third", memory).get_items() == [large, secret, call]
    assert await third.get_items(2) == [secret, call]
    await third.close()
    shown = await texts(memory, "third")
    assert {"user: [sent image/png]", "wait({}) → "} < set(shown)
    assert "ghp_0123456789" not in "".join(shown), "secrets are masked in what is read"

    await third.clear_session()
    assert await third.get_items() == []
    assert await texts(memory, "third") == []
    # In three years all turns are pruned, and no item of the session is.
    log = await memory.operations.log_of_thread(thread="s#items", first=50)
    turns = await memory.operations.thread(id="s", first=50)
    assert log is not None
    assert turns is not None
    until = datetime.now(UTC) + timedelta(days=1_000)
    fading: set[str] = set()
    after: str | None = None
    while True:
        page = await memory.operations.fading(until=until, first=100, after=after)
        fading |= {node.record.id for node in page.nodes}
        after = page.pageInfo.endCursor
        if not page.pageInfo.hasNextPage:
            break
    assert {node.id for node in turns.turns.nodes} <= fading
    assert log.turns.nodes
    assert not {node.id for node in log.turns.nodes} & fading


async def add_numbers(session: StratagraphSession, runner: int) -> None:
    for number in range(6):
        await session.add_items([{"role": "user", "content": json.dumps([runner, number, k])} for k in range(3)])


async def test_what_cannot_be_stored_is_refused_and_changes_nothing() -> None:
    for name in ("", " ", "x" * 300):
        with pytest.raises(ValueError, match="session_id"):
            StratagraphSession(name, AsyncMemory("http://127.0.0.1:1"))
    away = StratagraphSession("s", AsyncMemory("http://127.0.0.1:1", timeout_s=0.2))
    with pytest.raises(TypeError):
        await away.add_items([{"role": "user", "content": object()}])  # type: ignore[list-item, misc]
    with pytest.raises(StratagraphError, match="cannot be reached"):
        await away.add_items([{"role": "user", "content": "hello"}])
