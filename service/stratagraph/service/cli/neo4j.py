"""`stratagraph neo4j`: run a local Neo4j for the mirror without Docker; write the kit for Neo4j Browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stratagraph.service.cli.output import PlainConsole
from stratagraph.store.model.errors import StratagraphError
from stratagraph.store.model.shown_text import shown_text

if TYPE_CHECKING:
    from stratagraph.service.settings import Settings

if TYPE_CHECKING:
    from stratagraph.service.local_neo4j import LocalNeo4j, LocalServer

NOT_RUNNING = 3  # the exit code of `systemctl status` for a stopped service
CONFIGURED_TIMEOUT_S = 5

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help=(
        "Run a Neo4j for the mirror on this machine, without Docker.\n\n"
        "`start` downloads Neo4j Community with Maven (about 120 MB, once per version) and starts it in the "
        "background: on loopback only, with a password that it generates, with 512 MB of heap. It runs until "
        "`stop`. Its data and its password are in neo4j/ under STRATAGRAPH_DATA_DIR (by default .stratagraph in the "
        "current folder), which only you can read, and survive a stop. So do the ports, unless another program has "
        "taken one by the next start; a running service finds the server again either way.\n\n"
        "It needs Maven and a JDK 17 or newer; Neo4j 5.26 runs on Java 17 to 21, Neo4j 2026 on Java 21 or newer. "
        "The first start takes the newest line that your Java runs. Later starts take the line of the data, unless "
        "--version names another. To use a server of your own, set STRATAGRAPH_NEO4J_URI (and "
        "STRATAGRAPH_NEO4J_USER, STRATAGRAPH_NEO4J_PASSWORD) instead; in containers, `docker compose up neo4j`.\n\n"
        "Example: run `stratagraph neo4j start --browser`, open the page that it prints, paste the password from the "
        "file that it names, and press Connect. "
        "`stratagraph neo4j kit` writes colours and saved queries for that page."
    ),
)

AsJson = Annotated[
    bool,
    typer.Option(
        "--json", help="Print one JSON object with running, bolt, browser, version, pid, user and password_file."
    ),
]


@app.command()
def start(
    browser: Annotated[
        bool, typer.Option("--browser", help="Serve Neo4j Browser too. Restarts a server that runs without it.")
    ] = False,
    version: Annotated[
        str | None,
        typer.Option(
            "--version",
            metavar="X",
            help="Version to run, 5.26.x or 2026.x. Default: the line of the data, or the newest that your Java runs.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Start the server and print its addresses once it answers; if it is running, only print them."""
    from stratagraph.service.settings import Settings

    with _errors_reported():
        settings = Settings.load()
        if settings.neo4j_uri is not None:
            running = _configured_runs(settings.neo4j_uri, settings)
            _print_configured(settings.neo4j_uri, running, as_json, "nothing was started")
            return
        console = PlainConsole(stderr=True, quiet=as_json, highlight=False, markup=False, soft_wrap=True)
        with console.status("Looking for Java", spinner="dots") as spinner:

            def show(step: str) -> None:
                console.print(step)
                spinner.update(step)

            server = _local(settings).start(version=version, browser=browser, on_step=show)
        _print_local(server, as_json)


@app.command()
def stop(as_json: AsJson = False) -> None:
    """Stop the server and keep its data. Exits 0 also when none is running."""
    from stratagraph.service.settings import Settings

    with _errors_reported():
        settings = Settings.load()
        stopped = _local(settings).stop()
        if as_json:
            _print_json(running=False)
        elif stopped:
            typer.echo("Neo4j has stopped; its data remain.")
        else:
            typer.echo("No local Neo4j was running.")


@app.command()
def status(as_json: AsJson = False) -> None:
    """Print which server is used and whether it is running. Exits 3 if it is not."""
    from stratagraph.service.settings import Settings

    with _errors_reported():
        settings = Settings.load()
        if settings.neo4j_uri is not None:
            running = _configured_runs(settings.neo4j_uri, settings)
            _print_configured(settings.neo4j_uri, running, as_json)
        else:
            server = _local(settings).running()
            running = server is not None
            if server is not None:
                _print_local(server, as_json)
            elif as_json:
                _print_json(running=False)
            else:
                typer.echo("No local Neo4j is running. Start one with: stratagraph neo4j start")
    if not running:
        raise typer.Exit(NOT_RUNNING)


@app.command()
def kit(
    to: Annotated[
        Path, typer.Option("--to", metavar="DIR", help="Folder to write; existing files of the kit are replaced.")
    ] = Path("neo4j-kit"),
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object with the paths style, queries, folder and roles.")
    ] = False,
) -> None:
    """Write a style sheet and saved queries for Neo4j Browser, and role statements for Enterprise.

    The files are for Neo4j Browser 5, with any server. The command needs no database.
    """
    from stratagraph.graph_sync.browser import BUNDLE_FOLDER, saved_queries, write_kit

    with _errors_reported():
        style, queries, folder, roles = write_kit(to)
    if as_json:
        written = {"style": str(style), "queries": str(queries), "folder": str(folder), "roles": str(roles)}
        typer.echo(json.dumps(written))
        return
    saved = saved_queries()
    typer.echo("Open Neo4j Browser, connect, and drag these two files onto its page, one at a time:")
    typer.echo(f"  {style}  colours and captions")
    typer.echo(
        f"  {queries}  {len(saved)} saved queries; they appear under the star at the left, folder {BUNDLE_FOLDER}"
    )
    typer.echo(f'Then run "{saved[0].title}".')
    typer.echo(f"{folder} has each query in a file of its own; {roles} is for Neo4j Enterprise.")


def _local(settings: Settings) -> LocalNeo4j:
    from stratagraph.service.local_neo4j import LocalNeo4j

    return LocalNeo4j(settings.data_dir / "neo4j", settings.cache_dir / "neo4j")


def _configured_runs(uri: str, settings: Settings) -> bool:
    from stratagraph.service.local_neo4j import answers

    auth = None
    if settings.neo4j_user is not None:
        password = settings.neo4j_password.get_secret_value() if settings.neo4j_password is not None else ""
        auth = (settings.neo4j_user, password)
    return answers(uri, auth=auth, within_s=CONFIGURED_TIMEOUT_S)


def _print_local(server: LocalServer, as_json: bool) -> None:
    from stratagraph.service.local_neo4j.password import USER

    has_password = server.password_file.exists()
    if as_json:
        _print_json(
            running=True,
            bolt=server.bolt,
            browser=server.browser,
            version=server.version,
            pid=server.pid,
            user=USER if has_password else None,
            password_file=str(server.password_file) if has_password else None,
        )
        return
    typer.echo(f"Neo4j {server.version} is running (process {server.pid}).")
    typer.echo(f"  Bolt     {server.bolt}")
    if server.browser is not None:
        typer.echo(f"  Browser  {server.browser}")
    else:
        typer.echo("  Browser  off; to turn it on: stratagraph neo4j start --browser")
    if has_password:
        typer.echo(f"  Login    user {USER}, password in {server.password_file}")
    else:
        typer.echo("  Login    no password file; to restart the server with a password: stratagraph neo4j start")
    typer.echo(f"  Files    {server.home}")


def _print_configured(uri: str, running: bool, as_json: bool, note: str | None = None) -> None:
    if as_json:
        _print_json(running=running, bolt=uri)
        return
    suffix = f"; {note}" if note else ""
    typer.echo(f"STRATAGRAPH_NEO4J_URI is set, so the server at {uri} is used{suffix}.")
    if not running:
        typer.echo(
            "It does not answer. Check the address, STRATAGRAPH_NEO4J_USER and STRATAGRAPH_NEO4J_PASSWORD, "
            "or unset STRATAGRAPH_NEO4J_URI to use a local server."
        )


def _print_json(
    *,
    running: bool,
    bolt: str | None = None,
    browser: str | None = None,
    version: str | None = None,
    pid: int | None = None,
    user: str | None = None,
    password_file: str | None = None,
) -> None:
    shown = {"running": running, "bolt": bolt, "browser": browser, "version": version, "pid": pid}
    typer.echo(json.dumps({**shown, "user": user, "password_file": password_file}))


@contextmanager
def _errors_reported() -> Iterator[None]:
    try:
        yield
    except StratagraphError as e:
        typer.echo(shown_text(e.message), err=True)
        raise typer.Exit(1) from e
