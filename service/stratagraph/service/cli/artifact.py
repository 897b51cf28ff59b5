"""`stratagraph artifact`: large bytes in and out."""

from __future__ import annotations

import mimetypes
import os
import tempfile
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from stratagraph.memory.artifacts import Fetched, Uploaded
from stratagraph.service.cli.output import people, print_json, with_runtime
from stratagraph.service.runtime import Runtime
from stratagraph.store.artifacts.objects import uri_of
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.trust import SINGLE_USER, Trust

CHUNK_BYTES = 1 << 20
app = typer.Typer(
    help="Keep files by their content, and get them back. A capture that names the printed sha256:… keeps its artifact;"
    " one that nothing names goes a day after it was put here.",
    no_args_is_help=True,
)
Tenant = Annotated[str, typer.Option(help="Whose memories.")]
Json = Annotated[bool, typer.Option("--json", help="For programs.")]


@app.command()
def put(
    file: Annotated[Path, typer.Argument(help="What to keep.")],
    media_type: Annotated[str | None, typer.Option(help="Default: by the file's name.")] = None,
    actor: Annotated[
        str, typer.Option(help="Who is to refer to it: the name of an API key, or the single user.")
    ] = SINGLE_USER.actor,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Keep a file's bytes and print the name to refer to them by."""
    said = media_type or mimetypes.guess_type(file.name)[0]

    async def work(runtime: Runtime) -> Uploaded:
        return await runtime.artifacts.put(_operator(tenant, actor), _chunks(file), media_type=said)

    if not file.is_file():
        raise InvalidInput(f"{file} is not a file that can be read", path=["file"])
    uploaded = with_runtime(work)
    if json:
        print_json(
            {
                "sha256": uploaded.sha256.hex(),
                "uri": uploaded.uri,
                "size_bytes": uploaded.size_bytes,
                "media_type": said,
                "is_new": uploaded.is_new,
            }
        )
        return
    people.print(uploaded.uri, highlight=False, soft_wrap=True)


@app.command()
def get(
    uri: Annotated[str, typer.Argument(help="sha256:… as it was printed.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the bytes.")],
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Write an artifact's bytes to a file, once they are seen to be what was kept."""

    async def work(runtime: Runtime) -> Fetched:
        return await runtime.artifacts.get(_operator(tenant, SINGLE_USER.actor), uri)

    found = with_runtime(work)
    _write(output, found.data)
    if json:
        print_json(
            {
                "sha256": found.sha256.hex(),
                "uri": uri_of(found.sha256),
                "size_bytes": len(found.data),
                "media_type": found.media_type,
                "file": output,
            }
        )
        return
    people.print(f"{len(found.data)} bytes in {output}", highlight=False, soft_wrap=True, markup=False)


def _operator(tenant: str, actor: str) -> Trust:
    """Whoever may run this command beside the database may read all of it."""
    return replace(SINGLE_USER, tenant=tenant, actor=actor)


async def _chunks(file: Path) -> AsyncIterator[bytes]:
    with file.open("rb") as opened:
        while chunk := opened.read(CHUNK_BYTES):
            yield chunk


def _write(path: Path, data: bytes) -> None:
    """Whole or not at all."""
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            Path(name).replace(path)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror}", path=["--output"]) from error
