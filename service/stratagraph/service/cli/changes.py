"""`stratagraph changes`: what has changed after a position, and what changes from now on."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.text import Text

from stratagraph.service.cli.asking import answer_to
from stratagraph.service.cli.options import Json, Tenant
from stratagraph.service.cli.output import people, print_json, print_json_line, second
from stratagraph.service.cli.show import line

PAGE = 100  # changes asked for at once
LOOK_S = 1.0  # seconds between two looks with --follow


def changes(
    after: Annotated[
        str | None,
        typer.Option(help="Position after which to begin, as `changes` printed it within the last day; else now."),
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Print what changes from now on, until Ctrl-C.")] = False,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Print what has changed after a position, oldest first, and the position to go on from; else the present one.

    With --follow, a running service is asked once a second; with --json too, each change is one line.
    """
    nodes: list[Mapping[str, Any]] = []
    try:
        while True:
            data = answer_to("Changes", {"after": after, "first": PAGE}, tenant=tenant, full=json)
            page = data["changes"]
            after = page["pageInfo"]["endCursor"]
            if follow or not json:
                for one in page["nodes"]:
                    _print(one, json=json)
            else:
                nodes += page["nodes"]
            if not page["pageInfo"]["hasNextPage"]:
                if not follow:
                    break
                time.sleep(LOOK_S)
    except KeyboardInterrupt:
        if json:
            return
    if json:
        print_json({"changes": {"nodes": nodes, "pageInfo": {"hasNextPage": False, "endCursor": after}}})
        return
    people.print(f"Go on with --after {after}", style="dim", soft_wrap=True, highlight=False)


def _print(change: Mapping[str, Any], *, json: bool) -> None:
    """Print one change: as a line of JSON, or for people with when, what and why."""
    if json:
        print_json_line(change)
        return
    relation, run, cause = change["relation"], change["run"], change["cause"]
    if change["record"] is not None and relation is None:
        what = line(change["record"])
    elif relation is not None:
        what = Text(f"{relation['sourceId']} {relation['predicate']} {relation['targetId']}")
    elif run is not None:
        what = Text(f"run {run['id']} {run['state'].lower()} in {run['scope'] or 'unscoped records'}")
    else:
        what = Text(change["relationId"] or change["recordId"])
    who = f"   {cause['action']} by {cause['actor']}" if cause is not None else ""
    shown = Text.assemble((f"{second(change['at'])} ", "dim"), f"{change['kind'].lower():<10}", what, (who, "dim"))
    people.print(shown, soft_wrap=True)
