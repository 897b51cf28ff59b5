"""Items of a LangGraph store: a namespace, a key and a value, with what LangMem and trustcall put into values.

A value that says one text is a statement of it; one that is a triple is that fact; any other object, such as a profile,
becomes a statement for each of its fields. What they are about is the namespace, without the words that only file it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from stratagraph.memory.imports.fields import Fields, Reading
from stratagraph.memory.imports.formats.format import Difference, first_difference
from stratagraph.memory.imports.memories.form import Named, RefusedMemory, Statement
from stratagraph.memory.imports.memories.format import Found, MemoryFormat, Row, Rows, each, first_fitting
from stratagraph.memory.imports.memories.values import scalar_tags
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.payloads.semantic import NOTE

_SYSTEM = "langgraph"
_TEXTS = ("memory", "text", "content", "data", "fact", "value")  # fields of a value that may say all of it
_FILING = re.compile(
    r"(user_?)?(memor(y|ies)|users?|profiles?|facts?|stores?|collections?|items?|semantic|episodic|procedural|agents?"
    r"|assistants?|preferences?|notes?|langmem|triples?|default|documents?|data|info)"
)


def _difference(row: Any) -> Difference | None:
    if isinstance(row, dict) and isinstance(row.get("items"), list) and row["items"]:
        return first_fitting(row["items"], _item_difference)
    return _item_difference(row)


def _item_difference(row: Any) -> Difference | None:
    is_object = isinstance(row, dict)
    return first_difference(
        [
            (is_object, "its first value is no object"),
            (
                is_object and isinstance(row.get("namespace", row.get("prefix")), list | str),
                "it has no `namespace` (or `prefix`)",
            ),
            (is_object and isinstance(row.get("key"), str), "it has no `key` that is a string"),
            (is_object and isinstance(_value_of(row.get("value")), dict), "it has no `value` that is an object"),
        ]
    )


def _read(rows: Rows, reading: Reading) -> Iterator[Found]:
    for row in rows:
        if isinstance(row, RefusedMemory):
            yield row
        elif isinstance(row.value, dict) and isinstance(row.value.get("items"), list):
            with reading.object(row.value, "") as fields:
                fields.take("items")
            yield from each(_items(row), reading, _item)
        else:
            yield from each([(row.place, row.value)], reading, _item)


def _value_of(value: Any) -> Any:
    """Return the value of an item; a dump of the table may have its JSON as a text."""
    if not isinstance(value, str):
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return value


def _items(row: Row) -> Iterator[tuple[str, Any]]:
    for number, value in enumerate(row.value["items"]):
        yield f"items.{number}", value


def _item(fields: Fields) -> Iterable[Found]:
    namespace = _namespace(fields)
    key = fields.id("key")
    if key is None:
        raise InvalidInput("key: is missing; it must be a string")
    at, changed = fields.time("created_at", "createdAt"), fields.time("updated_at", "updatedAt")
    fields.skip("scores of a search", "score")
    value = _value_of(fields.take("value"))
    subject = _subject(namespace, key)
    told = _Told(
        id=f"{'/'.join(namespace)}:{key}",
        subject=subject,
        at=at,
        changed=changed,
        tags=(f"namespace:{'/'.join(namespace)}",),
    )
    if not isinstance(value, dict):
        raise InvalidInput("value: must be an object")
    with fields.reading.object(value, "value") as inner:
        return list(_value(inner, value, told))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """What all statements of one item share."""

    id: str
    subject: Named
    at: datetime | None
    changed: datetime | None
    tags: tuple[str, ...]

    def statement(self, part: str, predicate: str, value: Any, tags: Iterable[str] = (), **more: Any) -> Statement:
        """Return a statement of the item; `part` is the field of its value that it is of, empty for the whole."""
        return Statement(
            id=f"{self.id}:{part}" if part else self.id,
            subject=more.pop("subject", self.subject),
            predicate=predicate,
            value=value,
            at=self.at,
            changed_at=self.changed,
            tags=(*self.tags, *tags),
            **more,
        )


def _value(fields: Fields, value: Mapping[str, Any], told: _Told) -> Iterator[Found]:
    kind, content = value.get("kind"), value.get("content")
    if isinstance(kind, str) and isinstance(content, dict):  # LangMem and trustcall: the name of a schema, and a value
        fields.take("kind", "content")
        with fields.reading.object(content, fields.path("content")) as inner:
            yield from _content(inner, content, told, (f"kind:{kind}",))
    else:
        yield from _content(fields, value, told, ())


def _content(fields: Fields, value: Mapping[str, Any], told: _Told, tags: Sequence[str]) -> Iterator[Found]:
    triple = tuple(value.get(name) for name in ("subject", "predicate", "object"))
    if all(isinstance(one, str) and one.strip() for one in triple):
        fields.take("subject", "predicate", "object")
        context = fields.text("context")
        subject, predicate, object_ = (str(one) for one in triple)
        about = (told.subject,) if told.subject.name != subject else ()
        more = scalar_tags(fields, value)
        yield told.statement(
            "", predicate, object_, [*tags, *more], subject=Named(name=subject), text=context, about=about
        )
        return
    said = [name for name in _TEXTS if isinstance(value.get(name), str) and value[name].strip()]
    if said:
        text = fields.required_text(said[0])
        rest = {name: one for name, one in value.items() if name != said[0]}
        yield told.statement("", NOTE, text, [*tags, *scalar_tags(fields, rest)])
        return
    for name, one in value.items():
        if one in (None, "", [], {}) or not name.strip():
            continue
        fields.take(name)
        yield told.statement(name, name, one, tags)


def _namespace(fields: Fields) -> list[str]:
    value = fields.take("namespace", "prefix")
    parts = value.split(".") if isinstance(value, str) else value
    if not isinstance(parts, list) or not parts or not all(isinstance(one, str) and one.strip() for one in parts):
        raise InvalidInput("namespace: must be a list of strings that are not blank, such as [memories, alex]")
    return parts


def _subject(namespace: Sequence[str], key: str) -> Named:
    """Return what an item is about: the last part of the namespace that does not only file it."""
    named = [one for one in namespace if not _FILING.fullmatch(one.lower())]
    if named:
        return Named(name=named[-1], id=named[-1])
    if not _FILING.fullmatch(key.lower()) and len(namespace) == 1 and namespace[0].lower().rstrip("s") == "user":
        return Named(name=key, id=key)
    return Named(name="/".join(namespace), id="/".join(namespace))


LANGGRAPH_STORE = MemoryFormat(
    key="langgraph-store",
    name="LangGraph store",
    system=_SYSTEM,
    documented="LangGraph 1.0 (BaseStore items, the table `store`) with the values of LangMem 0.0.30",
    difference=_difference,
    read=_read,
    fields=frozenset({"items", "namespace", "prefix", "key", "value"}),
)
