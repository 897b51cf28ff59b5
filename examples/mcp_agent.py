"""An agent that gets its memory by MCP, with a model that is a script: it picks tools by what their definitions say.

The model knows none of the tools beforehand. It wants something, compares that with the descriptions, and fills the
arguments of the tool that fits best from what it knows. In the first conversation it is told something and makes a
mistake; in the second one, of another process, it remembers.

    .venv/bin/python examples/mcp_agent.py                               # in the data directory of the settings
    .venv/bin/python examples/mcp_agent.py --url http://127.0.0.1:8000   # beside `make run`
"""

from __future__ import annotations

import argparse
import asyncio
import math
import os
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import Tool

Json = dict[str, Any]
COMMAND = str(Path(sys.executable).parent / "stratagraph")


class ScriptedModel:
    """Picks a tool for what it wants, and fills its arguments with what it knows."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._words = {tool.name: Counter(_words(f"{tool.name} {tool.description}")) for tool in tools}

    def pick(self, want: str) -> Tool:
        """Return the tool whose description shares the most words with `want`; rare words count more."""

        def fit(name: str) -> float:
            shared = [word for word in set(_words(want)) if word in self._words[name]]
            return sum(math.log(1 + len(self._tools) / self._known(word)) for word in shared)

        return self._tools[max(sorted(self._tools), key=fit)]

    def arguments(self, tool: Tool, known: Mapping[str, Any]) -> Json:
        """Return those known values that the tool has arguments for."""
        return {name: known[name] for name in tool.input_schema["properties"] if name in known}

    def _known(self, word: str) -> int:
        return sum(word in words for words in self._words.values())


class Conversation:
    """One conversation: a client of the server, and the model."""

    def __init__(self, client: Client, model: ScriptedModel) -> None:
        self._client = client
        self._model = model

    async def do(self, want: str, **known: Any) -> Json:
        """Have the model call a tool; print the call, and return the answer."""
        tool = self._model.pick(want)
        arguments = self._model.arguments(tool, known)
        result = await self._client.call_tool(tool.name, arguments)
        assert not result.is_error, result.content
        answer: Json = result.structured_content
        print(f"{want}\n  {tool.name} {arguments}\n  {answer}")
        return answer


async def first_conversation(talk: Conversation) -> None:
    """Be told something, be corrected, and finish a task."""
    told = await talk.do("store a decision of the user, a lasting fact", text="The demo is on Thursday", about="demo")
    await talk.do("the user corrects a wrong memory, facts change", id=told["id"], text="The demo is on Friday")
    step = await talk.do(
        "log a step of the task: a tool call that failed", tool="book_room", args={"day": "Friday"}, failed=True
    )
    await talk.do("tell how the task ended", outcome="failure", thread=step["thread"], reason="no room was free")


async def second_conversation(talk: Conversation) -> str:
    """Remember, use what is remembered, and say that it helped."""
    await talk.do("lessons from past mistakes, before a task of several steps", task="book a room for the demo")
    found = await talk.do("search memory before I answer, earlier decisions may matter", query="When is the demo?")
    best = found["memories"][0]
    await talk.do("why is this memory believed: its sources and history", id=best["id"])
    used = {"retrieval_id": found["retrieval_id"], "used_ids": [best["id"]]}
    await talk.do("tell how the task ended, so that what helped ranks higher", outcome="success", **used)
    text: str = best["text"]
    return text


async def main(url: str | None) -> None:
    server = StdioServerParameters(
        command=COMMAND, args=["mcp", *(["--url", url] if url else [])], env=dict(os.environ)
    )
    async with Client(stdio_client(server)) as client:
        tools = (await client.list_tools()).tools
        await first_conversation(Conversation(client, ScriptedModel(tools)))
    async with Client(stdio_client(server)) as client:
        tools = (await client.list_tools()).tools
        print("It remembers:", await second_conversation(Conversation(client, ScriptedModel(tools))))


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z]+", text.lower())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--url", help="address of a service; default: the data directory of the settings")
    asyncio.run(main(parser.parse_args().url))
