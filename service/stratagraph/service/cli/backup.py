"""`stratagraph backup` and `stratagraph restore`: copy the embedded database and its artifacts, and bring them back."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn

from stratagraph.service.cli.options import Json
from stratagraph.service.cli.output import errors, people, print_json
from stratagraph.store.keys.sealing.master import MasterKey, from_file
from stratagraph.store.model.errors import InvalidInput, Misconfigured

if TYPE_CHECKING:
    from stratagraph.service.backups.manifest import Manifest
    from stratagraph.service.backups.steps import Steps
    from stratagraph.service.settings import Settings


def backup(
    directory: Annotated[
        Path,
        typer.Argument(metavar="BACKUP", help="Directory to make. It must not exist, nor lie in the data directory."),
    ],
    key_to: Annotated[
        Path | None,
        typer.Option(help="Also write the master key to this file, which must lie outside the backup. Keep it apart."),
    ] = None,
    json: Json = False,
) -> None:
    """Write the embedded database and its artifacts, as of one instant, to a new directory. The service may run.

    The directory appears when it is complete. It does not contain the master key: without that, what is encrypted in
    the backup cannot be read by anyone, you included. docs/operations.md describes how to back up a database of your
    own.

    Example: stratagraph backup /mnt/backups/2026-11-22
    """
    from stratagraph.service.backups.key_copy import KeyCopy
    from stratagraph.service.backups.making import make_backup

    settings = _embedded("backed up")
    key = KeyCopy.prepare(settings, key_to.absolute(), directory.absolute()) if key_to is not None else None
    with _progress(quiet=json) as steps:
        manifest = asyncio.run(make_backup(settings, directory.absolute(), steps))
    if key is not None:
        key.write()
    if json:
        print_json({"backup": str(directory.absolute()), **_as_json(manifest)})
        return
    _print(f"Backed up to {directory}", manifest)
    if manifest.missing_artifacts:
        errors.print(
            f"[bold yellow]incomplete[/]: {len(manifest.missing_artifacts)} artifacts were missing in the object store"
            " before the backup; the manifest lists them."
        )
    for name in manifest.master_keys:
        if key is not None and key.name == name:
            people.print(f"The master key {name} is in {key.path}. Keep it apart from the backup.", highlight=False)
        else:
            people.print(
                f"To restore it, you will need the master key {name}. It is not in the backup: keep a copy elsewhere.",
                highlight=False,
            )


def restore(
    directory: Annotated[Path, typer.Argument(metavar="BACKUP", help="Directory that `stratagraph backup` made.")],
    key_file: Annotated[
        Path | None,
        typer.Option(
            help="File with the master key that the backup needs; it becomes the master key of the new data directory."
            " Default: the key that the settings name."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Restore a backup into STRATAGRAPH_DATA_DIR, which must be empty or not exist.

    First checks the backup's files and versions and the master key; then the data directory appears complete, or not at
    all. What an interrupted restore leaves has a name that ends in .partial, and the next restore removes it. A mirror
    notices that its database was restored, and is rebuilt.

    Example: STRATAGRAPH_DATA_DIR=/srv/stratagraph stratagraph restore /mnt/backups/2026-11-22 --key-file master.key
    """
    from stratagraph.service.backups.restoring import restore_backup
    from stratagraph.service.master_key import MASTER_KEY_FILE

    settings = _embedded("restored")
    if settings.artifact_url is not None:
        raise Misconfigured(
            "STRATAGRAPH_ARTIFACT_URL is set, and artifacts are restored into the data directory. Unset it for the"
            " restore, then copy the directory `artifacts` to the object store and set it again."
        )
    masters = _masters(settings, key_file)
    copied = (MASTER_KEY_FILE, key_file.read_bytes()) if key_file is not None else None
    with _progress(quiet=json) as steps:
        manifest = asyncio.run(
            restore_backup(directory.absolute(), settings.data_dir, steps, masters=masters, key_file=copied)
        )
    if json:
        print_json({"data_dir": str(settings.data_dir), **_as_json(manifest)})
        return
    _print(f"Restored to {settings.data_dir}", manifest)
    people.print("Start the service on it with `stratagraph serve`, or check it with `stratagraph audit verify`.")


def _embedded(what: str) -> Settings:
    from stratagraph.service.logs import set_up_logs
    from stratagraph.service.settings import Settings

    settings = Settings.load()
    set_up_logs(settings.log_level if settings.log_level != "info" else "warning")
    if settings.database_url is not None:
        raise Misconfigured(
            f"Only the embedded database can be {what} with this command, and STRATAGRAPH_DATABASE_URL names a database"
            " of your own. Use pg_dump and pg_restore of its version, and copy the object store of the artifacts:"
            " docs/operations.md has the commands."
        )
    return settings


def _masters(settings: Settings, key_file: Path | None) -> list[MasterKey]:
    from stratagraph.service.master_key import from_settings, previous_from_settings

    configured = from_settings(settings)
    if key_file is not None and configured is not None:
        raise InvalidInput(
            "--key-file: the settings name a master key too. Unset it, or leave --key-file out", path=["--key-file"]
        )
    given = from_file(key_file, where="--key-file") if key_file is not None else configured
    return [key for key in (given, previous_from_settings(settings)) if key is not None]


@contextmanager
def _progress(*, quiet: bool) -> Iterator[Steps]:
    from stratagraph.service.backups.steps import Steps

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=errors, disable=quiet, transient=True) as progress:
        tasks: dict[str, TaskID] = {}

        def begin(name: str, total: int) -> None:
            if name in tasks:
                progress.remove_task(tasks[name])
            tasks[name] = progress.add_task(name, total=total)

        yield Steps(begin=begin, advance=lambda name, done: progress.advance(tasks[name], done))


def _as_json(manifest: Manifest) -> dict[str, object]:
    return {
        "made_at": manifest.made_at.isoformat(),
        "stratagraph": manifest.stratagraph,
        "schema_revision": manifest.schema_revision,
        "bytes": manifest.total_bytes,
        "rows": sum(manifest.rows.values()),
        "records": manifest.rows.get("public.record", 0),
        "artifacts": manifest.artifacts,
        "missing_artifacts": list(manifest.missing_artifacts),
        "master_keys": list(manifest.master_keys),
    }


def _print(what: str, manifest: Manifest) -> None:
    people.print(
        f"{what}: {manifest.rows.get('public.record', 0):,} records, {manifest.artifacts:,} artifacts,"
        f" {manifest.total_bytes / 1e6:,.1f} MB; schema revision {manifest.schema_revision}.",
        highlight=False,
    )
