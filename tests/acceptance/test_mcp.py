"""MCP with real processes: the SDK's client over HTTP and stdio, the reference inspector, and stops at any time."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import psutil
import pytest
from fix_service import Service, command, environment, run_command, running
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from stratagraph_client import AsyncMemory

INSPECTOR = Path(__file__).resolve().parents[1] / "data" / "mcp_inspector"
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NODE, NPM = shutil.which("node"), shutil.which("npm")
ERAS: tuple[Literal["legacy", "auto"], ...] = ("legacy", "auto")
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


def unavailable(reason: str) -> None:
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


async def worked_with(client: Client, text: str) -> str:
    """Remember, recall, correct, explain and forget; return the id of what was remembered."""
    listed = await client.list_tools()
    assert {tool.name for tool in listed.tools} >= {"remember", "recall", "forget"}
    stored = await client.call_tool("remember", {"text": text, "about": "parrot"})
    assert not stored.is_error, stored
    id_: str = stored.structured_content["id"]
    found = await client.call_tool("recall", {"query": text})
    assert id_ in [one["id"] for one in found.structured_content["memories"]]
    corrected = await client.call_tool("correct", {"id": id_, "text": f"{text}, and Latin"})
    assert corrected.structured_content["replaced"] == [id_]
    told = await client.call_tool("explain", {"id": id_})
    assert told.structured_content["state"] == "superseded"
    read = await client.read_resource(f"stratagraph://record/{corrected.structured_content['id']}")
    assert "and Latin" in read.contents[0].text  # type: ignore[union-attr]  # all are texts
    step = await client.call_tool("log_step", {"text": f"learned: {text}"})
    thread = step.structured_content["thread"]
    ended = await client.call_tool("report_outcome", {"outcome": "success", "thread": thread})
    assert ended.structured_content["done"] == [f"thread: closed {thread}"]
    forgotten = await client.call_tool("forget", {"id": corrected.structured_content["id"]})
    assert forgotten.structured_content["state"] == "retracted"
    refused = await client.call_tool("recall", {"qury": text})
    assert refused.is_error
    return id_


async def test_the_sdks_client_works_over_http_with_any_worker(database_url: str, tmp_path: Path) -> None:
    with running(database_url=database_url, single_user="on", data_dir=str(tmp_path / "data"), workers="2") as service:
        for era in ERAS:
            async with Client(f"{service.url}/mcp", mode=era) as client:
                await worked_with(client, f"The parrot speaks {era}")
        assert service.stop() == 0


async def test_the_sdks_client_works_over_stdio_with_a_service(service: Service, tmp_path: Path) -> None:
    log = tmp_path / "log"
    for era in ERAS:
        with log.open("a") as err:
            async with Client(stdio_client(started(service, tmp_path), errlog=err), mode=era) as client:
                await worked_with(client, f"The parrot speaks {era}")
    assert log.read_text() == ""


async def test_all_that_a_server_with_a_scope_stores_has_it(service: Service, tmp_path: Path) -> None:
    async with Client(stdio_client(started(service, tmp_path, "--scope", "project:/a")), mode=ERAS[0]) as client:
        note = await client.call_tool("remember", {"text": "The parrot of project A speaks Basque"})
        step = await client.call_tool("log_step", {"text": "Fed the parrot"})
        ended = await client.call_tool("report_outcome", {"outcome": "success"})
    assert ended.structured_content["done"] == [f"thread: closed {step.structured_content['thread']}"]
    async with AsyncMemory(service.url) as memory:
        for one in (note, step):
            record = await memory.operations.record(id=one.structured_content["id"])
            assert record is not None
            assert record.scope == "project:/a"


def started(service: Service, directory: Path, *options: str) -> StdioServerParameters:
    assert service.url is not None
    whole = command("mcp", "--url", service.url, *options)
    return StdioServerParameters(command=whole[0], args=whole[1:], env=environment(), cwd=str(directory))


class Agent:
    """An agent's end of standard input and output, line by line."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.lines: list[str] = []

    @classmethod
    async def start(cls, *arguments: str, env: Mapping[str, str], log: Path) -> Agent:
        with log.open("a") as err:
            return cls(
                await asyncio.create_subprocess_exec(
                    *command("mcp", *arguments),
                    env=dict(env),
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=err,
                )
            )

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return the result of a call."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        params = {"name": tool, "arguments": arguments, "_meta": META}
        request = {"jsonrpc": "2.0", "id": len(self.lines), "method": "tools/call", "params": params}
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        async with asyncio.timeout(60):
            line = (await self.process.stdout.readline()).decode()
        self.lines.append(line)
        answer = json.loads(line)
        assert answer["id"] == request["id"]
        result: dict[str, Any] = answer["result"]
        return result

    async def end(self, number: signal.Signals | None) -> tuple[int, str]:
        """End it by a signal, or by the end of its input; return the exit status and what else it printed."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        if number is None:
            self.process.stdin.close()
        else:
            self.process.send_signal(number)
        async with asyncio.timeout(60):
            rest = await self.process.stdout.read()
            return await self.process.wait(), rest.decode()


async def test_an_agent_outlives_a_service_that_goes_away_and_comes_back(database_url: str, tmp_path: Path) -> None:
    settings = {"database_url": database_url, "single_user": "on", "data_dir": str(tmp_path / "data")}
    log = tmp_path / "log"
    with running(**settings) as first:
        assert first.url is not None
        port = first.url.rsplit(":", 1)[1]
        agent = await Agent.start("--url", first.url, env=environment(), log=log)
        assert not (await agent.call("remember", text="The parrot speaks Basque")).get("isError")
        first.kill()
    refused = await agent.call("recall", query="parrot")
    assert refused["isError"]
    assert "cannot be reached" in refused["content"][0]["text"]
    assert "Go on without memory" in refused["content"][0]["text"]
    with running(**settings, port=port):
        found = await agent.call("recall", query="parrot")
        assert "Basque" in found["structuredContent"]["memories"][0]["text"]
        assert await agent.end(signal.SIGTERM) == (0, "")
    assert "parrot" not in log.read_text()


async def test_two_agents_share_a_data_directory_that_no_service_runs_on(tmp_path: Path) -> None:
    env, log = environment(data_dir=str(tmp_path / "data")), tmp_path / "log"
    first = await Agent.start(env=env, log=log)
    id_ = (await first.call("remember", text="The parrot speaks Basque"))["structuredContent"]["id"]
    second = await Agent.start(env=env, log=log)
    found = await second.call("recall", query="parrot")
    assert found["structuredContent"]["memories"][0]["id"] == id_
    await second.call("remember", text="The parrot eats nuts")
    assert await first.end(signal.SIGTERM) == (0, "")
    for _ in range(6):  # it now opens the store itself, which takes a while, and says so
        found = await second.call("recall", query="What does the parrot eat?")
        if not found.get("isError"):
            break
        assert "try again" in found["content"][0]["text"], found["content"][0]["text"]
    assert "nuts" in json.dumps(found)
    assert await second.end(None) == (0, "")
    here = str(tmp_path)
    assert not [one for one in psutil.process_iter(["cmdline"]) if here in " ".join(one.info["cmdline"] or ())]
    assert "parrot" not in log.read_text()


async def test_what_cannot_be_opened_is_said_on_standard_error(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("no directory")
    status, out, err = await run_command("mcp", env=environment(data_dir=str(tmp_path / "data")))
    assert (status, out) == (1, "")
    assert "STRATAGRAPH_DATA_DIR" in err
    assert "Traceback" not in err


@pytest.fixture
def inspector(tmp_path: Path) -> list[str]:
    """The command of the reference inspector."""
    if NODE is None or NPM is None:
        unavailable("Node and npm are not installed")
    directory = tmp_path / "inspector"
    shutil.copytree(INSPECTOR, directory)
    install = [str(NPM), "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(directory)]
    done = subprocess.run(install, capture_output=True, text=True, check=False, timeout=180)
    if done.returncode:
        unavailable(f"npm cannot install the inspector: {done.stderr[-300:]}")
    return [str(NODE), str(directory / "node_modules" / ".bin" / "mcp-inspector"), "--cli"]


async def test_the_reference_inspector_finds_no_fault(inspector: list[str], service: Service, tmp_path: Path) -> None:
    async def inspect(*arguments: str, status: int = 0) -> dict[str, Any]:
        env = environment(data_dir=str(tmp_path / "data")) | {"HOME": str(tmp_path)}
        whole = [*inspector, *arguments, "--quiet"]
        done = await asyncio.to_thread(subprocess.run, whole, capture_output=True, text=True, env=env, timeout=60)
        assert done.returncode == status, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    assert service.url is not None
    for era in ("legacy", "modern"):
        over_http = [f"{service.url}/mcp", "--transport", "http", "--protocol-era", era]
        listed = await inspect(*over_http, "--method", "tools/list", "--strict")
        assert len(listed["tools"]) == 8
    told = await inspect(*over_http, "--method", "tools/call", "--tool-name", "remember", "--tool-arg", "text=A parrot")
    id_ = told["structuredContent"]["id"]
    read = await inspect(*over_http, "--method", "resources/read", "--uri", f"stratagraph://record/{id_}")
    assert "A parrot" in read["contents"][0]["text"]
    over_stdio = command("mcp", "--url", service.url)
    told = await inspect(*over_stdio, "--method", "tools/call", "--tool-name", "recall", "--tool-arg", "query=parrot")
    assert told["structuredContent"]["memories"][0]["id"] == id_
    await inspect(*over_stdio, "--method", "tools/call", "--tool-name", "forget", "--tool-arg", "id=x", status=5)


async def test_a_scripted_model_uses_memory_by_what_the_definitions_say(service: Service, tmp_path: Path) -> None:
    assert service.url is not None
    whole = [sys.executable, str(EXAMPLES / "mcp_agent.py"), "--url", service.url]
    done = await asyncio.to_thread(
        subprocess.run, whole, capture_output=True, text=True, env=environment(), cwd=tmp_path, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    picked = [
        line.split()[0]
        for line in done.stdout.splitlines()
        if line.startswith("  ") and "{" in line and not line.startswith("  {")
    ]
    assert picked == [
        "remember",
        "correct",
        "log_step",
        "report_outcome",
        "lessons",
        "recall",
        "explain",
        "report_outcome",
    ]
    assert done.stdout.splitlines()[-1].endswith("The demo is on Friday")
