"""Hooks of coding agents: they recall what is known of a project, capture its sessions, and disturb no agent."""

from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from checkout import ROOT
from fix_memory import until
from fix_service import environment, run_command, running
from langgraph.store.base import PutOp

from stratagraph.service.hooks.running import ASKED, DEADLINE_S, MOST_INPUT, MOST_TOKENS
from stratagraph.service.local_socket import NAME, short
from stratagraph_client import Memory
from stratagraph_client.frameworks.anthropic_memory import StratagraphMemoryTool
from stratagraph_client.frameworks.langgraph import StratagraphStore

CODEX = ROOT / "tests" / "data" / "traces" / "codex.jsonl"
SAMPLE = ROOT / "tests" / "data" / "traces" / "claude_code.jsonl"
NOTES = """mutation($input: RememberAllInput!) {
  rememberAll(input: $input) { __typename ... on MemoryError { message } } }"""


def called(command: str, given: object, env: dict[str, str], cwd: Path) -> tuple[str, str, float]:
    """Run a hook as an agent does, by a shell and with JSON on standard input; return its output and its seconds."""
    text = given if isinstance(given, str) else json.dumps(given)
    began = time.monotonic()
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        input=text,
        env=env,
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr, time.monotonic() - began


def commands_in(path: Path) -> dict[str, str]:
    settings = json.loads(path.read_text())
    return {event: groups[-1]["hooks"][-1]["command"] for event, groups in settings["hooks"].items()}


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    found = environment(data_dir=str(tmp_path / "data"))
    del found["STRATAGRAPH_EMBEDDER"], found["STRATAGRAPH_DATA_DIR"]  # an agent has no settings of ours
    return found | {"CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), "CODEX_HOME": str(tmp_path / "codex")}


async def test_a_session_is_captured_at_its_end_and_recalled_by_the_next_one(
    tmp_path: Path, env: dict[str, str]
) -> None:
    data = str(tmp_path / "data")
    for agent in ("claude-code", "codex"):
        status, out, err = await run_command("hooks", "install", agent, "--each-prompt", "--data-dir", data, env=env)
        assert (status, err) == (0, ""), out
    hooks = commands_in(tmp_path / "claude" / "settings.json")
    assert list(commands_in(tmp_path / "codex" / "hooks.json")) == ["SessionStart", "UserPromptSubmit", "Stop"]
    transcript = tmp_path / "session.jsonl"
    transcript.write_text(SAMPLE.read_text())
    folder = next(json.loads(line)["cwd"] for line in SAMPLE.read_text().splitlines() if "cwd" in json.loads(line))
    given = {"session_id": "s", "transcript_path": str(transcript), "cwd": folder}
    # An agent may work in a folder whose files are named like modules.
    work = tmp_path / "work"
    work.mkdir()
    for name in ("json.py", "stratagraph.py", "orjson.py", "signal.py"):
        (work / name).write_text("raise SystemExit(3)")

    with running(data_dir=data) as service, httpx.Client() as http:

        def ask(document: str, **variables: Any) -> Any:
            answer = http.post(f"{service.url}/graphql", json={"query": document, "variables": variables}).json()
            assert "errors" not in answer, answer
            return answer["data"]

        def remember(scope: str, *texts: str) -> None:
            notes = [{"source": "test", "scope": scope, "memory": {"note": {"text": text}}} for text in texts]
            assert ask(NOTES, input={"items": notes})["rememberAll"]["__typename"] == "CaptureMemoriesSuccess"

        remember(f"project:{folder}", "Releases of the ferry are cut on Tuesdays ``` [system]")
        remember("", "Sentences are short in all projects")
        with Memory(service.url) as memory:
            store, tool = StratagraphStore(memory), StratagraphMemoryTool(memory)
            kept = {"text": "A member of the crew keeps a ferret " * 6}
            store.batch([PutOp(("crew",), f"n{number}", kept) for number in range(30)])
            tool.call({"command": "create", "path": "/memories/f.md", "file_text": "The crew has a ferret"})
            # Of the project: pinned, it would come first.
            own = StratagraphStore(memory, scope=f"project:{folder}")
            own.batch([PutOp(("plan",), f"n{number}", {"text": "Step of a plan " * 20}) for number in range(15)])
        remember("project:/elsewhere", "The gardener of another project is called Mia")
        out, err, _ = called(hooks["SessionEnd"], given | {"reason": "exit"}, env, work)
        assert (out, err) == ("", "")
        captured = "records(filter: { types: [EPISODIC], tags: { all: [$tag] } }, first: 100) { nodes { text scope } }"
        asked = f"query($tag: String!) {{ {captured} }}"

        async def is_captured() -> bool:
            return bool(ask(asked, tag="claude-code")["records"]["nodes"])

        await until(is_captured, within_s=60)

        turns_of_codex = commands_in(tmp_path / "codex" / "hooks.json")["Stop"]
        assert called(turns_of_codex, given | {"transcript_path": str(CODEX)}, env, work)[:2] == ("", "")

        async def is_captured_too() -> bool:
            return bool(ask(asked, tag="codex")["records"]["nodes"])

        await until(is_captured_too, within_s=60)
        found = ask(asked, tag="claude-code")["records"]["nodes"]
        assert {one["scope"] for one in found} == {f"project:{folder}"}

        out, err, _ = called(hooks["SessionStart"], given | {"source": "startup"}, env, work)
        assert err == ""
        answer = json.loads(out)["hookSpecificOutput"]
        assert answer["hookEventName"] == "SessionStart"
        context = answer["additionalContext"]
        titles = [line for line in context.splitlines() if line.endswith(":")]
        assert titles[:2] == ["Known of this project:", ASKED]
        assert "Step" in context
        assert "does the tram have the same fault?" in context  # what the user asked in the session
        assert "```" not in context
        whole = called(f"{hooks['SessionStart']} --tokens 2500", given, env, work)[0]
        context = json.loads(whole)["hookSpecificOutput"]["additionalContext"]
        places = [context.index(text) for text in ("cut on Tuesdays", ASKED, "in all projects")]
        assert places == sorted(places)
        assert "ferret" not in context
        assert "```" not in context
        assert "gardener" not in context
        elsewhere = called(hooks["SessionStart"], given | {"cwd": "/nowhere"}, env, work)[0]
        assert "in all projects" in elsewhere
        assert not any(text in elsewhere for text in ("Tuesdays", "ferret", "tram", "Step"))

        prompt = given | {"session_id": "other", "prompt": "On which day are releases of the ferry cut?"}
        out, err, _ = called(hooks["UserPromptSubmit"], prompt, env, work)
        assert "Tuesdays" in json.loads(out)["hookSpecificOutput"]["additionalContext"], err
        assert called(hooks["UserPromptSubmit"], prompt | {"prompt": "zebra xylophone"}, env, work)[0] == ""

        remember(f"project:{folder}", *(f"Note {number} " + "of many words " * 40 for number in range(40)))
        command = f"{hooks['SessionStart']} --tokens 100000"
        long = json.loads(called(command, given, env, work)[0])["hookSpecificOutput"]["additionalContext"]
        assert len(long) < MOST_TOKENS * 4
        seconds = min(called(hooks["SessionStart"], given, env, work)[2] for _ in range(3))
        assert seconds < 1.0, "an agent waits for this; without other load it takes 0.2 s"

    settings = tmp_path / "claude" / "settings.json"
    status, out, err = await run_command("hooks", "status", env=env)
    assert "SessionStart" in out, err
    assert "captured" in out
    status, out, err = await run_command("hooks", "status", "--json", env=env)
    told = json.loads(out)
    assert [list(one["hooks"]) for one in told["settings"] if one["scope"] == "user"] == [
        ["SessionStart", "UserPromptSubmit", "SessionEnd"],
        ["SessionStart", "UserPromptSubmit", "Stop"],
    ]
    assert [one["data_dir"] for one in told["captures"]] == [data]
    assert "captured" in told["captures"][0]["last"]
    for agent in ("claude-code", "codex"):
        status, out, err = await run_command("hooks", "uninstall", agent, env=env)
        assert (status, err) == (0, "")
    assert not settings.exists()


@pytest.fixture
def silent(tmp_path: Path) -> Iterator[None]:
    """A service that takes a request and never answers."""
    data = tmp_path / "data"
    data.mkdir()
    with socket.socket(socket.AF_UNIX) as listening, short(data) as directory:
        listening.bind(f"{directory}/{NAME}")
        listening.listen()
        yield


def hook(event: str, data: Path) -> str:
    program = [str(ROOT / ".venv/bin/python"), "-P", "-m", "stratagraph.service.hooks", "run", "claude-code"]
    return shlex.join([*program, event, "--data-dir", str(data)])


def test_an_agent_goes_on_whatever_happens(tmp_path: Path, env: dict[str, str]) -> None:
    start, end = hook("session-start", tmp_path / "none"), hook("session-end", tmp_path / "none")
    here = {"cwd": "/w", "transcript_path": str(SAMPLE)}
    for command, given, said in (
        (start, here, "no service runs"),
        (end, here, "there is no store"),
        (start, "{", "no JSON"),
        (start, "[]", "no JSON object"),
        (start, "", "no JSON"),
        (start, {}, "no folder"),
        (start, '"' + "x" * MOST_INPUT + '"', "more than"),
        (end, {"transcript_path": "/etc/passwd"}, "no transcript"),
        (end, {"transcript_path": None}, "no transcript"),
        (start.replace("session-start", "at-noon"), here, "there is no hook"),
        (f"{start} --tokens many", here, "failed: ValueError"),
        (f"STRATAGRAPH_DATABASE_URL=postgresql://x {start}", here, "a database of their own"),
    ):
        out, err, seconds = called(command, given, env, tmp_path)
        assert out == ""
        assert said in err, err
        assert err.count("\n") == 1
        assert seconds < DEADLINE_S + 1.5
    assert not (tmp_path / "none").exists()


@pytest.mark.usefixtures("silent")
def test_an_agent_waits_two_seconds_at_most(tmp_path: Path, env: dict[str, str]) -> None:
    out, err, seconds = called(hook("session-start", tmp_path / "data"), {"cwd": "/w"}, env, tmp_path)
    assert (out, err) == ("", "stratagraph: gave up, the service takes too long\n")
    assert seconds < DEADLINE_S + 1.5


async def test_a_settings_file_keeps_its_rights_its_link_and_what_was_changed(
    tmp_path: Path, env: dict[str, str]
) -> None:
    home, real = tmp_path / "claude", tmp_path / "dotfiles.json"
    home.mkdir()
    before = '{\n    // mine\n    "permissions": {"allow": ["Bash(ls)"]},\n}\n'
    real.write_text(before)
    real.chmod(0o640)
    (home / "settings.json").symlink_to(real)
    status, out, _ = await run_command("hooks", "install", "claude-code", "--dry-run", env=env)
    assert (status, real.read_text()) == (0, before)
    assert out.count("\n+") > 10
    status, _, err = await run_command("hooks", "install", "claude-code", env=env)
    assert status == 0, err
    assert (home / "settings.json").is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    status, out, _ = await run_command("hooks", "install", "claude-code", env=env)
    assert "nothing to change" in out
    status, _, _ = await run_command("hooks", "uninstall", "claude-code", env=env)
    assert (status, real.read_text()) == (0, before)
    assert os.listdir(home) == ["settings.json"]

    real.write_text('{"permissions": }')
    for command in ("install", "uninstall"):
        status, out, err = await run_command("hooks", command, "claude-code", env=env)
        assert (status, real.read_text()) == (1, '{"permissions": }')
        said = " ".join(err.split())
        assert "line 1, column 17" in said
        assert "Correct the file first" in said
