"""What the commands share: where people read, where programs read, and how an error is told."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import orjson
import typer
from rich.console import Console

from stratagraph.service.logs import set_up_logs
from stratagraph.service.runtime import Runtime, open_runtime
from stratagraph.service.settings import Settings
from stratagraph.store.model.errors import StratagraphError

people = Console(stderr=False)
errors = Console(stderr=True)
T = TypeVar("T")
ID_WIDTH = 36  # an id is of no use when it is cut


def explain(error: StratagraphError) -> None:
    errors.print(f"[bold red]{error.code.lower().replace('_', ' ')}[/]: {_plain(error.message)}", highlight=False)


def print_json(value: Any) -> None:
    """One JSON document on standard output, and nothing else."""
    typer.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2, default=str).decode())


def with_runtime(work: Callable[[Runtime], Awaitable[T]]) -> T:
    """Run `work` on the database of the settings: that of the running service, or one started for the occasion."""
    settings = Settings.load()
    set_up_logs(settings.log_level if settings.log_level != "info" else "warning")

    async def run() -> T:
        async with open_runtime(settings) as runtime:
            return await work(runtime)

    return asyncio.run(run())


def _plain(text: str) -> str:
    return text.replace("[", "\\[")
