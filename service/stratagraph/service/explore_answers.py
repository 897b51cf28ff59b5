"""Answers to `stratagraph explore`: as JSON documents, and as lines with styles. See `local_answers`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar
from uuid import UUID

from rich.text import Text

from stratagraph.memory.engines.choice import AnsweredBy
from stratagraph.service.cli.show import as_json, line
from stratagraph.service.cli.styled_lines import as_styled_line
from stratagraph.service.cli.tenants import reader_of
from stratagraph.service.runtime import Runtime
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput, RecordNotFound
from stratagraph.store.model.ids import parse_id
from stratagraph.store.model.predicates import inverse
from stratagraph.store.model.records import MemoryRecord, Relation

T = TypeVar("T")
Answer = dict[str, Any]


async def path(runtime: Runtime, given: Mapping[str, Any]) -> Answer:
    """Return the paths between two records. Raises RecordNotFound."""
    ends = parse_id(given["start"], path=["FROM"]), parse_id(given["goal"], path=["TO"])
    trust = await reader_of(runtime, given["tenant"])
    found = await runtime.explore.paths(trust, *ends, k=given["k"], max_hops=given["hops"])
    if found is None:
        raise RecordNotFound(
            ends[1],
            f"At least one of {ends[0]} and {ends[1]} does not exist in the tenant {given['tenant']!r}; check the ids,"
            " and --tenant.",
        )
    lines = [Text.assemble((f"{one.weight:.2f}  ", "dim"), one.sentence) for one in found.paths]
    none = [Text(f"no path of at most {given['hops']} hops")]
    return _answer(found, [*(lines or none), *_notes(found.answered_by, found.reached)])


async def impact(runtime: Runtime, given: Mapping[str, Any]) -> Answer:
    """Return what rests on a record. Raises RecordNotFound."""
    id_, trust = parse_id(given["record"], path=["RECORD_ID"]), await reader_of(runtime, given["tenant"])
    found = _existing(id_, await runtime.explore.impact(trust, id_, hops=given["hops"], first=given["first"]))
    lines = [line(found.record)]
    lines += [Text(f"  hop {count.hop}: {count.count} {count.type.label}", style="bold") for count in found.counts]
    lines += [
        Text.assemble((f"{'  ' * one.hop}{one.strength:.2f} ", "dim"), " ", line(one.record)) for one in found.nodes
    ]
    if found.total > len(found.nodes):
        lines.append(Text(f"and {found.total - len(found.nodes)} more", style="dim"))
    return _answer(found, [*lines, *_notes(found.answered_by, found.reached)])


async def plans(runtime: Runtime, given: Mapping[str, Any]) -> Answer:
    """Return the plans with these steps."""
    trust = await reader_of(runtime, given["tenant"])
    found = await runtime.explore.plans(trust, given["ops"], first=given["first"])
    lines = []
    for plan in found.plans:
        lines.append(line(plan.record))
        lines.append(Text("  " + " → ".join(f"{step.op} ({step.id})" for step in plan.steps)))
    none = [Text("no plan has these steps in this order")]
    return _answer(found, [*(lines or none), *_notes(found.answered_by, found.reached, has_more=found.has_more)])


async def diff(runtime: Runtime, given: Mapping[str, Any]) -> Answer:
    """Return what changed between two versions of a plan. Raises InvalidInput if there are not both."""
    trust = await reader_of(runtime, given["tenant"])
    found = await runtime.lookup.plan_difference(trust, given["plan"], given["before"], given["after"])
    if found is None:
        raise InvalidInput(
            f"The tenant {given['tenant']!r} has no plan {shown(given['plan'])} with the versions"
            f" {shown(given['before'])} and {shown(given['after'])}; `stratagraph history` of a version lists those"
            " that it superseded.",
            path=["PLAN_ID"],
        )
    lines = [line(found.before), line(found.after)]
    for sign, style, steps, links in (
        ("-", "red", found.removed_steps, found.removed_links),
        ("+", "green", found.added_steps, found.added_links),
    ):
        lines += [Text(f"{sign} {step['op']} ({step['id']})", style=style) for step in steps]
        lines += [Text(f"{sign} {source} → {target} ({kind})", style=style) for source, target, kind in links]
    lines += [Text(f"~ {one.id}: {', '.join(one.fields)}", style="yellow") for one in found.changed_steps]
    if found.has_same_structure:
        lines.append(Text("the same graph of operations", style="dim"))
    return _answer(found, lines)


async def related(runtime: Runtime, given: Mapping[str, Any]) -> Answer:
    """Return the entities that share memories with a record. Raises RecordNotFound."""
    id_, trust = parse_id(given["record"], path=["RECORD_ID"]), await reader_of(runtime, given["tenant"])
    found = _existing(id_, await runtime.explore.related(trust, id_, first=given["first"]))
    lines = [line(found.record)]
    lines += [
        Text.assemble((f"  {one.weight:.2f} in {one.shared} ", "dim"), " ", line(one.entity)) for one in found.entities
    ]
    return _answer(found, [*lines, *_notes(found.answered_by, found.reached, has_more=found.has_more)])


async def expand(runtime: Runtime, given: Mapping[str, Any]) -> Answer:
    """Return the neighbours of a record that are not shown yet. Raises RecordNotFound."""
    id_, trust = parse_id(given["record"], path=["RECORD_ID"]), await reader_of(runtime, given["tenant"])
    known = [parse_id(one, path=["--loaded"]) for one in given["loaded"]]
    found = _existing(id_, await runtime.explore.expand(trust, id_, loaded=known, first=given["first"]))
    predicates = {
        relation.target if relation.source == id_ else relation.source: (
            relation.predicate if relation.source == id_ else inverse(relation.predicate)
        )
        for relation in reversed(found.relations)
    }
    lines = [line(found.record)]
    for one in found.neighbours:
        label = (f"  {predicates[one.record.id].replace('_', ' ')} ", "dim")
        hint = (f"   {'a hub' if one.hub else f'{one.more} more'}", "dim")
        lines.append(Text.assemble(label, " ", line(one.record), hint))
    return _answer(found, [*lines, *_notes(found.answered_by, found.reached, has_more=found.has_more)])


def _existing(id_: UUID, found: T | None) -> T:
    if found is None:
        raise RecordNotFound(id_)
    return found


def _notes(by: AnsweredBy, reached: tuple[str, ...] = (), *, has_more: bool = False) -> list[Text]:
    """Return a line of what cut the answer, and why it is not from the preferred engine; none where neither is so."""
    limits = [*reached, *(["first"] if has_more else [])]
    notes = []
    if limits:
        notes.append(f"cut off by the limit of {', '.join(limits)}")
    if by.fallback:
        notes.append(f"answered in SQL: {by.fallback}")
    return [Text("; ".join(notes), style="dim")] if notes else []


def _answer(found: Any, lines: Iterable[Text]) -> Answer:
    return {"document": _json(found), "lines": [as_styled_line(one) for one in lines]}


def _json(value: Any) -> Any:
    """Return an answer, or a part of it, as JSON: the fields of its dataclass by name, those of AnsweredBy inlined."""
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
