"""`stratagraph serve`: run the service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.panel import Panel

from stratagraph.service.cli.output import people, print_error
from stratagraph.store.model.errors import InvalidInput

if TYPE_CHECKING:
    from stratagraph.service.settings import Part, Settings


def serve(
    only: Annotated[
        list[str] | None,
        typer.Option(help="Run only this part: api, sync (the mirror worker) or jobs. Repeat the option for more."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1, help="Number of processes that answer the API; default: STRATAGRAPH_WORKERS, or one a core."
        ),
    ] = None,
) -> None:
    """Run the GraphQL API, the mirror worker and the background jobs until SIGTERM or Ctrl-C.

    Without STRATAGRAPH_DATABASE_URL, the service starts its own Postgres in STRATAGRAPH_DATA_DIR (.stratagraph). It
    mirrors into Neo4j when STRATAGRAPH_NEO4J_URI is set or a local server runs (`stratagraph neo4j start`).
    """
    from stratagraph.service.logs import set_up_logs
    from stratagraph.service.serving import serve as run_service
    from stratagraph.service.settings import Settings

    settings = Settings.load() if workers is None else Settings.load(workers=workers)
    set_up_logs(settings.log_level)
    status = run_service(
        settings,
        _parts(only),
        on_ready=lambda url, mirror: welcome(settings, url, mirror),
        on_error=print_error,
    )
    raise typer.Exit(status)


def _parts(only: list[str] | None) -> tuple[Part, ...]:
    from stratagraph.service.settings import PARTS

    if not only:
        return PARTS
    for name in only:
        if name not in PARTS:
            raise InvalidInput(
                f"--only: {name!r} is not a part of the service; choose one of {', '.join(PARTS)}", path=["only"]
            )
    return tuple(part for part in PARTS if part in only)


def welcome(settings: Settings, url: str | None, mirror: str | None) -> None:
    """Print the addresses, databases and callers of a service that is ready, and two commands to try next."""
    lines = []
    if url is not None:
        lines += [f"GraphQL   {url}/graphql", f"In a browser   {url}/graphiql"]
    store = f"embedded Postgres in {settings.data_dir}" if settings.database_url is None else "STRATAGRAPH_DATABASE_URL"
    lines.append(f"Records   {store}")
    if url is not None and settings.worker_count > 1:
        lines.append(f"Workers   {settings.worker_count} processes answer the API")
    if mirror is not None:
        lines.append(f"Mirror    Neo4j at {mirror}")
    else:
        lines.append("Mirror    none; to have one, run `stratagraph neo4j start`")
    if settings.is_single_user:
        lines.append("Callers   single-user mode: any caller on this machine, without a credential")
    else:
        lines.append("Callers   need an API key: `stratagraph token create NAME --access write`")
    if url is not None:
        lines += _meaning(settings)
    if url is not None:
        lines += [
            "",
            "Try next, in another terminal:",
            "  .venv/bin/stratagraph import git .",
            '  .venv/bin/stratagraph ask "what changed most recently?"',
        ]
    people.print(Panel("\n".join(lines), title="Stratagraph is ready", title_align="left"), highlight=False)


def _meaning(settings: Settings) -> list[str]:
    """Return the line about finding records by meaning: with what, or once how to begin with it."""
    from stratagraph.service.embedders.choice import local_directory
    from stratagraph.service.embedders.fetched import suggest_once
    from stratagraph.service.embedders.local_model import is_installed

    if settings.embedder == "openai":
        return [f"Meaning   {settings.embedder_model} at STRATAGRAPH_EMBEDDER_URL"]
    if (directory := local_directory(settings)) is not None:
        return [f"Meaning   {directory.name}, a local model"]
    if settings.embedder == "off" or not suggest_once(settings.cache_dir):
        return []
    extra = "" if is_installed() else "`pip install 'stratagraph[fastembed]'`, then "
    return [f"Meaning   off; to find records by meaning too: {extra}`stratagraph embedder fetch` (90 MB, once)"]
