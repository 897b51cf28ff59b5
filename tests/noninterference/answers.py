"""Answers in a form in which those of two stores are equal if their callers cannot tell the stores apart.

Ids and instants are replaced by their rank among all ids and instants of the answers, and tokens by a constant.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)")
# What depends on timing, or is a token without an order. `at` is the end of an erasure by the clock.
_TOKENS = ("sequence", "freshness", "digest", "salt", "targetHash", "retrievalId", "playbookId", "seconds")


def plain(answer: Any) -> Any:
    """Return the answer without tokens, with cursors spelled out and hashes counted."""
    if isinstance(answer, dict):
        return {key: _plain_field(key, value) for key, value in answer.items() if key not in _TOKENS}
    return [plain(one) for one in answer] if isinstance(answer, list) else answer


def _plain_field(key: str, value: Any) -> Any:
    if key == "endCursor" and isinstance(value, str):
        return _cursor(value)
    return len(value) if key == "hashes" and isinstance(value, list) else plain(value)


def _cursor(text: str) -> list[str]:
    """Return the numbers and the id in a cursor."""
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    ids = [str(UUID(bytes=data[-16:]))] if len(data) >= 16 else []
    return [str(int.from_bytes(data[: len(data) % 16 or (0 if ids else len(data))])), *ids]


def renamed(answers: Any) -> Any:
    """Return the answers with each id and each instant replaced by its rank."""
    ids = sorted({UUID(id_) for text in texts(answers) for id_ in _ID.findall(text)})
    instants = sorted({_at(instant) for text in texts(answers) for instant in _INSTANT.findall(text)})
    names = {str(id_): f"<id {rank}>" for rank, id_ in enumerate(ids)}
    times = {instant: f"<at {rank}>" for rank, instant in enumerate(instants)}

    def name(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: name(one) for key, one in value.items()}
        if isinstance(value, list):
            return [name(one) for one in value]
        if not isinstance(value, str):
            return value
        text = _INSTANT.sub(lambda found: times[_at(found[0])], value)
        return _ID.sub(lambda found: names[found[0]], text)

    return name(answers)


def texts(value: Any) -> Iterator[str]:
    """Return all texts in a JSON value."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield key
            yield from texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from texts(one)
    elif isinstance(value, str):
        yield value


def ids_in(value: Any) -> set[UUID]:
    """Return all ids in the texts of a JSON value, those in cursors included."""
    return {UUID(id_) for text in texts(plain(value)) for id_ in _ID.findall(text)}


def difference(one: Any, other: Any, path: str = "") -> str | None:
    """Return where two JSON values differ first, with both values there; None if they are equal."""
    if isinstance(one, list) and isinstance(other, list):
        one, other = dict(enumerate(one)), dict(enumerate(other))
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return None if one == other else f"{path}: {one!r:.600} and {other!r:.600}"
    for key in [*one, *(key for key in other if key not in one)]:
        if key in one and key in other:
            found = difference(one[key], other[key], f"{path}.{key}")
            if found is not None:
                return found
        else:
            which, value = ("first", one[key]) if key in one else ("second", other[key])
            return f"{path}.{key}: only in the {which}: {value!r:.600}"
    return None


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text)
