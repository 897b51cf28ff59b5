"""`stratagraph sync`: the mirror in Neo4j: keep it in step, see how far it is, check, repair, write it afresh."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column, Table

from stratagraph.graph_sync.checking import Checked, Difference, Verified, counted
from stratagraph.graph_sync.worker import CONSUMER, SyncWorker
from stratagraph.service.cli import parked
from stratagraph.service.cli.output import ID_WIDTH, errors, people, print_json, with_runtime
from stratagraph.service.cli.serve import welcome
from stratagraph.service.logs import set_up_logs
from stratagraph.service.runtime import Runtime, open_runtime
from stratagraph.service.settings import Settings
from stratagraph.store.mirror.scrubs import Rounds
from stratagraph.store.mirror.source import MirrorSource
from stratagraph.store.model.errors import InvalidInput, MirrorUnavailable

app = typer.Typer(
    help="The mirror in Neo4j: keep it in step, see how far it is, check it, repair it, write it afresh.",
    no_args_is_help=True,
)
app.add_typer(parked.app, name="parked")
Json = Annotated[bool, typer.Option("--json", help="For programs; no progress bar.")]
Tenant = Annotated[str | None, typer.Option(help="Just this tenant. Default: all.")]
NAMED = 20  # differences told to people one by one
LISTED = 1_000  # and to programs
FOLLOWED_S = 60.0  # for which a running worker may take to apply what is on its way
UNFOLLOWED_S = 2.0
_POLL_S = 0.5


@app.command()
def run(
    once: Annotated[bool, typer.Option(help="Apply what is waiting, then end.")] = False,
    json: Annotated[bool, typer.Option("--json", help="With --once: for programs.")] = False,
) -> None:
    """Follow the change feed into Neo4j until told to stop. Any number may run; they share the work."""
    if not once:
        settings = Settings.load()
        set_up_logs(settings.log_level)
        asyncio.run(_follow(settings))
        return

    async def work(runtime: Runtime) -> dict[str, object]:
        worker = _worker(runtime)
        try:
            result = await worker.run_once()
        finally:
            await worker.hand_back()
        return {"applied": result.applied, "parked": result.parked, "rebuilt": result.rebuilt}

    result = with_runtime(work)
    if json:
        print_json(result)
    else:
        rebuilt = ", after reading everything afresh" if result["rebuilt"] else ""
        people.print(f"{result['applied']} changes applied, {result['parked']} set aside{rebuilt}.")


async def _follow(settings: Settings) -> None:
    """Beside a running service, in a process of its own; or as the whole service where there is none."""
    if settings.database_url is not None:
        from stratagraph.service.serving import serve

        await serve(settings, ("sync",), on_ready=welcome)
        return
    async with open_runtime(settings) as runtime:
        await _worker(runtime).run()


@app.command()
def status(json: Json = False) -> None:
    """How far the mirror is behind, who works on it, what the last check found, and what both sides count.

    Exits 1 where there is no mirror to ask.
    """
    found = with_runtime(_status)
    if json:
        print_json(found)
        return
    _tell_status(found)


async def _status(runtime: Runtime) -> dict[str, Any]:
    if runtime.mirror is None:
        raise no_mirror()
    source = MirrorSource(runtime.database, names_up_to=runtime.settings.mirror_name_ceiling)
    records, relations = await source.counts()
    nodes, edges = await runtime.mirror.counts()
    lag = await runtime.feed.lag()
    checks = await Rounds(runtime.database, CONSUMER).report()
    return {
        "uri": runtime.mirror.uri,
        "lag_changes": lag.changes if lag else None,
        "lag_seconds": lag.seconds if lag else None,
        "parked": lag.parked if lag else None,
        "workers": await runtime.feed.holders(),
        "generation": await runtime.generations.newest(),
        "last_check": {"at": checks.last_checked_at, "drift": checks.last_drift} if checks else None,
        "postgres": {"records": records, "relations": relations},
        "neo4j": {"records": nodes, "relations": edges},
        "equal_counts": (records, relations) == (nodes, edges),
    }


def _tell_status(found: dict[str, Any]) -> None:
    table = Table("", "Postgres", "Neo4j")
    for name in ("records", "relations"):
        table.add_row(name, f"{found['postgres'][name]:,}", f"{found['neo4j'][name]:,}")
    people.print(f"Mirror at {found['uri']}", highlight=False)
    people.print(table)
    if found["lag_changes"] is None:
        people.print("No worker has run yet: `stratagraph sync run`, or `stratagraph serve` with Neo4j there.")
        return
    people.print(f"{found['lag_changes']} changes behind, {found['lag_seconds']:.1f} s; {found['parked']} set aside")
    workers = ", ".join(f"{owner} ({cursors} shards)" for owner, cursors in found["workers"].items())
    people.print(f"Workers: {workers or 'none runs'}", highlight=False)
    generation = found["generation"]
    if generation is not None:
        being = ""
        if generation["state"] != "active":
            being = f", {generation['state']}: {generation['done']:,} of about {generation['total'] or 0:,} rows"
        people.print(f"Generation {generation['generation']}{being}; because {generation['reason']}", highlight=False)
    check = found["last_check"]
    if check is None or check["at"] is None:
        people.print("The running check has not been through once; `stratagraph sync verify` checks everything now.")
    else:
        drift = ", ".join(f"{count} {name}" for name, count in (check["drift"] or {}).items())
        people.print(f"Last checked whole at {check['at']:%Y-%m-%d %H:%M:%S}: {drift or 'no difference'}")


@app.command()
def verify(
    tenant: Tenant = None,
    deep: Annotated[bool, typer.Option(help="Compare all that every row shows, not of one in a thousand.")] = False,
    json: Json = False,
) -> None:
    """Compare both stores, bucket by bucket, and name what differs. Exits 0 only when they are equal."""

    async def work(runtime: Runtime) -> dict[str, Any]:
        worker = _worker(runtime)
        return _verified(await _verify(runtime, worker, tenant, deep=deep, quiet=json))

    found = with_runtime(work)
    if json:
        print_json(found)
    else:
        _tell_verified(found)
    if not found["equal"]:
        raise typer.Exit(1)


@app.command()
def repair(
    tenant: Tenant = None,
    deep: Annotated[bool, typer.Option(help="Compare all that every row shows, not of one in a thousand.")] = False,
    json: Json = False,
) -> None:
    """Compare both stores and have written again what differs. Exits 0 when they are equal afterwards."""

    async def work(runtime: Runtime) -> dict[str, Any]:
        worker = _worker(runtime)
        before = await _verify(runtime, worker, tenant, deep=deep, quiet=json)
        repaired = await worker.checker.repair(before.differences)
        await _apply_now(runtime, worker)
        after = await _verify(runtime, worker, tenant, deep=deep, quiet=json) if repaired else before
        return {"repaired": repaired, "found": _verified(before), **_verified(after)}

    found = with_runtime(work)
    if json:
        print_json(found)
    else:
        people.print(f"{found['repaired']} rows written again.")
        _tell_verified(found)
    if not found["equal"]:
        raise typer.Exit(1)


@app.command()
def rebuild(tenant: Tenant = None, json: Json = False) -> None:
    """Write the whole mirror afresh, or one tenant's part of it, in place: readers go on meanwhile.

    May be interrupted: a running worker goes on with it, or the next one that starts.
    """

    async def work(runtime: Runtime) -> dict[str, Any]:
        worker = _worker(runtime)
        number = await _tenant_number(runtime, tenant)
        try:
            generation = await _begin(runtime, worker, number)
            rows = await _until_done(runtime, worker, generation, quiet=json)
        finally:
            await worker.hand_back()
        return {"generation": generation, "rows": rows, "tenant": tenant}

    found = with_runtime(work)
    if json:
        print_json(found)
    else:
        people.print(f"{found['rows']:,} rows written afresh, generation {found['generation']}.")


async def _begin(runtime: Runtime, worker: SyncWorker, tenant: int | None) -> int:
    """A mirror that nobody has filled yet is filled, and has nothing to be written afresh before."""
    await worker.run_once()
    return await worker.keeper.begin(tenant, reason="somebody asked for it")


async def _until_done(runtime: Runtime, worker: SyncWorker, number: int, *, quiet: bool) -> int:
    """Do it, or watch whoever keeps the mirror do it."""
    generations, rows = runtime.generations, 0
    with _progress(quiet) as bar:
        task = bar.add_task("rows", total=None)

        async def page(done: int) -> None:
            nonlocal rows
            rows = done
            bar.update(task, completed=done)

        while True:
            ours = next((one for one in await generations.open() if one.number == number), None)
            if ours is None:
                return max(rows, await generations.rows(number))
            bar.update(task, total=ours.total, completed=ours.done)
            kept = await worker.keeper.run_once(on_page=page)
            if not kept.keeps:
                await asyncio.sleep(_POLL_S)


async def _verify(runtime: Runtime, worker: SyncWorker, tenant: str | None, *, deep: bool, quiet: bool) -> Verified:
    number = await _tenant_number(runtime, tenant)
    followed = bool(await runtime.feed.holders())
    source = MirrorSource(runtime.database, names_up_to=runtime.settings.mirror_name_ceiling)
    with _progress(quiet) as bar:
        task = bar.add_task("rows", total=await source.estimate(number))

        def show(checked: Checked) -> None:
            bar.advance(task, checked.rows)

        more: dict[str, Any] = {"share": 1.0} if deep else {}
        found = await worker.checker.verify(
            number, within_s=FOLLOWED_S if followed else UNFOLLOWED_S, on_bucket=show, **more
        )
        bar.update(task, total=found.rows, completed=found.rows)
        return found


async def _apply_now(runtime: Runtime, worker: SyncWorker) -> None:
    """What was asked for is applied by whoever follows the feed; by us, where nobody does."""
    if not await runtime.feed.holders():
        try:
            await worker.run_once()
        finally:
            await worker.hand_back()
    try:
        await worker.checker.caught_up(within_s=FOLLOWED_S)
    except TimeoutError:
        raise MirrorUnavailable(
            "The repairs are asked for, but nobody has applied them yet; see `stratagraph sync status`."
        ) from None


def _verified(found: Verified) -> dict[str, Any]:
    return {
        "equal": found.equal,
        "settled": found.settled,
        "rows": found.rows,
        "buckets": found.buckets,
        "drift": counted(found.differences),
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


def _tell_verified(found: dict[str, Any]) -> None:
    compared = f"{found['rows']:,} rows in {found['buckets']:,} buckets compared"
    if found["equal"]:
        people.print(f"[green]Equal[/]: {compared}.")
        return
    drift = ", ".join(f"{count:,} {name}" for name, count in sorted(found["drift"].items()))
    people.print(f"[red]Not equal[/]: {drift}; {compared}.")
    table = Table("class", "kind", Column("id", min_width=ID_WIDTH), "version", "in the mirror")
    for one in found["differences"][:NAMED]:
        table.add_row(
            one["class"],
            one["kind"],
            str(one["id"]),
            *("–" if one[name] is None else str(one[name]) for name in ("version", "mirrored")),
        )
    people.print(table)
    if not found["settled"]:
        people.print(
            "Nobody applies changes at present, so some of this may only be on its way: `stratagraph sync run`."
        )
    else:
        people.print("`stratagraph sync repair` has them written again.")


def _worker(runtime: Runtime) -> SyncWorker:
    worker = runtime.sync_worker()
    if worker is None:
        raise no_mirror()
    return worker


async def _tenant_number(runtime: Runtime, name: str | None) -> int | None:
    if name is None:
        return None
    found = await runtime.directory.tenant(name)
    if found is None:
        raise InvalidInput(f"--tenant: there is no tenant {name!r}", path=["--tenant"])
    return found.id


def _progress(quiet: bool) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=errors,
        disable=quiet,
        transient=True,
    )


def no_mirror() -> MirrorUnavailable:
    return MirrorUnavailable(
        "There is no mirror: set STRATAGRAPH_NEO4J_URI, or start a local one with `stratagraph neo4j start`."
    )
