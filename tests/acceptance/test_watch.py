"""The command `watch`, killed while sessions grow, left without a database, and told to end."""

from __future__ import annotations

import json
import random
import select
import signal
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from fix_faults import OwnPostgres
from fix_memory import until
from fix_service import Forked, run_command, settings_of, stored
from session_files import SESSION, claude_code, codex

from stratagraph.memory.imports.conversation import Called, Returned, Said, Step
from stratagraph.memory.imports.fields import Reading
from stratagraph.memory.imports.trace_files import Document, read_documents

SESSIONS = 4
TURNS = 20
RECORDS = 2 * TURNS  # of a session: a turn of the user and a result for each
SOON = json.dumps({"stratagraph.memory.imports.watching:POLL_S": 0.1, "stratagraph.memory.imports.watching:SHARE": 0.1})
CAPTURES = "SELECT count(*) FROM idempotency"


def steps(session: int, turns: int) -> list[Step]:
    """Turns of a session, each with a call and its result."""
    found: list[Step] = []
    for turn in range(turns):
        found.append(Said(role="user", text=f"turn {session} {turn}"))
        found.append(Called(tool="look", arguments={"at": turn}, turn=turn, id=f"c{turn}"))
        found.append(Returned(text=f"seen {turn}", id=f"c{turn}"))
    return found


def lines_of(session: int, turns: int = TURNS) -> list[bytes]:
    writer = (claude_code, codex)[session % 2]
    id_ = SESSION.replace("5a9f", f"{session:04d}")
    return [json.dumps(line).replace(SESSION, id_).encode() + b"\n" for line in writer(steps(session, turns))]


def append(path: Path, waiting: list[bytes], rnd: random.Random) -> None:
    """Write some of the lines that wait to a file, the last one perhaps in part."""
    with path.open("ab") as file:
        for _ in range(min(len(waiting), rnd.randrange(30))):
            file.write(waiting.pop(0))
        if waiting:
            cut = rnd.randrange(len(waiting[0]))
            file.write(waiting[0][:cut])
            waiting[0] = waiting[0][cut:]


def written_records(path: Path) -> int:
    """The turns and results that a file has."""
    documents = read_documents(path)
    read = [
        one for found in documents if isinstance(found, Document) for one in found.format.read(found.value, Reading)
    ]
    return sum(not isinstance(step, Called) for one in read for step in one.steps)


@contextmanager
def started(arguments: list[str], env: Mapping[str, str], err: IO[str]) -> Iterator[Forked]:
    """Run the command, which looks often; it is killed at the end of the block if it still runs."""
    process = Forked(arguments, env, err, SOON)
    try:
        yield process
    finally:
        process.kill()
        process.wait(timeout=60)
        process.stdout.close()


async def ended(process: Forked) -> int:
    async def has_ended() -> bool:
        return process.poll() is not None

    await until(has_ended, within_s=60)
    return process.wait()


async def test_a_watch_that_is_killed_while_sessions_grow_stores_each_turn_once(
    database_url: str, tmp_path: Path
) -> None:
    rnd = random.Random(7)
    folder = tmp_path / "sessions"
    folder.mkdir()
    files = [folder / f"s{session}.jsonl" for session in range(SESSIONS)]
    pending = [lines_of(session) for session in range(SESSIONS)]
    env, arguments = settings_of(database_url, tmp_path), ["watch", str(folder), "--json"]
    with tempfile.TemporaryFile("w+") as err:
        for _ in range(3):
            for path, waiting in zip(files, pending, strict=True):
                append(path, waiting, rnd)
            enough = rnd.randint(stored(database_url, CAPTURES), sum(map(written_records, files)))

            async def is_due(enough: int = enough) -> bool:
                return stored(database_url, CAPTURES) >= enough

            with started(arguments, env, err):
                await until(is_due, within_s=60)
        for path, waiting in zip(files, pending, strict=True):
            with path.open("ab") as file:
                file.write(b"".join(waiting))

        async def is_whole() -> bool:
            return stored(database_url, CAPTURES) >= SESSIONS * RECORDS

        with started(arguments, env, err) as process:
            await until(is_whole, within_s=60)
            process.send_signal(signal.SIGTERM)
            assert await ended(process) == 0
    assert stored(database_url, CAPTURES) == SESSIONS * RECORDS
    assert stored(database_url, "SELECT count(*) FROM record WHERE type = 1") == SESSIONS * (RECORDS + 1)
    assert stored(database_url, "SELECT count(*) FROM episode WHERE outcome IS NULL") == SESSIONS
    assert stored(database_url, "SELECT sum(events) FROM episode") == SESSIONS * RECORDS
    status, out, _ = await run_command(*arguments, "--once", env=env)
    assert (status, out) == (0, "")


async def test_a_watch_waits_for_a_database_that_is_away_and_says_so_once(home: Path, tmp_path: Path) -> None:
    postgres = OwnPostgres(home)
    folder = tmp_path / "sessions"
    folder.mkdir()
    path = folder / "s.jsonl"
    lines = lines_of(0, 3)
    path.write_bytes(b"".join(lines[:4]))

    def said() -> str:
        return (tmp_path / "errors").read_text()

    async def is_told() -> bool:
        return "waiting, and trying again" in said()

    async def is_back() -> bool:
        return "going on:" in said()

    with ExitStack() as stack:
        stack.callback(postgres.close)
        postgres.start()
        env = settings_of(postgres.url, tmp_path)
        errors = stack.enter_context((tmp_path / "errors").open("w"))
        process = stack.enter_context(started(["watch", str(folder), "--json"], env, errors))

        async def has_printed() -> bool:
            return bool(select.select([process.stdout], [], [], 0)[0])

        await until(has_printed, within_s=60)
        assert json.loads(process.stdout.readline())["captured"] == 2
        postgres.kill()
        path.write_bytes(b"".join(lines))
        (folder / "other.jsonl").write_bytes(b"".join(lines_of(1, 1)))
        await until(is_told, within_s=60)
        postgres.start()
        await until(is_back, within_s=90)
        assert stored(postgres.url, CAPTURES) == 3 * 2 + 2
        process.send_signal(signal.SIGINT)
        assert await ended(process) == 0
        assert said().count("waiting, and trying again") == 1


async def test_sessions_are_scoped_by_the_folder_in_which_they_began(database_url: str, tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    (folder / "s.jsonl").write_bytes(b"".join(lines_of(0, 2)))
    (folder / "bad.jsonl").write_text('{"type": 1}\n')
    env = settings_of(database_url, tmp_path)
    status, out, err = await run_command("watch", str(folder), "--once", "--scope-by-project", env=env)
    assert status == 1
    assert "bad.jsonl" in err
    assert "4 new captures" in out
    scopes = "SELECT count(*) FROM record r JOIN scope s ON s.id = r.scope WHERE s.name = 'project:/w'"
    assert stored(database_url, scopes) >= 5
    status, _, err = await run_command("watch", str(folder), "--scope", "a", "--scope-by-project", env=env)
    assert (status, "not both" in err) == (1, True)
    home: dict[str, Any] = {**env, "CLAUDE_CONFIG_DIR": str(tmp_path), "CODEX_HOME": str(tmp_path / "none")}
    status, _, err = await run_command("watch", "--once", env=home)
    assert (status, "name a folder" in err) == (1, True)
