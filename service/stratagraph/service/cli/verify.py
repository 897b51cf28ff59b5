"""`stratagraph sync verify` and `stratagraph sync repair`: compare the mirror with Postgres and repair it."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.table import Column, Table

from stratagraph.graph_sync.checking import BucketCheck, Difference, Verification, count_by_class
from stratagraph.graph_sync.worker import SyncWorker
from stratagraph.service.cli.mirror import new_worker, progress_bar, tenant_number
from stratagraph.service.cli.output import ID_WIDTH, people, print_json, with_runtime
from stratagraph.service.runtime import Runtime
from stratagraph.store.mirror.source import MirrorSource
from stratagraph.store.model.errors import MirrorUnavailable

Tenant = Annotated[str | None, typer.Option(help="Only this tenant. Default: all tenants.")]
Deep = Annotated[bool, typer.Option(help="Compare every row in full, not one row in a thousand.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, and show no progress bar.")]
SHOWN = 20  # differences in the table for people
LISTED = 1_000  # differences in the JSON
FOLLOWED_S = 60.0  # how long a running worker may take to apply waiting changes
UNFOLLOWED_S = 2.0


def verify(
    tenant: Tenant = None,
    deep: Deep = False,
    json: Json = False,
) -> None:
    """Compare both stores, bucket by bucket, and list the rows that differ. Exits 0 only if they are equal."""

    async def work(runtime: Runtime) -> dict[str, Any]:
        worker = new_worker(runtime)
        return _as_json(await _verify(runtime, worker, tenant, deep=deep, quiet=json))

    found = with_runtime(work)
    if json:
        print_json(found)
    else:
        _print(found)
    if not found["equal"]:
        raise typer.Exit(1)


def repair(
    tenant: Tenant = None,
    deep: Deep = False,
    json: Json = False,
) -> None:
    """Compare both stores and write the rows that differ again. Exits 0 if they are equal afterwards."""

    async def work(runtime: Runtime) -> dict[str, Any]:
        worker = new_worker(runtime)
        before = await _verify(runtime, worker, tenant, deep=deep, quiet=json)
        repaired = await worker.checker.repair(before.differences)
        await _apply(runtime, worker)
        after = await _verify(runtime, worker, tenant, deep=deep, quiet=json) if repaired else before
        return {"repaired": repaired, "found": _as_json(before), **_as_json(after)}

    found = with_runtime(work)
    if json:
        print_json(found)
    else:
        people.print(f"{found['repaired']} rows written again.")
        _print(found)
    if not found["equal"]:
        raise typer.Exit(1)


async def _verify(runtime: Runtime, worker: SyncWorker, tenant: str | None, *, deep: bool, quiet: bool) -> Verification:
    number = await tenant_number(runtime, tenant)
    followed = bool(await runtime.feed.holders())
    source = MirrorSource(runtime.database, names_up_to=runtime.settings.mirror_name_ceiling)
    with progress_bar(quiet) as bar:
        task = bar.add_task("rows", total=await source.estimate(number))

        def show(checked: BucketCheck) -> None:
            bar.advance(task, checked.rows)

        more: dict[str, Any] = {"share": 1.0} if deep else {}
        found = await worker.checker.verify(
            number, within_s=FOLLOWED_S if followed else UNFOLLOWED_S, on_bucket=show, **more
        )
        bar.update(task, total=found.rows, completed=found.rows)
        return found


async def _apply(runtime: Runtime, worker: SyncWorker) -> None:
    """Wait until the running workers have applied the repairs; without any, apply them here."""
    if not await runtime.feed.holders():
        try:
            await worker.run_once()
        finally:
            await worker.release()
    try:
        await worker.checker.wait_until_applied(within_s=FOLLOWED_S)
    except TimeoutError:
        raise MirrorUnavailable(
            f"The repairs are logged, but no worker has applied them within {FOLLOWED_S:g} s. See with"
            " `stratagraph sync status` whether a worker runs."
        ) from None


def _as_json(found: Verification) -> dict[str, Any]:
    return {
        "equal": found.equal,
        "settled": found.settled,
        "rows": found.rows,
        "buckets": found.buckets,
        "drift": count_by_class(found.differences),
        "differences": [_difference(one) for one in found.differences[:LISTED]],
    }


def _difference(one: Difference) -> dict[str, Any]:
    return {
        "class": str(one.drift),
        "kind": one.kind.name.lower(),
        "tenant": one.tenant,
        "id": one.id,
        "version": one.version,
        "mirrored": one.mirrored,
    }


def _print(found: dict[str, Any]) -> None:
    compared = f"{found['rows']:,} rows in {found['buckets']:,} buckets compared"
    if found["equal"]:
        people.print(f"[green]Equal[/]: {compared}.")
        return
    drift = ", ".join(f"{count:,} {name}" for name, count in sorted(found["drift"].items()))
    people.print(f"[red]Not equal[/]: {drift}; {compared}.")
    table = Table("class", "kind", Column("id", min_width=ID_WIDTH), "version", "in the mirror")
    for one in found["differences"][:SHOWN]:
        table.add_row(
            one["class"],
            one["kind"],
            str(one["id"]),
            *("–" if one[name] is None else str(one[name]) for name in ("version", "mirrored")),
        )
    people.print(table)
    if not found["settled"]:
        people.print(
            "No worker applies changes at present, so some of these rows may only be waiting: run `stratagraph sync"
            " run`, then verify again."
        )
    else:
        people.print("To write them again: `stratagraph sync repair`.")
