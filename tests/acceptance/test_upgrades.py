"""Upgrades of stores of earlier commits, with data of all kinds, on a PostgreSQL of the operator's own.

The logins are those of docs/operations.md. One copy of a store is upgraded without a disturbance, another by processes
that are killed, and their background jobs run in different orders: both must end equal.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import orjson
import psycopg
import pytest
from fix_jobs import server_of
from fix_memory import NOON, memory_of, until, with_database
from fix_own_database import PASSWORD, OwnDatabase, prepared
from fix_service import MASTER_KEY, Forked, environment, run_command
from fix_upgrades import ORDERED, at_the_end_of, contents_of, differences, fill, made_in, schema_of
from fix_words import count_differences, words_counted

from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.master import LocalMasterKey
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.postgres.database import Database
from stratagraph.store.postgres.migrating import known_revisions, migrate

COMMITS = ("48b8e96", "4679b02")  # of the revisions 0056 and 0060
LATER = NOON + timedelta(days=60)
LOCK = 4_711
# Tables that no data of the earlier commit is in: leases, limits of rates, the mirror, and what waits for it.
EMPTY = frozenset({
    "artifact_removal", "artifact_upload", "duplicate_due", "duplicate_pair", "entity_merge_slot", "extraction",
    "fact_trim", "free_predicate", "job", "job_set_aside", "learning_relation", "learning_run", "mirror_generation",
    "mirror_leader", "rate_bucket", "rate_lease", "reanalysis", "reevaluation", "rekeying", "sync_dead_letter",
    "sync_worker",
})  # fmt: skip


@pytest.fixture(params=COMMITS)
def filled(request: pytest.FixtureRequest, foreign_postgres_url: str) -> Iterator[OwnDatabase]:
    """A database that the code of an earlier commit has filled."""
    with prepared(foreign_postgres_url, password=PASSWORD) as own:
        fill(own, request.param)
        if request.param == COMMITS[0]:
            assert {table for table, rows in contents_of(own.administrator).items() if not rows} == EMPTY
        yield own


def copied(own: OwnDatabase, name: str) -> OwnDatabase:
    """Copy a database for the same logins."""
    template, owner = urlsplit(own.administrator).path[1:], urlsplit(own.owner).username
    with psycopg.connect(with_database(own.administrator, "postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {template}_{name} TEMPLATE {template} OWNER {owner}")
    urls = (own.administrator, own.owner, own.api, own.worker)
    return OwnDatabase(*(with_database(url, f"{template}_{name}") for url in urls))


def logins_of(own: OwnDatabase) -> list[str]:
    return [str(urlsplit(url).username) for url in (own.owner, own.api, own.worker)]


def settings_of(own: OwnDatabase, data: Path) -> dict[str, str]:
    urls = {"database_url": own.api, "owner_database_url": own.owner, "worker_database_url": own.worker}
    return environment(**urls, master_key=MASTER_KEY, data_dir=str(data))


async def upgraded(own: OwnDatabase, data: Path) -> None:
    """Upgrade by a command, as the first start of a service does."""
    status, _, error = await run_command("jobs", "list", env=settings_of(own, data))
    assert status == 0, error


async def kill_at_the_end_of(own: OwnDatabase, revision: str, data: Path) -> None:
    """Start an upgrade, and kill its process when the migration to `revision` has made all of its changes."""
    waiting = "SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = %s AND NOT granted"
    async with await psycopg.AsyncConnection.connect(own.administrator, autocommit=True) as connection:
        await connection.execute("SELECT pg_advisory_lock(%s)", (LOCK,))
        with (
            at_the_end_of(own.administrator, revision, f"PERFORM pg_advisory_xact_lock({LOCK})"),
            (data / "log").open("a") as log,
        ):
            process = Forked(["jobs", "list"], settings_of(own, data), log)

            async def is_there() -> bool:
                assert process.poll() is None
                return bool(await (await connection.execute(waiting, (LOCK,))).fetchall())

            await until(is_there)
            process.kill()
            process.wait(timeout=30)
            process.stdout.close()
            await connection.execute("SELECT pg_advisory_unlock(%s)", (LOCK,))


async def work(own: OwnDatabase, *, backwards: bool) -> None:
    """Run the background jobs, in the order of their names or the other one, until all are done."""
    async with Database(own.api, own.worker) as database:
        memory = memory_of(database, Directory(database, Vault(database, LocalMasterKey(bytes(32)))))
        memory.clock.at = LATER
        server = server_of(memory)
        server.jobs.sort(key=lambda job: job.name, reverse=backwards)
        while any((await server.run_once()).values()):
            pass


async def words_of(own: OwnDatabase) -> dict[tuple[int, int], int]:
    async with Database(own.administrator) as database:
        assert await count_differences(database) == []
        return await words_counted(database)


async def test_an_upgrade_ends_equal_however_often_it_is_killed_and_in_whatever_order_its_jobs_run(
    filled: OwnDatabase, foreign_postgres_url: str, tmp_path: Path
) -> None:
    before = contents_of(filled.administrator)
    known = made_in(before)
    plain, killed = copied(filled, "plain"), copied(filled, "killed")
    (reached,) = (orjson.loads(row)["version_num"] for row in before["alembic_version"])
    missing = [revision for revision in known_revisions() if revision > reached]
    for revision in missing:
        await kill_at_the_end_of(killed, revision, tmp_path)
    await asyncio.gather(upgraded(plain, tmp_path), upgraded(killed, tmp_path))
    after = contents_of(plain.administrator)
    assert differences(after, contents_of(killed.administrator), known=known) == []
    assert [len(after[table]) for table in ("record", "audit")] == [len(before[table]) for table in ("record", "audit")]
    await work(plain, backwards=False)
    await work(killed, backwards=True)
    assert await words_of(plain) == await words_of(killed)
    stores = [contents_of(own.administrator) for own in (plain, killed)]
    assert differences(*stores, known=known, leave_out=ORDERED) == []
    assert len(stores[0]["relation"]) > 100
    with prepared(foreign_postgres_url, password=PASSWORD) as new:
        migrate(new.owner, api_url=new.api, worker_url=new.worker)
        found, wanted = (set(schema_of(one.administrator, *logins_of(one))) for one in (plain, new))
        assert found - wanted == wanted - found == set()
    status, _, error = await run_command("audit", "verify", env=settings_of(plain, tmp_path))
    assert status == 0, error
