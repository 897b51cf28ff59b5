"""`stratagraph import`: make records from git repositories and agent conversations."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from stratagraph.service.cli.import_options import (
    HalfLife,
    Prune,
    RestoreErased,
    Scope,
    importer,
    retention_of,
    zone_of,
)
from stratagraph.service.cli.memory_imports import memories
from stratagraph.service.cli.options import Json, Tenant
from stratagraph.service.cli.output import LiteralTable, errors, people, print_json, with_runtime
from stratagraph.service.cli.progress import progress_bar
from stratagraph.service.cli.record_imports import records

if TYPE_CHECKING:
    from stratagraph.memory.imports.progress import Advance, ImportSummary
    from stratagraph.service.runtime import Runtime

app = typer.Typer(
    help="Import a git history, agent conversations, memories of other systems, or the export of another Stratagraph."
    " After an interruption, run the same command again: it stores no record twice. What was erased is not imported"
    " again. Imported records have a half-life of 30 days and are never pruned, which options change; those of an"
    " export are as they were."
    "\n\nExample: stratagraph import git . --scope project:x",
    no_args_is_help=True,
)
app.command()(memories)
app.command()(records)


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
    retention = retention_of(half_life_days, auto_prune)

    async def work(runtime: Runtime) -> ImportSummary:
        from stratagraph.memory.imports.git_history import open_repository

        repository = await open_repository(path)

        async def run(advance: Advance) -> ImportSummary:
            from stratagraph.memory.imports.git_history import import_history

            return await import_history(
                runtime.capture,
                importer(tenant),
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
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH…", help="Files, or directories with files *.json, *.jsonl, *.ndjson, *.traj, *.gz."
        ),
    ],
    outcome_field: Annotated[
        str | None,
        typer.Option(
            help="Field with the outcome: success, failure, partial, a boolean, or a number from 0 to 1."
            " Default: the first of outcome, reward and success that is present."
        ),
    ] = None,
    timezone: Annotated[
        str | None,
        typer.Option(help="Zone of times without an offset, such as Europe/Berlin. Default: such times are refused."),
    ] = None,
    scope: Scope = None,
    tenant: Tenant = "default",
    half_life_days: HalfLife = 30,
    auto_prune: Prune = False,
    restore_erased: RestoreErased = False,
    json: Json = False,
) -> None:
    """Import agent conversations: each becomes a closed episode with its tool graph and outcome.

    The format of each file is found by its shape; `stratagraph import formats` lists those that are known. Files may be
    JSON, JSON Lines, and compressed with gzip. What cannot be imported is listed, the rest is imported, and the exit
    status is 1. Fields that are not read are counted.
    """
    retention = retention_of(half_life_days, auto_prune)
    zone = zone_of(timezone)

    async def work(runtime: Runtime) -> ImportSummary:
        from stratagraph.memory.imports.trace_files import find_files

        files = find_files(paths)
        total = sum(file.stat().st_size for file in files)

        async def run(advance: Advance) -> ImportSummary:
            from stratagraph.memory.imports.traces import import_traces

            return await import_traces(
                runtime.capture,
                importer(tenant),
                *paths,
                artifacts=runtime.artifacts,
                outcome_field=outcome_field,
                zone=zone,
                scope=scope,
                retention=retention,
                restore_erased=restore_erased,
                advance=advance,
            )

        named = files[0].name if len(files) == 1 else f"{len(files)} files"
        return await _with_progress(f"conversations of {named}", total, run, quiet=json)

    _show(with_runtime(work), "conversations", json)


@app.command()
def formats(json: Json = False) -> None:
    """List the formats that `import traces` and `import memories` read, with the version that each was read from."""
    from stratagraph.memory.imports.formats.known import FORMATS
    from stratagraph.memory.imports.memories.known import FORMATS as MEMORY_FORMATS
    from stratagraph.memory.imports.memories.known import NOTES, NOTES_DOCUMENTED

    known = [("traces", one.name, one.documented) for one in FORMATS]
    known += [("memories", f"{one.name} ({one.key})", one.documented) for one in MEMORY_FORMATS]
    known.append(("memories", f"Markdown notes ({NOTES})", NOTES_DOCUMENTED))
    if json:
        print_json([{"command": command, "name": name, "documented": version} for command, name, version in known])
        return
    table = LiteralTable("command", "format", "read from")
    for one in known:
        table.add_row(*one)
    people.print(table)


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
    if summary.formats:
        table.add_row("formats", ", ".join(f"{count} {name}" for name, count in summary.formats.items()))
    if summary.artifacts:
        table.add_row("attachments", f"{summary.artifacts} stored as artifacts")
    for reason, count in summary.skipped.items():
        table.add_row("skipped", f"{count} {reason}")
    if summary.unread:
        fields = ", ".join(f"{path} {count}" for path, count in sorted(summary.unread.items()))
        table.add_row("not read", f"fields with their number: {fields}")
    for code, count in summary.warnings.items():
        table.add_row("warnings", f"{count} {code.replace('_', ' ')}")
    people.print(table)
    for refused in summary.refused:
        errors.print(f"[bold red]not imported[/]: {escape(refused.item)}: {escape(refused.reason)}", highlight=False)
