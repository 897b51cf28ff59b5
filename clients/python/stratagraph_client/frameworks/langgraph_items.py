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

from stratagraph_client.requests import as_json

PREDICATE = "holds"  # not that of notes: a note about the path of an item would take its place
TAG = "langgraph"  # of every item
EXTRA = "item"
MAX_TAG = 256  # characters
MAX_DEPTH = 60  # labels of a namespace; a record has at most 64 tags
MAX_SUBJECT = 1_900  # characters
MAX_SUMMARY = 1_000  # characters
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
_SHORT = 24  # characters
_SHORT_SECRETS = ("xox", "xapp")  # of Slack
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
    value = _value(about, payload["object"])
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


def _value(about: Mapping[str, Any], held: Any) -> dict[str, Any]:
    """Return the value of an item whose fact has the object `held`, which another client may have corrected.

    A corrected text is that of the one field that is searched, or else of `text`; fields that are kept beside stay.
    """
    if "value" not in about:
        return held if isinstance(held, dict) else {"text": held}
    value: dict[str, Any] = about["value"]
    index: list[str] = about["index"] or []
    said = held.get("text") if isinstance(held, dict) else held
    if isinstance(held, dict) and said == _searched(value, index):
        return value
    text = said[0] if isinstance(said, list) and len(said) == 1 else said
    name = index[0] if len(index) == 1 and isinstance(value.get(index[0]), str) else "text"
    return {**value, name: text}


def _searched(value: Mapping[str, Any], index: Sequence[str]) -> list[str] | None:
    """Return the texts of the fields that are searched; None where no field is."""
    return [text for path in index for text in get_text_at_path(dict(value), path)] if index else None


def subject_of(namespace: Sequence[str], key: str) -> str:
    """Return the name under which an item is found: one for each namespace and key, however names are compared.

    Names are compared without case, accents and the like, so that all but small letters, digits and hyphens is escaped.
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
    # A hyphen stays in ids, and in labels that are too short for a secret, which would be masked.
    is_short = len(label) <= _SHORT and not any(begin in label for begin in _SHORT_SECRETS)
    safe = _PLAIN | {"-"} if is_short or _HEX.fullmatch(label) else _PLAIN
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
    hash of the value, by which two values are told apart. Raises InvalidInput for a value that JSON cannot hold.
    """
    about: dict[str, JsonValue] = {
        "namespace": list(namespace),
        "key": key,
        "created_at": created_at.isoformat(),
        "put": str(uuid4()),
    }
    thing: JsonValue = as_json("value", dict(value))
    if index is not True:
        about |= {"value": thing, "index": list(index) if index else False}
        thing = {"sha256": hashlib.sha256(json.dumps(thing, sort_keys=True).encode()).hexdigest()}
        if (searched := _searched(value, index or [])) is not None:
            thing["text"] = list[JsonValue](searched)
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
    texts = list(_texts(value)) if index is True else _searched(value, index or []) or []
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
