"""`stratagraph audit`: show the audit log of a record, and check that the log was not changed afterwards."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from stratagraph.service.cli.asking import answer_to
from stratagraph.service.cli.options import Json, RecordId, Tenant
from stratagraph.service.cli.output import folding_table, people, print_json, with_runtime
from stratagraph.service.cli.progress import progress_bar
from stratagraph.service.cli.show import audit_table
from stratagraph.store.model.errors import RecordNotFound
from stratagraph.store.model.ids import parse_id

if TYPE_CHECKING:
    from stratagraph.service.runtime import Runtime
    from stratagraph.store.audit.faults import Verification

_HELP = (
    "The audit log records who changed which record, when and why; hashes link its entries into one chain per record."
)
app = typer.Typer(help=_HELP, no_args_is_help=True)


@app.command()
def show(
    record: RecordId,
    first: Annotated[int, typer.Option(help="Number of entries to list, 1 to 100.")] = 100,
    after: Annotated[str | None, typer.Option(help="Cursor that the page before ended with.")] = None,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """List who changed a record, when and why, oldest first; also for a pruned, deleted or erased record."""
    data = answer_to("AuditLog", {"id": record, "first": first, "after": after}, tenant=tenant)
    found = data["auditLog"]
    if not found["nodes"] and after is None:
        raise RecordNotFound(
            parse_id(record, path=["RECORD_ID"]),
            f"There is no record {record}, and the audit log has no entries of it; check the id and the tenant.",
        )
    if json:
        print_json(data)
        return
    people.print(audit_table(found["nodes"]))
    if found["pageInfo"]["hasNextPage"]:
        people.print(
            f"More entries follow; list them with --after {found['pageInfo']['endCursor']}.",
            style="dim",
            highlight=False,
        )


@app.command()
def verify(
    tenant: Annotated[str | None, typer.Option(help="Check only this tenant's chains.")] = None,
    record: Annotated[
        str | None, typer.Option(help="Check only this record's chain, by id; also for a deleted record.")
    ] = None,
    json: Json = False,
) -> None:
    """Recompute the hashes of all audit entries. Exits 0 if all are whole, 1 if an entry was changed or deleted."""
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
    from stratagraph.store.audit.verification import estimate_entries, verify_chains

    database = runtime.database
    with progress_bar(quiet, stays=True) as progress:
        about = await estimate_entries(database, tenant=tenant, record=record)
        task = progress.add_task("audit entries", total=about)
        found = await verify_chains(
            database,
            runtime.directory.vault,
            tenant=tenant,
            record=record,
            advance=lambda entries: progress.advance(task, entries),
        )
        progress.update(task, total=found.entries)  # replaces the estimate
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
        table = folding_table("tenant", "record", "entry", "fault")
        for problem in found.problems:
            table.add_row(problem.tenant, str(problem.record), str(problem.seq), problem.fault.phrase)
        people.print(table)
        if found.faults > len(found.problems):
            people.print(f"… and {found.faults - len(found.problems)} more.")
    people.print(
        f"{found.chains} chains with {found.entries} entries; {found.notes} rationales compared,"
        f" {found.notes_erased} erased, {found.notes_unopened} encrypted with a missing key.",
        highlight=False,
    )
    people.print("Whole." if found.whole else f"[bold red]Not whole[/]: {found.faults} faults.", highlight=False)
