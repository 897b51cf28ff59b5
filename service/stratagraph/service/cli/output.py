"""Output and set-up that all commands share.

Whatever a command prints may hold stored text, which any writer may have sent. So commands print for people on a
PlainConsole only, and JSON by `print_json` only.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

import orjson
import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.segment import Segment
from rich.table import Column, Table
from rich.text import Text

from stratagraph.store.model.errors import Misconfigured, StratagraphError
from stratagraph.store.model.shown_text import as_json_escapes, shown_text

if TYPE_CHECKING:
    from stratagraph.service.runtime import Runtime

PIPED_WIDTH = 200  # characters of a line where standard output is no terminal
T = TypeVar("T")
ID_WIDTH = 36  # characters of a UUID; an id must not be cut off


class PlainConsole(Console):
    """A console that prints every text as `shown_text` shows it; escape sequences are those of its own styles only."""

    def render_str(self, *args: Any, **options: Any) -> Text:
        """Return a text with its markup as styles, as it is shown."""
        return _shown(super().render_str(*args, **options))

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the segments of something to print, with their texts as they are shown."""
        for segment in super().render(_shown(renderable) if isinstance(renderable, Text) else renderable, options):
            yield segment if segment.control else segment._replace(text=shown_text(segment.text))


def _shown(text: Text) -> Text:
    """Return the text as it is shown; without the styles of its parts if that differs from it."""
    shown = shown_text(text.plain)
    return text if shown == text.plain else text.blank_copy(shown)


people = PlainConsole(stderr=False, width=None if sys.stdout.isatty() else PIPED_WIDTH)
errors = PlainConsole(stderr=True)


def print_error(error: StratagraphError) -> None:
    """Print the error's code and message to standard error."""
    errors.print(f"[bold red]{error.code.lower().replace('_', ' ')}[/]: {escape(error.message)}", highlight=False)


class LiteralTable(Table):
    """A table whose cells are texts as they are: what is stored may look like markup."""

    def add_row(self, *cells: RenderableType | None, **options: Any) -> None:
        """Add a row of cells."""
        super().add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in cells), **options)


def folding_table(*columns: str | Column, title: str | None = None) -> LiteralTable:
    """Return a table that folds long cells and never cuts them off."""
    folded = [Column(one, overflow="fold") if isinstance(one, str) else one for one in columns]
    return LiteralTable(*folded, title=title, title_justify="left")


def minute(text: str) -> str:
    """Return an instant of an answer to the minute, as it is shown."""
    return f"{datetime.fromisoformat(text):%Y-%m-%d %H:%M}"


def second(text: str) -> str:
    """Return an instant of an answer to the second, as it is shown."""
    return f"{datetime.fromisoformat(text):%Y-%m-%d %H:%M:%S}"


def print_json(value: Any) -> None:
    """Print one JSON document to standard output; what acts on a terminal or cannot be seen is written as escapes."""
    typer.echo(as_json_escapes(orjson.dumps(value, option=orjson.OPT_INDENT_2, default=str).decode()))


def print_json_line(value: Any) -> None:
    """Print a JSON document as one line, where several follow one another."""
    typer.echo(as_json_escapes(orjson.dumps(value, default=str).decode()))


def with_runtime(work: Callable[[Runtime], Awaitable[T]], *, makes_store: bool = True) -> T:
    """Run `work` and return its result; start the embedded Postgres for it unless a service already runs it.

    Raises Misconfigured where the data directory has no store yet, unless the command `makes_store`.
    """
    # Imported here because it takes a second, and a command that asks the running service does without it.
    import asyncio

    from stratagraph.service.embedded_postgres import EmbeddedPostgres
    from stratagraph.service.logs import set_up_logs
    from stratagraph.service.runtime import open_runtime
    from stratagraph.service.settings import Settings

    settings = Settings.load()
    if not makes_store and settings.database_url is None and not EmbeddedPostgres(settings.data_dir).had_data():
        raise Misconfigured(
            f"There is no store in {settings.data_dir}. Start one with `stratagraph serve`, or name the directory of"
            " the one that you mean with STRATAGRAPH_DATA_DIR."
        )
    set_up_logs(settings.log_level if settings.log_level != "info" else "warning")

    async def run() -> T:
        async with open_runtime(settings) as runtime:
            return await work(runtime)

    return asyncio.run(run())
