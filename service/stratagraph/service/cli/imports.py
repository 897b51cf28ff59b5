"""`stratagraph import`: make records from git repositories and agent conversations."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from stratagraph.service.cli.options import Json, Tenant
from stratagraph.service.cli.output import LiteralTable, errors, people, print_json, with_runtime
from stratagraph.service.cli.progress import progress_bar
from stratagraph.service.cli.record_imports import records
from stratagraph.store.model.enums import DeletionPolicy
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.trust import SINGLE_USER, Trust

if TYPE_CHECKING:
    from stratagraph.memory.capture.request import Retention
    from stratagraph.memory.imports.progress import Advance, ImportSummary
    from stratagraph.service.runtime import Runtime

app = typer.Typer(
    help="Import a git history or agent conversations. After an interruption, run the same command again: it stores no"
    " record twice. What was erased is not imported again. Imported records have a half-life of 30 days and are never"
    " pruned; the options change both."
    "\n\nExample: stratagraph import git . --scope project:x",
    no_args_is_help=True,
)
app.command()(records)
Scope = Annotated[str | None, typer.Option(help="Scope of the imported records, such as project:x. Default: unscoped.")]
HalfLife = Annotated[float, typer.Option(help="Days in which the salience halves, above 0 and below 100000.")]
Prune = Annotated[
    bool, typer.Option("--auto-prune", help="Let the service prune the records once their salience has decayed.")
]
RestoreErased = Annotated[
    bool, typer.Option("--restore-erased", help="Import again what was erased; it counts as erased no longer.")
]


@app.command()
def git(
    path: Annotated[Path, typer.Argument(help="Directory of a git repository, which may be bare or shallow.")],
    scope: Scope = None,
    tenant: Tenant = "default",
    half_life_days: HalfLife = 30,
    auto_prune: Prune = False,
    restore_erased: RestoreErased = False,
    json: Json = False,
) -> None:
    """Import a git history: each commit becomes an episode, and its author, files and issues become entities."""
    retention = _retention(half_life_days, auto_prune)

    async def work(runtime: Runtime) -> ImportSummary:
        from stratagraph.memory.imports.git_history import open_repository

        repository = await open_repository(path)

        async def run(advance: Advance) -> ImportSummary:
            from stratagraph.memory.imports.git_history import import_history

            return await import_history(
                runtime.capture,
                _importer(tenant),
                repository,
                scope=scope,
                retention=retention,
                restore_erased=restore_erased,
                advance=advance,
            )

        return await _with_progress(f"commits of {repository.name}", repository.commits, run, quiet=json)

    _show(with_runtime(work), "commits", json)


@app.command()
def traces(
    file: Annotated[
        Path,
        typer.Argument(
            help="JSON lines, one conversation each: {messages: [{role, content, tool_calls?, tool_call_id?}]}."
        ),
    ],
    outcome_field: Annotated[
        str | None,
        typer.Option(
            help="Field with the outcome: success, failure, partial, a boolean, or a number from 0 to 1."
            " Default: the first of outcome, reward and success that is present."
        ),
    ] = None,
    scope: Scope = None,
    tenant: Tenant = "default",
    half_life_days: HalfLife = 30,
    auto_prune: Prune = False,
    restore_erased: RestoreErased = False,
    json: Json = False,
) -> None:
    """Import agent conversations (chat completions): each becomes a closed episode with its tool graph and outcome.

    A line that cannot be imported is listed, the others are imported, and the exit status is 1.
    """
    retention = _retention(half_life_days, auto_prune)

    async def work(runtime: Runtime) -> ImportSummary:
        from stratagraph.memory.imports.trace_files import count_lines

        total = count_lines(file)

        async def run(advance: Advance) -> ImportSummary:
            from stratagraph.memory.imports.traces import import_traces

            return await import_traces(
                runtime.capture,
                _importer(tenant),
                file,
                outcome_field=outcome_field,
                scope=scope,
                retention=retention,
                restore_erased=restore_erased,
                advance=advance,
            )

        return await _with_progress(f"conversations of {file.name}", total, run, quiet=json)

    _show(with_runtime(work), "conversations", json)


def _importer(tenant: str) -> Trust:
    """The trust of an import: full access to the tenant, since the command runs with access to the database."""
    return replace(SINGLE_USER, tenant=tenant, actor="import")


def _retention(half_life_days: float, auto_prune: bool) -> Retention:
    from stratagraph.memory.capture.request import Retention

    if not 0 < half_life_days < 100_000:
        raise InvalidInput(
            f"--half-life-days: {half_life_days:g} is not above 0 and below 100000 days", path=["--half-life-days"]
        )
    return Retention(
        half_life_s=max(1.0, timedelta(days=half_life_days).total_seconds()),
        deletion_policy=DeletionPolicy.AUTO_PRUNE if auto_prune else DeletionPolicy.MANUAL_ONLY,
    )


async def _with_progress(
    what: str, total: int, run: Callable[[Advance], Awaitable[ImportSummary]], *, quiet: bool
) -> ImportSummary:
    with progress_bar(quiet, stays=True) as progress:
        task = progress.add_task(what, total=total)
        return await run(lambda done: progress.advance(task, done))


def _show(summary: ImportSummary, items: str, json: bool) -> None:
    """Print the summary. Exits with status 1 if an item was refused."""
    if json:
        print_json(asdict(summary))
    else:
        _print_table(summary, items)
    if summary.refused:
        raise typer.Exit(1)


def _print_table(summary: ImportSummary, items: str) -> None:
    table = LiteralTable(show_header=False, box=None)
    table.add_row(items, str(summary.items))
    before = f"{summary.replayed} had been imported before"
    erased = f"; {summary.erased} had been erased before" if summary.erased else ""
    table.add_row("captured", f"{summary.captured}; {before}{erased}")
    new = ", ".join(f"{count} {name}" for name, count in sorted(summary.records.items())) or "none"
    table.add_row("new records", new)
    table.add_row("relations", str(summary.edges))
    if summary.continued:
        table.add_row("continued", f"{summary.continued} known conversations have new turns")
    if summary.edited:
        table.add_row("edited", f"{', '.join(summary.edited)}: differ from the known ones, and are stored beside them")
    for reason, count in summary.skipped.items():
        table.add_row("skipped", f"{count} {reason}")
    for code, count in summary.warnings.items():
        table.add_row("warnings", f"{count} {code.replace('_', ' ')}")
    people.print(table)
    for refused in summary.refused:
        errors.print(f"[bold red]not imported[/]: {escape(refused.item)}: {escape(refused.reason)}", highlight=False)
