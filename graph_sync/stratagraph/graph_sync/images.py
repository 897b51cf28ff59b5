"""Images: all that the mirror shows of one row, as Postgres requires it and as Neo4j has it, in one comparable form.

The required image is made from the very dictionaries that the worker writes (`mapping`), so that whatever the worker
comes to write is compared as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from stratagraph.graph_sync.differences import Drift
from stratagraph.graph_sync.mapping import seconds_and_nanoseconds

GUARD = "gen"  # the property that a rebuild changes; it is compared with the generations, not with the row
Properties = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """All that the mirror shows of a record or a relation.

    `labels` are those of the record's node, `ends` the ids of the relation's two records; `parts` are what hangs on the
    record (steps, links between steps, relationships to tools), each with the number of times that it is there.
    `optional` parts may be absent.
    """

    properties: Properties
    labels: frozenset[str] = frozenset()
    ends: tuple[Any, ...] = ()
    parts: Counter[Any] = field(default_factory=Counter)
    optional: frozenset[Any] = frozenset()


def record_image(node: Mapping[str, Any]) -> Image:
    """Return the required image of a record that `mapping.node` has converted."""
    ten = node["ten"]
    parts: Counter[Any] = Counter()
    for step in node["steps"]:
        shown = {"ten": ten, "id": step["id"], "op": step["op"], "name": step["op"], "acl": step["acl"]}
        shown |= {count: step[count] for count in ("executed", "failed") if step[count] is not None}
        parts["HAS_STEP", (), ("PlanStep",), _frozen(shown)] += 1
        parts[_frozen(step["id"]), "USES_TOOL", (), _frozen_each(ten, None, step["tool"])] += 1
    for link in node["links"]:
        parts[_frozen(link["source"]), link["kind"], (), _frozen_each(ten, link["target"], None)] += 1
    for tool in node["called"]:
        parts["USES_TOOL", (), ("Tool",), _frozen({"ten": ten, "name": tool})] += 1
    own = node["p"].get("tool")
    is_tool = [("IS_TOOL", (), ("Tool",), _frozen({"ten": ten, "name": own}))] if own is not None else []
    return Image(
        properties=_thawed(node["p"]),
        labels=frozenset({"Mirrored", *node["labels"]}),
        parts=parts,
        optional=frozenset(is_tool),  # the tool need not exist; where it does, `shown_record` requires the relationship
    )


def shown_record(found: Sequence[Any]) -> Image:
    """Return the image of a record's node as `fetch_nodes` read it: labels, properties, parts, links, unlinked tool."""
    labels, properties, parts, links, unlinked = found
    shown: Counter[Any] = Counter()
    for kind, own, far_labels, far in parts:
        shown[kind, _frozen(own), tuple(sorted(far_labels)), _frozen(far)] += 1
    for source, kind, own, *target in links:
        shown[_frozen(source), kind, _frozen(own), _frozen_each(*target)] += 1
    for name in unlinked:
        shown["unlinked tool", _frozen(name)] += 1
    return Image(properties=_thawed(properties), labels=frozenset(labels), parts=shown)


def relation_image(relation: Mapping[str, Any]) -> Image:
    """Return the required image of a relation that `mapping.relation` has converted."""
    return Image(properties=_thawed(relation["p"]), ends=(True, relation["src"], True, relation["dst"]))


def shown_relation(found: Sequence[Any]) -> Image:
    """Return the image of a relationship as `fetch_relations` read it: both ends, and properties."""
    *ends, properties = found
    return Image(properties=_thawed(properties), ends=tuple(ends))


def compare(required: Image, shown: Image, is_generation: Callable[[Any], bool]) -> tuple[Drift, str] | None:
    """Return how a shown image differs from the required one, and in what; None if they are equal.

    `is_generation` says of the value of the property `gen` whether rows may have it at present.
    """
    names = sorted(
        name
        for name in required.properties.keys() | shown.properties.keys()
        if name != GUARD and required.properties.get(name, _ABSENT) != shown.properties.get(name, _ABSENT)
    )
    if not is_generation(shown.properties.get(GUARD, (None, None))[1]):
        names.append(GUARD)
    details = [f"properties {', '.join(names)}"] if names else []
    if required.labels != shown.labels:
        changed = [f"-{label}" for label in sorted(required.labels - shown.labels)]
        changed += [f"+{label}" for label in sorted(shown.labels - required.labels)]
        details.append(f"labels {' '.join(changed)}")
    if required.ends != shown.ends:
        details.append("ends")
    missing, more = required.parts - shown.parts, shown.parts - required.parts
    if missing or any(part not in required.optional or count > 1 for part, count in more.items()):
        details.append("steps, links or tools")
    if not details:
        return None
    return _drift(required.properties, shown.properties, names), "; ".join(details)


def version_of(image: Image) -> int | None:
    """Return the version of an image; None if somebody replaced it by something that is no number."""
    version = image.properties.get("ver", (None, None))[1]
    return version if isinstance(version, int) and not isinstance(version, bool) else None


def is_unguarded(image: Image) -> bool:
    """Return whether the worker's guard cannot be evaluated, so that the row could not be written."""
    return version_of(image) is None or image.properties.get(GUARD, ("", None))[0] != "int"


def _drift(required: Properties, shown: Properties, names: Sequence[str]) -> Drift:
    kinds = [shown.get(name, ("", None))[0] for name in ("ver", "d")]
    if kinds[0] == "int" and required["ver"] != shown["ver"]:
        return Drift.STALE if shown["ver"][1] < required["ver"][1] else Drift.AHEAD
    return Drift.DIFFERENT if "d" in names and kinds[1] == "int" else Drift.EDITED


def _thawed(properties: Mapping[str, Any]) -> Properties:
    return {name: _frozen(value) for name, value in properties.items() if value is not None}


def _frozen_each(*values: Any) -> tuple[Any, ...]:
    return tuple(_frozen(value) for value in values)


def _frozen(value: Any) -> Any:
    """Return a value in a form that can be compared and hashed, and in which 1, 1.0 and true differ.

    A single value becomes a pair of type and value. A point in time of Postgres becomes the list by which `fetch_nodes`
    returns those of the mirror, exact to the nanosecond and with its offset.
    """
    kind = type(value)
    if kind in _SINGLE:
        return kind.__name__, value
    if value is None:
        return None
    if kind is datetime:
        return _frozen(["datetime", *seconds_and_nanoseconds(value), 0])
    if isinstance(value, (list, tuple)):
        return tuple(_frozen(one) for one in value)
    if isinstance(value, Mapping):
        return tuple(sorted((name, _frozen(one)) for name, one in value.items()))
    return kind.__name__, str(value)


_SINGLE = frozenset({str, int, float, bool})
_ABSENT = object()
