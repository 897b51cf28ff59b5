"""Runs of LangGraph, the OpenAI Agents SDK and the Anthropic SDK become episodes: those of an import of their traces."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Annotated, Any, TypedDict

import httpx
import pytest
from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, RunConfig, Runner, function_tool
from agents.tracing import set_trace_processors
from anthropic import Anthropic, AsyncAnthropic, DefaultAsyncHttpxClient, DefaultHttpxClient, beta_async_tool, beta_tool
from fix_memory import fresh_database
from fix_service import Service, run_command, running
from langchain_core.language_models import FakeMessagesListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, messages_to_dict
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import StateGraph, add_messages
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import interrupt
from openai import AsyncOpenAI

from stratagraph_client import Memory
from stratagraph_client.errors import StratagraphError
from stratagraph_client.frameworks.anthropic_episodes import AnthropicEpisodes
from stratagraph_client.frameworks.delivery import Delivery
from stratagraph_client.frameworks.langchain_episodes import EpisodeCallback
from stratagraph_client.frameworks.openai_episodes import EpisodeTracing
from stratagraph_client.operations.enums import SourceKind
from stratagraph_client.operations.input_types import CaptureMemoryInput

ASKED, WEATHER, FAILED, ANSWERED = (
    "What is the weather in Oslo and in Atlantis?",
    "rain, 4 °C",
    "no such city",
    "Rain in Oslo.",
)
CITIES = ("Oslo", "Atlantis")


@pytest.fixture(scope="module")
def service(postgres_url: str, template_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service of one user for all tests of this module, each of which has threads of its own."""
    data = tmp_path_factory.mktemp("data")
    with (
        fresh_database(postgres_url, template_database) as database_url,
        running(database_url=database_url, single_user="on", data_dir=str(data)) as started,
    ):
        yield started


@pytest.fixture
def memory(service: Service) -> Iterator[Memory]:
    assert service.url is not None
    with Memory(service.url) as opened:
        yield opened


STEPS = "query($id: String!) { thread(id: $id) { turns(first: 50) { nodes { id payload } } episodes(first: 9) { nodes { payload } } } }"


def captured(memory: Memory, thread: str) -> list[Any]:
    """Return the steps of a thread as roles, texts, tools, arguments, results and failures, calls by their places."""
    found = memory.operations.execute(STEPS, None, {"id": thread})["thread"]
    steps: list[Any] = []
    names: dict[str, int] = {}
    events = [node["payload"] for node in sorted(found["turns"]["nodes"], key=lambda node: str(node["id"]))]
    for payload in events:
        for call in payload.get("tool_graph") or ():
            names[call["id"]] = len(names)
    for payload in events:
        event = payload["timeline"][0]
        calls = [
            {name: call.get(name) for name in ("tool", "args", "result")}
            | {"failed": event["event_kind"] == "tool_error"}
            | {"depends_on": sorted(names[one] for one in call.get("depends_on") or ())}
            for call in payload.get("tool_graph") or ()
        ]
        steps.append(calls or [event["event_kind"], event["summary"], event.get("content")])
    return steps


def outcomes(memory: Memory, thread: str) -> list[tuple[Any, Any]]:
    found = memory.operations.execute(STEPS, None, {"id": thread})["thread"]
    return [(one["payload"].get("outcome"), one["payload"].get("outcome_reason")) for one in found["episodes"]["nodes"]]


async def imported(service: Service, memory: Memory, folder: Path, document: Any) -> list[Any]:
    """Return the steps that `stratagraph import traces` makes of a document."""
    file = folder / "trace.json"
    file.write_text(json.dumps(document))
    status, out, err = await run_command(
        "import", "traces", str(file), "--timezone", "UTC", "--json", env=service.environment
    )
    assert status == 0, (out, err)
    return captured(memory, f"trace:{document['id']}")


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


@tool
def weather(city: str) -> str:
    """Tell the weather of a city."""
    if city == "Atlantis":
        raise ValueError(FAILED)
    return WEATHER


def asks_for_weather() -> list[AIMessage]:
    calls = [{"name": "weather", "args": {"city": city}, "id": f"call-{city}", "type": "tool_call"} for city in CITIES]
    return [AIMessage("Let me look.", tool_calls=calls), AIMessage(ANSWERED)]


def agent_of(messages: list[AIMessage], **compiled: Any) -> Any:
    model = FakeMessagesListChatModel(responses=list(messages))
    graph = StateGraph(State)
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode([weather], handle_tool_errors=True))
    graph.set_entry_point("model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    return graph.compile(**compiled)


async def test_a_run_of_langgraph_is_the_episode_that_an_import_of_its_messages_makes(
    service: Service, memory: Memory, tmp_path: Path
) -> None:
    with EpisodeCallback(memory) as episodes:
        config = {"callbacks": [episodes], "configurable": {"thread_id": "graph-1"}}
        state = agent_of(asks_for_weather()).invoke({"messages": [HumanMessage(ASKED)]}, config)
    assert episodes.dropped == 0
    expected = await imported(
        service, memory, tmp_path, {"id": "graph", "messages": messages_to_dict(state["messages"])}
    )
    assert len(expected) == 5
    assert captured(memory, "graph-1") == expected
    assert outcomes(memory, "graph-1") == [("success", None)]


@pytest.mark.parametrize("mode", ["invoke", "stream", "ainvoke", "astream"])
async def test_every_way_to_run_a_graph_gives_the_same_episode(memory: Memory, mode: str) -> None:
    with EpisodeCallback(memory) as episodes:
        config = {"callbacks": [episodes], "configurable": {"thread_id": f"mode-{mode}"}}
        agent, state = agent_of(asks_for_weather()), {"messages": [HumanMessage(ASKED)]}
        if mode == "invoke":
            agent.invoke(state, config)
        elif mode == "ainvoke":
            await agent.ainvoke(state, config)
        elif mode == "stream":
            list(agent.stream(state, config, stream_mode="messages"))
        else:
            async for _ in agent.astream(state, config, stream_mode="messages"):
                pass
    steps = captured(memory, f"mode-{mode}")
    assert [one[1] for one in steps if isinstance(one[0], str)] == [ASKED, "Let me look.", ANSWERED]
    assert sorted((one[0]["args"]["city"], one[0]["failed"]) for one in steps if not isinstance(one[0], str)) == [
        ("Atlantis", True),
        ("Oslo", False),
    ]


def test_a_thread_that_goes_on_repeats_nothing_also_in_a_new_process(memory: Memory) -> None:
    saved = InMemorySaver()
    said = ["I am Ann.", "Hello Ann.", "Who am I?", "Ann.", "Who am I?", "Ann still."]
    for new in (0, 2, 4):
        with EpisodeCallback(memory) as episodes:  # as of a new process, which knows nothing
            agent = agent_of([AIMessage(said[new + 1])], checkpointer=saved)
            config = {"callbacks": [episodes], "configurable": {"thread_id": "goes-on"}}
            agent.invoke({"messages": [HumanMessage(said[new])]}, config)
    assert [one[1] for one in captured(memory, "goes-on")] == said
    assert outcomes(memory, "goes-on") == [("success", None)] * 3


def test_many_runs_at_once_stay_apart(memory: Memory) -> None:
    with EpisodeCallback(memory) as episodes, ThreadPoolExecutor(8) as pool:

        def run(number: int) -> None:
            agent = agent_of([AIMessage(f"answer {number}")])
            config = {"callbacks": [episodes], "configurable": {"thread_id": f"apart-{number}"}}
            agent.invoke({"messages": [HumanMessage(f"question {number}")]}, config)

        list(pool.map(run, range(20)))
    for number in range(20):
        assert [one[1] for one in captured(memory, f"apart-{number}")] == [f"question {number}", f"answer {number}"]


def test_a_run_that_fails_is_a_failure_and_one_that_waits_has_no_outcome(memory: Memory) -> None:
    def fail(state: State) -> State:
        raise RuntimeError("the disk is full")

    def wait(state: State) -> State:
        return {"messages": [HumanMessage(str(interrupt("Really?")))]}

    for thread, node in (("failing", fail), ("waiting", wait)):
        model = GenericFakeChatModel(messages=iter([AIMessage("So be it.")]))
        graph = StateGraph(State)
        graph.add_node("model", lambda state, model=model: {"messages": [model.invoke(state["messages"])]})
        graph.add_node("node", node)
        graph.set_entry_point("model")
        graph.add_edge("model", "node")
        with EpisodeCallback(memory) as episodes:
            config = {"callbacks": [episodes], "configurable": {"thread_id": thread}}
            agent = graph.compile(checkpointer=InMemorySaver())
            try:
                agent.invoke({"messages": [HumanMessage("Do it.")]}, config)
            except RuntimeError:
                assert thread == "failing"
        assert [one[1] for one in captured(memory, thread)] == ["Do it.", "So be it."]
    assert outcomes(memory, "failing") == [("failure", "RuntimeError: the disk is full")]
    assert outcomes(memory, "waiting") == [(None, None)]


def test_an_agent_within_a_tool_is_an_episode_of_its_own(memory: Memory) -> None:
    @tool
    def expert(question: str) -> str:
        """Ask an expert."""
        found = agent_of([AIMessage("42")]).invoke({"messages": [HumanMessage(question)]})
        return str(found["messages"][-1].content)

    call = {"name": "expert", "args": {"question": "6 × 7?"}, "id": "c1", "type": "tool_call"}
    model = GenericFakeChatModel(messages=iter([AIMessage("", tool_calls=[call]), AIMessage("It is 42.")]))
    graph = StateGraph(State)
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode([expert]))
    graph.set_entry_point("model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    with EpisodeCallback(memory) as episodes:
        config = {"callbacks": [episodes], "configurable": {"thread_id": "outer"}}
        graph.compile().invoke({"messages": [HumanMessage("What is 6 × 7?")]}, config)
    outer = captured(memory, "outer")
    assert [one[1] if isinstance(one[0], str) else one[0]["result"] for one in outer] == [
        "What is 6 × 7?",
        42,
        "It is 42.",
    ]
    assert [one[1] for one in captured(memory, "outer:c1")] == ["6 × 7?", "42"]
    assert outcomes(memory, "outer:c1") == [("success", None)]
