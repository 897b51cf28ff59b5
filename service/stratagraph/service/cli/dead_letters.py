"""`stratagraph sync dead-letters`: changes that Neo4j has refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer
from rich.table import Column

from stratagraph.service.cli.options import Json, check_choice
from stratagraph.service.cli.output import ID_WIDTH, folding_table, people, print_json, with_runtime

if TYPE_CHECKING:
    from stratagraph.service.runtime import Runtime

app = typer.Typer(
    help="Changes that Neo4j has refused. They do not block other changes and are retried with growing pauses. A newer"
    " version of the same row replaces the refused one.",
    no_args_is_help=True,
)
Ids = Annotated[list[UUID] | None, typer.Argument(help="Ids of records or relations.")]
All = Annotated[bool, typer.Option("--all", help="All dead letters.")]
SHOWN = 200


@app.command("list")
def list_(json: Json = False) -> None:
    """List the dead letters, Neo4j's error for each, and when it is retried."""

    async def work(runtime: Runtime) -> list[dict[str, Any]]:
        from stratagraph.graph_sync.worker import CONSUMER
        from stratagraph.store.mirror.dead_letters import DeadLetters

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
            for one in await DeadLetters(runtime.database, CONSUMER).list(limit=SHOWN)
        ]

    found = with_runtime(work)
    if json:
        print_json(found)
        return
    if not found:
        people.print("There are no dead letters.")
        return
    table = folding_table(
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
    """Make dead letters due now; the running worker, or the next one, retries them."""
    _do("retry", ids, all_=all_, json=json)


@app.command()
def drop(ids: Ids = None, all_: All = False, json: Json = False) -> None:
    """Delete dead letters. The mirror lacks these changes until their rows change again; `sync verify` reports them."""
    _do("drop", ids, all_=all_, json=json)


def _do(what: str, ids: list[UUID] | None, *, all_: bool, json: bool) -> None:
    check_choice(f"sync dead-letters {what}", "dead letters", ids, all_=all_)

    async def work(runtime: Runtime) -> int:
        from stratagraph.graph_sync.worker import CONSUMER
        from stratagraph.store.mirror.dead_letters import DeadLetters

        letters = DeadLetters(runtime.database, CONSUMER)
        chosen = None if all_ else ids
        return await (letters.retry(chosen) if what == "retry" else letters.drop(chosen))

    count = with_runtime(work)
    if json:
        print_json({"changes": count})
    else:
        people.print(f"{count} changes {'are due now' if what == 'retry' else 'deleted'}.")
