"""Make a backup while the service runs: one snapshot of the database, and the objects that its artifacts name."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import importlib.metadata
from collections.abc import Iterable
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from stratagraph.service.backups.client_programs import run_program
from stratagraph.service.backups.manifest import (
    ARTIFACTS,
    DUMP,
    FORMAT,
    ROLES,
    Manifest,
    hash_of,
    write_sums,
)
from stratagraph.service.backups.staging import staged
from stratagraph.service.backups.steps import Steps
from stratagraph.service.embedded_postgres import EmbeddedPostgres
from stratagraph.service.runtime import blobs_of
from stratagraph.service.settings import Settings
from stratagraph.store.artifacts.blobs import Blobs
from stratagraph.store.artifacts.objects import StoredObject
from stratagraph.store.model.errors import InvalidInput, Misconfigured
from stratagraph.store.postgres.exported_snapshot import ExportedSnapshot, ObjectRow, exported_snapshot

MAX_OBJECT_BYTES = (1 << 30) + 4_096  # the largest artifact that a setting allows, with room for its encryption
LOCK_WAIT_MS = 30_000  # for a table that is being changed; pg_dump then fails
_DUMPING = 'dumping contents of table "'


async def make_backup(settings: Settings, target: Path, steps: Steps) -> Manifest:
    """Write a backup of the data directory to the new directory `target` and return its manifest. The service may run.

    The directory appears complete or not at all. The database is not migrated, so that a backup can be taken before an
    upgrade. Raises InvalidInput if `target` exists or lies in the data directory, Misconfigured if there is no
    database, StoreUnavailable if it or the object store cannot be reached.
    """
    server = EmbeddedPostgres(settings.data_dir)
    _check_target(server, target)
    with staged(target) as directory, ExitStack() as stack:
        url = await asyncio.to_thread(stack.enter_context, server.running())
        try:
            return await _fill(url, blobs_of(settings), directory, steps)
        finally:
            await asyncio.to_thread(stack.close)


def _check_target(server: EmbeddedPostgres, target: Path) -> None:
    if not server.has_data():
        raise Misconfigured(
            f"There is no database in {server.directory}. Set STRATAGRAPH_DATA_DIR to the data directory of the service"
        )
    if target.exists() or target.is_symlink():
        raise InvalidInput(
            f"{target} exists already; a backup overwrites nothing. Choose another name", path=["BACKUP"]
        )
    if server.directory.resolve() in (target.resolve(), *target.resolve().parents):
        raise InvalidInput(
            f"{target} lies in the data directory {server.directory} and would be lost with it. Choose a place"
            " elsewhere, best on another disk",
            path=["BACKUP"],
        )


async def _fill(url: str, blobs: Blobs, directory: Path, steps: Steps) -> Manifest:
    copies = _Copies(blobs, directory, steps)
    await copies.make(await asyncio.to_thread(_objects, url))  # most of them, without a snapshot held
    while True:
        with ExitStack() as stack:
            snapshot = await asyncio.to_thread(stack.enter_context, exported_snapshot(url))
            wanted = await asyncio.to_thread(snapshot.objects)
            if not await copies.make(wanted):
                continue  # one was removed after this snapshot; the next one does not name it
            rows = await _dump(url, snapshot, directory, steps)
            revision, version = snapshot.revision(), snapshot.server_version()
            samples = snapshot.wrapped_samples()
        sums = copies.keep_only(wanted)
        for name in (ROLES, DUMP):
            sums[name] = await asyncio.to_thread(hash_of, directory / name)
        manifest = Manifest(
            format=FORMAT,
            made_at=datetime.now(UTC),
            stratagraph=importlib.metadata.version("stratagraph"),
            postgres=version,
            schema_revision=revision,
            sums_sha256=write_sums(directory, sums),
            total_bytes=sum((directory / name).stat().st_size for name in sums),
            artifacts=len(sums) - 2,
            missing_artifacts=tuple(sorted(copies.absent & {_key(row) for row in wanted})),
            master_keys={name: base64.b64encode(wrapped).decode() for name, wrapped in samples.items()},
            rows=rows,
        )
        manifest.write(directory)
        _close_to_others(directory)
        return manifest


def _objects(url: str) -> list[ObjectRow]:
    with exported_snapshot(url) as snapshot:
        return snapshot.objects()


def _close_to_others(directory: Path) -> None:
    """Give each file a mode of its own, which it keeps when it is copied out of the directory."""
    for path in directory.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)


async def _dump(url: str, snapshot: ExportedSnapshot, directory: Path, steps: Steps) -> dict[str, int]:
    """Write the roles and the dump of this snapshot; return the number of rows of each table in it."""
    sizes = await asyncio.to_thread(snapshot.table_bytes)
    steps.begin("database", sum(sizes.values()))
    roles = await run_program("pg_dumpall", "--roles-only", "--no-role-passwords", f"--dbname={url}")
    (directory / ROLES).write_bytes(roles)
    current = ""

    def follow(line: str) -> None:
        nonlocal current
        _, found, rest = line.partition(_DUMPING)
        if found:
            steps.advance("database", sizes.get(current, 0))
            current = rest.rstrip('"')

    await run_program(
        "pg_dump",
        *("--format=custom", "--compress=gzip:1", "--verbose", f"--lock-wait-timeout={LOCK_WAIT_MS}"),
        *(f"--snapshot={snapshot.id}", f"--file={directory / DUMP}", f"--dbname={url}"),
        on_line=follow,
    )
    steps.advance("database", sizes.get(current, 0))
    return await asyncio.to_thread(snapshot.row_counts)


class _Copies:
    """The copies of objects in a backup. `absent` are the keys of objects that the object store did not have."""

    def __init__(self, blobs: Blobs, directory: Path, steps: Steps) -> None:
        self._blobs = blobs
        self._directory = directory
        self._steps = steps
        self._sums: dict[str, str] = {}
        self.absent: set[str] = set()

    async def make(self, wanted: Iterable[ObjectRow]) -> bool:
        """Copy the objects that were not tried yet; return whether none of these was absent.

        Objects are never changed, so a copy stays valid. An object is removed only after the commit of a transaction
        by which no artifact uses it. One that is absent may therefore have been removed since `wanted` was read; one
        that was absent before `wanted` was read is lost.
        """
        rows = [row for row in wanted if _key(row) not in self._sums and _key(row) not in self.absent]
        absent_before = len(self.absent)
        self._steps.begin("artifacts", sum(row.size_bytes for row in rows))
        for row in rows:
            key = _key(row)
            data = await self._blobs.get(key, limit=MAX_OBJECT_BYTES)
            if data is None:
                self.absent.add(key)
            else:
                path = self._directory / ARTIFACTS / key
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._sums[key] = await asyncio.to_thread(_write, path, data)
            self._steps.advance("artifacts", row.size_bytes)
        return len(self.absent) == absent_before

    def keep_only(self, wanted: Iterable[ObjectRow]) -> dict[str, str]:
        """Delete the copies of other objects; return the hashes of those kept, keyed by their paths in the backup."""
        keys = {_key(row) for row in wanted}
        for key in self._sums.keys() - keys:
            (self._directory / ARTIFACTS / key).unlink()
        return {f"{ARTIFACTS}/{key}": digest for key, digest in self._sums.items() if key in keys}


def _key(row: ObjectRow) -> str:
    return StoredObject(tenant=row.tenant, sha256=row.sha256, id=row.id).key


def _write(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    return hashlib.sha256(data).hexdigest()
