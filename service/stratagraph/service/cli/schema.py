"""`stratagraph schema`: print the schema, or what changed in it since a released one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from stratagraph.service.cli.output import errors
from stratagraph.store.model.errors import InvalidInput


def schema(
    since: Annotated[
        Path | None,
        typer.Option(
            help="A schema that a client was generated from, or a folder of them named by version (0.1.0.graphql):"
            " print what changed since."
        ),
    ] = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="With --since: print only changes that break a client unannounced; exit 1 if there are any."
        ),
    ] = False,
) -> None:
    """Print the GraphQL schema in schema definition language, or what changed in it since an earlier one."""
    from stratagraph.graphql.schema import sdl
    from stratagraph.graphql.schema_releases import page, steps_since

    if since is None:
        if check:
            raise InvalidInput("--check needs --since, the schema to compare with", path=["check"])
        typer.echo(sdl(), nl=False)
        return
    steps = steps_since(since, sdl())
    if not check:
        typer.echo("".join(page(steps) if since.is_dir() else (step.text() for step in steps)), nl=False)
        return
    faults = [fault for step in steps for fault in step.faults()]
    for fault in faults:
        errors.print(Text(fault), soft_wrap=True)
    if faults:
        raise typer.Exit(1)
