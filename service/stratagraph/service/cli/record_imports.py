"""`stratagraph import records`: restore what another Stratagraph exported."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from stratagraph.service.cli.options import Json, Tenant
from stratagraph.service.cli.output import LiteralTable, errors, people, print_json, with_runtime
from stratagraph.service.cli.progress import progress_bar
from stratagraph.store.model.trust import SINGLE_USER

if TYPE_CHECKING:
    from stratagraph.memory.transfer.restoration_report import RestorationReport
    from stratagraph.service.runtime import Runtime

SHOWN = 50  # refusals that people are shown; --json has more


def records(
    file: Annotated[Path, typer.Argument(help="A file that `stratagraph export` wrote, which may be gzip.")],
    tenant: Tenant = "default",
    new_ids: Annotated[
        bool,
        typer.Option(
            "--new-ids", help="Give all records other ids, so that they stand beside those they were copied from."
        ),
    ] = False,
    restore_erased: Annotated[
        bool, typer.Option("--restore-erased", help="Store again what was pruned, deleted or erased here.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be stored and what contradicts it, and write nothing.")
    ] = False,
    json: Json = False,
) -> None:
    """Import the records of another Stratagraph as they were, with their history, relations and audit log.

    A record that contradicts what is stored here is listed, the others are imported, and the exit status is 1. After an
    interruption, run the same command again: what is stored already stays as it is.
    """

    async def work(runtime: Runtime) -> RestorationReport:
        from stratagraph.memory.transfer.restoring import RecordImport

        trust = replace(SINGLE_USER, tenant=tenant, actor="import")
        service = RecordImport(runtime.database, runtime.directory, runtime.artifacts)
        with progress_bar(json, stays=True) as progress:
            task = progress.add_task(f"lines of {file.name}", total=None)
            return await service.run(
                trust,
                file,
                new_ids=new_ids,
                restore_erased=restore_erased,
                dry_run=dry_run,
                advance=lambda done: progress.advance(task, done),
            )

    report = with_runtime(work)
    if json:
        print_json(report.as_json())
    else:
        _print(report)
    if report.refusals:
        raise typer.Exit(1)


def _print(report: RestorationReport) -> None:
    table = LiteralTable(show_header=False, box=None)
    stored = ", ".join(f"{count} {name}" for name, count in sorted(report.stored.items())) or "none"
    table.add_row("would be new" if report.is_dry_run else "new records", stored)
    table.add_row("as they are", f"{report.unchanged} records are stored here already")
    if report.mapped:
        mapped = ", ".join(f"{count} {name}" for name, count in sorted(report.mapped.items()))
        table.add_row("the same here", f"{mapped}; stored here under other ids, which take their place")
    for name in ("relations", "episodes", "tombstones", "artifacts", "predicates"):
        new, known = getattr(report, name), report.present[name.removesuffix("s")]
        if new or known:
            table.add_row(name, f"{new}; {known} were stored before")
    for reason, count in report.left_out.items():
        table.add_row("left out", f"{count} {reason}")
    people.print(table)
    for one in report.refused[:SHOWN]:
        what = f"line {one.line}, {one.kind}" + (f" {one.id}" if one.id else "")
        errors.print(f"[bold red]not imported[/]: {escape(what)}: {escape(one.reason)}", highlight=False)
    if report.refusals > SHOWN:
        errors.print(f"and {report.refusals - SHOWN} more; --json lists them", highlight=False)
