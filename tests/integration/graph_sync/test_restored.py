"""A Postgres that was restored is another one than the mirror shows: whatever the way back, the mirror follows, and
nothing of the future that was rolled back is left in it (docs/architecture.md, The change feed)."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import psycopg
import pytest
from fix_memory import memory_of, until
from fix_mirror import House
from sqlalchemy import text
from structlog.testing import capture_logs

from stratagraph.graph_sync.mirror import Mirror
from stratagraph.service.embedded_postgres import EmbeddedPostgres, postgres_binaries
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.master import LocalMasterKey
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.postgres.database import Database
from stratagraph.store.postgres.schema import migrate

pytestmark = pytest.mark.neo4j


@pytest.fixture
def cluster(tmp_path: Path) -> EmbeddedPostgres:
    """A Postgres of the test's own, not running."""
    return EmbeddedPostgres(tmp_path / "own")


@asynccontextmanager
async def house_on(url: str, bolt: str) -> AsyncIterator[House]:
    async with (
        Database(url) as database,
        Mirror(bolt, user=None, password=None, database="neo4j") as mirror,
    ):
        house = House(memory_of(database, Directory(database, Vault(database, LocalMasterKey(bytes(32))))), mirror)
        try:
            yield house
        finally:
            await house.worker.release()


async def remember(house: House, name: str) -> UUID:
    """One fact, in both stores."""
    kept = await house.memory.observe(name, "works_at", "Acme")
    await house.sync()
    assert await house.node(kept.primary.id) is not None
    return kept.primary.id


async def follows(house: House, *, kept: UUID, lost: UUID) -> None:
    """The mirror is of this database: with what it kept, without what it lost, and new changes arrive."""
    with capture_logs() as logs:

        async def rebuilt() -> bool:
            return (await house.sync()).rebuilt

        await until(rebuilt)
    assert [line["event"] for line in logs].count("mirror rebuild started") == 1
    assert await house.node(kept) is not None
    assert await house.node(lost) is None
    assert await house.mirror_is_equal()
    await remember(house, "Zoe")
    assert not (await house.start_afresh()).rebuilt
    assert await house.mirror_is_equal()
    await at_rest(house)


async def at_rest(house: House) -> None:
    """Snapshots end where nothing is written: no row of the log lies in a future that this database never had."""
    async with house.memory.database.engine.begin() as connection:
        before = (await connection.execute(text("SELECT max(id) FROM sync_snapshot"))).scalar_one()
    for _ in range(3):
        assert (await house.sync()).idle
    async with house.memory.database.engine.begin() as connection:
        assert (await connection.execute(text("SELECT max(id) FROM sync_snapshot"))).scalar_one() == before


@dataclass
class Copy:
    """A copy of a cluster's files, to be put back."""

    cluster: EmbeddedPostgres
    path: Path

    @classmethod
    def of(cls, cluster: EmbeddedPostgres) -> Copy:
        path = cluster.directory / "copy"
        subprocess.run(["cp", "-a", str(cluster.data), str(path)], check=True)
        return cls(cluster, path)

    def take_log(self) -> None:
        """What was written since, up to where recovery is to end."""
        subprocess.run(["cp", "-a", f"{self.cluster.data}/pg_wal/.", str(self.path / "pg_wal")], check=True)

    def put_back(self) -> None:
        shutil.rmtree(self.cluster.data)
        subprocess.run(["cp", "-a", str(self.path), str(self.cluster.data)], check=True)


async def test_files_that_were_copied_back_are_noticed_by_the_nonce_of_a_snapshot(
    cluster: EmbeddedPostgres, clean_neo4j: str
) -> None:
    with cluster.running() as url:
        migrate(url)
        async with house_on(url, clean_neo4j) as house:
            kept = await remember(house, "Alice")
    copy = Copy.of(cluster)
    with cluster.running() as url:
        async with house_on(url, clean_neo4j) as house:
            lost = await remember(house, "Bob")
    copy.put_back()
    with cluster.running() as url:
        async with house_on(url, clean_neo4j) as house:
            # As many snapshots as the lost future had, so that their numbers tell nothing.
            async with house.memory.database.engine.begin() as connection:
                for _ in range(5):
                    await connection.execute(text("INSERT INTO sync_snapshot (snap) VALUES (pg_current_snapshot())"))
            await follows(house, kept=kept, lost=lost)


async def test_a_point_in_time_is_another_timeline(cluster: EmbeddedPostgres, clean_neo4j: str) -> None:
    with cluster.running() as url:
        migrate(url)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET wal_keep_size = '1GB'")
            connection.execute("SELECT pg_reload_conf()")
            connection.execute("SELECT pg_backup_start('test', true)")
            copy = Copy.of(cluster)
            row = connection.execute("SELECT labelfile FROM pg_backup_stop()").fetchone()
            assert row is not None
        (copy.path / "postmaster.pid").unlink()
        async with house_on(url, clean_neo4j) as house:
            kept = await remember(house, "Alice")
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute("SELECT pg_create_restore_point('here')")
            lost = await remember(house, "Bob")
    _write_as_owner(copy, "backup_label", row[0])
    _write_as_owner(copy, "recovery.signal", "")
    _write_as_owner(
        copy,
        "postgresql.auto.conf",
        "restore_command = 'false'\nrecovery_target_name = 'here'\nrecovery_target_action = 'promote'\n",
    )
    copy.take_log()
    copy.put_back()
    with cluster.running() as url:
        async with house_on(url, clean_neo4j) as house:

            async def promoted() -> bool:
                with psycopg.connect(url) as connection:
                    return connection.execute("SELECT pg_is_in_recovery()").fetchone() == (False,)

            await until(promoted)
            await follows(house, kept=kept, lost=lost)


def _write_as_owner(copy: Copy, name: str, said: str) -> None:
    path = copy.path / name
    path.write_text(said)
    owner = copy.path.stat()
    shutil.chown(path, owner.st_uid, owner.st_gid)
    path.chmod(0o600)


@pytest.fixture
def emptied_cluster(cluster: EmbeddedPostgres) -> Iterator[str]:
    with cluster.running() as url:
        yield url


async def test_a_dump_in_a_new_cluster_has_other_transaction_ids(
    house: House, database_url: str, emptied_cluster: str, clean_neo4j: str, tmp_path: Path
) -> None:
    kept = await remember(house, "Alice")
    dump = _dumped(database_url, tmp_path)
    lost = await remember(house, "Bob")
    await house.worker.release()
    _restored(dump, database_url, emptied_cluster)
    async with house_on(emptied_cluster, clean_neo4j) as restored:
        await follows(restored, kept=kept, lost=lost)


def _dumped(url: str, directory: Path) -> Path:
    dump = directory / "dump.sql"
    with dump.open("w") as out:
        subprocess.run([str(postgres_binaries() / "pg_dump"), url], stdout=out, check=True)
    return dump


def _restored(dump: Path, source: str, target: str) -> None:
    """As an administrator would: the roles first, then the database."""
    roles = subprocess.run(
        [str(postgres_binaries() / "pg_dumpall"), "--roles-only", "-d", source],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    psql = [str(postgres_binaries() / "psql"), "-q", target]
    subprocess.run(psql, input=roles, text=True, check=True, capture_output=True)  # some exist already
    subprocess.run([*psql, "-v", "ON_ERROR_STOP=1", "-f", str(dump)], check=True, capture_output=True)
