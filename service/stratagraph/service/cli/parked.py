"""`stratagraph sync parked`: changes that the mirror has refused."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

import typer
from rich.table import Column, Table

from stratagraph.graph_sync.worker import CONSUMER
from stratagraph.service.cli.output import ID_WIDTH, people, print_json, with_runtime
from stratagraph.service.runtime import Runtime
from stratagraph.store.mirror.dead_letters import Parking
from stratagraph.store.model.errors import InvalidInput

app = typer.Typer(
    help="Changes that the mirror has refused: set aside, so that they do not hold up the others, and tried again with"
    " growing pauses. A newer version of the same record takes its place.",
    no_args_is_help=True,
)
Ids = Annotated[list[UUID] | None, typer.Argument(help="Ids of records or relations.")]
All = Annotated[bool, typer.Option("--all", help="All of them.")]
Json = Annotated[bool, typer.Option("--json", help="For programs.")]
SHOWN = 200


@app.command("list")
def list_(json: Json = False) -> None:
    """List what is set aside, what Neo4j said of it, and when it is tried again."""

    async def work(runtime: Runtime) -> list[dict[str, Any]]:
        return [
            {
                "kind": one.kind.name.lower(),
                "id": one.id,
                "tenant": one.tenant,
                "version": one.version,
                "error": one.error,
                "tries": one.tries,
                "next_try": one.next_try,
            }
            for one in await Parking(runtime.database, CONSUMER).list(limit=SHOWN)
        ]

    found = with_runtime(work)
    if json:
        print_json(found)
        return
    if not found:
        people.print("Nothing is set aside.")
        return
    table = Table(
        "kind", Column("id", min_width=ID_WIDTH), "version", Column("error", overflow="fold"), "tries", "next try"
    )
    for one in found:
        table.add_row(
            one["kind"],
            str(one["id"]),
            str(one["version"]),
            one["error"],
            str(one["tries"]),
            f"{one['next_try']:%H:%M:%S}",
        )
    people.print(table)


@app.command()
def retry(ids: Ids = None, all_: All = False, json: Json = False) -> None:
    """Have changes tried again at once, by the running worker or the next one."""
    _do("retry", ids, all_=all_, json=json)


@app.command()
def drop(ids: Ids = None, all_: All = False, json: Json = False) -> None:
    """Forget changes: the mirror goes without them until their records change again. `sync verify` will name them."""
    _do("drop", ids, all_=all_, json=json)


def _do(what: str, ids: list[UUID] | None, *, all_: bool, json: bool) -> None:
    if bool(ids) == all_:
        raise InvalidInput(f"sync parked {what}: give ids, or --all", path=["ids"])

    async def work(runtime: Runtime) -> int:
        parking = Parking(runtime.database, CONSUMER)
        chosen = None if all_ else ids
        return await (parking.retry(chosen) if what == "retry" else parking.drop(chosen))

    count = with_runtime(work)
    if json:
        print_json({"changes": count})
    else:
        people.print(f"{count} changes {'are due now' if what == 'retry' else 'dropped'}.")
