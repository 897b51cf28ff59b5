"""`stratagraph sync verify` and `stratagraph sync repair`: compare the mirror with Postgres and repair it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Column

from stratagraph.service.cli.mirror import new_worker, tenant_number
from stratagraph.service.cli.options import Json
from stratagraph.service.cli.output import ID_WIDTH, LiteralTable, people, print_json, with_runtime
from stratagraph.service.cli.progress import progress_bar
from stratagraph.store.model.errors import MirrorUnavailable

if TYPE_CHECKING:
    from stratagraph.graph_sync.checking import Verification
    from stratagraph.graph_sync.differences import Difference
    from stratagraph.graph_sync.worker import SyncWorker
    from stratagraph.service.runtime import Runtime
    from stratagraph.store.mirror.status import MirrorStatus

Tenant = Annotated[str | None, typer.Option(help="Only this tenant. Default: all tenants.")]
Deep = Annotated[bool, typer.Option(help="Compare everything that the mirror shows, and look for foreign data.")]
SHOWN = 20  # differences in the table for people
LISTED = 1_000  # differences in the JSON
FOLLOWED_S = 60.0  # how long workers may take to apply waiting changes, if they complete passes
UNFOLLOWED_S = 2.0  # how long to wait if no worker runs, or none completes a pass
STALLED_LEASES = 3.0  # terms of a worker's lease without a completed pass; workers record one every few seconds
ROUNDS = 5  # of repair and comparison: deleting what is foreign may show that something else is missing
DIGESTS = ("constraints", "the workers' state", "versions of rows", "digests of rows")
EVERYTHING = (
    *("constraints", "the workers' state", "labels", "properties", "both ends and types of relationships", "steps"),
    *("links between steps", "tools", "foreign nodes and relationships"),
)


def verify(
    tenant: Tenant = None,
    deep: Deep = False,
    json: Json = False,
) -> None:
    """Compare both stores and list what differs. Exits 1 if anything does, 0 if not.

    Without --deep, the versions and digests stored in the mirror are compared, which does not find what was changed by
    hand; the result says so. If the stores differ, all questions are answered from PostgreSQL until a complete scrub,
    or `verify --deep` or `repair --deep` of all tenants, finds them equal.
    """

    async def work(runtime: Runtime) -> dict[str, Any]:
        worker = new_worker(runtime)
        found = await _verify(runtime, worker, tenant, deep=deep, quiet=json)
        return _as_json(found, deep=deep, unsettled=await _why_unsettled(runtime, found))

    found = with_runtime(work)
    if json:
        print_json(found)
    else:
        _print(found)
    if found["differs"]:
        raise typer.Exit(1)


def repair(
    tenant: Tenant = None,
    deep: Deep = False,
    json: Json = False,
) -> None:
    """Compare both stores, delete what is foreign, and write the rows that differ again. Exits 1 if any still does."""

    from stratagraph.graph_sync.worker import CONSUMER
    from stratagraph.store.mirror.status import read_mirror_status

    async def work(runtime: Runtime) -> dict[str, Any]:
        worker = new_worker(runtime)
        before = found = await _verify(runtime, worker, tenant, deep=deep, quiet=json)
        repaired = 0
        for _ in range(ROUNDS):
            if not found.differs:
                break
            repaired += await worker.repairer.repair(found.differences)
            await _apply(runtime, worker)
            found = await _verify(runtime, worker, tenant, deep=deep, quiet=json)
        result = _as_json(found, deep=deep, unsettled=await _why_unsettled(runtime, found))
        damaged = (await read_mirror_status(runtime.database, CONSUMER)).is_damaged
        return {"repaired": repaired, "found": _as_json(before, deep=deep), **result, "damaged": damaged}

    found = with_runtime(work)
    if json:
        print_json(found)
    else:
        people.print(f"{found['repaired']} differences repaired.")
        _print(found)
        if found["damaged"] and not found["differs"]:
            people.print(
                "Questions are answered from SQL until everything was compared and nothing differs: the workers' scrub"
                " does that by itself, `stratagraph sync repair --deep` at once."
            )
    if found["differs"]:
        raise typer.Exit(1)


async def _verify(runtime: Runtime, worker: SyncWorker, tenant: str | None, *, deep: bool, quiet: bool) -> Verification:
    from stratagraph.graph_sync.worker import CONSUMER
    from stratagraph.store.mirror.scrubs import Scrubs
    from stratagraph.store.mirror.status import read_mirror_status

    number = await tenant_number(runtime, tenant)
    began_at = datetime.now(UTC)
    status = await read_mirror_status(runtime.database, CONSUMER)
    with progress_bar(quiet) as bar:
        task = bar.add_task("rows", total=await worker.checker.estimate(number, deep=deep))
        found = await worker.checker.verify(
            number,
            deep=deep,
            within_s=FOLLOWED_S if _is_followed(status) else UNFOLLOWED_S,
            on_rows=lambda rows: bar.advance(task, rows),
        )
        rows = found.rows + found.elements
        bar.update(task, total=rows, completed=rows)
    scrubs = Scrubs(runtime.database, CONSUMER)
    if found.differs and found.settled:
        await scrubs.note_damage(len(found.differences), beyond_scrub=True)
    elif found.equal and number is None:
        await scrubs.note_no_damage(began_at=began_at)
    return found


def _is_followed(status: MirrorStatus) -> bool:
    """Return whether a worker runs and completes passes, so that waiting changes will be applied."""
    from stratagraph.store.feed.leases import LEASE_S

    stalled_s = STALLED_LEASES * LEASE_S
    return bool(status.live_workers) and status.followed_s is not None and status.followed_s < stalled_s


async def _why_unsettled(runtime: Runtime, found: Verification) -> str | None:
    """Return why waiting changes were not applied in time, and what to do; None if they were."""
    from stratagraph.graph_sync.worker import CONSUMER
    from stratagraph.store.mirror.status import read_mirror_status

    if found.settled:
        return None
    status = await read_mirror_status(runtime.database, CONSUMER)
    if not status.live_workers:
        return "No worker runs: start one with `stratagraph sync run`."
    if not _is_followed(status):
        ago = "yet" if status.followed_s is None else f"for {status.followed_s:.0f} s"
        return f"The workers have completed no pass {ago}: see their log."
    return f"The workers did not apply them within {FOLLOWED_S:g} s: `stratagraph sync status` shows how many wait."


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


def _as_json(found: Verification, *, deep: bool, unsettled: str | None = None) -> dict[str, Any]:
    """Return a result; `equal` is null if nothing differs in what was compared, but not everything was.

    `unsettled` says why changes were still waiting to be applied.
    """
    from stratagraph.graph_sync.differences import count_by_class

    return {
        "differs": found.differs,
        "equal": False if found.differs else True if found.complete else None,
        "compared": EVERYTHING if deep else DIGESTS,
        "complete": found.complete,
        "settled": found.settled,
        "unsettled": unsettled,
        "rows": found.rows,
        "elements": found.elements,
        "drift": count_by_class(found.differences),
        "differences": [_difference(one) for one in found.differences[:LISTED]],
    }


def _difference(one: Difference) -> dict[str, Any]:
    return {
        "class": str(one.drift),
        "kind": str(one.subject),
        "tenant": one.tenant,
        "id": one.id,
        "version": one.version,
        "mirrored": one.mirrored,
        "detail": one.detail,
    }


def _print(found: dict[str, Any]) -> None:
    from stratagraph.graph_sync.differences import describe_drift

    compared = f"{found['rows']:,} rows compared"
    if found["elements"]:
        compared += f", {found['elements']:,} nodes and relationships looked up in Postgres"
    if found["equal"]:
        people.print(f"[green]Equal[/]: {', '.join(found['compared'])}; {compared}.")
        return
    if not found["differs"]:
        people.print(
            f"[green]No difference[/] in {', '.join(found['compared'])}; {compared}. Changes made by hand and foreign"
            " data were not looked for: `stratagraph sync verify --deep` does that."
        )
        return
    people.print(f"[red]Not equal[/]: {describe_drift(found['drift'])}; {compared}.")
    table = LiteralTable("class", "kind", Column("id", min_width=ID_WIDTH), "version", "in the mirror", "what differs")
    for one in found["differences"][:SHOWN]:
        values = ("–" if one[name] is None else str(one[name]) for name in ("id", "version", "mirrored"))
        table.add_row(
            one["class"],
            one["kind"],
            *("–" if value is None else str(value) for value in values),
            one["detail"],
        )
    people.print(table)
    deep = " --deep" if tuple(found["compared"]) == EVERYTHING else ""
    if not found["settled"]:
        people.print(
            f"Some of these rows may only be waiting to be written. {found['unsettled']} Then run `stratagraph sync"
            f" verify{deep}` again.",
            highlight=False,
        )
    else:
        people.print(f"To repair them: `stratagraph sync repair{deep}`.", highlight=False)
    if not found["complete"] and deep:
        people.print(
            "Without the missing constraints, rows were not compared one by one; the repair restores them first."
        )
