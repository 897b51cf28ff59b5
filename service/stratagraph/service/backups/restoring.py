"""Restore a backup into a new data directory, which appears complete or not at all."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import re
import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from stratagraph.service.backups.client_programs import run_program
from stratagraph.service.backups.manifest import (
    ARTIFACTS,
    CHUNK_BYTES,
    DUMP,
    ROLES,
    Manifest,
    damaged,
    hash_of,
    read_manifest,
    read_sums,
)
from stratagraph.service.backups.staging import staged
from stratagraph.service.backups.steps import Steps
from stratagraph.service.embedded_postgres import EmbeddedPostgres
from stratagraph.store.keys.sealing.master import MasterKey
from stratagraph.store.model.errors import InvalidInput, Misconfigured, StoreUnavailable
from stratagraph.store.postgres.exported_snapshot import analyze, exported_snapshot, set_durable
from stratagraph.store.postgres.migrating import known_revisions

_LEFT_BY_THE_SERVER = ("postgres.lock", "postgres-start.lock", "sockets")
_ITEM = re.compile(r"pg_restore: (?:finished|processing) item ")
_MAX_JOBS = 4  # of pg_restore
_SESSION = "-c maintenance_work_mem=256MB -c synchronous_commit=off"  # for building indexes


async def restore_backup(
    backup: Path,
    data_dir: Path,
    steps: Steps,
    *,
    masters: Sequence[MasterKey],
    key_file: tuple[str, bytes] | None = None,
) -> Manifest:
    """Restore `backup` into the data directory `data_dir` and return its manifest.

    Before anything is written, checks that `data_dir` does not exist or is empty, that this version can read the
    backup, that no file of it was changed, and that `masters` unwrap the keys in it. `key_file` is the name and the
    content of a file to add to the directory. The directory appears complete or not at all. The restored
    database is a new cluster: the mirror notices, and is rebuilt. Raises InvalidInput or Misconfigured saying which of
    the checks failed, and StoreUnavailable if PostgreSQL does not restore what the manifest counts.
    """
    _check_directory(data_dir)
    manifest = read_manifest(backup)
    _check_versions(manifest)
    await _check_master_keys(manifest, masters)
    sums = read_sums(backup, manifest)
    await _check_files(backup, manifest, sums, steps)
    with staged(data_dir, discard=_discard) as directory:
        await asyncio.to_thread(_copy_artifacts, backup, directory, sums, steps)
        await _restore_database(backup, directory, manifest, steps)
        if key_file is not None:
            name, content = key_file
            descriptor = os.open(directory / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
    return manifest


def _check_directory(data_dir: Path) -> None:
    if data_dir.is_symlink() or (data_dir.exists() and (not data_dir.is_dir() or any(data_dir.iterdir()))):
        raise InvalidInput(
            f"{data_dir} is not empty, and a restore overwrites nothing. Set STRATAGRAPH_DATA_DIR to a new"
            " directory, or stop what uses the present one and move it away",
            path=["STRATAGRAPH_DATA_DIR"],
        )
    if data_dir.is_mount():
        raise InvalidInput(
            f"{data_dir} is a mount point, which cannot appear at once with its content. Set STRATAGRAPH_DATA_DIR to a"
            f" new directory below it, such as {data_dir / 'data'}",
            path=["STRATAGRAPH_DATA_DIR"],
        )


def _check_versions(manifest: Manifest) -> None:
    if manifest.schema_revision not in known_revisions():
        raise InvalidInput(
            f"The backup is of schema revision {manifest.schema_revision}, made by Stratagraph {manifest.stratagraph};"
            f" this version knows revisions up to {known_revisions()[-1]}. Upgrade Stratagraph, then restore.",
            path=["BACKUP"],
        )


async def _check_postgres(manifest: Manifest) -> None:
    own = await run_program("pg_restore", "--version")
    major = re.search(rb"(\d+)\.", own)
    if major is None or int(major[1]) < manifest.postgres // 10_000:
        raise InvalidInput(
            f"The backup is of PostgreSQL {manifest.postgres // 10_000}, and the installed package embedded-postgres is"
            " older. Upgrade that package to this version or a later one, then restore.",
            path=["BACKUP"],
        )


async def _check_master_keys(manifest: Manifest, masters: Sequence[MasterKey]) -> None:
    given = {master.name: master for master in masters}
    for name, wrapped in manifest.master_keys.items():
        if name not in given:
            known = f"given was {' and '.join(given)}" if given else "none was given"
            raise Misconfigured(
                f"The backup needs the master key {name}, and {known}. Give it with --key-file, or set"
                " STRATAGRAPH_MASTER_KEY or STRATAGRAPH_MASTER_KEY_HOOK (and STRATAGRAPH_PREVIOUS_MASTER_KEY, where a"
                " rotation was interrupted). Nothing was restored."
            )
        await given[name].unwrap(base64.b64decode(wrapped))


async def _check_files(backup: Path, manifest: Manifest, sums: dict[str, str], steps: Steps) -> None:
    await _check_postgres(manifest)
    steps.begin("checking", manifest.total_bytes)
    for name, digest in sums.items():
        try:
            found = await asyncio.to_thread(hash_of, backup / name, lambda done: steps.advance("checking", done))
        except OSError as error:
            raise damaged(backup, name) from error
        if found != digest:
            raise damaged(backup, name)


def _copy_artifacts(backup: Path, directory: Path, sums: dict[str, str], steps: Steps) -> None:
    names = [name for name in sums if name.startswith(f"{ARTIFACTS}/")]
    (directory / ARTIFACTS).mkdir(mode=0o700)
    steps.begin("artifacts", len(names))
    for name in names:
        target = directory / name
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Hashed again while copying: what is restored is what was checked.
        digest = hashlib.sha256()
        with (backup / name).open("rb") as source, target.open("xb") as copy:
            while chunk := source.read(CHUNK_BYTES):
                digest.update(chunk)
                copy.write(chunk)
        if digest.hexdigest() != sums[name]:
            raise damaged(backup, name)
        steps.advance("artifacts", 1)


async def _restore_database(backup: Path, directory: Path, manifest: Manifest, steps: Steps) -> None:
    server = EmbeddedPostgres(directory)
    with ExitStack() as stack:
        stack.enter_context(server.stopping_with_this_process())
        url = await asyncio.to_thread(stack.enter_context, server.running())
        try:
            await asyncio.to_thread(set_durable, url, False)
            await _restore_roles(backup, url)
            await _restore_dump(backup, url, steps)
            await asyncio.to_thread(_check_rows, url, manifest)
            await asyncio.to_thread(analyze, url)
            await asyncio.to_thread(set_durable, url, True)
        except BaseException:
            server.stop(abandon=True)
            raise
        finally:
            await asyncio.to_thread(stack.close)
    if server.is_running():
        raise StoreUnavailable(f"The restored database did not stop within its time; see {server.log}. Restore again")
    os.truncate(server.log, 0)  # not deleted: its owner is the account that the server runs as
    for name in _LEFT_BY_THE_SERVER:
        path = directory / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


async def _restore_roles(backup: Path, url: str) -> None:
    """Create the cluster's roles, of which the new cluster has some already."""
    listed = await run_program(
        "psql", "--no-psqlrc", "--tuples-only", "--no-align", "--command=SELECT rolname FROM pg_roles", url
    )
    existing = {f"CREATE ROLE {name};" for name in listed.decode().splitlines()}
    lines = (backup / ROLES).read_text(encoding="utf-8").splitlines()
    statements = "\n".join(line for line in lines if line not in existing)
    await run_program("psql", "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", url, stdin=statements + "\n")


async def _restore_dump(backup: Path, url: str, steps: Steps) -> None:
    dump = str(backup / DUMP)
    listed = (await run_program("pg_restore", "--list", dump)).decode()
    steps.begin("database", sum(1 for line in listed.splitlines() if line and not line.startswith(";")))

    def follow(line: str) -> None:
        if _ITEM.match(line):
            steps.advance("database", 1)

    # The empty database that the new cluster has is dropped, so that the restored one has its own settings.
    await run_program(
        "pg_restore",
        *("--clean", "--if-exists", "--create", "--exit-on-error", "--verbose"),
        *(f"--jobs={min(_MAX_JOBS, os.cpu_count() or 1)}", f"--dbname={_maintenance_database(url)}", dump),
        options=_SESSION,
        on_line=follow,
    )


def _maintenance_database(url: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path="/postgres"))


def _check_rows(url: str, manifest: Manifest) -> None:
    with exported_snapshot(url) as snapshot:
        rows = snapshot.row_counts()
    wrong = sorted(name for name in rows.keys() | manifest.rows.keys() if rows.get(name) != manifest.rows.get(name))
    if wrong:
        raise StoreUnavailable(
            f"PostgreSQL restored another number of rows than the backup has in {', '.join(wrong[:5])}. Nothing was put"
            " in place; try again with this backup, or use another"
        )


def _discard(directory: Path) -> None:
    """Remove a directory that a restore left, after stopping the server that may still run in it."""
    server = EmbeddedPostgres(directory)
    if server.has_data():
        server.stop(abandon=True)
    shutil.rmtree(directory)
