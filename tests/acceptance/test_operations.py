"""docs/operations.md: its commands exist, and those for a database of your own are run as they stand."""

from __future__ import annotations

import os
import secrets
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import typer
from checkout import ROOT
from fix_memory import memory_of, with_database
from fix_own_database import blocks, prepared, section

from stratagraph.service import cli
from stratagraph.service.embedded_postgres import postgres_binaries
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.master import LocalMasterKey
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.postgres.database import Database
from stratagraph.store.postgres.migrating import migrate

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def commands_in(page: Path) -> Iterator[list[str]]:
    """Yield the words after `stratagraph` of each of its commands in the page's shell blocks."""
    for block in blocks(page.read_text(), "sh"):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] in (["claude"], ["codex"]):
                continue  # commands of coding agents, to which `stratagraph` is the name of a server
            names = [at for at, word in enumerate(words) if word in ("stratagraph", ".venv/bin/stratagraph")]
            if names and names[-1] + 1 < len(words):
                yield words[names[-1] + 1 :]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_commands_of_the_pages_exist_with_their_options(page: Path) -> None:
    for words in commands_in(page):
        command: Any = typer.main.get_command(cli.build())
        rest = list(words)
        while hasattr(command, "commands"):
            if command.invoke_without_command and (not rest or rest[0].startswith("-")):
                break
            assert rest[:1], f"{page.name}: stratagraph {' '.join(words)}"
            assert rest[0] in command.commands, f"{page.name}: stratagraph {' '.join(words)}"
            command = command.commands[rest.pop(0)]
        known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
        for word in rest:
            if word.startswith("-") and word != "-":  # alone, it is standard output
                assert word.partition("=")[0] in known | {"--help"}, f"{page.name}: stratagraph {' '.join(words)}"


def test_the_page_on_operations_has_commands() -> None:
    found = [" ".join(words[:1]) for words in commands_in(ROOT / "docs" / "operations.md")]
    assert {"backup", "restore", "token", "audit"} <= set(found)


def shell(script: str, directory: Path, **variables: str) -> None:
    environment = os.environ | variables | {"PATH": f"{postgres_binaries()}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], cwd=directory, env=environment, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.skipif("STRATAGRAPH_TEST_DATABASE_URL" in os.environ, reason="the page's logins have no password there")
async def test_a_database_of_your_own_is_prepared_backed_up_and_restored_with_the_commands_of_the_page(
    postgres_url: str, tmp_path: Path
) -> None:
    (tmp_path / "store" / "1").mkdir(parents=True)
    (tmp_path / "store" / "1" / "object").write_bytes(b"bytes")
    backup, restore = blocks(section("Backing up a database of your own"), "sh")
    place = tmp_path / "backup"
    place.mkdir()
    with prepared(postgres_url) as own:
        migrate(own.owner, api_url=own.api, worker_url=own.worker)
        async with Database(own.api, own.worker) as database:
            memory = memory_of(database, Directory(database, Vault(database, LocalMasterKey(bytes(32)))))
            await memory.observe("Alice", "works_at", "Acme")
        shell(backup, place, ARTIFACTS=str(tmp_path / "store"), ADMIN_URL=own.administrator)
        assert (place / "artifacts" / "1" / "object").read_bytes() == b"bytes"
        name = f"restored_{secrets.token_hex(4)}"
        target = with_database(postgres_url, name)
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        try:
            shell(restore, place, TARGET_URL=target)
            urls = [with_database(url, name) for url in (own.owner, own.api, own.worker)]
            migrate(urls[0], api_url=urls[1], worker_url=urls[2])
            async with Database(urls[1], urls[2]) as database:
                memory = memory_of(database, Directory(database, Vault(database, LocalMasterKey(bytes(32)))))
                found = await memory.lookup.entities(memory.trust, "alice", scope=None, first=10)
            assert [record.name for record in found] == ["Alice"]
        finally:
            with psycopg.connect(postgres_url, autocommit=True) as connection:
                connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
