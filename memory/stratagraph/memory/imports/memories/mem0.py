"""mem0: what `get_all`, `search` and an export return, the history of changes, and the relations of graph memory.

A memory is a statement about its user, or else its agent or its run. Of a history, the present text is the memory, and
each earlier one a statement that held until it was changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from stratagraph.memory.imports.fields import Fields, Reading
from stratagraph.memory.imports.formats.format import Difference, first_difference
from stratagraph.memory.imports.memories.form import Named, RefusedMemory, Statement
from stratagraph.memory.imports.memories.format import Found, MemoryFormat, Row, Rows, each, located
from stratagraph.memory.imports.memories.mem0_history import read_history
from stratagraph.memory.imports.memories.mem0_statements import SYSTEM, owners_of, statement_of

_LISTS = ("results", "memories", "relations", "history")
_TEXTS = ("memory", "data", "text")


def _difference(rows: Sequence[Any]) -> Difference | None:
    row = _first(rows)
    is_object = isinstance(row, dict)
    return first_difference(
        [
            (is_object, "its first value is no object"),
            (is_object and _is_memory(row), "it has neither `memory` with an `id`, nor `memory_id` with an `event`"),
        ]
    )


def _first(rows: Sequence[Any]) -> Any:
    """Return the first memory, change or relation of a file; the file itself if it has none."""
    row: Any = rows[0] if rows else None
    if isinstance(row, dict):
        lists = [row[name] for name in _LISTS if isinstance(row.get(name), list)]
        if lists:
            return next((one[0] for one in lists if one), {"relationship": "", "source": "", "target": ""})
    return row


def _is_memory(row: dict[str, Any]) -> bool:
    is_memory = any(isinstance(row.get(name), str) for name in ("memory", "data")) and "id" in row
    is_change = "memory_id" in row and "event" in row
    return is_memory or is_change or ("relationship" in row and "source" in row)


def _read(rows: Rows, reading: Reading) -> Iterator[Found]:
    changes: dict[str, list[tuple[str, Any]]] = {}
    owners: dict[str, Any] = {}
    memories: list[tuple[str, str, Any]] = []
    relations: list[tuple[str, str, Any]] = []
    for row in rows:
        if isinstance(row, RefusedMemory):
            yield row
            continue
        for place, within, value in _parts(row, reading):
            if isinstance(value, dict) and "memory_id" in value and "event" in value:
                changes.setdefault(str(value["memory_id"]), []).append((place, value))
            elif isinstance(value, dict) and "relationship" in value:
                relations.append((place, within, value))
            else:
                if isinstance(value, dict) and value.get("id") is not None:
                    owners[str(value["id"])] = value
                memories.append((place, within, value))
    for id_, listed in changes.items():
        history = read_history(id_, listed, owners.get(id_), reading)
        yield from (located(one, listed[0][0]) for one in history)
    for place, within, value in memories:
        is_told = isinstance(value, dict) and str(value.get("id")) in changes
        yield from each([(place, value)], reading, partial(_memory, told=is_told), within=within)
    for place, within, value in relations:
        yield from each([(place, value)], reading, _relation, within=within)


def _parts(row: Row, reading: Reading) -> Iterator[tuple[str, str, Any]]:
    """Yield the memories, changes and relations of a row, each with its place and its path in the row."""
    value = row.value
    if not isinstance(value, dict) or not any(isinstance(value.get(name), list) for name in _LISTS):
        yield row.place, "", value
        return
    with reading.object(value, "") as fields:
        fields.take("count", "next", "previous", "total", "page", "page_size")
        for name in _LISTS:
            for number, one in enumerate(fields.list(name) if isinstance(value.get(name), list) else ()):
                path = f"{name}.{number}"
                yield " ".join(filter(None, (row.place, path))), path, one


def _memory(fields: Fields, *, told: bool = False) -> Iterable[Found]:
    """Return a memory. With `told`, its text and its times are those of its history, which is read apart."""
    id_ = fields.id("id")
    text = fields.required_text(*_TEXTS)
    at, changed = fields.time("created_at"), fields.time("updated_at")
    owners, tags = owners_of(fields)
    ended = fields.time("expiration_date")
    _skip_bookkeeping(fields)
    if told:
        return ()
    return [statement_of(id_ or f"text:{text}", text, owners, tags, at=at, changed=changed, end=ended)]


def _skip_bookkeeping(fields: Fields) -> None:
    fields.skip("hashes and scores of memories", "hash", "score")


def _relation(fields: Fields) -> Iterable[Found]:
    source, target = fields.required_text("source"), fields.required_text("target", "destination")
    predicate = fields.required_text("relationship", "relation", "predicate")
    fields.skip("hashes and scores of memories", "score", "similarity")
    owners, tags = owners_of(fields)
    whose = owners[0].id if owners else ""
    return [
        Statement(
            id=f"relation:{whose}:{source}:{predicate}:{target}",
            subject=Named(name=source, type=fields.text("source_type")),
            predicate=predicate,
            value=Named(name=target, type=fields.text("target_type", "destination_type")),
            about=tuple(owners),
            tags=tags,
            at=fields.time("created_at"),
        )
    ]


MEM0 = MemoryFormat(
    key="mem0",
    name="mem0",
    system=SYSTEM,
    documented="mem0 1.0 (get_all, history, graph memory; platform export)",
    difference=_difference,
    read=_read,
)
