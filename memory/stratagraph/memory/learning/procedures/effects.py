"""Which tools change state, inferred from what was observed of their calls, never from a list of names. No I/O.

Counted of each tool, over all calls that did not fail:

- `repeated_equal` and `repeated_other`: calls with the arguments of an earlier call of the tool in the episode, with an
  equal and with another result. What reads gives the same again, unless something was changed.
- `between_equal` and `between_other`: calls that lie between two such calls. What lies between two equal readings has
  probably changed nothing that was read; what lies between two different ones may have.
- `rewrote`: results that show an object which an earlier result had shown otherwise: a change and what came of it. The
  results of repeated calls are not among them.
- `reread`: results that show such an object as it was.
- `runs`: calls of the tool without another one between them count as one run. `confirmed` are the runs that began after
  the user had spoken, without giving an argument: the agent was to go ahead with what was known.
- `informed`: calls whose result has a value that a later argument took.
- `acted`: calls with an argument that the user or a result gave, and with a result of which no later argument could
  take anything, such as `ok`: who reads is told something.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, Self

import orjson

from stratagraph.memory.learning.procedures.arguments import COMPOSED, leaves
from stratagraph.memory.learning.procedures.origins import MIN_TRACED, TracedCall

MAX_OBJECTS = 2_000  # objects of results that are compared within one episode
DECISIVE = 0.5  # log odds from which on a tool is said to change state, or to read it
INTERNAL_CALLS = 10
_IDENTIFYING = ("id", "_id", "key", "name", "number")


class Effect(StrEnum):
    """What a tool does to the state that others read."""

    READS = "reads"
    CHANGES = "changes"
    INTERNAL = "internal"  # neither: it serves the agent alone, like a note or a calculation
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEvidence:
    """Counts of calls of one tool, as above; `calls` are all that did not fail."""

    calls: int = 0
    repeated_equal: int = 0
    repeated_other: int = 0
    between_equal: int = 0
    between_other: int = 0
    rewrote: int = 0
    reread: int = 0
    runs: int = 0
    confirmed: int = 0
    informed: int = 0
    acted: int = 0

    def merged(self, other: ToolEvidence) -> ToolEvidence:
        """Return the sums of both."""
        return ToolEvidence(**{one.name: getattr(self, one.name) + getattr(other, one.name) for one in fields(self)})

    def as_json(self) -> dict[str, Any]:
        """Return the counts as JSON, which `of_json` reads; those that are 0 are left out."""
        return {one.name: count for one in fields(self) if (count := getattr(self, one.name))}

    @classmethod
    def of_json(cls, stored: Mapping[str, Any]) -> Self:
        """Return the counts of `as_json`."""
        return cls(**stored)


def evidence_of(traced: Sequence[TracedCall]) -> dict[str, ToolEvidence]:
    """Return what the calls of one episode, in order, show of each tool."""
    found: dict[str, dict[str, int]] = {}

    def count(tool: str, what: str) -> None:
        counts = found.setdefault(tool, {})
        counts[what] = counts.get(what, 0) + 1

    done = [one for one in traced if not one.call.failed]
    used = {id_ for one in traced for id_ in one.fed_by}
    earlier: dict[bytes, int] = {}
    objects: dict[tuple[str, str], Mapping[str, Any]] = {}
    for number, one in enumerate(done):
        call = one.call
        count(call.tool, "calls")
        if number == 0 or done[number - 1].call.tool != call.tool:
            count(call.tool, "runs")
            if one.is_confirmed:
                count(call.tool, "confirmed")
        if call.id in used:
            count(call.tool, "informed")
        if any(origin != COMPOSED for origin in one.origins.values()) and not _tells(call.result):
            count(call.tool, "acted")
        same = orjson.dumps([call.tool, call.args], option=orjson.OPT_SORT_KEYS)
        is_repeated = same in earlier
        if is_repeated:
            before = done[earlier[same]].call
            is_equal = before.result == call.result
            count(call.tool, "repeated_equal" if is_equal else "repeated_other")
            for tool in sorted({other.call.tool for other in done[earlier[same] + 1 : number]} - {call.tool}):
                count(tool, "between_equal" if is_equal else "between_other")
        earlier[same] = number
        shown = _named_object(call.result)
        if shown is not None and (shown[0] in objects or len(objects) < MAX_OBJECTS):
            name, content = shown
            if name in objects and _is_like(objects[name], content):
                if objects[name] == content:
                    count(call.tool, "reread")
                elif not is_repeated:  # a repeated call saw what one in between has changed
                    count(call.tool, "rewrote")
            objects[name] = content
    return {tool: ToolEvidence(**found[tool]) for tool in sorted(found)}


def _tells(result: Any) -> bool:
    """Return whether a result has a value that is long enough to be looked for in later arguments."""
    return any(
        not isinstance(value, bool) and len(str(value)) >= MIN_TRACED
        for _, value in leaves(result)
        if value is not None
    )


def _named_object(result: Any) -> tuple[tuple[str, str], Mapping[str, Any]] | None:
    """Return the object that a result shows, with the field that names it; None if it shows none."""
    if not isinstance(result, Mapping):
        return None
    for key in sorted(result):
        value = result[key]
        if isinstance(value, str) and key.casefold().endswith(_IDENTIFYING):
            return (key, value), result
    return None


def _is_like(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two objects of one name have most of their fields in common, so that one is the other changed."""
    return 2 * len(one.keys() & other.keys()) > len(one.keys() | other.keys())


def effect_of(evidence: ToolEvidence) -> Effect:
    """Return what a tool does; UNKNOWN where too little was observed.

    A tool of which, in INTERNAL_CALLS calls or more, no result was needed by another call or showed an object again is
    INTERNAL, unless it seems to change something.
    """
    score = log_odds(evidence)
    if score >= DECISIVE:
        return Effect.CHANGES
    has_shown = evidence.informed + evidence.reread + evidence.repeated_other
    if evidence.calls >= INTERNAL_CALLS and not has_shown:
        return Effect.INTERNAL
    return Effect.READS if score <= -DECISIVE else Effect.UNKNOWN


def log_odds(evidence: ToolEvidence) -> float:
    """Return the logarithm of the odds that a tool changes state, from what was observed of it."""
    return math.log((1 + _for(evidence)) / (1 + _against(evidence)))


def _for(one: ToolEvidence) -> float:
    return 4.0 * (one.rewrote + one.acted) + one.between_other + one.confirmed


def _against(one: ToolEvidence) -> float:
    return 2.0 * one.repeated_equal + one.between_equal + one.reread + (one.runs - one.confirmed) + one.informed
