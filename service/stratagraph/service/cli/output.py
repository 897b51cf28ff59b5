"""Output and set-up that all commands share."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

import orjson
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from stratagraph.store.model.errors import StratagraphError

if TYPE_CHECKING:
    from stratagraph.service.runtime import Runtime

PIPED_WIDTH = 200  # characters of a line where standard output is no terminal
people = Console(stderr=False, width=None if sys.stdout.isatty() else PIPED_WIDTH)
errors = Console(stderr=True)
T = TypeVar("T")
ID_WIDTH = 36  # characters of a UUID; an id must not be cut off


def print_error(error: StratagraphError) -> None:
    """Print the error's code and message to standard error."""
    errors.print(f"[bold red]{error.code.lower().replace('_', ' ')}[/]: {escape(error.message)}", highlight=False)


def folding_table(*columns: str | Column, title: str | None = None) -> Table:
    """Return a table that folds long cells and never cuts them off."""
    folded = [Column(one, overflow="fold") if isinstance(one, str) else one for one in columns]
    return Table(*folded, title=title, title_justify="left")


def instant(text: str) -> datetime:
    """Return an instant of an answer, which is JSON."""
    return datetime.fromisoformat(text)


def print_json(value: Any) -> None:
    """Print one JSON document to standard output."""
    typer.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2, default=str).decode())


def with_runtime(work: Callable[[Runtime], Awaitable[T]]) -> T:
    """Run `work` and return its result; start the embedded Postgres for it unless a service already runs it."""
    # Imported here because it takes a second, and a command that asks the running service does without it.
    import asyncio

    from stratagraph.service.logs import set_up_logs
    from stratagraph.service.runtime import open_runtime
    from stratagraph.service.settings import Settings

    settings = Settings.load()
    set_up_logs(settings.log_level if settings.log_level != "info" else "warning")

    async def run() -> T:
        async with open_runtime(settings) as runtime:
            return await work(runtime)

    return asyncio.run(run())
