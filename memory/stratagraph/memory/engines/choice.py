"""Which engine answers, and why it is not the preferred one. Pure.

`auto` means SQL: within the bounds of a request SQL is the faster engine on one machine, and it is never behind
(docs/decisions.md). `neo4j` takes load off Postgres; SQL answers where the mirror cannot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from stratagraph.store.mirror.freshness import Freshness

Preference = Literal["auto", "sql", "neo4j"]
EngineName = Literal["sql", "neo4j"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredBy:
    """The engine that answered a question.

    `fallback` is why SQL answered although the mirror is preferred; None if the mirror answered, is not preferred or
    not configured, or if no relation was followed. `mirror_lag_seconds` is at least the age of every change that the
    mirror lacked when it was asked, so an answer of the mirror has all changes that are older; None if there is no
    mirror, or if the age is not known.
    """

    engine: EngineName
    fallback: str | None = None
    mirror_lag_seconds: float | None = None


def choose(
    preference: Preference,
    freshness: Freshness | None,
    *,
    mirrored: bool,
    failure: str | None,
    past: bool = False,
    expands: bool = True,
) -> AnsweredBy:
    """Return the engine to ask first.

    `mirrored` says whether there is a mirror, `failure` why it is not asked at the moment, `past` whether the question
    is about a past instant, and `expands` whether it follows any relation at all.
    """
    lag_seconds = freshness.seconds if freshness is not None and not freshness.refused else None
    fallback = None
    if preference == "neo4j":
        if past:
            fallback = "the mirror shows only the present"
        elif mirrored and expands:
            fallback = _against(freshness, failure)
            if fallback is None:
                return AnsweredBy(engine="neo4j", mirror_lag_seconds=lag_seconds)
    return AnsweredBy(engine="sql", fallback=fallback, mirror_lag_seconds=lag_seconds)


def _against(freshness: Freshness | None, failure: str | None) -> str | None:
    """Return why the mirror must not be asked now, or None if it may be."""
    if freshness is None:
        return "nothing is known of the mirror yet"
    if not freshness.whole:
        return "the mirror is being filled"
    if freshness.refused:
        return "the mirror lacks changes that Neo4j refused"
    if freshness.damaged:
        return "the mirror differs from PostgreSQL and is being repaired"
    if failure is not None:
        return f"the mirror failed a moment ago: {failure}"
    return None
