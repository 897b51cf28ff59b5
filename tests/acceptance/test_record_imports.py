"""Exports and imports by the real commands, between two databases, killed at random on the way."""

from __future__ import annotations

import base64
import json
import random
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import psycopg
from exported_store import fill
from fix_memory import fresh_database, memory_of, until
from fix_service import MASTER_KEY, Forked, environment, run_command

from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.master import LocalMasterKey
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.postgres.database import Database


async def _filled(url: str) -> int:
    """Fill the tenant `default` of a database; return the number of its records."""
    async with Database(url) as database:
        key = LocalMasterKey(base64.b64decode(MASTER_KEY))
        memory = memory_of(database, Directory(database, Vault(database, key)))
        memory = replace(memory, trust=replace(memory.trust, tenant="default"))
        await fill(memory)
        return int(await memory.value("SELECT count(*) FROM record"))


def _records(url: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT count(*) FROM record").fetchone()
    assert row is not None
    return int(row[0])


async def _killed(arguments: list[str], env: Mapping[str, str], url: str, *, after: int) -> bool:
    """Run a command and kill it once the database has so many records; return whether it was killed."""
    with tempfile.TemporaryFile("w+") as err:
        process = Forked(arguments, env, err)

        async def is_due() -> bool:
            return process.poll() is not None or _records(url) >= after

        await until(is_due, within_s=120)
        was_running = process.poll() is None
        process.kill()
        process.wait(timeout=60)
        process.stdout.close()
    return was_running


async def test_a_store_moves_by_commands_also_where_the_import_is_killed(
    database_url: str,
    postgres_url: str,
    template_database: str,
    administrator: psycopg.Connection,
    tmp_path: Path,
) -> None:
    records = await _filled(database_url)
    file, plain, again, cut = (tmp_path / name for name in ("e.jsonl.gz", "plain.jsonl", "again.jsonl", "cut.jsonl"))
    here = environment(database_url=database_url, data_dir=str(tmp_path / "here"), master_key=MASTER_KEY)
    status, _, err = await run_command("export", str(file), env=here)
    assert status == 0, err
    with fresh_database(postgres_url, template_database, administrator) as url:
        there = environment(database_url=url, data_dir=str(tmp_path / "there"), master_key=MASTER_KEY)
        command = ["import", "records", str(file)]
        status, out, err = await run_command(*command, "--dry-run", "--json", env=there)
        assert (status, json.loads(out)["refusals"]) == (0, 0), err
        assert _records(url) == 0
        await _killed(command, there, url, after=random.randrange(1, records))
        status, out, err = await run_command(*command, "--json", env=there)
        assert status == 0, err
        report = json.loads(out)
        assert sum(report["stored"].values()) + report["unchanged"] == records
        status, _, err = await run_command("export", str(again), env=there)
        assert status == 0, err
        status, _, err = await run_command("export", str(plain), env=here)
        assert again.read_bytes() == plain.read_bytes()
        status, _, err = await run_command("audit", "verify", env=there)
        assert status == 0, err

        lines = plain.read_bytes().splitlines(keepends=True)
        cut.write_bytes(b"".join(lines[:-1]))
        status, _, err = await run_command("import", "records", str(cut), env=there)
        assert status == 1
        assert "cut off" in err
