"""`stratagraph explore …`: questions about how memories are connected."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer
from rich.text import Text

from stratagraph.service.cli.asking import answer_to
from stratagraph.service.cli.options import Json, Tenant, instant_given
from stratagraph.service.cli.output import print_json
from stratagraph.service.cli.show import line, notes, print_lines
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput

app = typer.Typer(
    help="Ask how memories are connected: paths, impact, plans by their steps, shared memories, neighbours."
)
Id = Annotated[str, typer.Argument(metavar="RECORD_ID", help="Id of the record.")]
First = Annotated[int, typer.Option(help="Maximum number of results, 1 to 100.")]
AsOf = Annotated[str | None, typer.Option(help="Past instant to answer as of, such as 2026-11-21T12:00:00Z.")]
ValidAt = Annotated[str | None, typer.Option(help="Instant at which facts must have held.")]


@app.command()
def path(
    start: Annotated[str, typer.Argument(metavar="FROM", help="Id of the record at one end.")],
    goal: Annotated[str, typer.Argument(metavar="TO", help="Id of the record at the other end.")],
    k: Annotated[int, typer.Option("--k", help="Maximum number of paths, 1 to 10.")] = 3,
    hops: Annotated[int, typer.Option(help="Maximum length of a path in hops, 1 to 6.")] = 4,
    as_of: AsOf = None,
    valid_at: ValidAt = None,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Show how two records are connected: the shortest paths first, of these the heaviest."""

    def lines(found: Mapping[str, Any]) -> list[Text]:
        shown = [Text.assemble((f"{one['weight']:.2f}  ", "dim"), one["sentence"]) for one in found["paths"]]
        return [*(shown or [Text(f"no path of at most {hops} hops")]), *notes(found)]

    _show(
        "ExplainPath",
        {"from": start, "to": goal, "k": k, "maxHops": hops, **_times(as_of, valid_at)},
        lines,
        tenant,
        json,
    )


@app.command()
def impact(
    record: Id,
    hops: Annotated[int, typer.Option(help="Maximum distance in hops, 1 to 6.")] = 2,
    first: First = 25,
    as_of: AsOf = None,
    valid_at: ValidAt = None,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Show what refers to a record or rests on it, level by level."""

    def lines(found: Mapping[str, Any]) -> list[Text]:
        counts = [f"  hop {one['hop']}: {one['count']} {one['type'].lower()}" for one in found["counts"]]
        shown = [line(found["record"]), *(Text(one, style="bold") for one in counts)]
        shown += [
            Text.assemble((f"{'  ' * one['hop']}{one['strength']:.2f} ", "dim"), " ", line(one["record"]))
            for one in found["nodes"]
        ]
        if found["total"] > len(found["nodes"]):
            shown.append(Text(f"and {found['total'] - len(found['nodes'])} more", style="dim"))
        return [*shown, *notes(found)]

    _show("Impact", {"id": record, "hops": hops, "first": first, **_times(as_of, valid_at)}, lines, tenant, json)


@app.command()
def plans(
    ops: Annotated[list[str], typer.Argument(metavar="OP…", help="Ops of the plan's steps, in this order; 1 to 8.")],
    first: First = 20,
    as_of: AsOf = None,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Show plans that have these steps in this order, directly one after the other or not."""

    def lines(found: Mapping[str, Any]) -> list[Text]:
        shown = []
        for plan in found["plans"]:
            shown.append(line(plan["record"]))
            shown.append(Text("  " + " → ".join(f"{step['op']} ({step['id']})" for step in plan["steps"])))
        return [*(shown or [Text("no plan has these steps in this order")]), *notes(found)]

    _show("PlansContaining", {"ops": ops, "first": first, "asOf": _times(as_of, None)["asOf"]}, lines, tenant, json)


@app.command()
def diff(
    plan: Annotated[str, typer.Argument(metavar="PLAN_ID", help="Name of the plan, shared by its versions.")],
    before: Annotated[str, typer.Argument(metavar="FROM", help="Label of the earlier version.")],
    after: Annotated[str, typer.Argument(metavar="TO", help="Label of the later version.")],
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Show what changed between two versions of a plan."""

    def lines(found: Mapping[str, Any] | None) -> list[Text]:
        if found is None:
            raise InvalidInput(
                f"The tenant {tenant!r} has no plan {shown(plan)} with the versions {shown(before)} and"
                f" {shown(after)}; `stratagraph history` of a version lists those that it superseded.",
                path=["PLAN_ID"],
            )
        changes = [Text(f"{plan} {before} ({found['fromId']}) → {after} ({found['toId']})")]
        for sign, style, what in (("-", "red", "removed"), ("+", "green", "added")):
            changes += [Text(f"{sign} {one['op']} ({one['id']})", style=style) for one in found[f"{what}Steps"]]
            changes += [
                Text(f"{sign} {one['source']} → {one['target']} ({one['kind'].lower()})", style=style)
                for one in found[f"{what}Links"]
            ]
        changes += [Text(f"~ {one['id']}: {', '.join(one['fields'])}", style="yellow") for one in found["changedSteps"]]
        if found["sameStructure"]:
            changes.append(Text("the same graph of operations", style="dim"))
        return changes

    _show("PlanDiff", {"planId": plan, "from": before, "to": after}, lines, tenant, json)


@app.command()
def related(
    record: Id,
    first: First = 20,
    as_of: AsOf = None,
    valid_at: ValidAt = None,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Show the entities that share memories with a record, the heaviest first."""

    def lines(found: Mapping[str, Any]) -> list[Text]:
        shown = [line(found["record"])]
        for one in found["entities"]:
            shared = f"  {one['weight']:.2f} in {one['shared']} "
            shown.append(Text.assemble((shared, "dim"), " ", line(one["entity"])))
        return [*shown, *notes(found)]

    _show("RelatedEntities", {"id": record, "first": first, **_times(as_of, valid_at)}, lines, tenant, json)


@app.command()
def expand(
    record: Id,
    loaded: Annotated[
        list[str] | None, typer.Option("--loaded", help="Id of a record that is shown already; may be repeated.")
    ] = None,
    first: First = 25,
    as_of: AsOf = None,
    valid_at: ValidAt = None,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Show the best neighbours of a record that are not shown yet, and the relations that join them."""

    def lines(found: Mapping[str, Any]) -> list[Text]:
        id_ = found["record"]["id"]
        predicates = {
            one["targetId" if one["sourceId"] == id_ else "sourceId"]: one[
                "predicate" if one["sourceId"] == id_ else "inverse"
            ]
            for one in reversed(found["relations"])
        }
        shown = [line(found["record"])]
        for one in found["neighbours"]:
            label = (f"  {predicates[one['record']['id']].replace('_', ' ')} ", "dim")
            hint = (f"   {'a hub' if one['hub'] else str(one['more']) + ' more'}", "dim")
            shown.append(Text.assemble(label, " ", line(one["record"]), hint))
        return [*shown, *notes(found)]

    _show(
        "Expand",
        {"id": record, "loadedIds": loaded or [], "first": first, **_times(as_of, valid_at)},
        lines,
        tenant,
        json,
    )


def _times(as_of: str | None, valid_at: str | None) -> dict[str, str | None]:
    """Return the times of a question as its variables."""
    return {
        "asOf": instant_given(as_of, "--as-of") if as_of is not None else None,
        "validAt": instant_given(valid_at, "--valid-at") if valid_at is not None else None,
    }


def _show(
    operation: str, variables: dict[str, Any], lines: Callable[[Any], list[Text]], tenant: str, json: bool
) -> None:
    """Print the answer to an operation with one field, for people as the `lines` of its value."""
    data = answer_to(operation, variables, tenant=tenant, full=json)
    shown = lines(*data.values())
    if json:
        print_json(data)
    else:
        print_lines(shown)
