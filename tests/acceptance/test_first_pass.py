"""The first pass over a store that no run has compared: stopped anywhere, it loses nothing, and the next goes on."""

from __future__ import annotations

import json
import re
import signal
import tempfile
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from fix_learning import store_at_rest
from fix_memory import Memory, fresh_database, memory_of, until
from fix_service import MASTER_KEY, Forked, environment, run_command

from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.master import LocalMasterKey
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.model.enums import SourceKind
from stratagraph.store.postgres.database import Database

CONSTANTS = {  # so that each part of the pass takes several transactions
    "stratagraph.memory.learning.service:LINKED": 5,
    "stratagraph.memory.learning.duplicates.following:PAGE": 7,
    "stratagraph.memory.learning.duplicates.follow_up:CLAIMED": 5,
}
# The tables that each part writes, in their order. A process waits at its first write to one that the test has locked.
PARTS = {
    "linking": "link_request",
    "queueing": "duplicate_due",
    "reading names": "duplicate_key",
    "comparing": "duplicate_pair",
}
MERGED_AT = re.compile(r'"timestamp":"[^"]*"')
WAITS = """
SELECT EXISTS (SELECT FROM pg_locks WHERE relation = CAST(%s AS regclass) AND NOT granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
"""
DONE = (
    "SELECT (SELECT count(*) FROM duplicate_due), (SELECT count(*) FROM duplicate_key),"
    " (SELECT count(*) FROM link_request)"
)


async def opened(url: str, then: Any) -> Any:
    async with Database(url) as database:
        memory = memory_of(database, Directory(database, Vault(database, LocalMasterKey(bytes(32)))))
        return await then(memory)


async def fill(memory: Memory) -> None:
    """Capture firms under two names each, and facts about them in two wordings."""
    requests = []
    for number, name in enumerate(("Acme", "Globex", "Initech", "Umbrella", "Hooli", "Vandelay", "Stark", "Wayne")):
        for form, said in ((name, f"{number} big plants"), (f"{name}, Inc.", f"{number} BIG plants.")):
            content = {"subject": form, "predicate": "runs", "object": said}
            mentions = [{"name": form, "type": "Organization"}]
            requests.append(
                CaptureRequest(
                    source="s", source_kind=SourceKind.OBSERVATION, content=content, context={"mentions": mentions}
                )
            )
    for request in requests:
        await memory.capture.capture(memory.trust, [request])


def settings_of(url: str) -> dict[str, str]:
    return environment(database_url=url, master_key=MASTER_KEY)


async def queued(url: str) -> tuple[int, ...]:
    """Return how many records are to be compared, how many keys are noted, and how many entities are to be linked."""
    with psycopg.connect(url) as connection:
        return tuple(connection.execute(DONE).fetchall()[0])


async def stop_at(url: str, table: str, number: signal.Signals) -> None:
    """Start the command, and send it a signal once it waits to write to the table."""
    with (
        psycopg.connect(url) as holder,
        psycopg.connect(url, autocommit=True) as watching,
        tempfile.TemporaryFile("w+") as err,
    ):
        holder.execute(f"LOCK TABLE {table} IN EXCLUSIVE MODE")
        process = Forked(["consolidate", "--json"], settings_of(url), err, json.dumps(CONSTANTS))

        async def waits() -> bool:
            assert process.poll() is None, err.seek(0) or err.read()
            return bool(watching.execute(WAITS, [table]).fetchall()[0][0])

        await until(waits)
        process.send_signal(number)
        if number is signal.SIGINT:
            process.wait(timeout=30)  # also while the database lets it wait
        holder.rollback()
        assert process.wait(timeout=30) != 0
        process.stdout.close()
        if number is signal.SIGINT:
            err.seek(0)
            assert "Traceback" not in err.read()
        else:
            watching.execute("UPDATE job SET lease_until = '-infinity' WHERE name = 'consolidate'")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
async def test_a_first_pass_that_is_stopped_anywhere_loses_nothing(
    postgres_url: str, template_database: str, number: signal.Signals
) -> None:
    with fresh_database(postgres_url, template_database) as filled:
        await opened(filled, fill)
        source = urlsplit(filled).path.removeprefix("/")
        with fresh_database(postgres_url, source) as once, fresh_database(postgres_url, source) as stopped:
            for table in PARTS.values():
                await stop_at(stopped, table, number)
            for url in (once, stopped) * 2:  # the second run deletes the keys of what the first one merged
                code, _, err = await run_command("consolidate", "--json", env=settings_of(url))
                assert code == 0, err
            found = [await opened(url, store_at_rest) for url in (once, stopped)]
            left = [await queued(url) for url in (once, stopped)]
    first, second = ([MERGED_AT.sub("", kept.what) for kept in records] for records, _ in found)
    assert sorted(first) == sorted(second)
    assert found[0][1] == found[1][1]
    assert left[0] == left[1]
    assert (left[0][0], left[0][1] > 0) == (0, True)
