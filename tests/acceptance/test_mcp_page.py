"""The blocks of docs/clients/mcp.md: configurations, as the command prints them, and a call that works."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from fix_service import Service, environment, run_command

from stratagraph.service.mcp.client_configs import CLIENTS, Server, configuration
from stratagraph.service.mcp.definitions import DEFINITIONS
from stratagraph.service.mcp.resources import TEMPLATES

PAGE = (Path(__file__).resolve().parents[2] / "docs/clients/mcp.md").read_text()
BLOCKS = [(kind, text) for kind, text in re.findall(r"^```(\w+)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)]
ORDER = ("claude-code", "codex", "claude-desktop", "vscode", "cursor")  # of the page, each by stdio and then by HTTP
LOCAL = Server(command="/path/to/stratagraph", data_dir="/path/to/.stratagraph", url=None)
REMOTE = Server(command="/path/to/stratagraph", data_dir="", url="https://memory.example.org/mcp")


def parsed(text: str) -> Any:
    """Return what a configuration says, whatever it looks like."""
    if text.startswith("claude "):
        return shlex.split(text)
    return tomllib.loads(text) if text.startswith("[") else json.loads(text)


def test_the_page_shows_what_the_command_prints() -> None:
    assert tuple(name for name in ORDER if name in CLIENTS) == ORDER
    assert set(ORDER) == set(CLIENTS)
    shown = [parsed(text) for _, text in BLOCKS[: 2 * len(ORDER)]]
    printed = [parsed(configuration(client, server)[1]) for client in ORDER for server in (LOCAL, REMOTE)]
    assert shown == printed


def test_the_page_names_all_tools_with_their_arguments_and_all_resources() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", PAGE, re.MULTILINE))
    assert rows.keys() == {one.name for one in DEFINITIONS}
    for one in DEFINITIONS:
        assert set(re.findall(r"[a-z_]+", rows[one.name])) - {"or"} == set(one.arguments)
        required = {name for name, argument in one.arguments.items() if argument.is_required}
        assert set(re.findall(r"\*(\w+)\*", rows[one.name])) == required
    for template in TEMPLATES:
        assert f"`{template.uri_template}`" in PAGE


async def test_the_call_of_the_page_works(service: Service) -> None:
    kind, call = BLOCKS[-1]
    assert kind == "sh"
    assert service.url is not None
    here = call.replace("http://127.0.0.1:8000", service.url)
    done = await asyncio.to_thread(subprocess.run, ["bash", "-c", here], capture_output=True, text=True, timeout=30)
    assert json.loads(done.stdout)["result"]["structuredContent"]["is_new"] is True, done


@pytest.mark.parametrize("client", CLIENTS)
async def test_the_command_prints_it_with_the_paths_of_this_machine(client: str, tmp_path: Path) -> None:
    env = environment(data_dir=str(tmp_path / "my data"))
    status, out, err = await run_command("mcp", "config", client, env=env)
    assert (status, err) == (0, "")
    assert str(tmp_path / "my data") in out
    status, out, _ = await run_command("mcp", "config", client, "--url", "https://memory.example.org/", env=env)
    assert status == 0
    assert "https://memory.example.org" in out
    assert not (tmp_path / "my data").exists()


async def test_wrong_options_are_refused() -> None:
    for arguments, said in (
        (("config", "emacs"), "none of claude-code, claude-desktop, codex, vscode, cursor"),
        (("config", "codex", "--url", "x"), "'x' is no address"),
        (("--url", "ftp://x"), "'ftp://x' is no address"),
    ):
        status, out, err = await run_command("mcp", *arguments, env=environment())
        assert (status, out) == (1, ""), arguments
        assert said in " ".join(err.split())
