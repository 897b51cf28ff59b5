"""Imports through the real command, killed at random: the same command run again leaves each item once."""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fix_git import new_repository
from fix_memory import until
from fix_service import Client, Forked, run_command, settings_of, stored

COMMITS = 420
CONVERSATIONS = 90
TURNS = 12
MEMORIES = 1_500


async def kill_at_random(arguments: list[str], env: Mapping[str, str], url: str, *, of: int) -> bool:
    """Run the command and kill it once it has stored a random number of captures; return whether it was killed."""
    count = "SELECT count(*) FROM idempotency"
    enough = stored(url, count) + random.randrange(of)
    with tempfile.TemporaryFile("w+") as err:
        process = Forked(arguments, env, err)

        async def is_due() -> bool:
            return process.poll() is not None or stored(url, count) >= enough

        await until(is_due, within_s=120)
        was_running = process.poll() is None
        process.kill()
        process.wait(timeout=60)
        process.stdout.close()
    return was_running


async def final(arguments: list[str], env: Mapping[str, str]) -> dict[str, Any]:
    status, out, err = await run_command(*arguments, "--json", env=env)
    assert status == 0, err
    summary: dict[str, Any] = json.loads(out)
    return summary


async def test_an_import_of_a_repository_that_is_killed_leaves_each_commit_once(
    database_url: str, tmp_path: Path
) -> None:
    made = new_repository(tmp_path / "widgets")
    stream = b"".join(
        b"commit refs/heads/main\ncommitter Ann <ann@example.org> %d +0000\ndata 10\nCommit %03d\n"
        b"M 644 inline file-%d.txt\ndata 3\n%03d\n" % (1_700_000_000 + number, number, number % 50, number)
        for number in range(COMMITS)
    )
    made.git("fast-import", "--quiet", sent=stream)
    env, arguments = settings_of(database_url, tmp_path), ["import", "git", str(made.path)]
    kills = [await kill_at_random(arguments, env, database_url, of=150) for _ in range(3)]
    assert any(kills)
    summary = await final(arguments, env)
    assert summary["captured"] + summary["replayed"] == COMMITS
    assert summary["refused"] == []
    follows = "SELECT count(*) FROM relation e JOIN predicate p ON p.id = e.predicate WHERE p.name = 'follows'"
    assert stored(database_url, follows) == COMMITS - 1
    assert stored(database_url, "SELECT count(*) FROM record WHERE type = 1") == COMMITS
    assert stored(database_url, "SELECT count(*) FROM record WHERE type = 3") == 50 + 2
    assert (await final(arguments, env))["captured"] == 0


async def test_an_import_of_conversations_that_is_killed_leaves_each_turn_once(
    database_url: str, tmp_path: Path
) -> None:
    file = tmp_path / "t.jsonl"
    with file.open("w") as opened:
        for number in range(CONVERSATIONS):
            turns = [{"role": "user", "content": f"turn {number} {turn}"} for turn in range(TURNS)]
            opened.write(json.dumps({"id": number, "messages": turns, "reward": 1}) + "\n")
    env, arguments = settings_of(database_url, tmp_path), ["import", "traces", str(file)]
    kills = [await kill_at_random(arguments, env, database_url, of=400) for _ in range(3)]
    assert any(kills)
    summary = await final(arguments, env)
    assert summary["captured"] + summary["replayed"] == CONVERSATIONS * (TURNS + 1)
    assert stored(database_url, "SELECT count(*) FROM episode WHERE outcome = 1 AND events = 12") == CONVERSATIONS
    assert stored(database_url, "SELECT count(*) FROM episode") == CONVERSATIONS
    assert stored(database_url, "SELECT count(*) FROM record WHERE type = 1") == CONVERSATIONS * (TURNS + 1)


async def test_an_import_of_memories_that_is_killed_leaves_each_once(database_url: str, tmp_path: Path) -> None:
    file = tmp_path / "m.jsonl"
    with file.open("w") as opened:
        for number in range(MEMORIES):
            memory = {"id": f"m{number}", "memory": f"saw {number} herons", "user_id": f"user{number % 7}"}
            opened.write(json.dumps(memory) + "\n")
    env, arguments = settings_of(database_url, tmp_path), ["import", "memories", str(file)]
    kills = [await kill_at_random(arguments, env, database_url, of=500) for _ in range(3)]
    assert any(kills)
    summary = await final(arguments, env)
    assert summary["captured"] + summary["replayed"] == MEMORIES
    assert stored(database_url, "SELECT count(*) FROM record WHERE slot_key IS NOT NULL") == MEMORIES
    assert stored(database_url, "SELECT count(*) FROM record") == MEMORIES + 7


async def test_an_erased_conversation_is_left_out_by_the_command_until_it_is_restored(
    database_url: str, tmp_path: Path
) -> None:
    file = tmp_path / "t.jsonl"
    lines = [{"id": number, "messages": [{"role": "user", "content": f"turn {number}"}]} for number in range(2)]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    env, arguments = settings_of(database_url, tmp_path), ["import", "traces", str(file), "--scope", "user:ann"]
    assert (await final(arguments, env))["captured"] == 2
    erased = ("erase", "scope", "user:ann", "--why", "ticket 4711", "--yes", "--json")
    status, _, err = await run_command(*erased, env=env)
    assert status == 0, err
    summary = await final(arguments, env)
    assert (summary["captured"], summary["erased"]) == (0, 2)
    status, out, err = await run_command(*arguments, env=env)
    assert status == 0, err
    assert "2 had been erased before" in " ".join(out.split())
    assert (await final([*arguments, "--restore-erased"], env))["captured"] == 2


async def test_the_command_lists_lines_that_it_refuses_and_exits_with_1(database_url: str, tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    file.write_text('{"id": 1, "messages": [{"role": "user", "content": "hello"}]}\n{"oops": [1]}\n')
    env = settings_of(database_url, tmp_path)
    status, out, err = await run_command("import", "traces", str(file), env=env)
    assert status == 1
    assert (
        "not imported: line 2: fits no known format; the nearest is chat completions, but it has no list `messages`"
        in " ".join(err.split())
    )
    assert "1; 0 had been imported before" in " ".join(out.split())
    assert "Traceback" not in err


async def test_a_capture_with_an_erased_key_is_answered_with_forbidden(client: Client) -> None:
    captured = """mutation($key: String!) {
      captureMemory(input: {source: "s", sourceKind: EVENT, content: {summary: "secret"}, idempotencyKey: $key}) {
        __typename
        ... on CaptureMemorySuccess { primaryRecord { id } }
        ... on MemoryError { code message path }
      }
    }"""
    answer = (await client.data(captured, key="k"))["captureMemory"]
    erased = """mutation($id: ID!) {
      erase(input: {recordId: $id, rationale: "ticket 4711"}) { __typename }
    }"""
    assert (await client.data(erased, id=answer["primaryRecord"]["id"]))["erase"]["__typename"] == "EraseSuccess"
    again = (await client.data(captured, key="k"))["captureMemory"]
    assert (again["__typename"], again["code"], again["path"]) == ("Forbidden", "FORBIDDEN", ["idempotencyKey"])
    assert "was erased" in again["message"]
    assert (await client.data(captured, key="other"))["captureMemory"]["__typename"] == "CaptureMemorySuccess"
