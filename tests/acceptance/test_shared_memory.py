"""One memory for five clients: an agent of LangGraph and one of the OpenAI SDK, MCP, a TypeScript program, plain HTTP.

What one remembers, the others recall at once; and none recalls what its credential hides.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import chain
from pathlib import Path
from typing import Any, Protocol, TypedDict
from uuid import uuid4

import httpx
import pytest
from agents import Agent, RunConfig, Runner, function_tool
from agents.testing import ScriptedModel, assistant_message, function_call
from checkout import ROOT
from fix_service import Service, run_command, running
from langgraph.graph import StateGraph
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from stratagraph_client import AsyncMemory
from stratagraph_client.frameworks.langgraph import StratagraphStore
from stratagraph_client.frameworks.openai_agents import StratagraphSession

SHARE = ROOT / "clients" / "typescript" / "build" / "share.js"
MOST = 50  # memories that one recalls
REMEMBER = """mutation($input: RememberInput!) { remember(input: $input) { __typename
  ... on MemoryError { code message } } }"""
RECALL = """query($input: RetrieveGraphInput!) { retrieveGraph(input: $input) {
  ... on RetrieveGraphSuccess { nodes { record { text } } } ... on MemoryError { code message } } }"""


class Participant(Protocol):
    """Who remembers and recalls with one credential, each in the way of its framework."""

    async def remember(self, text: str) -> None: ...

    async def recall(self, question: str) -> list[str]: ...


class PlainHttp:
    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    async def remember(self, text: str, **more: Any) -> None:
        given = {"source": "http", "memory": {"note": {"text": text}}} | more
        assert (await self._send(REMEMBER, given))["remember"] == {"__typename": "CaptureMemorySuccess"}

    async def recall(self, question: str) -> list[str]:
        found = await self._send(RECALL, {"taskDescriptor": question, "rootLimit": MOST, "nodeLimit": 2 * MOST})
        return [node["record"]["text"] for node in found["retrieveGraph"]["nodes"] if node["record"]["text"]]

    async def _send(self, document: str, given: dict[str, Any]) -> dict[str, Any]:
        response = await self._http.post("/graphql", json={"query": document, "variables": {"input": given}})
        data: dict[str, Any] = response.json()["data"]
        return data


class State(TypedDict, total=False):
    question: str
    told: str
    known: list[str]


class LangGraphAgent:
    """A graph of two nodes: what it is told goes into its store, and what is asked for it recalls."""

    def __init__(self, memory: AsyncMemory) -> None:
        store = StratagraphStore(memory)

        async def save(state: State) -> State:
            if told := state.get("told"):
                await store.aput(("team",), str(uuid4()), {"text": told})
            return {}

        async def look_up(state: State) -> State:
            question = state.get("question")
            found = await memory.recall(question, limit=MOST) if question else None
            return {"known": [one.text for one in found.memories] if found else []}

        graph = StateGraph(State)
        graph.add_node("save", save)
        graph.add_node("look_up", look_up)
        graph.set_entry_point("save")
        graph.add_edge("save", "look_up")
        self._graph = graph.compile()

    async def remember(self, text: str) -> None:
        await self._graph.ainvoke({"told": text})

    async def recall(self, question: str) -> list[str]:
        known: list[str] = (await self._graph.ainvoke({"question": question}))["known"]
        return known


class McpClient:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def remember(self, text: str) -> None:
        assert not (await self._client.call_tool("remember", {"text": text})).is_error

    async def recall(self, question: str) -> list[str]:
        result = await self._client.call_tool("recall", {"query": question, "limit": 25, "token_budget": 8_000})
        assert not result.is_error, result.content
        assert result.structured_content is not None
        return [one["text"] for one in result.structured_content["memories"]]


class TypeScriptProgram:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def remember(self, text: str) -> None:
        await self._say({"remember": text})

    async def recall(self, question: str) -> list[str]:
        return await self._say({"recall": question})

    async def _say(self, line: dict[str, str]) -> list[str]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(line).encode() + b"\n")
        async with asyncio.timeout(30):
            answer: list[str] = json.loads(await self._process.stdout.readline())
        return answer


class OpenAiAgent:
    """What it is told is a turn of its session; what it is asked it looks up with a tool."""

    def __init__(self, memory: AsyncMemory) -> None:
        self._memory = memory

    async def remember(self, text: str) -> None:
        await self._run(text, [[assistant_message("Noted.")]])

    async def recall(self, question: str) -> list[str]:
        known: list[str] = []

        @function_tool
        async def look_up(task: str) -> str:
            """Recall what is known."""
            known.extend(one.text for one in (await self._memory.recall(task, limit=MOST)).memories)
            return f"{len(known)} memories"

        call = function_call("look_up", {"task": question}, call_id=str(uuid4()))
        await self._run("Look it up.", [[call], [assistant_message("Found.")]], look_up)
        return known

    async def _run(self, text: str, answers: list[Any], *tools: Any) -> None:
        agent = Agent(name="Colleague", model=ScriptedModel(answers), tools=list(tools))
        session = StratagraphSession(f"team-{uuid4()}", self._memory)
        await Runner.run(agent, text, session=session, run_config=RunConfig(tracing_disabled=True))


@asynccontextmanager
async def participants(url: str, key: str) -> AsyncIterator[dict[str, Participant]]:
    """Open the five with one credential."""
    async with AsyncExitStack() as stack:
        memory = await stack.enter_async_context(AsyncMemory(url, api_key=key))
        headers = {"authorization": f"Bearer {key}"}
        http = await stack.enter_async_context(mcp_http(headers))
        plain = await stack.enter_async_context(httpx.AsyncClient(base_url=url, headers=headers, timeout=30))
        client = await stack.enter_async_context(Client(streamable_http_client(f"{url}/mcp", http_client=http)))
        process = await asyncio.create_subprocess_exec(
            *("node", SHARE, url),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=os.environ | {"STRATAGRAPH_API_KEY": key},
        )
        try:
            yield {
                "LangGraph": LangGraphAgent(memory),
                "MCP": McpClient(client),
                "TypeScript": TypeScriptProgram(process),
                "OpenAI": OpenAiAgent(memory),
                "HTTP": PlainHttp(plain),
            }
        finally:
            process.kill()
            await process.wait()


def mcp_http(headers: dict[str, str]) -> Any:
    import httpx2  # the HTTP client of the MCP SDK

    return httpx2.AsyncClient(headers=headers, timeout=30)


@pytest.fixture
def shared(database_url: str, tmp_path: Path) -> Iterator[Service]:
    if not SHARE.exists():
        if os.environ.get("CI"):
            pytest.fail("CI needs the TypeScript client; run `make clients`", pytrace=False)
        pytest.skip("the TypeScript client is not built; run `make clients`")
    with running(database_url=database_url, data_dir=str(tmp_path)) as service:
        yield service


async def key_of(service: Service, name: str, *options: str) -> str:
    status, out, err = await run_command(
        *("token", "create", name, "--access", "write", "--json", *options), env=service.environment
    )
    assert status == 0, err
    key: str = json.loads(out)["token"]
    return key


async def test_five_clients_share_one_memory_and_none_recalls_what_its_credential_hides(shared: Service) -> None:
    url = str(shared.url)
    high = await key_of(shared, "high", "--scope", "*", "--max-sensitivity", "high")
    low = await key_of(shared, "low", "--scope", "*", "--max-sensitivity", "low")
    birds = {"LangGraph": "heron", "MCP": "kestrel", "TypeScript": "plover", "OpenAI": "wagtail", "HTTP": "siskin"}
    question = "Which bird is the password of a team?"
    async with participants(url, high) as seeing, participants(url, low) as limited:
        for name, bird in birds.items():
            await limited[name].remember(f"The password of the team {name} is {bird}")
            for group in (limited, seeing):
                for reader, one in group.items():
                    assert any(bird in text for text in await one.recall(question)), (name, reader)
        writer = seeing["HTTP"]
        assert isinstance(writer, PlainHttp)
        await writer.remember("The password of the team of spies is a hoopoe, a bird", sensitivity="HIGH")
        assert any("hoopoe" in text for text in chain(*[await one.recall(question) for one in seeing.values()]))
        for reader, one in limited.items():
            known = await one.recall(question)
            assert not any("hoopoe" in text for text in known), reader
            assert all(any(bird in text for text in known) for bird in birds.values()), reader
