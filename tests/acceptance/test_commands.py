"""The commands, run on a data directory of the test and the embedded Postgres."""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import os
from pathlib import Path

import httpx
from fix_service import environment, run_command, running


async def test_a_data_directory_is_shared_by_commands_and_locked_against_a_second_service(tmp_path: Path) -> None:
    """Import and ask while a service runs, refuse a second service, then ask again without a service."""
    data = tmp_path / ("deep" * 20) / "data"  # longer than the path of a Unix socket may be (107 bytes)
    repository = tmp_path / "repo"
    repository.mkdir()
    script = "git init -qb main && echo hi > a.txt && git add . && git commit -qm 'Teach the parrot to sing'"
    identity = {
        f"GIT_{who}_{what}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "Ann"), ("EMAIL", "ann@example.org"))
    }
    made = await asyncio.create_subprocess_shell(script, cwd=repository, env=os.environ | identity)
    assert await made.wait() == 0
    with running(data_dir=str(data)) as service:
        assert service.url is not None
        env = environment(data_dir=str(data))
        status, out, err = await run_command("import", "git", str(repository), "--json", env=env)
        assert status == 0, err
        assert json.loads(out)["captured"] == 1
        status, out, err = await run_command("import", "git", str(repository), env=env)
        assert status == 0, err
        assert "1 had been imported before" in out
        status, out, _ = await run_command("ask", "who taught the parrot?", "--json", env=env)
        assert status == 0
        assert json.loads(out)["retrieveGraph"]["nodes"][0]["record"]["name"] == "Teach the parrot to sing"
        async with httpx.AsyncClient() as http:
            answer = await http.post(f"{service.url}/graphql", json={"query": "{ records { nodes { name } } }"})
        assert "Teach the parrot to sing" in {node["name"] for node in answer.json()["data"]["records"]["nodes"]}
        status, _, err = await run_command("serve", env=env | {"STRATAGRAPH_PORT": "0"})
        assert status == 1
        assert f"process {service.process.pid}" in " ".join(err.split())
        assert service.url in "".join(err.split())
        assert service.stop() == 0
    status, out, err = await run_command("ask", "parrot", env=env)
    assert status == 0, err
    assert "Teach the parrot to sing" in out
    status, out, err = await run_command("ask", "parrot", "--tenant", "nope", env=env)
    assert (status, out) == (1, "")
    assert "there is no tenant 'nope'" in " ".join(err.split())
    assert not (data / "postgres" / "postmaster.pid").exists()


async def test_a_service_starts_after_the_previous_one_was_killed(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    with running(data_dir=data) as service:
        async with httpx.AsyncClient() as http:
            capture = (
                'mutation { captureMemory(input: {source: "s", sourceKind: EVENT, content: {summary: "kept"}})'
                " { __typename } }"
            )
            answer = await http.post(f"{service.url}/graphql", json={"query": capture})
            assert answer.json()["data"]["captureMemory"]["__typename"] == "CaptureMemorySuccess"
        service.kill()
    with running(data_dir=data) as service:
        async with httpx.AsyncClient() as http:
            answer = await http.post(f"{service.url}/graphql", json={"query": "{ records { nodes { name } } }"})
        assert [node["name"] for node in answer.json()["data"]["records"]["nodes"]] == ["kept"]


async def test_errors_are_printed_to_standard_error_with_advice(tmp_path: Path) -> None:
    env = environment(data_dir=str(tmp_path / "data"))
    cases = [
        (["import", "git", str(tmp_path)], env, "not a git repository"),
        (["import", "traces", str(tmp_path / "none.jsonl")], env, "there is no such file"),
        (["ask", "x", "--limit", "500"], env, "between 1 and 100"),
        (["ask", "x", "--type", "gossip"], env, "is none of"),
        (["token", "create", "x", "--access", "root"], env, "is none of"),
        (["token", "create", "consolidation/plans"], env, "choose another"),
        (["token", "revoke", "x"], env, "is not a UUID"),
        (["sync", "status"], env, "stratagraph neo4j start"),
        (["ask", "x"], env | {"STRATAGRAPH_PROT": "1"}, "did you mean STRATAGRAPH_PORT"),
        (["serve"], env | {"STRATAGRAPH_SINGLE_USER": "on", "STRATAGRAPH_HOST": "0.0.0.0"}, "loopback"),
        (["ask", "x"], env | {"STRATAGRAPH_DATABASE_URL": "mysql://x"}, "postgresql://"),
        (["ask", "x"], env | {"STRATAGRAPH_DATABASE_URL": "postgresql://127.0.0.1:1/x"}, "cannot be reached"),
    ]
    for arguments, settings, expected in cases:
        status, out, err = await run_command(*arguments, env=settings)
        assert status == 1, (arguments, err)
        assert out == ""
        assert expected in " ".join(err.split()), (arguments, err)
        assert "Traceback" not in err


async def test_help_names_the_subcommands_and_environment_variables() -> None:
    for arguments, expected in ((["--help"], "import"), (["serve", "--help"], "STRATAGRAPH_DATABASE_URL")):
        status, out, _ = await run_command(*arguments, env=environment())
        assert status == 0
        assert expected in out


async def test_the_command_tells_its_version_without_a_data_directory(tmp_path: Path) -> None:
    status, out, err = await run_command("--version", env=environment(data_dir=str(tmp_path / "data")))
    assert (status, out) == (0, f"stratagraph {importlib.metadata.version('stratagraph')}\n"), err
    assert not (tmp_path / "data").exists()
