"""`stratagraph explore …`: questions about how memories are connected."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from stratagraph.service.cli.asking import answer_to
from stratagraph.service.cli.output import people, print_json
from stratagraph.service.cli.styled_lines import text_of

app = typer.Typer(
    help="Ask how memories are connected: paths, impact, plans by their steps, shared memories, neighbours."
)
Id = Annotated[str, typer.Argument(metavar="RECORD_ID", help="Id of the record.")]
Tenant = Annotated[str, typer.Option(help="Name of the tenant.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
First = Annotated[int, typer.Option(help="Maximum number of results, 1 to 100.")]


@app.command()
def path(
    start: Annotated[str, typer.Argument(metavar="FROM", help="Id of the record at one end.")],
    goal: Annotated[str, typer.Argument(metavar="TO", help="Id of the record at the other end.")],
    k: Annotated[int, typer.Option("--k", help="Maximum number of paths, 1 to 10.")] = 3,
    hops: Annotated[int, typer.Option(help="Maximum length of a path in hops, 1 to 6.")] = 4,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Show how two records are connected: the shortest paths first, of these the heaviest."""
    _show("path", {"start": start, "goal": goal, "k": k, "hops": hops, "tenant": tenant}, json=json)


@app.command()
def impact(
    record: Id,
    hops: Annotated[int, typer.Option(help="Maximum distance in hops, 1 to 6.")] = 2,
    first: First = 25,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Show what refers to a record or rests on it, level by level."""
    _show("impact", {"record": record, "hops": hops, "first": first, "tenant": tenant}, json=json)


@app.command()
def plans(
    ops: Annotated[list[str], typer.Argument(metavar="OP…", help="Ops of the plan's steps, in this order; 1 to 8.")],
    first: First = 20,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Show plans that have these steps in this order, directly one after the other or not."""
    _show("plans", {"ops": ops, "first": first, "tenant": tenant}, json=json)


@app.command()
def diff(
    plan: Annotated[str, typer.Argument(metavar="PLAN_ID", help="Name of the plan, shared by its versions.")],
    before: Annotated[str, typer.Argument(metavar="FROM", help="Label of the earlier version.")],
    after: Annotated[str, typer.Argument(metavar="TO", help="Label of the later version.")],
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Show what changed between two versions of a plan."""
    _show("diff", {"plan": plan, "before": before, "after": after, "tenant": tenant}, json=json)


@app.command()
def related(record: Id, first: First = 20, tenant: Tenant = "default", json: Json = False) -> None:
    """Show the entities that share memories with a record, the heaviest first."""
    _show("related", {"record": record, "first": first, "tenant": tenant}, json=json)


@app.command()
def expand(
    record: Id,
    loaded: Annotated[
        list[str] | None, typer.Option("--loaded", help="Id of a record that is shown already; may be repeated.")
    ] = None,
    first: First = 25,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Show the best neighbours of a record that are not shown yet, and the relations that join them."""
    _show("expand", {"record": record, "loaded": loaded or [], "first": first, "tenant": tenant}, json=json)


def _show(question: str, given: dict[str, Any], *, json: bool) -> None:
    """Print the answer to a question of `explore_answers`."""
    found = answer_to(question, given)
    if json:
        print_json(found["document"])
        return
    for one in found["lines"]:
        people.print(text_of(one), soft_wrap=True)
