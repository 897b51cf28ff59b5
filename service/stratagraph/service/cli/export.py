"""`stratagraph export`: write records to a file, for another Stratagraph, for other programs, or to be read."""

from __future__ import annotations

import errno
import gzip
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO
from uuid import UUID

import typer
from rich.markup import escape

from stratagraph.service.cli.options import Json, Tenant
from stratagraph.service.cli.output import errors, people, print_json, with_runtime
from stratagraph.service.cli.progress import progress_bar
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.trust import SINGLE_USER

if TYPE_CHECKING:
    from stratagraph.memory.transfer.exports import Export
    from stratagraph.service.runtime import Runtime

STDOUT = "-"
FORMS = ("native", "rfc", "markdown")
COMPRESSION = 6  # of gzip
MOST_SHOWN = 50  # ids of records that are left out
_NAME_REFUSED = (errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ, errno.EEXIST)  # by a file system
Advance = Callable[[int], object]  # called with the number of records just written


def export(
    file: Annotated[
        str,
        typer.Argument(
            help="File to write, compressed if its name ends in .gz; - for standard output. For --as markdown a folder,"
            " which must not exist."
        ),
    ],
    scope: Annotated[
        list[str] | None, typer.Option(help="Only records of this scope, and unscoped ones. Repeat for more.")
    ] = None,
    types: Annotated[
        list[str] | None, typer.Option("--types", help="Only records of this type, such as semantic. Repeat for more.")
    ] = None,
    as_: Annotated[
        str,
        typer.Option(
            "--as",
            help="native: everything, for `stratagraph import records`; rfc: one record a line in the form of the RFC's"
            " appendix; markdown: a folder of notes.",
        ),
    ] = "native",
    without_artifacts: Annotated[
        bool, typer.Option("--without-artifacts", help="Leave out the contents of artifacts, not their hashes.")
    ] = False,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Export the records of a tenant as of one instant, in plain text. The service may run.

    The file appears when it is complete, readable by you alone. What is encrypted in the store is decrypted in it.

    Example: stratagraph export memories.jsonl.gz
    """
    from stratagraph.memory.transfer.exports import ExportForm, ExportRequest

    if as_ not in FORMS:
        raise InvalidInput(f"--as: {shown(as_)} is none of {', '.join(FORMS)}", path=["--as"])
    if file == STDOUT and (json or as_ == "markdown"):
        raise InvalidInput(
            f"FILE: standard output cannot take {'a folder' if as_ == 'markdown' else 'the export and --json'}; name a"
            f" {'folder' if as_ == 'markdown' else 'file'}",
            path=["file"],
        )
    request = ExportRequest(
        form=ExportForm.RFC if as_ == "rfc" else ExportForm.NATIVE,
        scopes=None if not scope else frozenset(scope),
        types=None if not types else frozenset(MemoryType.parse(one, path=["--types"]) for one in types),
        artifacts=not without_artifacts,
    )
    target = None if file == STDOUT else Path(file).absolute()
    if target is not None:
        _check_target(target, is_folder=as_ == "markdown")

    async def work(runtime: Runtime) -> tuple[int, list[UUID]]:
        if tenant != SINGLE_USER.tenant and await runtime.directory.tenant(tenant) is None:
            raise InvalidInput(
                f"--tenant: there is no tenant {shown(tenant)}; check the spelling, or leave it out for the default",
                path=["--tenant"],
            )
        with progress_bar(json or not sys.stderr.isatty()) as progress:
            task = progress.add_task("records", total=None)

            def advance(records: int) -> None:
                progress.advance(task, records)

            async with runtime.exports.open(replace(SINGLE_USER, tenant=tenant), request) as opened:
                if as_ == "markdown" and target is not None:
                    records = await _write_notes(opened, target, advance)
                else:
                    records = await _write_lines(opened, target, advance)
                return records, opened.left_out

    records, left_out = with_runtime(work, makes_store=False)
    if json:
        print_json({"file": str(target), "records": records, "left_out": [str(one) for one in left_out]})
    elif target is not None:
        people.print(f"Exported {records} records to {escape(file)}", highlight=False)
    if left_out:
        more = f" and {len(left_out) - MOST_SHOWN} more, which --json lists" if len(left_out) > MOST_SHOWN else ""
        errors.print(
            f"{len(left_out)} records are left out, because what is stored of them is malformed, or the file system"
            " takes no file of their name; --as native has them. Their ids:"
            f" {', '.join(map(str, left_out[:MOST_SHOWN]))}{more}",
            highlight=False,
        )
        raise typer.Exit(1)


def _check_target(target: Path, *, is_folder: bool) -> None:
    """Raise InvalidInput for a file or a folder that cannot be made."""
    if not target.parent.is_dir():
        raise InvalidInput(f"FILE: the directory {target.parent} does not exist; make it first", path=["file"])
    if is_folder and target.exists():
        raise InvalidInput(f"FILE: {target} exists already; name a folder that does not", path=["file"])
    if target.is_dir():
        raise InvalidInput(f"FILE: {target} is a directory; name a file in it", path=["file"])


async def _write_lines(opened: Export, target: Path | None, advance: Advance) -> int:
    """Write the lines of an export to a file, or to standard output; return the number of records."""
    records = 0
    with _opened(target) as output:
        async for chunk in opened.chunks():
            output.write(chunk.data)
            records += chunk.records
            advance(chunk.records)
    return records


async def _write_notes(opened: Export, target: Path, advance: Advance) -> int:
    """Write an export as a folder of notes; return the number of records."""
    from stratagraph.memory.transfer.notes import note_of, note_path

    records = 0
    with _folder(target) as folder:
        whole = opened.whole_records()
        async for page in whole.pages():
            names = await whole.names({relation.target for one in page for relation in one.relations})
            for one in page:
                note = whole.made(one, partial(note_of, names=names))
                if note is None:
                    continue
                path = folder / note_path(one.record)
                path.parent.mkdir(exist_ok=True)
                try:
                    with path.open("x", encoding="utf-8", newline="\n") as file:
                        file.write(note)
                except OSError as error:
                    if error.errno not in _NAME_REFUSED:
                        raise
                    whole.left_out.append(one.record.id)
                else:
                    records += 1
            advance(len(page))
    return records


@contextmanager
def _opened(target: Path | None) -> Iterator[BinaryIO]:
    """Open a file that takes the place of `target` at the end of the block, or standard output.

    An error removes it and leaves the target as it was. Raises InvalidInput where it cannot be written.
    """
    if target is None:
        try:
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        except BrokenPipeError:  # whoever reads it has stopped
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left would be flushed at the exit
            raise typer.Exit(1) from None
        return
    with _said(target):
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)  # readable by the user alone
        try:
            with os.fdopen(handle, "wb") as file:
                if target.name.endswith(".gz"):
                    with gzip.GzipFile("", "wb", COMPRESSION, file, mtime=0) as compressed:
                        yield compressed  # type: ignore[misc]  # written to like a file
                else:
                    yield file
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


@contextmanager
def _folder(target: Path) -> Iterator[Path]:
    """Make a folder that becomes `target` at the end of the block; an error removes it.

    Raises InvalidInput where it cannot be written.
    """
    with _said(target):
        folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))  # readable by the user alone
        try:
            yield folder
            folder.rename(target)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise


@contextmanager
def _said(target: Path) -> Iterator[None]:
    """Say of the block's errors of the file system what they are of."""
    try:
        yield
    except OSError as error:
        raise InvalidInput(
            f"FILE: {target} cannot be written: {error.strerror or error};"
            " name a place with room that you may write to",
            path=["file"],
        ) from error
