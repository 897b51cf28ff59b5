"""The `lesson` block of a competence's payload, read tolerantly: payloads may hold anything in it. Pure.

Its fields are those of the schema version 2 that docs/specification.md lists (Lessons).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeGuard

from stratagraph.store.model.payloads.base import count_of

SCHEMA_VERSION = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What a lesson's place among the others depends on.

    `confidence` is in [0, 1], `frequency` the times that it was learned, from 1. `retrievals` counts the times that it
    was in an answer, `helpful` those of them that helped. `learned_at` is the last time that it was learned, `author`
    the identity of the caller who learned it first.
    """

    learned_at: datetime
    confidence: float
    frequency: int = 1
    retrievals: int = 0
    helpful: int = 0
    verified: bool = False
    author: str = ""

    @classmethod
    def of(cls, payload: Mapping[str, Any], *, learned_at: datetime, confidence: float, author: str = "") -> Standing:
        """Return the standing of a lesson by its payload; `confidence` is the record's, where the lesson has none."""
        block = lesson_of(payload) or {}
        own = block.get("confidence")
        return cls(
            learned_at=learned_at,
            confidence=float(own) if _is_share(own) else confidence,
            frequency=max(1, count(block, "frequency")),
            retrievals=count(block, "retrievals"),
            helpful=min(count(block, "helpful_retrievals"), count(block, "retrievals")),
            verified=block.get("verified") is True,
            author=author,
        )


def lesson_of(payload: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the lesson block of a payload; None for a record that is no lesson."""
    block = (payload or {}).get("lesson")
    return block if isinstance(block, dict) else None


def count(block: Mapping[str, Any], name: str) -> int:
    """Return a count of the block; 0 where it has something else there."""
    return count_of(block.get(name))


def said(block: Mapping[str, Any], *names: str) -> str:
    """Return the first of the block's texts `names` that is not blank, on one line; empty if all are."""
    for name in names:
        value = block.get(name)
        if isinstance(value, str) and value.strip():
            return " ".join(value.split())
    return ""


def _is_share(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
