"""`stratagraph import memories`: make records from the memories of other systems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
from stratagraph.service.cli.options import Json, Tenant
from stratagraph.service.cli.output import LiteralTable, errors, people, print_json, with_runtime
from stratagraph.service.cli.progress import progress_bar

if TYPE_CHECKING:
    from stratagraph.memory.imports.memories.summary import MemorySummary
    from stratagraph.service.runtime import Runtime

SHOWN = 20  # refused parts and unread fields that people are shown; --json has all


def memories(
    paths: Annotated[
        list[Path],
        typer.Argument(help="Exports (JSON, JSON lines, .af, also with gzip), notes (.md), or directories of them."),
    ],
    named: Annotated[
        str | None,
        typer.Option(
            "--as",
            help="Format: mem0, graphiti, server-memory, langgraph-store, letta, membrane or notes."
            " Default: found by its shape.",
        ),
    ] = None,
    scope: Scope = None,
    timezone: Annotated[
        str | None,
        typer.Option(help="Zone of times without an offset, such as Europe/Berlin. Default: such times are refused."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be stored, and store nothing.")] = False,
    tenant: Tenant = "default",
    half_life_days: HalfLife = 30,
    auto_prune: Prune = False,
    restore_erased: RestoreErased = False,
    json: Json = False,
) -> None:
    """Import memories of mem0, Graphiti, MCP server-memory, LangGraph, Letta and Membrane, and Markdown notes.

    Memories that were changed since the last import take the place of what they were; deleted ones stay. What cannot be
    imported is listed, the rest is imported, and the exit status is 1.
    """
    retention = retention_of(half_life_days, auto_prune)
    zone = zone_of(timezone)

    async def work(runtime: Runtime) -> MemorySummary:
        from stratagraph.memory.imports.memories.run import MemoryImport, import_memories
        from stratagraph.memory.transfer.restoring import RecordImport

        restoring = RecordImport(runtime.database, runtime.directory, runtime.artifacts)
        wanted = MemoryImport(
            paths=tuple(paths),
            named=named,
            scope=scope,
            zone=zone,
            retention=retention,
            restore_erased=restore_erased,
            dry_run=dry_run,
        )
        with progress_bar(json, stays=True) as progress:
            task = progress.add_task("memories", total=None)
            return await import_memories(
                runtime.capture,
                restoring,
                runtime.artifacts,
                importer(tenant),
                wanted,
                advance=lambda done: progress.advance(task, done),
            )

    summary = with_runtime(work)
    if json:
        print_json({name: value for name, value in asdict(summary).items() if name != "previewed"})
    else:
        _print_table(summary)
    if summary.refused:
        raise typer.Exit(1)


def _print_table(summary: MemorySummary) -> None:
    table = LiteralTable(show_header=False, box=None)
    table.add_row("files", ", ".join(f"{count} {name}" for name, count in summary.formats.items()) or "none")
    table.add_row("memories", str(summary.items))
    before = f"{summary.replayed} had been imported before"
    erased = f"; {summary.erased} had been erased before" if summary.erased else ""
    table.add_row("would be captured" if summary.dry_run else "captured", f"{summary.captured}; {before}{erased}")
    new = ", ".join(f"{count} {name}" for name, count in sorted(summary.records.items()) if count) or "none"
    table.add_row("new records", new)
    table.add_row("relations", str(summary.edges))
    if summary.changed:
        table.add_row("changed", f"{summary.changed} known memories; {summary.superseded} facts were superseded")
    if summary.edited:
        table.add_row("edited", f"{', '.join(summary.edited)}: differ from the known ones, and are stored beside them")
    if summary.artifacts:
        table.add_row("attachments", f"{summary.artifacts} stored as artifacts")
    for reason, count in summary.skipped.items():
        table.add_row("skipped", f"{count} {reason}")
    for code, count in summary.warnings.items():
        table.add_row("warnings", f"{count} {code.replace('_', ' ')}")
    _add_unread(table, summary.unread)
    people.print(table)
    for refused in summary.refused[:SHOWN]:
        errors.print(f"[bold red]not imported[/]: {escape(refused.item)}: {escape(refused.reason)}", highlight=False)
    if len(summary.refused) > SHOWN:
        errors.print(f"[bold red]not imported[/]: {len(summary.refused) - SHOWN} more, which --json lists")
    if summary.dry_run:
        people.print("This was a dry run: nothing was stored.")


def _add_unread(table: LiteralTable, unread: Mapping[str, Any]) -> None:
    listed = sorted(unread.items(), key=lambda pair: (-pair[1], pair[0]))
    for path, count in listed[:SHOWN]:
        table.add_row("not read", f"{count} of the field {path}")
    if len(listed) > SHOWN:
        table.add_row("not read", f"{len(listed) - SHOWN} more fields, which --json lists")
