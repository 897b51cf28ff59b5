"""`stratagraph mcp`: memory for coding agents and assistants that speak MCP."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from stratagraph.service.cli.asking import Refused
from stratagraph.service.cli.output import people
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput

URL = "STRATAGRAPH_URL"

app = typer.Typer(
    help="Give an agent that speaks MCP a memory: tools to remember, recall, correct and forget, over standard input"
    " and output. The agent starts this command; you only tell it how. Memories are in STRATAGRAPH_DATA_DIR"
    " (.stratagraph): a running `stratagraph serve` there is asked, and so is the first of several agents; else this"
    " process opens the store itself. With --url, or STRATAGRAPH_URL, a service elsewhere is asked, with the API key in"
    " STRATAGRAPH_API_KEY. A service also speaks MCP over HTTP, at /mcp."
    "\n\nExamples: stratagraph mcp config claude-code, or with --url https://memory.example.org",
    invoke_without_command=True,
)

Url = Annotated[
    str | None,
    typer.Option(
        help="Address of a service to ask, such as https://memory.example.org, instead of the data directory."
    ),
]


Scope = Annotated[
    str | None, typer.Option(help="Scope of all that is stored, such as project:/srv/ferry; default: none.")
]


@app.callback()
def mcp(context: typer.Context, url: Url = None, scope: Scope = None) -> None:
    """Answer an agent on standard input and output until the input ends."""
    if context.invoked_subcommand is not None:
        return
    if sys.stdin.isatty():
        people.print(
            "An agent starts this command and speaks MCP with it; there is nothing to type here. `stratagraph mcp"
            " config claude-code` prints how to tell an agent.",
            highlight=False,
        )
        raise typer.Exit(2)
    from stratagraph.service.logs import set_up_logs
    from stratagraph.service.mcp.stdio import local_memory, remote_memory, serve_stdio
    from stratagraph_client import StratagraphError

    set_up_logs("warning")
    address = url or os.environ.get(URL)
    try:
        asyncio.run(serve_stdio(remote_memory(_checked(address)) if address else local_memory(), scope=scope))
    except StratagraphError as error:
        raise Refused(error.code, error.message) from None


@app.command()
def config(
    client: Annotated[str, typer.Argument(help="claude-code, claude-desktop, codex, vscode or cursor.")],
    url: Annotated[
        str | None,
        typer.Option(help="Address of a service that is asked over HTTP at /mcp; default: this command, over stdio."),
    ] = None,
) -> None:
    """Print what to put into an agent's configuration, and where. Nothing is changed."""
    from stratagraph.service.mcp.client_configs import CLIENTS, Server, configuration

    if client not in CLIENTS:
        raise InvalidInput(
            f"client: {shown(client)} is none of {', '.join(CLIENTS)}; give one of them", path=["client"]
        )
    given = os.environ.get("STRATAGRAPH_DATA_DIR")
    server = Server(
        command=str(Path(sys.argv[0]).absolute()),
        data_dir=str(Path(given or ".stratagraph").expanduser().absolute()),
        url=f"{_checked(url).rstrip('/')}/mcp" if url else None,
    )
    where, text = configuration(client, server)
    people.print(where, highlight=False, markup=False)
    typer.echo(text)


def _checked(url: str) -> str:
    """Return an address. Raises InvalidInput for what is none."""
    if not url.startswith(("http://", "https://")) or any(one.isspace() for one in url):
        raise InvalidInput(f"--url: {shown(url)} is no address; give one such as http://127.0.0.1:8000", path=["--url"])
    return url.removesuffix("/mcp")
