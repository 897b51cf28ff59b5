"""How an item of a LangGraph store is kept: one current fact for each namespace and key.

The subject of the fact is the path of the item, its object the value; an overwrite supersedes it. Other clients recall
the fact as any other. What only this store needs is in the key `item` of the payload.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from langgraph.store.base import InvalidNamespaceError, Item, SearchItem, get_text_at_path
from pydantic import JsonValue

PREDICATE = "holds"  # not that of notes: a note about the path of an item would take its place
TAG = "langgraph"  # of every item
EXTRA = "item"
MAX_TAG = 256  # characters
MAX_DEPTH = 60  # labels of a namespace; a record has at most 64 tags
MAX_SUBJECT = 1_900  # characters
MAX_SUMMARY = 1_000  # characters
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
_HEX = re.compile(r"[0-9a-f-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredItem:
    """An item and the fact that holds it. `put` is the id of the write that stored its value, whoever lets it live on.

    `ends_at` is when it expires; `ttl` is counted from each access.
    """

    id: str
    version: int
    scope: str
    sensitivity: str
    namespace: tuple[str, ...]
    key: str
    value: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    ttl: timedelta | None
    ends_at: datetime | None
    is_indexed: bool
    put: str

    @property
    def place(self) -> tuple[tuple[str, ...], str]:
        return self.namespace, self.key

    def as_item(self) -> Item:
        return Item(
            value=self.value,
            key=self.key,
            namespace=self.namespace,
            created_at=self.created_at,
            updated_at=self.updated_at,
        )

    def as_found(self, score: float | None) -> SearchItem:
        return SearchItem(
            namespace=self.namespace,
            key=self.key,
            value=self.value,
            created_at=self.created_at,
            updated_at=self.updated_at,
            score=score,
        )


def stored_item(node: Mapping[str, Any]) -> StoredItem | None:
    """Return the item that a record holds; None of any other record, and of one whose content is withheld."""
    payload = node["payload"]
    about = payload.get(EXTRA) if isinstance(payload, dict) else None
    if not isinstance(about, dict) or not isinstance(about.get("key"), str):
        return None
    value = about["value"] if "value" in about else payload["object"]
    if not isinstance(value, dict):
        return None
    minutes, end = about.get("ttl_minutes"), payload["validity"].get("end")
    return StoredItem(
        id=node["id"],
        version=node["version"],
        scope=node["scope"],
        sensitivity=node["sensitivity"],
        namespace=tuple(about["namespace"]),
        key=about["key"],
        value=value,
        created_at=datetime.fromisoformat(about["created_at"]),
        updated_at=datetime.fromisoformat(node["updatedAt"]),
        ttl=timedelta(minutes=minutes) if minutes is not None else None,
        ends_at=datetime.fromisoformat(end) if end is not None else None,
        is_indexed=about.get("index") is not False,
        put=about["put"],
    )


def subject_of(namespace: Sequence[str], key: str) -> str:
    """Return the name under which an item is found: one for each namespace and key, however names are compared.

    Names are compared without case, accents and the like, so that all but small letters and digits is escaped.
    """
    subject = "/".join([_escaped(label) for label in namespace] + [_escaped(key)])
    if len(subject) <= MAX_SUBJECT:
        return subject
    exact = json.dumps([*namespace, key]).encode()
    return f"item/{hashlib.sha256(exact).hexdigest()}"


def words_of(prefix: Sequence[str]) -> str:
    """Return how the subjects of a namespace begin, as the longest text that one phrase of a question may be."""
    words = ""
    for label in prefix:
        longer = f"{words}/{_escaped(label)}" if words else _escaped(label)
        if len(longer) > 180:  # a phrase may have 200 characters
            break
        words = longer
    return words


def _escaped(label: str) -> str:
    safe = _PLAIN | {"-"} if _HEX.fullmatch(label) else _PLAIN  # `-` in ids; elsewhere it might begin a secret
    return "".join(
        c if c in safe else "".join(f"%{byte:02x}" for byte in c.encode("utf-8", "surrogatepass")) for c in label
    )


def tags_of(namespace: Sequence[str]) -> list[str]:
    """Return the tags of an item: of its namespace, and of each namespace that this one is in."""
    if len(namespace) > MAX_DEPTH:
        raise InvalidNamespaceError(f"The namespace has {len(namespace)} labels; give at most {MAX_DEPTH}.")
    tags = [TAG, _tag("namespace", namespace)]
    tags += [_tag("under", namespace[:depth]) for depth in range(1, len(namespace) + 1)]
    return tags


def tag_under(prefix: Sequence[str]) -> str:
    """Return the tag that all items under a prefix have."""
    return _tag("under", prefix) if prefix else TAG


def _tag(kind: str, namespace: Sequence[str]) -> str:
    tag = f"{kind}:" + "/".join(label.replace("%", "%25").replace("/", "%2f") for label in namespace)
    if len(tag) > MAX_TAG:
        raise InvalidNamespaceError(
            f"The namespace beginning with {namespace[0][:40]!r} has {len(tag) - len(kind) - 1} characters; "
            f"give at most {MAX_TAG - len('namespace:')} in all its labels."
        )
    return tag


def fact_of(
    namespace: Sequence[str],
    key: str,
    value: Mapping[str, Any],
    *,
    index: bool | Sequence[str],
    ttl_minutes: float | None,
    created_at: datetime,
    now: datetime,
) -> dict[str, JsonValue]:
    """Return the fact that holds an item.

    `index` names the fields whose text is searched: True for all. Without all of them the object is their text beside a
    hash of the value, by which two values are told apart.
    """
    about: dict[str, JsonValue] = {
        "namespace": list(namespace),
        "key": key,
        "created_at": created_at.isoformat(),
        "put": str(uuid4()),
    }
    thing: JsonValue = dict(value)
    if index is not True:
        about |= {"value": thing, "index": list(index) if index else False}
        thing = {"sha256": hashlib.sha256(json.dumps(thing, sort_keys=True).encode()).hexdigest()}
        if index:
            thing["text"] = [text for path in index for text in get_text_at_path(dict(value), path)]
    fact: dict[str, JsonValue] = {
        "subject": subject_of(namespace, key),
        "predicate": PREDICATE,
        "object": thing,
        "revisionPolicy": "REPLACE",
        "extra": {EXTRA: about},
    }
    if ttl_minutes is not None:
        about["ttl_minutes"] = ttl_minutes
        fact["validity"] = {"mode": "TIMEBOXED", "end": (now + timedelta(minutes=ttl_minutes)).isoformat()}
    return fact


def summary_of(value: Mapping[str, Any], index: bool | Sequence[str]) -> str | None:
    """Return the texts of a value that are searched, as the caption of its record."""
    if index is True:
        texts = list(_texts(value))
    else:
        texts = [text for path in index or () for text in get_text_at_path(dict(value), path)]
    return "; ".join(text for text in texts if text.strip())[:MAX_SUMMARY].strip() or None


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _texts(one)
