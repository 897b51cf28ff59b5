"""`stratagraph import`: what already happened becomes memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict, replace
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from stratagraph.memory.capture.request import Retention
from stratagraph.memory.imports.git_history import import_history, open_repository
from stratagraph.memory.imports.progress import Advance, ImportSummary
from stratagraph.memory.imports.traces import count_lines, import_traces
from stratagraph.service.cli.output import errors, people, print_json, with_runtime
from stratagraph.service.runtime import Runtime
from stratagraph.store.model.enums import DeletionPolicy
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.trust import SINGLE_USER, Trust

app = typer.Typer(
    help="Bring in what already happened. An import may be interrupted and run again: nothing is stored twice. What it"
    " brings is kept until deleted, with a half-life of 30 days, unless the options say otherwise.",
    no_args_is_help=True,
)
Tenant = Annotated[str, typer.Option(help="Whose memories.")]
Scope = Annotated[str | None, typer.Option(help="Scope of what is imported, such as project:x. Default: unscoped.")]
HalfLife = Annotated[float, typer.Option(help="Days until its salience has halved.")]
Prune = Annotated[bool, typer.Option("--auto-prune", help="Let it go by itself once its salience has decayed.")]
Json = Annotated[bool, typer.Option("--json", help="For programs; no progress bar.")]


@app.command()
def git(
    path: Annotated[Path, typer.Argument(help="Any git repository.")],
    scope: Scope = None,
    tenant: Tenant = "default",
    half_life_days: HalfLife = 30,
    auto_prune: Prune = False,
    json: Json = False,
) -> None:
    """A repository's history: commits as episodes that follow each other; authors, files and issues as entities."""
    retention = _retention(half_life_days, auto_prune)

    async def work(runtime: Runtime) -> ImportSummary:
        repository = await open_repository(path)

        async def run(advance: Advance) -> ImportSummary:
            return await import_history(
                runtime.capture, _importer(tenant), repository, scope=scope, retention=retention, advance=advance
            )

        return await _with_progress(f"commits of {repository.name}", repository.commits, run, quiet=json)

    _show(with_runtime(work), "commits", json)


@app.command()
def traces(
    file: Annotated[
        Path, typer.Argument(help="JSON lines: {messages: [{role, content, tool_calls?, tool_call_id?}]}.")
    ],
    outcome_field: Annotated[
        str | None,
        typer.Option(
            help="The field that tells how it ended: success, failure, partial, a boolean, or 0 to 1."
            " Default: outcome, reward or success, whichever is there."
        ),
    ] = None,
    scope: Scope = None,
    tenant: Tenant = "default",
    half_life_days: HalfLife = 30,
    auto_prune: Prune = False,
    json: Json = False,
) -> None:
    """Agent conversations in the chat-completions form: closed episodes with tool graph and outcome."""
    retention = _retention(half_life_days, auto_prune)

    async def work(runtime: Runtime) -> ImportSummary:
        total = count_lines(file)

        async def run(advance: Advance) -> ImportSummary:
            return await import_traces(
                runtime.capture,
                _importer(tenant),
                file,
                outcome_field=outcome_field,
                scope=scope,
                retention=retention,
                advance=advance,
            )

        return await _with_progress(f"conversations of {file.name}", total, run, quiet=json)

    _show(with_runtime(work), "conversations", json)


def _importer(tenant: str) -> Trust:
    """Whoever may run this command beside the database may write all of it."""
    return replace(SINGLE_USER, tenant=tenant, actor="import")


def _retention(half_life_days: float, auto_prune: bool) -> Retention:
    if not 0 < half_life_days < 100_000:
        raise InvalidInput("--half-life-days: must be more than 0", path=["--half-life-days"])
    return Retention(
        half_life_s=max(1.0, timedelta(days=half_life_days).total_seconds()),
        deletion_policy=DeletionPolicy.AUTO_PRUNE if auto_prune else DeletionPolicy.MANUAL_ONLY,
    )


async def _with_progress(
    what: str, total: int, run: Callable[[Advance], Awaitable[ImportSummary]], *, quiet: bool
) -> ImportSummary:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=errors, disable=quiet) as progress:
        task = progress.add_task(what, total=total)
        return await run(lambda done: progress.advance(task, done))


def _show(summary: ImportSummary, items: str, json: bool) -> None:
    if json:
        print_json(asdict(summary))
        return
    table = Table(show_header=False, box=None)
    table.add_row(items, str(summary.items))
    table.add_row("captured", f"{summary.captured}, {summary.replayed} were there already")
    made = ", ".join(f"{count} {name}" for name, count in sorted(summary.records.items())) or "none"
    table.add_row("new records", made)
    table.add_row("relations", str(summary.edges))
    for reason, count in summary.skipped.items():
        table.add_row("left out", f"{count} {reason}")
    people.print(table)
