"""`stratagraph explore …`: how memories hang together."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Annotated, TypeVar
from uuid import UUID

import typer
from rich.text import Text

from stratagraph.memory.explore.answers import AnsweredBy, Expansion, Impact, Paths, Plans, Related
from stratagraph.memory.explore.service import Explore
from stratagraph.service.cli.output import people, print_json, with_runtime
from stratagraph.service.cli.show import as_json, line
from stratagraph.service.runtime import Runtime
from stratagraph.store.model.errors import RecordNotFound
from stratagraph.store.model.ids import parse_id
from stratagraph.store.model.predicates import inverse
from stratagraph.store.model.records import Relation
from stratagraph.store.model.trust import SINGLE_USER, Trust

app = typer.Typer(help="How memories hang together: paths, impact, plans by their steps, shared memories, neighbours.")
T = TypeVar("T")
Id = Annotated[str, typer.Argument(metavar="RECORD_ID", help="The record's id.")]
Tenant = Annotated[str, typer.Option(help="Whose memories.")]
Json = Annotated[bool, typer.Option("--json", help="For programs.")]
First = Annotated[int, typer.Option(help="How many are shown, 1 to 100.")]


@app.command()
def path(
    start: Annotated[str, typer.Argument(metavar="FROM", help="The record at one end.")],
    goal: Annotated[str, typer.Argument(metavar="TO", help="The record at the other.")],
    k: Annotated[int, typer.Option("--k", help="How many paths, 1 to 10.")] = 3,
    hops: Annotated[int, typer.Option(help="How long they may be, 1 to 6.")] = 4,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """How two records are connected: the shortest paths first, of these the heaviest."""
    ends = parse_id(start, path=["FROM"]), parse_id(goal, path=["TO"])
    found = _ask(tenant, lambda explore, trust: explore.paths(trust, *ends, k=k, max_hops=hops))
    if found is None:
        raise RecordNotFound(ends[1], f"At least one of {ends[0]} and {ends[1]} is no record.")
    if json:
        print_json(_paths_json(found))
        return
    if not found.paths:
        people.print(f"no path of at most {hops} hops")
    for one in found.paths:
        people.print(Text.assemble((f"{one.weight:.2f}  ", "dim"), one.sentence), soft_wrap=True)
    _note(found.found, found.reached)


@app.command()
def impact(
    record: Id,
    hops: Annotated[int, typer.Option(help="How far, 1 to 6.")] = 2,
    first: First = 25,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """What refers to a record or rests on it, level by level."""
    id_ = parse_id(record, path=["RECORD_ID"])
    found = _there(id_, _ask(tenant, lambda explore, trust: explore.impact(trust, id_, hops=hops, first=first)))
    if json:
        print_json(_impact_json(found))
        return
    people.print(line(found.record), soft_wrap=True)
    for count in found.counts:
        people.print(Text(f"  hop {count.hop}: {count.count} {count.type.label}", style="bold"))
    for one in found.affected:
        people.print(Text(f"{'  ' * one.hop}{one.strength:.2f} ", style="dim"), line(one.record), soft_wrap=True)
    if found.total > len(found.affected):
        people.print(Text(f"and {found.total - len(found.affected)} more", style="dim"))
    _note(found.found, found.reached)


@app.command()
def plans(
    ops: Annotated[list[str], typer.Argument(metavar="OP…", help="What the plan does, in this order; 1 to 8.")],
    first: First = 20,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Plans that do these things in this order, directly one after the other or not."""
    found = _ask(tenant, lambda explore, trust: explore.plans(trust, ops, first=first))
    if json:
        print_json(_plans_json(found))
        return
    if not found.plans:
        people.print("no plan does that in this order")
    for plan in found.plans:
        people.print(line(plan.record), soft_wrap=True)
        people.print(Text("  " + " → ".join(f"{step.op} ({step.id})" for step in plan.steps)), soft_wrap=True)
    _note(found.found, (*found.reached, *(("first",) if found.has_more else ())))


@app.command()
def related(record: Id, first: First = 20, tenant: Tenant = "default", json: Json = False) -> None:
    """Entities that share memories with this one, the heaviest first."""
    id_ = parse_id(record, path=["RECORD_ID"])
    found = _there(id_, _ask(tenant, lambda explore, trust: explore.related(trust, id_, first=first)))
    if json:
        print_json(_related_json(found))
        return
    people.print(line(found.record), soft_wrap=True)
    for one in found.entities:
        said = Text(f"  {one.weight:.2f} in {one.shared} ", style="dim")
        people.print(said, line(one.record), soft_wrap=True)
    _note(found.found, (*found.reached, *(("first",) if found.has_more else ())))


@app.command()
def expand(
    record: Id,
    loaded: Annotated[list[str] | None, typer.Option("--loaded", help="A record that is shown already.")] = None,
    first: First = 25,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """The best neighbours of a record that are not shown yet, and what joins them."""
    id_ = parse_id(record, path=["RECORD_ID"])
    known = [parse_id(one, path=["--loaded"]) for one in loaded or ()]
    found = _there(id_, _ask(tenant, lambda explore, trust: explore.expand(trust, id_, loaded=known, first=first)))
    if json:
        print_json(_expansion_json(found))
        return
    people.print(line(found.record), soft_wrap=True)
    words = {
        relation.target if relation.source == id_ else relation.source: (
            relation.predicate if relation.source == id_ else inverse(relation.predicate)
        )
        for relation in reversed(found.relations)
    }
    for one in found.neighbours:
        said = Text(f"  {words[one.record.id].replace('_', ' ')} ", style="dim")
        hint = Text(f"  {'a hub' if one.hub else f'{one.more} more'}", style="dim")
        people.print(said, line(one.record), hint, soft_wrap=True)
    _note(found.found, ("first",) if found.has_more else ())


def _ask(tenant: str, question: Callable[[Explore, Trust], Awaitable[T]]) -> T:
    async def work(runtime: Runtime) -> T:
        return await question(runtime.explore, replace(SINGLE_USER, tenant=tenant))

    return with_runtime(work)


def _there(id_: UUID, found: T | None) -> T:
    if found is None:
        raise RecordNotFound(id_)
    return found


def _note(found: AnsweredBy, reached: tuple[str, ...]) -> None:
    notes = []
    if reached:
        notes.append(f"cut off by the limit of {', '.join(reached)}")
    if found.fallback:
        notes.append(f"answered in SQL: {found.fallback}")
    if notes:
        people.print(Text("; ".join(notes), style="dim"))


def _engine_json(found: AnsweredBy) -> Mapping[str, object]:
    return {"engine": found.engine, "fallback": found.fallback, "mirror_lag_seconds": found.mirror_lag_seconds}


def _edge(edge: Relation) -> Mapping[str, object]:
    return {"predicate": edge.predicate, "source": edge.source, "target": edge.target, "weight": edge.weight}


def _paths_json(found: Paths) -> Mapping[str, object]:
    return {
        "paths": [
            {
                "sentence": one.sentence,
                "weight": one.weight,
                "nodes": [as_json(record) for record in one.records],
                "relations": [_edge(relation) for relation in one.relations],
            }
            for one in found.paths
        ],
        "reached": found.reached,
        "hubs": found.hubs,
        **_engine_json(found.found),
    }


def _impact_json(found: Impact) -> Mapping[str, object]:
    return {
        "record": as_json(found.record),
        "counts": [{"hop": one.hop, "type": one.type.label, "count": one.count} for one in found.counts],
        "total": found.total,
        "nodes": [
            {"record": as_json(one.record), "hop": one.hop, "strength": one.strength, "via_id": one.via}
            for one in found.affected
        ],
        "reached": found.reached,
        "hubs": found.hubs,
        **_engine_json(found.found),
    }


def _plans_json(found: Plans) -> Mapping[str, object]:
    return {
        "plans": [
            {"record": as_json(plan.record), "steps": [{"id": step.id, "op": step.op} for step in plan.steps]}
            for plan in found.plans
        ],
        "has_more": found.has_more,
        "reached": found.reached,
        **_engine_json(found.found),
    }


def _related_json(found: Related) -> Mapping[str, object]:
    return {
        "record": as_json(found.record),
        "entities": [
            {"entity": as_json(one.record), "shared": one.shared, "weight": one.weight, "memory_ids": one.memories}
            for one in found.entities
        ],
        "has_more": found.has_more,
        "reached": found.reached,
        "hubs": found.hubs,
        **_engine_json(found.found),
    }


def _expansion_json(found: Expansion) -> Mapping[str, object]:
    return {
        "record": as_json(found.record),
        "neighbours": [
            {
                "record": as_json(one.record),
                "weight": one.weight,
                "degree": one.degree,
                "more": one.more,
                "hub": one.hub,
            }
            for one in found.neighbours
        ],
        "relations": [_edge(relation) for relation in found.relations],
        "between": [_edge(relation) for relation in found.between],
        "has_more": found.has_more,
        **_engine_json(found.found),
    }
