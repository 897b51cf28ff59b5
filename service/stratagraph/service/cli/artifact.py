"""`stratagraph artifact`: store files as artifacts, and read them back."""

from __future__ import annotations

import mimetypes
import os
import tempfile
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stratagraph.service.cli.options import Json, Tenant
from stratagraph.service.cli.output import people, print_json, with_runtime
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.trust import SINGLE_USER, Trust

if TYPE_CHECKING:
    from stratagraph.memory.records.artifacts import Fetched, Uploaded
    from stratagraph.service.runtime import Runtime

CHUNK_BYTES = 1 << 20
app = typer.Typer(
    help="Store a file under the SHA-256 hash of its content, and read it back. To keep an artifact, name the printed"
    " sha256:… in a capture's context.artifacts: one that no record refers to is deleted within two days of the upload."
    "\n\nExample: stratagraph artifact put report.pdf",
    no_args_is_help=True,
)


@app.command()
def put(
    file: Annotated[Path, typer.Argument(help="The file to store.")],
    media_type: Annotated[
        str | None, typer.Option(help="Media type, such as text/plain. Default: guessed from the file's name.")
    ] = None,
    actor: Annotated[
        str,
        typer.Option(
            help="Who may refer to it in a capture: the name or the id of an API key, or oidc:SUB for a token. Default:"
            " the single user."
        ),
    ] = SINGLE_USER.actor,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Store a file and print its sha256:… URI."""
    guessed = media_type or mimetypes.guess_type(file.name)[0]

    async def work(runtime: Runtime) -> Uploaded:
        trust = await _uploader(runtime, tenant, actor)
        return await runtime.artifacts.put(trust, _chunks(file), media_type=guessed)

    if not file.is_file():
        raise InvalidInput(f"FILE: {file} does not exist or is not a file; check the path", path=["file"])
    uploaded = with_runtime(work)
    if json:
        print_json(
            {
                "sha256": uploaded.sha256.hex(),
                "uri": uploaded.uri,
                "size_bytes": uploaded.size_bytes,
                "media_type": guessed,
                "is_new": uploaded.is_new,
            }
        )
        return
    people.print(uploaded.uri, highlight=False, soft_wrap=True)


@app.command()
def get(
    uri: Annotated[str, typer.Argument(help="The sha256:… URI that `artifact put` printed.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")],
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Write an artifact's bytes to a file, after checking their hash."""
    from stratagraph.store.artifacts.objects import uri_of

    async def work(runtime: Runtime) -> Fetched:
        return await runtime.artifacts.get(_operator(tenant), uri)

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


def _operator(tenant: str) -> Trust:
    """The trust of a command: full access to the tenant, since it runs with access to the database."""
    return replace(SINGLE_USER, tenant=tenant)


async def _uploader(runtime: Runtime, tenant: str, actor: str) -> Trust:
    """Return the trust of the command with the identity of the caller to whom the upload belongs.

    Raises InvalidInput unless `actor` is the single user, an OIDC actor, or means one API key that is not revoked.
    """
    trust = replace(_operator(tenant), actor=actor)
    if actor == SINGLE_USER.actor or actor.startswith("oidc:"):
        return trust
    keys = [
        key
        for key in await runtime.credentials.all()
        if key.tenant == tenant and key.revoked_at is None and actor in (key.name, str(key.id))
    ]
    if len(keys) != 1:
        raise InvalidInput(
            f"--actor: {len(keys) or 'no'} valid API keys of the tenant {shown(tenant)} have the name or the id"
            f" {shown(actor)}; give the id of one that `stratagraph token list` shows",
            path=["--actor"],
        )
    return replace(trust, key_identity=keys[0].identity)


async def _chunks(file: Path) -> AsyncIterator[bytes]:
    with file.open("rb") as opened:
        while chunk := opened.read(CHUNK_BYTES):
            yield chunk


def _write(path: Path, data: bytes) -> None:
    """Write the file, so that an error leaves no partial file."""
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
        raise InvalidInput(
            f"--output: {path} cannot be written: {error.strerror}; choose another path", path=["--output"]
        ) from error
