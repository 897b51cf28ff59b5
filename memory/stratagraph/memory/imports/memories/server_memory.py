"""The knowledge graph of MCP's `server-memory`: entities with observations, and relations between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from stratagraph.memory.imports.fields import Fields, Reading
from stratagraph.memory.imports.formats.format import Difference, first_difference
from stratagraph.memory.imports.memories.form import Named, RefusedMemory, Statement, Thing
from stratagraph.memory.imports.memories.format import Found, MemoryFormat, Row, Rows, each
from stratagraph.store.model.errors import InvalidInput

_SYSTEM = "server-memory"


def _difference(row: Any) -> Difference | None:
    if isinstance(row, dict) and _is_graph(row):
        return None
    is_object = isinstance(row, dict)
    return first_difference(
        [
            (is_object, "its first value is no object"),
            (is_object and row.get("type") in ("entity", "relation"), "its `type` is neither entity nor relation"),
            (
                is_object and ("entityType" in row or "relationType" in row),
                "it has neither `entityType` nor `relationType`",
            ),
        ]
    )


def _is_graph(row: dict[str, Any]) -> bool:
    """Return whether it is the answer of `read_graph`, which has all entities and relations in one value."""
    return all(isinstance(row.get(name), list) for name in ("entities", "relations"))


def _read(rows: Rows, reading: Reading) -> Iterator[Found]:
    types: dict[str, str] = {}
    for _, value in _values(rows):
        name, type_ = (value.get("name"), value.get("entityType")) if isinstance(value, dict) else (None, None)
        if isinstance(name, str) and isinstance(type_, str):
            types[name] = type_
    for row in rows:
        if isinstance(row, RefusedMemory):
            yield row
    yield from each(_values(rows), reading, lambda fields: _memories(fields, types))


def _values(rows: Rows) -> Iterator[tuple[str, Any]]:
    for row in rows:
        if isinstance(row, Row) and isinstance(row.value, dict) and _is_graph(row.value):
            for kind, name in (("entity", "entities"), ("relation", "relations")):
                for number, one in enumerate(row.value[name]):
                    yield f"{name}.{number}", {"type": kind, **one} if isinstance(one, dict) else one
        elif isinstance(row, Row):
            yield row.place, row.value


def _memories(fields: Fields, types: dict[str, str]) -> Iterable[Found]:
    kind = fields.text("type")
    if kind == "entity":
        return _entity(fields)
    if kind == "relation":
        return _relation(fields, types)
    raise InvalidInput(f"type: {(kind or 'nothing')[:40]!r} is unknown; it must be entity or relation")


def _entity(fields: Fields) -> Iterable[Found]:
    named = _named(fields.required_text("name"), fields.text("entityType"))
    yield Thing(id=f"entity:{named.id}", named=named)
    for place, text in enumerate(fields.list("observations")):
        if not isinstance(text, str):
            raise InvalidInput(f"observations.{place}: must be a string")
        if text.strip():
            yield Statement(id=f"observation:{named.id}:{text}", subject=named, predicate="observation", value=text)


def _relation(fields: Fields, types: dict[str, str]) -> Iterable[Found]:
    source, target = (fields.required_text(name) for name in ("from", "to"))
    predicate = fields.required_text("relationType")
    yield Statement(
        id=f"relation:{source}:{predicate}:{target}",
        subject=_named(source, types.get(source)),
        predicate=predicate,
        value=_named(target, types.get(target)),
    )


def _named(name: str, type_: str | None) -> Named:
    """Return an entity, whose name is its id in this system."""
    return Named(name=name, type=type_ if type_ and type_.strip() else None, id=name)


SERVER_MEMORY = MemoryFormat(
    key="server-memory",
    name="MCP server-memory",
    system=_SYSTEM,
    documented="@modelcontextprotocol/server-memory 0.6.3 (memory.jsonl, read_graph)",
    difference=_difference,
    read=_read,
    fields=frozenset(
        {"entities", "relations", "entityType", "relationType", "observations", "type", "name", "from", "to"}
    ),
)
