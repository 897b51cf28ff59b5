"""`stratagraph audit`: whether what was done is still told as it was."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated
from uuid import UUID

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from stratagraph.service.cli.output import errors, people, print_json, with_runtime
from stratagraph.service.runtime import Runtime
from stratagraph.store.audit.faults import Verification
from stratagraph.store.audit.verification import estimate_entries, verify_chains
from stratagraph.store.model.ids import parse_id

app = typer.Typer(help="The audit: who did what to which record, linked by hashes.", no_args_is_help=True)


@app.callback()
def audit() -> None:
    """The audit: who did what to which record, linked by hashes."""


@app.command()
def verify(
    tenant: Annotated[str | None, typer.Option(help="Just this tenant's.")] = None,
    record: Annotated[str | None, typer.Option(help="Just this record's; it may be deleted long ago.")] = None,
    json: Annotated[bool, typer.Option("--json", help="For programs; no progress bar.")] = False,
) -> None:
    """Walk the chains and compute every link again. Exits 0 only when all is whole, 1 when something is not."""
    id_ = parse_id(record, path=["--record"]) if record is not None else None

    async def work(runtime: Runtime) -> Verification:
        return await _with_progress(runtime, tenant, id_, quiet=json)

    found = with_runtime(work)
    if json:
        print_json(_as_json(found))
    else:
        _show(found)
    if not found.whole:
        raise typer.Exit(1)


async def _with_progress(runtime: Runtime, tenant: str | None, record: UUID | None, *, quiet: bool) -> Verification:
    database = runtime.database
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=errors, disable=quiet) as progress:
        about = await estimate_entries(database, tenant=tenant, record=record)
        task = progress.add_task("audit entries", total=about)
        found = await verify_chains(
            database,
            runtime.directory.vault,
            tenant=tenant,
            record=record,
            advance=lambda entries: progress.advance(task, entries),
        )
        progress.update(task, total=found.entries)  # it was an estimate
    return found


def _as_json(found: Verification) -> dict[str, object]:
    counted = asdict(found)
    counted["problems"] = [
        {
            "tenant": problem.tenant,
            "record": problem.record,
            "seq": problem.seq,
            "kind": problem.fault.value,
            "message": problem.fault.phrase,
        }
        for problem in found.problems
    ]
    return {"whole": found.whole, **counted}


def _show(found: Verification) -> None:
    if found.problems:
        table = Table("tenant", "record", "entry", "what is wrong")
        for problem in found.problems:
            table.add_row(problem.tenant, str(problem.record), str(problem.seq), problem.fault.phrase)
        people.print(table)
        if found.faults > len(found.problems):
            people.print(f"… and {found.faults - len(found.problems)} more.")
    people.print(
        f"{found.chains} chains with {found.entries} entries; {found.notes} rationales compared,"
        f" {found.notes_erased} erased, {found.notes_unopened} sealed by a key that is not here.",
        highlight=False,
    )
    people.print("Whole." if found.whole else f"[bold red]Not whole[/]: {found.faults} faults.", highlight=False)
