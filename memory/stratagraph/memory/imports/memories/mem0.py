"""mem0: what `get_all`, `search` and an export return, the history of changes, and the relations of graph memory.

A memory is a statement about its user, or else its agent or its run. Of a history, the present text is the memory, and
each earlier one a statement that held until it was changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any

from stratagraph.memory.imports.fields import Fields, Reading
from stratagraph.memory.imports.formats.format import Difference, first_difference
from stratagraph.memory.imports.memories.form import Named, RefusedMemory, Statement
from stratagraph.memory.imports.memories.format import SHOWN, Found, MemoryFormat, Row, Rows, each, located
from stratagraph.memory.imports.memories.mem0_history import read_history
from stratagraph.memory.imports.memories.mem0_statements import SYSTEM, owners_of, read_present, statement_of

_LISTS = ("results", "memories", "relations", "history")
_OF_MEMORY = ("id", "user_id", "agent_id", "run_id", "userId", "agentId", "runId", "hash")


def _difference(row: Any) -> Difference | None:
    parts = list(islice(_parts(Row("", row)), SHOWN))
    if not parts:
        is_empty = isinstance(row, dict) and isinstance(row.get("results"), list)  # there are no memories
        return None if is_empty else _part_difference("", None)
    differences = [_part_difference(path, value) for _, path, value in parts]
    return None if None in differences else differences[0]


def _part_difference(path: str, value: Any) -> Difference | None:
    what = f"`{path}`" if path else "it"
    fits = isinstance(value, dict) and (_is_memory(value) or _is_change(value) or _is_relation(value))
    return first_difference(
        [
            (isinstance(value, dict), f"{what} is no object" if path else "its first value is no object"),
            (fits, f"{what} {_lacking(value)}"),
        ]
    )


def _lacking(value: Any) -> str:
    """Return what an object that is none of mem0 has not, by what it has."""
    has = value.keys() if isinstance(value, dict) else set()
    if "memory_id" in has:
        return "has no `event`"
    if "relationship" in has:
        return "has no `source`"
    if isinstance(value.get("memory") if has else None, str):
        return "has neither an `id` nor a `user_id`"
    if not has.isdisjoint(_OF_MEMORY):
        return "has no `memory` that is a string"
    return "has neither `memory` with an `id` or a `user_id`, nor `memory_id` with an `event`"


def _is_memory(value: dict[str, Any]) -> bool:
    has_text = isinstance(value.get("memory"), str) or isinstance(value.get("data"), str)
    return has_text and any(name in value for name in _OF_MEMORY)


def _is_change(value: Any) -> bool:
    return isinstance(value, dict) and "memory_id" in value and "event" in value


def _is_relation(value: Any) -> bool:
    return isinstance(value, dict) and "relationship" in value and "source" in value


def _read(rows: Rows, reading: Reading) -> Iterator[Found]:
    """Yield the texts that memories have had, where the file has their history, then the others, then relations."""
    changes: dict[str, list[tuple[str, Any]]] = {}
    for row in rows:
        if isinstance(row, RefusedMemory):
            yield row
            continue
        _count_wrapper(row, reading)
        for place, _, value in _parts(row):
            if _is_change(value):
                changes.setdefault(str(value["memory_id"]), []).append((place, value))
    yield from _histories(rows, changes, reading)
    for place, within, value in _all_parts(rows):
        if not _is_change(value) and not _is_relation(value):
            is_told = isinstance(value, dict) and str(value.get("id")) in changes
            yield from each([(place, value)], reading, partial(_memory, told=is_told), within=within)
    for place, within, value in _all_parts(rows):
        if _is_relation(value):
            yield from each([(place, value)], reading, _relation, within=within)


def _histories(rows: Rows, changes: Mapping[str, list[tuple[str, Any]]], reading: Reading) -> Iterator[Found]:
    memories: dict[str, list[Any]] = {}
    if changes:
        for _, _, value in _all_parts(rows):
            if isinstance(value, dict) and str(value.get("id")) in changes and not _is_change(value):
                memories.setdefault(str(value["id"]), []).append(value)
    for id_, entries in changes.items():
        history = read_history(id_, entries, memories.get(id_, ()), reading)
        yield from (located(one, entries[0][0]) for one in history)


def _all_parts(rows: Rows) -> Iterator[tuple[str, str, Any]]:
    for row in rows:
        if isinstance(row, Row):
            yield from _parts(row)


def _parts(row: Row) -> Iterator[tuple[str, str, Any]]:
    """Yield the memories, changes and relations of a row, each with its place and its path in the row."""
    value = row.value
    if not _is_wrapper(value):
        yield row.place, "", _plain(value)
        return
    for name in _LISTS:
        listed = value.get(name)
        if isinstance(listed, dict) and name == "history":  # the changes of each memory, by its id
            entries = [one if isinstance(one, list) else [one] for one in listed.values()]
            listed = [one for several in entries for one in several]
        for number, one in enumerate(listed if isinstance(listed, list) else ()):
            path = f"{name}.{number}"
            yield " ".join(filter(None, (row.place, path))), path, _plain(one)


def _plain(value: Any) -> Any:
    """Return a memory as `get_all` shows it, also of a point of a vector store, which has its fields in `payload`."""
    payload = value.get("payload") if isinstance(value, dict) else None
    if not isinstance(payload, dict) or not isinstance(payload.get("data"), str):
        return value
    return {**payload, **{name: one for name, one in value.items() if name not in ("payload", "vector")}}


def _is_wrapper(value: Any) -> bool:
    return isinstance(value, dict) and any(isinstance(value.get(name), list) for name in _LISTS)


def _count_wrapper(row: Row, reading: Reading) -> None:
    """Count the fields beside the lists of an answer that are not read."""
    if _is_wrapper(row.value):
        with reading.object(row.value, "") as fields:
            fields.take("count", "next", "previous", "total", "page", "page_size")
            fields.take(*(name for name in _LISTS if isinstance(row.value.get(name), list) or name == "history"))


def _memory(fields: Fields, *, told: bool = False) -> Iterable[Found]:
    """Return a memory. With `told`, its text and its times are those of its history, which is read apart."""
    present = read_present(fields)
    _skip_bookkeeping(fields)
    if fields.text("event") == "DELETE":
        fields.reading.skipped["memories that were deleted"] += 1
        return ()
    if told:
        return ()
    return [
        statement_of(
            present.id or f"text:{present.text}",
            present.text,
            present.owners,
            present.tags,
            at=present.at,
            changed=present.changed,
            start=present.start,
            end=present.end,
            unsaid=("start",),
        )
    ]


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
    fields=frozenset(
        {*_LISTS, *_OF_MEMORY, "memory", "memory_id", "event", "old_memory", "new_memory", "relationship", "source"}
        | {"destination", "expiration_date", "metadata", "categories"}
    ),
    together=True,
)
