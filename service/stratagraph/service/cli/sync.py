"""`stratagraph sync`: run the mirror's worker, show its status, verify, repair and rebuild the mirror."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stratagraph.service.cli import dead_letters, verify
from stratagraph.service.cli.mirror import new_worker, no_mirror, tenant_number
from stratagraph.service.cli.options import Json
from stratagraph.service.cli.output import LiteralTable, people, print_error, print_json, with_runtime
from stratagraph.service.cli.progress import progress_bar
from stratagraph.service.cli.verify import Tenant

if TYPE_CHECKING:
    from stratagraph.graph_sync.worker import SyncWorker
    from stratagraph.service.runtime import Runtime
    from stratagraph.service.settings import Settings
    from stratagraph.store.mirror.scrubs import ScrubReport

app = typer.Typer(
    help="The mirror in Neo4j: run its worker, show its status, verify, repair and rebuild it.",
    no_args_is_help=True,
)
app.add_typer(dead_letters.app, name="dead-letters")
app.add_typer(dead_letters.app, name="parked", hidden=True)  # the name of earlier versions
_POLL_S = 0.5


@app.command()
def run(
    once: Annotated[bool, typer.Option(help="Apply the waiting changes, then exit.")] = False,
    json: Annotated[bool, typer.Option("--json", help="With --once: print JSON.")] = False,
) -> None:
    """Apply changes to Neo4j until stopped. Any number of workers may run; they share the work."""
    from stratagraph.service.logs import set_up_logs
    from stratagraph.service.settings import Settings

    if not once:
        settings = Settings.load()
        set_up_logs(settings.log_level)
        _follow(settings)
        return

    async def work(runtime: Runtime) -> dict[str, object]:
        worker = new_worker(runtime)
        try:
            result = await worker.run_once()
        finally:
            await worker.release()
        return {
            "applied": result.applied,
            "parked": result.dead_letters,
            "rebuilt": result.rebuilt,
            "rewound": result.rewound,
        }

    result = with_runtime(work)
    if json:
        print_json(result)
    else:
        before = ", after a rebuild" if result["rebuilt"] else ", to an old copy" if result["rewound"] else ""
        people.print(f"{result['applied']} changes applied, {result['parked']} new dead letters{before}.")


def _follow(settings: Settings) -> None:
    """Run beside a service that shares the database, or as the whole service if the database is embedded."""
    import asyncio

    from stratagraph.service.cli.serve import welcome

    if settings.database_url is not None:
        from stratagraph.service.serving import serve

        serve(settings, ("sync",), on_ready=lambda url, mirror: welcome(settings, url, mirror), on_error=print_error)
        return

    async def work() -> None:
        from stratagraph.service.garbage import keep_loaded
        from stratagraph.service.runtime import open_runtime

        async with open_runtime(settings) as runtime:
            worker = new_worker(runtime)
            keep_loaded()
            await worker.run()

    asyncio.run(work())


@app.command()
def status(json: Json = False) -> None:
    """Show how far the mirror is behind, its workers, the result of the last scrub, and the counts of both stores.

    Exits 1 if the mirror cannot be reached.
    """
    found = with_runtime(_state, makes_store=False)
    if json:
        print_json(found)
        return
    _print_status(found)


async def _state(runtime: Runtime) -> dict[str, Any]:
    """Return what `sync status` prints. Raises MirrorUnavailable if the mirror cannot be reached."""
    from stratagraph.graph_sync.worker import CONSUMER
    from stratagraph.store.mirror.scrubs import Scrubs
    from stratagraph.store.mirror.source import MirrorSource
    from stratagraph.store.mirror.status import read_mirror_status

    if not runtime.mirror.is_found:
        raise no_mirror()
    source = MirrorSource(runtime.database, names_up_to=runtime.settings.mirror_name_ceiling)
    records, relations = await source.counts()
    nodes, edges = await runtime.mirror.counts()
    lag = await runtime.feed.lag()
    scrub = await Scrubs(runtime.database, CONSUMER).report()
    status = await read_mirror_status(runtime.database, CONSUMER)
    return {
        "uri": runtime.mirror.uri,
        "lag_changes": lag.changes if lag else None,
        "lag_seconds": lag.seconds if lag else None,
        "parked": lag.dead_letters if lag else None,
        "followed_seconds_ago": status.followed_s,
        "maintained_seconds_ago": status.maintained_s,
        "damaged": status.is_damaged,
        "workers": await runtime.feed.holders(),
        "generation": await runtime.generations.newest(),
        "last_check": _last_check(scrub) if scrub else None,
        "postgres": {"records": records, "relations": relations},
        "neo4j": {"records": nodes, "relations": edges},
        "equal_counts": (records, relations) == (nodes, edges),
    }


def _print_status(found: dict[str, Any]) -> None:
    from stratagraph.graph_sync.differences import describe_drift

    table = LiteralTable("", "Postgres", "Neo4j")
    for name in ("records", "relations"):
        table.add_row(name, f"{found['postgres'][name]:,}", f"{found['neo4j'][name]:,}")
    people.print(f"Mirror at {found['uri']}", highlight=False)
    people.print(table)
    if found["lag_changes"] is None:
        people.print("No worker has run yet: start `stratagraph sync run`, or `stratagraph serve` with Neo4j running.")
        return
    people.print(f"{found['lag_changes']} changes behind, {found['lag_seconds']:.1f} s; {found['parked']} dead letters")
    workers = ", ".join(f"{owner} ({cursors} shards)" for owner, cursors in found["workers"].items())
    followed, maintained = _ago(found["followed_seconds_ago"]), _ago(found["maintained_seconds_ago"])
    people.print(f"Workers: {workers or 'none runs'}; followed {followed}, maintained {maintained}", highlight=False)
    generation = found["generation"]
    if generation is not None:
        being = ""
        if generation["state"] in ("building", "refreshing"):
            being = f", {generation['state']}: {generation['done']:,} of about {generation['total'] or 0:,} rows"
        people.print(f"Generation {generation['generation']}{being}; reason: {generation['reason']}", highlight=False)
        if generation["rewound_at"] is not None:
            still = "; not all are applied yet" if generation["state"] == "rewinding" else ""
            people.print(
                f"An old copy, rewound at {generation['rewound_at']:%Y-%m-%d %H:%M:%S}:"
                f" {generation['rewound_changes']:,} changes applied again{still}",
                highlight=False,
            )
    if found["damaged"]:
        people.print("It was found to differ and is being repaired: until then every question is answered from SQL.")
    check = found["last_check"]
    if check is None or check["at"] is None:
        people.print("The first scrub is not complete; to compare everything now: `stratagraph sync verify --deep`.")
    else:
        people.print(
            f"Last scrub completed {_ago(check['seconds_ago'])} at {check['at']:%Y-%m-%d %H:%M:%S}, in"
            f" {check['took_seconds']:.0f} s, {check['rows']:,} rows, nodes and relationships:"
            f" {describe_drift(check['drift'] or {})}"
            if check["took_seconds"] is not None
            else f"Last scrub completed {_ago(check['seconds_ago'])}: {describe_drift(check['drift'] or {})}"
        )
    if check is not None and check["next_began_at"] is not None:
        since = (datetime.now(UTC) - check["next_began_at"]).total_seconds()
        people.print(
            f"Present scrub began {_ago(since)}: {check['next_rows']:,} compared;"
            f" {describe_drift(check['found_since'])}",
            highlight=False,
        )


def _last_check(scrub: ScrubReport) -> dict[str, Any]:
    """Return the result of the last complete scrub, null before the first, and what the running one has found."""
    at = scrub.last_checked_at
    return {
        "at": at,
        "seconds_ago": (datetime.now(UTC) - at).total_seconds() if at is not None else None,
        "took_seconds": scrub.took_s,
        "rows": scrub.last_rows,
        "drift": scrub.last_drift,
        "found_since": scrub.drift,
        "next_began_at": scrub.began_at,
        "next_rows": scrub.rows,
    }


def _ago(seconds: float | None) -> str:
    return "never" if seconds is None else f"{seconds:.0f} s ago"


app.command()(verify.verify)
app.command()(verify.repair)


@app.command()
def rebuild(tenant: Tenant = None, json: Json = False) -> None:
    """Write the whole mirror, or one tenant's part, again in place; it stays readable during the rebuild.

    It may be interrupted: a running worker continues it, or the next one that starts.
    """

    async def work(runtime: Runtime) -> dict[str, Any]:
        worker = new_worker(runtime)
        number = await tenant_number(runtime, tenant)
        try:
            generation = await _begin(worker, number)
            rows = await _wait(runtime, worker, generation, quiet=json)
        finally:
            await worker.release()
        return {"generation": generation, "rows": rows, "tenant": tenant}

    found = with_runtime(work)
    if json:
        print_json(found)
    else:
        people.print(f"{found['rows']:,} rows written, generation {found['generation']}.")


async def _begin(worker: SyncWorker, tenant: int | None) -> int:
    """Fill a mirror that has never been filled, then begin the rebuild."""
    await worker.run_once()
    return await worker.maintenance.begin_rebuild(tenant, reason="requested by an operator")


async def _wait(runtime: Runtime, worker: SyncWorker, number: int, *, quiet: bool) -> int:
    """Complete the rebuild, or wait until the mirror's leader has; return the number of rows written."""
    import asyncio

    generations, rows = runtime.generations, 0
    with progress_bar(quiet) as bar:
        task = bar.add_task("rows", total=None)

        async def page(done: int) -> None:
            nonlocal rows
            rows = done
            bar.update(task, completed=done)

        while True:
            ours = next((one for one in await generations.unfinished() if one.number == number), None)
            if ours is None:
                return max(rows, await generations.rows(number))
            bar.update(task, total=ours.total, completed=ours.done)
            result = await worker.maintenance.run_once(on_page=page)
            if not result.leads:
                await asyncio.sleep(_POLL_S)
