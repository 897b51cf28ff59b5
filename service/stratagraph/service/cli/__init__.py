"""The `stratagraph` command. Of its subcommands, only the one that is run is imported."""

from __future__ import annotations

import importlib
import importlib.metadata
import sys
from collections.abc import Iterable, Mapping
from typing import Annotated

import typer

from stratagraph.service.cli.output import people, print_error
from stratagraph.store.model.errors import StratagraphError

HELP = (
    "Stratagraph stores the memory of LLM agents: typed records that can be revised, lose salience over time and"
    " are filtered by the caller's trust. Postgres stores them, Neo4j mirrors their graph, and the API is GraphQL."
    "\n\nStart with `stratagraph serve`. Then, in another terminal, `stratagraph import git .` and"
    ' `stratagraph ask "what changed?"`. `stratagraph query` sends any GraphQL document. Settings are environment'
    " variables named STRATAGRAPH_…; docs/settings.md lists them."
)
# The module of each subcommand, and its function, or its Typer with further subcommands.
COMMANDS: Mapping[str, tuple[str, str]] = {
    "serve": ("serve", "serve"),
    "mcp": ("mcp", "app"),
    "schema": ("schema", "schema"),
    "ask": ("ask", "ask"),
    "query": ("query", "query"),
    "outcome": ("ask", "outcome"),
    "lessons": ("lessons", "app"),
    "playbook": ("lessons", "playbook"),
    "records": ("records", "records"),
    "history": ("past", "history"),
    "changes": ("changes", "changes"),
    "forget-preview": ("past", "forget_preview"),
    "backup": ("backup", "backup"),
    "restore": ("backup", "restore"),
    "import": ("imports", "app"),
    "watch": ("watch", "watch"),
    "hooks": ("hooks", "app"),
    "export": ("export", "export"),
    "explore": ("explore", "app"),
    "revise": ("revise", "app"),
    "erase": ("erase", "app"),
    "sync": ("sync", "app"),
    "consolidate": ("consolidate", "app"),
    "jobs": ("jobs", "app"),
    "captures": ("captures", "app"),
    "token": ("token", "app"),
    "keys": ("keys", "app"),
    "audit": ("audit", "app"),
    "neo4j": ("neo4j", "app"),
    "embedder": ("embedder", "app"),
    "artifact": ("artifact", "app"),
    "predicates": ("predicates", "app"),
    "duplicates": ("duplicates", "app"),
}


def build(names: Iterable[str] = COMMANDS) -> typer.Typer:
    """Return the command with the subcommands of these names."""
    app = typer.Typer(
        name="stratagraph", help=HELP, no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False
    )
    app.callback()(_subcommands)
    for name in names:
        module, attribute = COMMANDS[name]
        found = getattr(importlib.import_module(f"stratagraph.service.cli.{module}"), attribute)
        if isinstance(found, typer.Typer):
            app.add_typer(found, name=name)
        else:
            app.command(name)(found)
    return app


def _print_version(given: bool) -> None:
    if given:
        people.print(f"stratagraph {importlib.metadata.version('stratagraph')}", highlight=False)
        raise typer.Exit


def _subcommands(
    version: Annotated[  # its callback acts on it
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Keep the name of a subcommand necessary where there is only one."""


def main() -> None:
    """Run the command. A StratagraphError is printed without a stack trace and exits 1; Ctrl-C exits 130."""
    chosen = sys.argv[1] if len(sys.argv) > 1 else ""
    app = build([chosen]) if chosen in COMMANDS else build()
    try:
        app()
    except StratagraphError as error:
        print_error(error)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
