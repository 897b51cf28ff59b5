"""`stratagraph explore …`: questions about how memories are connected."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeVar
from uuid import UUID

import typer
from rich.text import Text

from stratagraph.service.cli.output import people, print_json, with_runtime
from stratagraph.service.cli.show import as_json, line
from stratagraph.service.cli.tenants import reader_of
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.errors import RecordNotFound
from stratagraph.store.model.ids import parse_id
from stratagraph.store.model.predicates import inverse
from stratagraph.store.model.records import MemoryRecord, Relation
from stratagraph.store.model.trust import Trust

if TYPE_CHECKING:
    from stratagraph.memory.engines.choice import AnsweredBy
    from stratagraph.memory.explore.answers import Expansion, Impact, Paths, Plans, Related
    from stratagraph.memory.explore.service import Explore
    from stratagraph.service.runtime import Runtime

app = typer.Typer(
    help="Ask how memories are connected: paths, impact, plans by their steps, shared memories, neighbours."
)
T = TypeVar("T")
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
    ends = parse_id(start, path=["FROM"]), parse_id(goal, path=["TO"])
    found = _ask(tenant, lambda explore, trust: explore.paths(trust, *ends, k=k, max_hops=hops))
    if found is None:
        raise RecordNotFound(
            ends[1],
            f"At least one of {ends[0]} and {ends[1]} does not exist in the tenant {tenant!r}; check the ids, and"
            " --tenant.",
        )
    if json:
        _print_json(found)
        return
    if not found.paths:
        people.print(f"no path of at most {hops} hops")
    for one in found.paths:
        people.print(Text.assemble((f"{one.weight:.2f}  ", "dim"), one.sentence), soft_wrap=True)
    _print_notes(found.answered_by, found.reached)


@app.command()
def impact(
    record: Id,
    hops: Annotated[int, typer.Option(help="Maximum distance in hops, 1 to 6.")] = 2,
    first: First = 25,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Show what refers to a record or rests on it, level by level."""
    id_ = parse_id(record, path=["RECORD_ID"])
    found = _existing(id_, _ask(tenant, lambda explore, trust: explore.impact(trust, id_, hops=hops, first=first)))
    if json:
        _print_json(found)
        return
    people.print(line(found.record), soft_wrap=True)
    for count in found.counts:
        people.print(Text(f"  hop {count.hop}: {count.count} {count.type.label}", style="bold"))
    for one in found.nodes:
        people.print(Text(f"{'  ' * one.hop}{one.strength:.2f} ", style="dim"), line(one.record), soft_wrap=True)
    if found.total > len(found.nodes):
        people.print(Text(f"and {found.total - len(found.nodes)} more", style="dim"))
    _print_notes(found.answered_by, found.reached)


@app.command()
def plans(
    ops: Annotated[list[str], typer.Argument(metavar="OP…", help="Ops of the plan's steps, in this order; 1 to 8.")],
    first: First = 20,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Show plans that have these steps in this order, directly one after the other or not."""
    found = _ask(tenant, lambda explore, trust: explore.plans(trust, ops, first=first))
    if json:
        _print_json(found)
        return
    if not found.plans:
        people.print("no plan has these steps in this order")
    for plan in found.plans:
        people.print(line(plan.record), soft_wrap=True)
        people.print(Text("  " + " → ".join(f"{step.op} ({step.id})" for step in plan.steps)), soft_wrap=True)
    _print_notes(found.answered_by, found.reached, has_more=found.has_more)


@app.command()
def related(record: Id, first: First = 20, tenant: Tenant = "default", json: Json = False) -> None:
    """Show the entities that share memories with a record, the heaviest first."""
    id_ = parse_id(record, path=["RECORD_ID"])
    found = _existing(id_, _ask(tenant, lambda explore, trust: explore.related(trust, id_, first=first)))
    if json:
        _print_json(found)
        return
    people.print(line(found.record), soft_wrap=True)
    for one in found.entities:
        label = Text(f"  {one.weight:.2f} in {one.shared} ", style="dim")
        people.print(label, line(one.entity), soft_wrap=True)
    _print_notes(found.answered_by, found.reached, has_more=found.has_more)


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
    id_ = parse_id(record, path=["RECORD_ID"])
    known = [parse_id(one, path=["--loaded"]) for one in loaded or ()]
    found = _existing(id_, _ask(tenant, lambda explore, trust: explore.expand(trust, id_, loaded=known, first=first)))
    if json:
        _print_json(found)
        return
    people.print(line(found.record), soft_wrap=True)
    predicates = {
        relation.target if relation.source == id_ else relation.source: (
            relation.predicate if relation.source == id_ else inverse(relation.predicate)
        )
        for relation in reversed(found.relations)
    }
    for one in found.neighbours:
        label = Text(f"  {predicates[one.record.id].replace('_', ' ')} ", style="dim")
        hint = Text(f"  {'a hub' if one.hub else f'{one.more} more'}", style="dim")
        people.print(label, line(one.record), hint, soft_wrap=True)
    _print_notes(found.answered_by, has_more=found.has_more)


def _ask(tenant: str, question: Callable[[Explore, Trust], Awaitable[T]]) -> T:
    async def work(runtime: Runtime) -> T:
        return await question(runtime.explore, await reader_of(runtime, tenant))

    return with_runtime(work)


def _existing(id_: UUID, found: T | None) -> T:
    if found is None:
        raise RecordNotFound(id_)
    return found


def _print_notes(by: AnsweredBy, reached: tuple[str, ...] = (), *, has_more: bool = False) -> None:
    """Print what cut the answer, and why it is not from the preferred engine."""
    limits = [*reached, *(["first"] if has_more else [])]
    notes = []
    if limits:
        notes.append(f"cut off by the limit of {', '.join(limits)}")
    if by.fallback:
        notes.append(f"answered in SQL: {by.fallback}")
    if notes:
        people.print(Text("; ".join(notes), style="dim"))


def _print_json(answer: Paths | Impact | Plans | Related | Expansion) -> None:
    print_json(_json(answer))


def _json(value: Any) -> Any:
    """Return an answer, or a part of it, as JSON: the fields of its dataclass by name, those of AnsweredBy inlined."""
    from stratagraph.memory.engines.choice import AnsweredBy

    match value:
        case MemoryRecord():
            return as_json(value)
        case Relation():
            return {
                "predicate": value.predicate,
                "source": value.source,
                "target": value.target,
                "weight": value.weight,
            }
        case MemoryType():
            return value.label
        case tuple():
            return [_json(one) for one in value]
        case _ if dataclasses.is_dataclass(value):
            fields: dict[str, Any] = {}
            for field in dataclasses.fields(value):
                part = getattr(value, field.name)
                fields |= _json(part) if isinstance(part, AnsweredBy) else {field.name: _json(part)}
            return fields
        case _:
            return value
