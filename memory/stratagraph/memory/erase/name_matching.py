"""Where a name is said, and what a failed capture would have said."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Any

from stratagraph.memory.capture.caption import caption
from stratagraph.memory.capture.classify import classify, is_outcome
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.store.model.canonical import normalised_name
from stratagraph.store.model.enums import MemoryType, SourceKind
from stratagraph.store.model.errors import StratagraphError


def names_in(content: Mapping[str, Any]) -> set[str]:
    payload = content["payload"]
    aliases = [alias["value"] for alias in payload.get("aliases") or ()]
    identifiers = [entry["value"] for entry in payload.get("identifiers") or ()]
    return {payload["canonical_name"], *aliases, *identifiers}


def saying(names: Collection[str]) -> Callable[[str], bool]:
    """Whether a text has one of the names in it, as names are compared."""
    wanted = [normalised_name(name) for name in names if normalised_name(name)]
    return lambda text: any(name in said for said in (normalised_name(text),) for name in wanted)


def texts(value: object) -> list[str]:
    """All strings in a JSON value, its keys included."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for key, item in value.items() for text in (str(key), *texts(item))]
    if isinstance(value, list | tuple):
        return [text for item in value for text in texts(item)]
    return []


def would_become(sent: Mapping[str, Any], now: datetime) -> tuple[MemoryType, str] | tuple[()]:
    """The type and text of the record that a failed capture would have become; nothing for an outcome."""
    proposed = sent.get("proposed_type")
    try:
        request = CaptureRequest(
            source=sent["source"],
            source_kind=SourceKind(sent["source_kind"]),
            content=sent["content"],
            proposed_type=MemoryType.parse(proposed, path=["proposed_type"]) if proposed else None,
            summary=sent.get("summary"),
        )
        draft = classify(request, 0, now)
        if is_outcome(draft):
            return ()
        caption(draft)
    except (StratagraphError, KeyError, ValueError):
        return ()
    return draft.type, draft.text
