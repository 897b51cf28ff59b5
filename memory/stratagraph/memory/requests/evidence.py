"""Evidence as callers give it: entries that name a source, in one of two forms (docs/specification.md, Capture).

`{kind, ref, timestamp?}`, or the older `{source_type, source_id, timestamp?}`, whose source types are mapped to kinds.
Captures and revisions check and read entries by the functions of this module only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic import TypeAdapter, ValidationError

from stratagraph.memory.requests.bounds import MAX_AHEAD, refuse_future
from stratagraph.store.model.canonical import check_json
from stratagraph.store.model.clock import rfc3339
from stratagraph.store.model.error_values import json_type, shown
from stratagraph.store.model.errors import EvidenceRequired, InvalidInput
from stratagraph.store.model.payloads.base import Instant
from stratagraph.store.model.visible_text import is_blank

KINDS = ("event", "artifact", "tool_call", "observation", "outcome", "human")
SOURCE_TYPES = {
    **{kind: kind for kind in KINDS},
    "agent_turn": "event",
    "document": "artifact",
    "episode": "event",
    "file": "artifact",
    "record": "observation",
    "tool": "tool_call",
    "tool_output": "tool_call",
    "user": "human",
    "working_state": "event",
}
_SOURCE_KEYS = ("ref", "source_id", "kind", "source_type")
_INSTANT: TypeAdapter[Any] = TypeAdapter(Instant)


def check_evidence(entries: object, now: datetime, *, path: Sequence[str]) -> None:
    """Check that each entry has a known kind, a reference, and, if it has a time, one with an offset.

    `now` is the time of the service's clock, which no entry may be far ahead of. `path` is that of the list. Raises
    EvidenceRequired for an entry without any key of a source, InvalidInput for another fault.
    """
    if not isinstance(entries, list | tuple):
        raise InvalidInput(
            f"{'.'.join(path)}: must be a list of sources such as {{kind, ref}}, not {json_type(entries)}",
            path=list(path),
        )
    for index, entry in enumerate(entries):
        _check_entry(entry, now, [*path, str(index)])


def _check_entry(entry: object, now: datetime, path: list[str]) -> None:
    where = ".".join(path)
    if not isinstance(entry, dict):
        raise InvalidInput(f"{where}: must be a JSON object such as {{kind, ref}}, not {json_type(entry)}", path=path)
    check_json(entry, path=path)
    if not any(entry.get(key) is not None for key in _SOURCE_KEYS):
        raise EvidenceRequired(f"{where}: names no source; give {{kind, ref}} or {{source_type, source_id}}", path=path)
    if kind_of(entry) is None:
        key = "source_type" if entry.get("kind") is None and entry.get("source_type") is not None else "kind"
        given = entry.get(key)
        said = "is missing" if given is None else f"must be a known kind, not {_quoted(given)}"
        raise InvalidInput(f"{where}.{key}: {said}; give one of {', '.join(KINDS)}", path=[*path, key])
    if not reference_of(entry):
        key = "source_id" if entry.get("source_type") is not None else "ref"
        said = (
            "is missing; give the reference of the source"
            if entry.get(key) is None
            else f"must be the reference of the source, a text that is not blank, not {_quoted(entry[key])}"
        )
        raise InvalidInput(f"{where}.{key}: {said}", path=[*path, key])
    given = entry.get("timestamp")
    time = time_of(entry)
    if given is not None and time is None:
        raise InvalidInput(
            f"{where}.timestamp: must be an RFC 3339 time with an offset, such as 2026-01-28T09:30:00Z, and within the"
            f" years 1 to 9999 in UTC, not {_quoted(given)}",
            path=[*path, "timestamp"],
        )
    if time is not None:
        refuse_future(datetime.fromisoformat(time), now, path=[*path, "timestamp"])


def kind_of(entry: Mapping[str, Any]) -> str | None:
    """Return the kind of the entry's source, one of KINDS; None where it has none or an unknown one."""
    kind = entry.get("kind")
    if kind is not None:
        return kind if kind in KINDS else None
    source_type = entry.get("source_type")
    return SOURCE_TYPES.get(source_type) if isinstance(source_type, str) else None


def names_record(entry: Mapping[str, Any]) -> bool:
    """Return whether the entry says that its reference is a record's; other references may be outside the store."""
    return entry.get("source_type") in ("record", "episode")


def reference_of(entry: Mapping[str, Any]) -> str | None:
    """Return the reference of the entry's source; None where it has none that is a text and not blank."""
    for key in ("source_id", "ref"):
        value = entry.get(key)
        if isinstance(value, str) and not is_blank(value):
            return value
    return None


def time_of(entry: Mapping[str, Any]) -> str | None:
    """Return the entry's time as RFC 3339 in UTC; None where it has none, or one that is not valid."""
    given = entry.get("timestamp")
    if not isinstance(given, str):
        return None
    try:
        return rfc3339(_INSTANT.validate_python(given))
    except ValidationError:
        return None


def accepted_evidence(entries: Iterable[Mapping[str, Any]], now: datetime) -> list[dict[str, Any]]:
    """Return stored entries in a form that `check_evidence` accepts; earlier versions stored others too.

    A time that is too far ahead of `now` is left out.
    """
    accepted = []
    for entry in entries:
        ref = reference_of(entry) or str(entry.get("source_type") or entry.get("kind") or "unknown")
        kept = {key: value for key, value in entry.items() if key not in ("source_id", "source_type", "timestamp")}
        time = time_of(entry)
        if time is not None and datetime.fromisoformat(time) > now + MAX_AHEAD:
            time = None
        kept |= {"kind": kind_of(entry) or "artifact", "ref": ref} | ({"timestamp": time} if time else {})
        accepted.append(kept)
    return accepted


def _quoted(value: object) -> str:
    return shown(value) if isinstance(value, str) else json_type(value)
