"""After Postgres is restored in any way, the mirror is rebuilt and holds nothing that the restore rolled back
(docs/architecture.md, The change feed).
"""

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
from fix_mirror import MirroredMemory
from sqlalchemy import text
from structlog.testing import capture_logs

from stratagraph.graph_sync.mirror import Mirror
from stratagraph.service.backups.making import make_backup
from stratagraph.service.backups.restoring import restore_backup
from stratagraph.service.backups.steps import Steps
from stratagraph.service.embedded_postgres import EmbeddedPostgres, postgres_binaries
from stratagraph.service.settings import Settings
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.master import LocalMasterKey
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.postgres.database import Database
from stratagraph.store.postgres.migrating import migrate

pytestmark = pytest.mark.neo4j


@pytest.fixture
def cluster(tmp_path: Path) -> EmbeddedPostgres:
    """A Postgres cluster of the test's own, not running."""
    return EmbeddedPostgres(tmp_path / "own")


@asynccontextmanager
async def mirrored_on(url: str, bolt: str) -> AsyncIterator[MirroredMemory]:
    async with (
        Database(url) as database,
        Mirror(bolt, user=None, password=None, database="neo4j") as mirror,
    ):
        mirrored = MirroredMemory(
            memory_of(database, Directory(database, Vault(database, LocalMasterKey(bytes(32))))), mirror
        )
        try:
            yield mirrored
        finally:
            await mirrored.worker.release()


async def remember(mirrored: MirroredMemory, name: str) -> UUID:
    """Capture a fact, mirror it, and return its id."""
    kept = await mirrored.memory.observe(name, "works_at", "Acme")
    await mirrored.sync()
    assert await mirrored.node(kept.primary.id) is not None
    return kept.primary.id


async def check_follows_restore(mirrored: MirroredMemory, *, kept: UUID, lost: UUID) -> None:
    """Check that the mirror is rebuilt from this database, has `kept` and not `lost`, and receives new changes."""
    with capture_logs() as logs:

        async def rebuilt() -> bool:
            return (await mirrored.sync()).rebuilt

        await until(rebuilt)
    assert [line["event"] for line in logs].count("mirror rebuild started") == 1
    assert await mirrored.node(kept) is not None
    assert await mirrored.node(lost) is None
    assert await mirrored.mirror_is_equal()
    await remember(mirrored, "Zoe")
    assert not (await mirrored.start_afresh()).rebuilt
    assert await mirrored.mirror_is_equal()
    await check_no_new_snapshots(mirrored)


async def check_no_new_snapshots(mirrored: MirroredMemory) -> None:
    """Check that no snapshot is taken while nothing is written: no row of the log has a future transaction id."""
    async with mirrored.memory.database.engine.begin() as connection:
        before = (await connection.execute(text("SELECT max(id) FROM sync_snapshot"))).scalar_one()
    for _ in range(3):
        assert (await mirrored.sync()).idle
    async with mirrored.memory.database.engine.begin() as connection:
        assert (await connection.execute(text("SELECT max(id) FROM sync_snapshot"))).scalar_one() == before


@dataclass
class Copy:
    """A copy of a cluster's files, to restore them from."""

    cluster: EmbeddedPostgres
    path: Path

    @classmethod
    def of(cls, cluster: EmbeddedPostgres) -> Copy:
        path = cluster.directory / "copy"
        subprocess.run(["cp", "-a", str(cluster.data), str(path)], check=True)
        return cls(cluster, path)

    def add_log(self) -> None:
        """Add the write-ahead log since the copy, up to where recovery is to end."""
        subprocess.run(["cp", "-a", f"{self.cluster.data}/pg_wal/.", str(self.path / "pg_wal")], check=True)

    def restore(self) -> None:
        shutil.rmtree(self.cluster.data)
        subprocess.run(["cp", "-a", str(self.path), str(self.cluster.data)], check=True)


async def test_a_restored_copy_of_the_files_is_recognized_by_the_nonce_of_a_snapshot(
    cluster: EmbeddedPostgres, clean_neo4j: str
) -> None:
    with cluster.running() as url:
        migrate(url)
        async with mirrored_on(url, clean_neo4j) as mirrored:
            kept = await remember(mirrored, "Alice")
    copy = Copy.of(cluster)
    with cluster.running() as url:
        async with mirrored_on(url, clean_neo4j) as mirrored:
            lost = await remember(mirrored, "Bob")
    copy.restore()
    with cluster.running() as url:
        async with mirrored_on(url, clean_neo4j) as mirrored:
            # As many snapshots as before the restore, so that their numbers do not show that it was restored.
            async with mirrored.memory.database.engine.begin() as connection:
                for _ in range(5):
                    await connection.execute(text("INSERT INTO sync_snapshot (snap) VALUES (pg_current_snapshot())"))
            await check_follows_restore(mirrored, kept=kept, lost=lost)


async def test_a_point_in_time_recovery_is_recognized_by_its_timeline(
    cluster: EmbeddedPostgres, clean_neo4j: str
) -> None:
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
        async with mirrored_on(url, clean_neo4j) as mirrored:
            kept = await remember(mirrored, "Alice")
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute("SELECT pg_create_restore_point('here')")
            lost = await remember(mirrored, "Bob")
    _write_as_owner(copy, "backup_label", row[0])
    _write_as_owner(copy, "recovery.signal", "")
    _write_as_owner(
        copy,
        "postgresql.auto.conf",
        "restore_command = 'false'\nrecovery_target_name = 'here'\nrecovery_target_action = 'promote'\n",
    )
    copy.add_log()
    copy.restore()
    with cluster.running() as url:
        async with mirrored_on(url, clean_neo4j) as mirrored:

            async def promoted() -> bool:
                with psycopg.connect(url) as connection:
                    return connection.execute("SELECT pg_is_in_recovery()").fetchone() == (False,)

            await until(promoted)
            await check_follows_restore(mirrored, kept=kept, lost=lost)


def _write_as_owner(copy: Copy, name: str, content: str) -> None:
    path = copy.path / name
    path.write_text(content)
    owner = copy.path.stat()
    shutil.chown(path, owner.st_uid, owner.st_gid)
    path.chmod(0o600)


async def test_a_restored_backup_is_recognized_by_the_system_identifier_of_its_cluster(
    cluster: EmbeddedPostgres, clean_neo4j: str, tmp_path: Path
) -> None:
    with cluster.running() as url:
        migrate(url)
        async with mirrored_on(url, clean_neo4j) as mirrored:
            kept = await remember(mirrored, "Alice")
            await make_backup(Settings.load({}, data_dir=cluster.directory), tmp_path / "backup", Steps())
            lost = await remember(mirrored, "Bob")
    elsewhere = tmp_path / "elsewhere"
    await restore_backup(tmp_path / "backup", elsewhere, Steps(), masters=[LocalMasterKey(bytes(32))])
    with EmbeddedPostgres(elsewhere).running() as url:
        migrate(url)
        async with mirrored_on(url, clean_neo4j) as mirrored:
            await check_follows_restore(mirrored, kept=kept, lost=lost)


@pytest.fixture
def empty_cluster(cluster: EmbeddedPostgres) -> Iterator[str]:
    with cluster.running() as url:
        yield url


async def test_a_dump_restored_in_a_new_cluster_is_recognized_by_its_transaction_ids(
    mirrored: MirroredMemory, database_url: str, empty_cluster: str, clean_neo4j: str, tmp_path: Path
) -> None:
    kept = await remember(mirrored, "Alice")
    dump = _dump(database_url, tmp_path)
    lost = await remember(mirrored, "Bob")
    await mirrored.worker.release()
    _restore(dump, database_url, empty_cluster)
    async with mirrored_on(empty_cluster, clean_neo4j) as restored:
        await check_follows_restore(restored, kept=kept, lost=lost)


def _dump(url: str, directory: Path) -> Path:
    dump = directory / "dump.sql"
    with dump.open("w") as out:
        subprocess.run([str(postgres_binaries() / "pg_dump"), url], stdout=out, check=True)
    return dump


def _restore(dump: Path, source: str, target: str) -> None:
    """Restore as an administrator does: the roles first, then the database."""
    roles = subprocess.run(
        [str(postgres_binaries() / "pg_dumpall"), "--roles-only", "-d", source],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    psql = [str(postgres_binaries() / "psql"), "-q", target]
    subprocess.run(psql, input=roles, text=True, check=True, capture_output=True)  # some exist already
    subprocess.run([*psql, "-v", "ON_ERROR_STOP=1", "-f", str(dump)], check=True, capture_output=True)
