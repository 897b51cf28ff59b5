"""The `stratagraph` command."""

from __future__ import annotations

import sys

import typer

from stratagraph.service.cli import ask, imports, neo4j, serve, sync, token
from stratagraph.service.cli.output import explain
from stratagraph.store.errors import StratagraphError

app = typer.Typer(
    name="stratagraph",
    help=(
        "Memory for LLM agents: typed, revisable, decaying, trust-aware. Postgres is the truth, Neo4j the map,"
        " GraphQL the door.\n\nStart with `stratagraph serve`, then in another terminal `stratagraph import git .`"
        ' and `stratagraph ask "…"`. Settings are environment variables named STRATAGRAPH_…; the README lists them.'
    ),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command("serve")(serve.serve)
app.command("schema")(serve.schema)
app.command("ask")(ask.ask)
app.add_typer(imports.app, name="import")
app.add_typer(sync.app, name="sync")
app.add_typer(token.app, name="token")
app.add_typer(neo4j.app, name="neo4j")


def main() -> None:
    """Errors that say what to do are printed as such; a stack trace means a defect of ours."""
    try:
        app()
    except StratagraphError as error:
        explain(error)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
