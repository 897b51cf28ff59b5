"""Runs of LangGraph, the OpenAI Agents SDK and the Anthropic SDK are the episodes that an import of them makes."""

from __future__ import annotations

import importlib
import json
import logging
import os
import re
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Annotated, Any, TypedDict

import httpx
import pytest
from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, RunConfig, Runner, function_tool
from agents.tracing import set_trace_processors
from anthropic import Anthropic, AsyncAnthropic, DefaultAsyncHttpxClient, DefaultHttpxClient, beta_async_tool, beta_tool
from checkout import ROOT
from fix_memory import fresh_database
from fix_service import Service, run_command, running
from langchain_core.language_models import FakeMessagesListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, messages_to_dict
from langchain_core.runnables import RunnableConfig
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
from stratagraph_client.operations.enums import MemoryType, SourceKind
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


def captured(memory: Memory, thread: str) -> list[Any]:
    """Return the steps of a thread as roles, texts, tools, arguments, results and failures, calls by their places."""
    found = memory.operations.call("Thread", {"id": thread, "first": 50})["thread"]
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
    found = memory.operations.call("Thread", {"id": thread, "first": 50})["thread"]
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
            config: RunnableConfig = {"callbacks": [episodes], "configurable": {"thread_id": thread}}
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
        config: RunnableConfig = {"callbacks": [episodes], "configurable": {"thread_id": "outer"}}
        graph.compile().invoke({"messages": [HumanMessage("What is 6 × 7?")]}, config)
    outer = captured(memory, "outer")
    assert [one[1] if isinstance(one[0], str) else one[0]["result"] for one in outer] == [
        "What is 6 × 7?",
        42,
        "It is 42.",
    ]
    assert [one[1] for one in captured(memory, "outer:c1")] == ["6 × 7?", "42"]
    assert outcomes(memory, "outer:c1") == [("success", None)]


Answer = Callable[[dict[str, Any]], tuple[str, bytes]]


class ModelServer:
    """A server that speaks a model's HTTP API: it answers requests in their order, and keeps what was sent."""

    def __init__(self, *answers: Answer) -> None:
        self.sent: list[dict[str, Any]] = []
        left, sent = list(answers), self.sent

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                sent.append(body)
                kind, answer = left.pop(0)(body)
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> ModelServer:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def as_json(value: dict[str, Any]) -> Answer:
    return lambda _: ("application/json", json.dumps(value).encode())


def as_events(events: list[dict[str, Any]]) -> Answer:
    text = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    return lambda _: ("text/event-stream", text.encode())


def response_of(number: int, output: list[dict[str, Any]]) -> dict[str, Any]:
    settings = {"tools": [], "tool_choice": "auto", "parallel_tool_calls": True, "status": "completed"}
    return {"id": f"resp_{number}", "object": "response", "created_at": 0, "model": "m", "output": output} | settings


def item_of(text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "id": "msg", "role": "assistant", "status": "completed", "content": [part]}


RESPONSES = [
    response_of(
        1,
        [item_of("Let me look.")]
        + [
            {
                "type": "function_call",
                "id": f"fc_{city}",
                "call_id": f"call-{city}",
                "name": "weather",
                "arguments": json.dumps({"city": city}),
                "status": "completed",
            }
            for city in CITIES
        ],
    ),
    response_of(2, [item_of(ANSWERED)]),
]


@function_tool(name_override="weather")
def weather_function(city: str) -> str:
    """Tell the weather of a city."""
    return f"Error: {FAILED}" if city == "Atlantis" else WEATHER


@pytest.fixture
async def openai() -> AsyncIterator[Callable[[str], AsyncOpenAI]]:
    """Makes clients of a server, which are closed after the test, as are the processors of traces."""
    async with AsyncExitStack() as opened:
        opened.callback(set_trace_processors, [])
        made: list[AsyncOpenAI] = []

        def make(url: str) -> AsyncOpenAI:
            made.append(AsyncOpenAI(api_key="none", base_url=url))
            opened.push_async_callback(made[-1].close)
            return made[-1]

        yield make


async def test_a_run_of_the_openai_agents_sdk_is_the_episode_that_an_import_of_its_items_makes(
    service: Service, memory: Memory, tmp_path: Path, openai: Callable[[str], AsyncOpenAI]
) -> None:
    with ModelServer(*map(as_json, RESPONSES)) as server, EpisodeTracing(memory) as episodes:
        set_trace_processors([episodes])
        agent = Agent(
            name="Forecaster",
            instructions="Be brief.",
            tools=[weather_function],
            model=OpenAIResponsesModel("m", openai(server.url)),
        )
        result = await Runner.run(agent, ASKED, run_config=RunConfig(group_id="agents-1"))
    assert result.final_output == ANSWERED
    assert episodes.dropped == 0
    expected = await imported(service, memory, tmp_path, {"id": "agents", "items": result.to_input_list()})
    assert len(expected) == 5
    assert captured(memory, "agents-1") == expected
    assert outcomes(memory, "agents-1") == [("success", None)]


async def test_a_run_over_chat_completions_and_one_that_ends_with_its_tool_are_whole(
    memory: Memory, openai: Callable[[str], AsyncOpenAI]
) -> None:
    calls = [{"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    choice = {"index": 0, "finish_reason": "tool_calls", "message": message}
    answer = {"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
    with ModelServer(as_json(answer)) as server, EpisodeTracing(memory) as episodes:
        set_trace_processors([episodes])
        model = OpenAIChatCompletionsModel("m", openai(server.url))
        agent = Agent(name="A", tools=[weather_function], model=model, tool_use_behavior="stop_on_first_tool")
        await Runner.run(agent, ASKED, run_config=RunConfig(group_id="agents-2"))
    call = {"tool": "weather", "args": {"city": "Oslo"}, "result": WEATHER, "failed": False, "depends_on": []}
    assert captured(memory, "agents-2") == [["agent_turn", ASKED, {"role": "user", "text": ASKED}], [call]]


async def test_a_run_of_agents_that_fails_is_a_failure_and_an_agent_as_a_tool_is_an_episode_of_its_own(
    memory: Memory, openai: Callable[[str], AsyncOpenAI]
) -> None:
    ask = {"type": "function_call", "id": "fc", "call_id": "c1", "name": "expert", "arguments": '{"input": "6 × 7?"}'}
    again = ask | {"call_id": "c2"}
    answers = [response_of(1, [ask]), response_of(2, [item_of("42")]), response_of(3, [again])]
    with ModelServer(*map(as_json, answers)) as server, EpisodeTracing(memory) as episodes:
        set_trace_processors([episodes])
        inner = Agent(name="Expert", model=OpenAIResponsesModel("m", openai(server.url)))
        expert = inner.as_tool(tool_name="expert", tool_description="Ask an expert.")
        outer = Agent(name="Outer", tools=[expert], model=OpenAIResponsesModel("m", openai(server.url)))
        with pytest.raises(Exception, match="Max turns"):
            await Runner.run(outer, "What is 6 × 7?", max_turns=1, run_config=RunConfig(group_id="agents-3"))
    (outcome,) = outcomes(memory, "agents-3")
    assert outcome[0] == "failure"
    assert "Max turns" in outcome[1]
    nested = [name for name in known_threads(memory) if name.startswith("agents-3:")]
    assert [[one[1] for one in captured(memory, name)] for name in nested] == [["6 × 7?", "42"]]


def known_threads(memory: Memory) -> list[str]:
    """Return the threads of the newest turns."""
    listed = memory.operations.records(first=50)
    payloads = [one.payload for one in listed.nodes if isinstance(one.payload, dict)]
    return sorted({str(one["thread_id"]) for one in payloads if "thread_id" in one})


def block_of(city: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu-{city}", "name": "weather", "input": {"city": city}}


def message_of(content: list[dict[str, Any]], stop_reason: str) -> dict[str, Any]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    named = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "usage": usage}
    return named | {"content": content, "stop_reason": stop_reason, "stop_sequence": None}


MESSAGES = [
    message_of([{"type": "text", "text": "Let me look."}, *map(block_of, CITIES)], "tool_use"),
    message_of([{"type": "text", "text": ANSWERED}], "end_turn"),
]


def events_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a message as the events of a stream."""
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": message | {"content": [], "stop_reason": None}}
    ]
    for index, block in enumerate(message["content"]):
        at = {"index": index}
        if block["type"] == "text":
            half = len(block["text"]) // 2
            begun: dict[str, Any] = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": part} for part in (block["text"][:half], block["text"][half:])]
        else:
            given = json.dumps(block["input"])
            begun = block | {"input": {}}
            deltas = [{"type": "input_json_delta", "partial_json": part} for part in (given[:3], given[3:])]
        events.append({"type": "content_block_start", "content_block": begun} | at)
        events += [{"type": "content_block_delta", "delta": delta} | at for delta in deltas]
        events.append({"type": "content_block_stop"} | at)
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    return [*events, {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 1}}, {"type": "message_stop"}]


@beta_tool
def weather_tool(city: str) -> str:
    """Tell the weather of a city."""
    return told(city)


@beta_async_tool
async def async_weather_tool(city: str) -> str:
    """Tell the weather of a city."""
    return told(city)


weather_tool.name = async_weather_tool.name = "weather"


def told(city: str) -> str:
    if city == "Atlantis":
        raise ValueError(FAILED)
    return WEATHER


ASK: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": ASKED}]}


@pytest.mark.parametrize("mode", ["sync", "async", "stream", "async stream"])
async def test_a_run_of_anthropics_tool_runner_is_the_episode_that_an_import_of_its_messages_makes(
    service: Service, memory: Memory, tmp_path: Path, mode: str
) -> None:
    is_stream, thread = "stream" in mode, f"claude-{mode}"
    answers = [as_events(events_of(one)) if is_stream else as_json(one) for one in MESSAGES]
    with ModelServer(*answers) as server, AnthropicEpisodes(memory) as episodes:
        given: dict[str, Any] = {"api_key": "none", "base_url": server.url}
        with episodes.thread(thread):
            if mode.startswith("async"):
                awaited = AsyncAnthropic(
                    **given, http_client=DefaultAsyncHttpxClient(transport=episodes.async_transport())
                )
                async_runner = awaited.beta.messages.tool_runner(**ASK, tools=[async_weather_tool], stream=is_stream)
                last = await async_runner.until_done()
            else:
                http = DefaultHttpxClient(transport=episodes.transport())
                with Anthropic(**given, http_client=http) as client:
                    runner = client.beta.messages.tool_runner(**ASK, tools=[weather_tool], stream=is_stream)
                    last = runner.until_done()
    assert [block.text for block in last.content if block.type == "text"] == [ANSWERED]
    assert episodes.dropped == 0
    first, second = ([*sent["messages"]] for sent in server.sent)
    answers_said = [{"role": "assistant", "content": one["content"]} for one in MESSAGES]
    if len(second) == 1:  # the server holds what came before
        second = [*first, answers_said[0], *second]
    said = [*second, answers_said[1]]
    expected = await imported(service, memory, tmp_path, {"id": thread, "messages": said})
    assert len(expected) == 5
    assert captured(memory, thread) == expected
    assert outcomes(memory, thread) == [("success", None)]


def test_what_is_asked_outside_a_thread_is_not_captured_and_an_exception_is_a_failure(memory: Memory) -> None:
    with ModelServer(*[as_json(MESSAGES[1])] * 2) as server, AnthropicEpisodes(memory) as episodes:
        http = DefaultHttpxClient(transport=episodes.transport())
        with Anthropic(api_key="none", base_url=server.url, http_client=http) as client:
            client.messages.create(**ASK)

            def fail() -> None:
                with episodes.thread("claude-fails"):
                    client.messages.create(**ASK)
                    raise KeyError("x")

            with pytest.raises(KeyError):
                fail()
    assert [one[1] for one in captured(memory, "claude-fails")] == [ASKED, ANSWERED]
    assert outcomes(memory, "claude-fails") == [("failure", "KeyError: 'x'")]


def turn(text: str, thread: str = "delivered") -> CaptureMemoryInput:
    content = {"role": "user", "text": text, "thread_id": thread}
    return CaptureMemoryInput(source="test", sourceKind=SourceKind.AGENT_TURN, content=content)


class Blocked(httpx.HTTPTransport):
    """A transport that sends nothing until it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.may = threading.Event(), threading.Event()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.asked.set()
        assert self.may.wait(30)
        return super().handle_request(request)


def test_a_memory_that_does_not_answer_neither_stops_a_run_nor_grows_the_queue(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    blocked = Blocked()
    with Memory(service.url, transport=blocked) as memory:
        episodes = EpisodeCallback(memory, most=3, wait_s=0.05)
        for _ in range(4):
            agent_of([AIMessage("secret answer")]).invoke({"messages": [HumanMessage("x")]}, {"callbacks": [episodes]})
        assert not episodes.flush()
        episodes.close()
        blocked.may.set()
        assert episodes.flush(30)  # what was being sent
    assert episodes.dropped >= 3
    assert len([one for one in caplog.records if one.name == "stratagraph_client"]) == 1
    assert "secret" not in caplog.text


def test_a_service_that_is_away_is_told_of_only_where_that_is_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    with Memory("http://127.0.0.1:9", timeout_s=0.2) as memory:
        for is_strict in (False, True):
            episodes = EpisodeCallback(memory, strict=is_strict)
            agent_of([AIMessage("hello")]).invoke({"messages": [HumanMessage("hi")]}, {"callbacks": [episodes]})
            if is_strict:
                with pytest.raises(StratagraphError):
                    episodes.close()
            else:
                episodes.close()
            assert episodes.dropped == 3  # the question, the answer and the outcome


def test_one_capture_that_is_refused_does_not_take_others_with_it(memory: Memory) -> None:
    with Delivery(memory) as delivery:
        for text in ("before", "", "after"):
            delivery.put(turn(text))
    assert delivery.dropped == 1
    assert [one[1] for one in captured(memory, "delivered")] == ["before", "after"]


def test_a_clock_that_is_ahead_loses_no_capture(memory: Memory) -> None:
    with Delivery(memory) as delivery:
        for text in ("one", "two"):
            capture = turn(text, "ahead")
            capture.timestamp = datetime.now(UTC) + timedelta(hours=1)
            delivery.put(capture)
    assert delivery.dropped == 0
    assert [one[1] for one in captured(memory, "ahead")] == ["one", "two"]


def test_what_a_callback_cannot_read_never_reaches_the_run(memory: Memory, caplog: pytest.LogCaptureFixture) -> None:
    with EpisodeCallback(memory) as episodes:
        episodes.on_chat_model_start({}, [["no message"]], run_id="x")  # type: ignore[list-item, arg-type]
        assert episodes.dropped == 1
        assert [one.levelno for one in caplog.records if one.name == "stratagraph_client"] == [logging.WARNING]


def test_the_second_conversation_of_the_example_knows_what_the_first_was_told(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    example = importlib.import_module("langgraph_agent")
    assert example.converse(memory, "ann", "Which food am I allergic to?") == "I do not know."
    assert example.converse(memory, "ann", "I am allergic to peanuts.") == "I will keep that in mind."
    assert example.converse(memory, "ann", "Which food am I allergic to?") == "You told me: I am allergic to peanuts."
    assert example.converse(memory, "bob", "Which food am I allergic to?") == "I do not know."
    found = memory.recall("What is ann allergic to?", types=[MemoryType.SEMANTIC])
    assert "I am allergic to peanuts." in found.memories[0].text


def test_the_example_runs_as_a_reader_starts_it(service: Service) -> None:
    program = [sys.executable, str(ROOT / "examples" / "langgraph_agent.py"), "--url", str(service.url)]
    done = subprocess.run(program, capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": ""})
    assert done.returncode == 0, done.stderr
    assert "agent: You told me: I am allergic to peanuts." in done.stdout
    assert re.search(r"Any other client recalls: users/user-.*I am allergic to peanuts", done.stdout), done.stdout


PAGE = (ROOT / "docs" / "clients" / "langgraph.md").read_text()


@pytest.mark.parametrize("block", re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE))
def test_the_programs_of_the_page_run(service: Service, memory: Memory, block: str) -> None:
    answers = {"gpt": response_of(1, [item_of("Done.")]), "claude": MESSAGES[1]}
    with ModelServer(lambda body: as_json(answers[body["model"].split("-")[0]])(body)) as server:
        models = {f"{name}_BASE_URL": server.url for name in ("OPENAI", "ANTHROPIC")}
        keys = {"OPENAI_API_KEY": "none", "ANTHROPIC_API_KEY": "none", "STRATAGRAPH_URL": str(service.url)}
        # Its own processor of traces would send them to OpenAI.
        quiet = "from agents import set_trace_processors\nset_trace_processors([])\n" if "agents" in block else ""
        program = [sys.executable, "-c", quiet + block]
        done = subprocess.run(program, capture_output=True, text=True, check=False, env=os.environ | models | keys)
    assert done.returncode == 0, done.stderr
    assert "dropped" not in done.stderr
    if (thread := re.search(r"deploy-\d", block)) is not None:
        assert next(one[1] for one in captured(memory, thread[0])) == "Deploy, please."
        assert outcomes(memory, thread[0]) == [("success", None)]
    else:
        assert "users/alice/food" in done.stdout
