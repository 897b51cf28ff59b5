"""The `stratagraph` command."""

from __future__ import annotations

import sys

import typer

from stratagraph.service.cli import (
    artifact,
    ask,
    audit,
    backup,
    captures,
    erase,
    explore,
    imports,
    jobs,
    keys,
    neo4j,
    past,
    predicates,
    revise,
    serve,
    sync,
    token,
)
from stratagraph.service.cli.output import print_error
from stratagraph.store.model.errors import StratagraphError

app = typer.Typer(
    name="stratagraph",
    help=(
        "Stratagraph stores the memory of LLM agents: typed records that can be revised, lose salience over time and"
        " are filtered by the caller's trust. Postgres stores them, Neo4j mirrors their graph, and the API is GraphQL."
        "\n\nStart with `stratagraph serve`. Then, in another terminal, `stratagraph import git .` and"
        ' `stratagraph ask "what changed?"`. Settings are environment variables named STRATAGRAPH_…; the README lists'
        " them."
    ),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command("serve")(serve.serve)
app.command("schema")(serve.schema)
app.command("ask")(ask.ask)
app.command("history")(past.history)
app.command("forget-preview")(past.forget_preview)
app.command("backup")(backup.backup)
app.command("restore")(backup.restore)
app.add_typer(imports.app, name="import")
app.add_typer(explore.app, name="explore")
app.add_typer(revise.app, name="revise")
app.add_typer(erase.app, name="erase")
app.add_typer(sync.app, name="sync")
app.add_typer(jobs.app, name="jobs")
app.add_typer(captures.app, name="captures")
app.add_typer(token.app, name="token")
app.add_typer(keys.app, name="keys")
app.add_typer(audit.app, name="audit")
app.add_typer(neo4j.app, name="neo4j")
app.add_typer(artifact.app, name="artifact")
app.add_typer(predicates.app, name="predicates")


def main() -> None:
    """Run the command. A StratagraphError is printed without a stack trace and exits 1; Ctrl-C exits 130."""
    try:
        app()
    except StratagraphError as error:
        print_error(error)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
