"""Plans composed of known skills and plans, for tasks that no single one of them is for. Pure.

A composed plan is stored nowhere. Its `plan_id` names its parts and the steps that it takes of each, so it is made
again from that, for whoever may read the parts.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeAlias
from uuid import UUID

from stratagraph.memory.capture.caption import plan_caption, shortened
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.model.canonical import keyed_hash
from stratagraph.store.model.enums import MemoryType, RecordState
from stratagraph.store.model.payloads.plan_graph import COMPOSED_PLAN, tool_of_step
from stratagraph.store.model.records import MemoryRecord

MOST_PARTS = 16
MOST_STEPS = 64  # of a composed plan
_VERSION = "1"
_RFC_BITS = (0xFFFF_FFFF_FFFF_0FFF_3FFF_FFFF_FFFF_FFFF, 0x0000_0000_0000_8000_8000_0000_0000_0000)  # a UUID, version 8
Links: TypeAlias = dict[tuple[int, int], str]  # kinds of the links between steps, by their places


@dataclass(frozen=True, slots=True)
class Part:
    """A skill or plan, and the places of those of its steps that are taken, ascending."""

    record: MemoryRecord
    steps: tuple[int, ...]

    @property
    def tools(self) -> set[str]:
        """The tools of the steps that are taken."""
        tools = tools_by_step(self.record)
        return {tool for at in self.steps if (tool := tools[at]) is not None}


def tools_by_step(record: MemoryRecord) -> list[str | None]:
    """Return the tool of each step of a skill or plan, None for a step without one."""
    payload = record.payload or {}
    if record.type is MemoryType.PLAN_GRAPH:
        return [tool_of_step(node) for node in payload.get("nodes") or ()]
    return [step.get("tool") for step in payload.get("recipe") or ()]


def may_be_part(record: MemoryRecord) -> bool:
    """Return whether a record may be a part: learned skills and plans, whose schemas are known, and none retracted."""
    return record.learned_tools is not None and not record.redacted and record.state is not RecordState.RETRACTED


def parts_for(tools: Collection[str], known: Iterable[MemoryRecord]) -> list[Part]:
    """Return parts of learned skills and plans that have the given tools together; none where a tool is in none.

    Each part has as many of the missing tools as any, and few others; of equal ones, a skill and the one that is first
    in `known` is taken. Steps whose results the chosen ones take arguments from are taken along.
    """
    found: list[Part] = []
    missing = set(tools)
    rest = [(record, {tool for tool in tools_by_step(record) if tool is not None}) for record in known]
    while missing:
        ranked = [
            (len(has & missing), -len(has - set(tools)), record.type is MemoryType.COMPETENCE, -place)
            for place, (record, has) in enumerate(rest)
        ]
        best = max(ranked, default=(0, 0, False, 0))
        if not best[0] or len(found) == MOST_PARTS:
            return []
        record, has = rest[-best[3]]
        found.append(Part(record, _taken(record, has & missing)))
        missing -= found[-1].tools
    return found if sum(len(part.steps) for part in found) <= MOST_STEPS else []


def _taken(record: MemoryRecord, tools: Collection[str]) -> tuple[int, ...]:
    """Return the places of the steps with these tools, and of those that feed them, directly or over others."""
    by_step = tools_by_step(record)
    taken = {at for at, tool in enumerate(by_step) if tool in tools}
    before = {-1: -1}
    while before:
        fed_by = {tool for at in taken for tool in _sources(_step(record, at))}
        before = {at: at for at, tool in enumerate(by_step) if tool in fed_by and at not in taken}
        taken |= before.keys()
    return tuple(sorted(taken))


def plan_of(parts: Sequence[Part]) -> dict[str, Any]:
    """Return the payload of the plan that takes the steps of the parts, in their order.

    A tool that an earlier part has is not taken again. Steps of one part are linked as there, and a step follows that
    of another part whose result it takes an argument from.
    """
    nodes: list[dict[str, Any]] = []
    links: Links = {}
    by_tool: dict[str, int] = {}
    for part in parts:
        tools = tools_by_step(part.record)
        new = [at for at in part.steps if tools[at] not in by_tool]
        places = {at: len(nodes) + number for number, at in enumerate(new)}
        for at, place in places.items():
            nodes.append(_node(part.record, at, place))
            by_tool.setdefault(tools[at] or "", place)
        links |= {(places[a], places[b]): kind for (a, b), kind in _links(part.record, set(places)).items()}
    for place, node in enumerate(nodes):
        for tool in _sources(node):
            source = by_tool.get(tool)
            if source is not None and source != place and not _leads(links, place, source):
                links[source, place] = "data"
    names = [node["id"] for node in nodes]
    payload = {
        "kind": "plan_graph",
        "plan_id": _plan_id(parts),
        "version": _VERSION,
        "nodes": nodes,
        "edges": [{"from": names[a], "to": names[b], "kind": kind} for (a, b), kind in sorted(links.items())],
        "inputs_schema": _inputs(nodes),
        "composed": True,
        "derived_from": [str(part.record.id) for part in parts],
    }
    for key in ("failure_modes", "fallbacks"):
        said = [text for part in parts for text in (part.record.payload or {}).get(key) or ()]
        if said:
            payload[key] = list(dict.fromkeys(said))
    return payload


def composed_record(tenant: Tenant, parts: Sequence[Part], *, confidence: float) -> MemoryRecord:
    """Return the composed plan as a record that is not stored, as sensitive as the most sensitive part.

    Its id follows from its parts, its state is the worst of theirs, and its times, salience and scope are those of the
    first of them.
    """
    payload = plan_of(parts)
    name, text = plan_caption(payload)
    first = parts[0].record
    sources = [{"kind": "artifact", "ref": str(part.record.id)} for part in parts]
    return replace(
        first,
        id=composed_id(tenant, payload["plan_id"]),
        type=MemoryType.PLAN_GRAPH,
        sensitivity=max(part.record.sensitivity for part in parts),
        state=max(part.record.state for part in parts),
        confidence=confidence,
        tags=(),
        version=1,
        name=shortened(name),
        text=text,
        payload=payload,
        provenance={**(first.provenance or {}), "sources": sources} if first.provenance is not None else None,
        interpretation=None,
        learned_tools=None,
    )


def composed_id(tenant: Tenant, plan_id: str) -> UUID:
    """Return the id of a composed plan as a record."""
    mask, bits = _RFC_BITS
    number = int.from_bytes(keyed_hash(tenant.index_key, "composed plan", plan_id.encode())[:16], "big")
    return UUID(int=number & mask | bits)


def is_composed_id(id_: UUID) -> bool:
    """Return whether an id has the form of those of composed plans, which no stored record has."""
    mask, bits = _RFC_BITS
    return id_.int == id_.int & mask | bits


def derived_id(plan: UUID, part: UUID) -> UUID:
    """Return the id of the relation from a composed plan to one of its parts."""
    mask, bits = _RFC_BITS
    return UUID(int=(plan.int ^ part.int) & mask | bits)


def parts_named(plan_id: str) -> list[tuple[UUID, tuple[int, ...]]] | None:
    """Return the ids of the parts of a composed plan, each with the places of its steps; None for another plan's id."""
    if not plan_id.startswith(COMPOSED_PLAN):
        return None
    try:
        read = base64.urlsafe_b64decode(plan_id.removeprefix(COMPOSED_PLAN))
    except ValueError:
        return None
    found: list[tuple[UUID, tuple[int, ...]]] = []
    at = 0
    while at + 17 <= len(read) and len(found) < MOST_PARTS:
        end = at + 17 + 2 * read[at + 16]
        places = tuple(int.from_bytes(read[n : n + 2], "big") for n in range(at + 17, end, 2))
        found.append((UUID(bytes=read[at : at + 16]), places))
        at = end
    is_whole = bool(found) and at == len(read) and len({id_ for id_, _ in found}) == len(found)
    are_ascending = all(places and list(places) == sorted({*places}) for _, places in found)
    return found if is_whole and are_ascending and sum(len(places) for _, places in found) <= MOST_STEPS else None


def parts_of(named: Sequence[tuple[UUID, tuple[int, ...]]], records: Mapping[UUID, MemoryRecord]) -> list[Part] | None:
    """Return the named parts; None where one is not a learned procedure that can be read in full, or was retracted."""
    parts = []
    for id_, places in named:
        record = records.get(id_)
        if record is None or not may_be_part(record) or max(places) >= len(tools_by_step(record)):
            return None
        parts.append(Part(record, places))
    return parts


def _plan_id(parts: Sequence[Part]) -> str:
    written = b"".join(
        part.record.id.bytes + bytes([len(part.steps)]) + b"".join(at.to_bytes(2, "big") for at in part.steps)
        for part in parts
    )
    return COMPOSED_PLAN + base64.urlsafe_b64encode(written).decode()


def _step(record: MemoryRecord, at: int) -> Mapping[str, Any]:
    payload = record.payload or {}
    step: Mapping[str, Any] = payload["nodes" if record.type is MemoryType.PLAN_GRAPH else "recipe"][at]
    return step


def _node(record: MemoryRecord, at: int, place: int) -> dict[str, Any]:
    """Return a step as a node of the composed plan, with an id of its own."""
    step, tool = _step(record, at), tools_by_step(record)[at]
    if record.type is MemoryType.PLAN_GRAPH:
        return {**step, "id": f"{place + 1}: {step['id']}"}
    node = {
        "id": f"{place + 1}: {tool or step['step']}",
        "op": tool or step["step"],
        "label": step["step"],
        "params": {"tool": tool, "args_schema": step.get("args_schema")} if tool else None,
        "effect": step.get("effect"),
        "ask": step.get("ask"),
        "check": step.get("check"),
    }
    return {key: value for key, value in node.items() if value is not None}


def _links(record: MemoryRecord, taken: Collection[int]) -> Links:
    """Return the links between steps that were taken; over those that were not, a link of control takes their place."""
    steps = range(len(tools_by_step(record)))
    if record.type is MemoryType.COMPETENCE:  # its recipe is in order
        order = sorted(taken)
        return dict.fromkeys(pairwise(order), "control")
    payload = record.payload or {}
    place = {node["id"]: at for at, node in enumerate(payload["nodes"])}
    after: dict[int, dict[int, str]] = {at: {} for at in steps}
    for edge in payload.get("edges") or ():
        after[place[edge["from"]]][place[edge["to"]]] = edge["kind"]
    found: Links = {}
    for source in sorted(taken):
        seen: set[int] = set()
        waiting = [(target, kind) for target, kind in after[source].items()]
        while waiting:
            target, kind = waiting.pop()
            if target in taken:
                found[source, target] = kind
            elif target not in seen:
                seen.add(target)
                waiting += [(further, "control") for further in after[target]]
    return found


def _leads(links: Links, source: int, target: int) -> bool:
    """Return whether links lead from one step to another."""
    seen, waiting = {source}, [source]
    while waiting:
        at = waiting.pop()
        if at == target:
            return True
        further = {b for a, b in links if a == at} - seen
        seen |= further
        waiting += further
    return False


def _schema(step: Mapping[str, Any]) -> Mapping[str, Any]:
    schema = step.get("args_schema") or (step.get("params") or {}).get("args_schema")
    return schema if isinstance(schema, Mapping) and isinstance(schema.get("properties", {}), Mapping) else {}


def _sources(step: Mapping[str, Any]) -> set[str]:
    """Return the tools whose results a step takes arguments from, by the `source` of each argument."""
    found = (leaf.get("source") for leaf in _leaves(_schema(step)))
    return {source.split(": ")[0] for source in found if isinstance(source, str) and source != "said"}


def _leaves(schema: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    if isinstance(schema.get("items"), Mapping):
        yield from _leaves(schema["items"])
    elif isinstance(schema.get("properties"), Mapping):
        for one in schema["properties"].values():
            if isinstance(one, Mapping):
                yield from _leaves(one)
    else:
        yield schema


def _inputs(nodes: Iterable[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return the schema of what the user must say: the arguments that come from their words."""
    properties = {
        name: {"type": leaf["type"]}
        for node in nodes
        for name, leaf in (_schema(node).get("properties") or {}).items()
        if isinstance(leaf, Mapping) and leaf.get("source") == "said" and "type" in leaf
    }
    return {"type": "object", "properties": properties} if properties else None
