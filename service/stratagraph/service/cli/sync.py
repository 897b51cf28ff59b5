"""`stratagraph sync`: the mirror's worker, and how far it is."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer
from rich.table import Table

from stratagraph.service.cli.output import people, print_json, with_runtime
from stratagraph.service.cli.serve import welcome
from stratagraph.service.logs import set_up_logs
from stratagraph.service.runtime import Runtime, open_runtime
from stratagraph.service.settings import Settings
from stratagraph.store.errors import MirrorUnavailable
from stratagraph.store.mirror_source import MirrorSource

app = typer.Typer(help="The mirror in Neo4j: keep it in step, see how far it is.", no_args_is_help=True)


@app.command()
def run(
    once: Annotated[bool, typer.Option(help="Apply what is waiting, then end.")] = False,
    json: Annotated[bool, typer.Option("--json", help="With --once: for programs.")] = False,
) -> None:
    """Follow the change feed into Neo4j until told to stop. Any number may run; one applies at a time."""
    if not once:
        settings = Settings.load()
        set_up_logs(settings.log_level)
        asyncio.run(_follow(settings))
        return

    async def work(runtime: Runtime) -> dict[str, object]:
        worker = runtime.sync_worker()
        if worker is None:
            raise no_mirror()
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
        worker = runtime.sync_worker()
        if worker is None:
            raise no_mirror()
        await worker.run()


@app.command()
def status(json: Annotated[bool, typer.Option("--json", help="For programs.")] = False) -> None:
    """How far the mirror is behind, and what both sides count. Exits 1 where there is no mirror to ask."""

    async def work(runtime: Runtime) -> dict[str, object]:
        if runtime.mirror is None:
            raise no_mirror()
        records, relations = await MirrorSource(runtime.database).counts()
        nodes, edges = await runtime.mirror.counts()
        lag = await runtime.feed.lag()
        return {
            "uri": runtime.mirror.uri,
            "lag_changes": lag.changes if lag else None,
            "lag_seconds": lag.seconds if lag else None,
            "parked": lag.parked if lag else None,
            "postgres": {"records": records, "relations": relations},
            "neo4j": {"records": nodes, "relations": edges},
            "equal_counts": (records, relations) == (nodes, edges),
        }

    found = with_runtime(work)
    if json:
        print_json(found)
        return
    truth, mirror = found["postgres"], found["neo4j"]
    assert isinstance(truth, dict)
    assert isinstance(mirror, dict)
    table = Table("", "Postgres", "Neo4j")
    for name in ("records", "relations"):
        table.add_row(name, str(truth[name]), str(mirror[name]))
    people.print(f"Mirror at {found['uri']}", highlight=False)
    people.print(table)
    if found["lag_changes"] is None:
        people.print("No worker has run yet: `stratagraph sync run`, or `stratagraph serve` with Neo4j there.")
    else:
        people.print(
            f"{found['lag_changes']} changes behind, {found['lag_seconds']:.1f} s; {found['parked']} set aside"
        )


def no_mirror() -> MirrorUnavailable:
    return MirrorUnavailable(
        "There is no mirror: set STRATAGRAPH_NEO4J_URI, or start a local one with `stratagraph neo4j start`."
    )
