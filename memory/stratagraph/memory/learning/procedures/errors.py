"""Failures of calls, and what helped against them. No I/O."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from stratagraph.memory.learning.episode import Episode, ToolCall

SHOWN_FAILURES = 12  # failure modes and fallbacks of one skill or plan, the most frequent
MAX_ERROR = 160  # characters of an error's text
_VARIABLE = re.compile(r"\S*\d\S*")


def failures_of(calls: Sequence[ToolCall]) -> Iterator[str]:
    """Yield `<tool>: <error>` for each failed call; parts with digits are `*`, so that equal errors are equal texts."""
    for call in calls:
        if call.failed:
            yield f"{call.tool}: {_signature(call)}"


def remedies_of(calls: Sequence[ToolCall]) -> Iterator[str]:
    """Yield what was done after a failed call when a later call of its tool succeeded, or another tool was used."""
    for number, call in enumerate(calls):
        if not call.failed:
            continue
        later = calls[number + 1 :]
        again = next((one for one in later if one.tool == call.tool and not one.failed), None)
        other = next((one for one in later if one.tool != call.tool and not one.failed), None)
        when = problem(call.tool, _signature(call))
        if again is not None:
            changed = sorted(key for key in {*call.args, *again.args} if call.args.get(key) != again.args.get(key))
            yield f"{when}, call it again" + (f" with another {', '.join(changed)}" if changed else "")
        elif other is not None:
            yield f"{when}, go on with {other.tool}"


def problem(tool: str, error: str) -> str:
    """Return how a remedy begins: the call that failed, and its error."""
    return f"if {tool} fails with “{error}”"


def reason_of(episode: Episode) -> str | None:
    """Return why an episode as a whole failed, if it says so."""
    if episode.outcome != "failure" or not episode.outcome_reason:
        return None
    return _shortened(episode.outcome_reason)


def _signature(call: ToolCall) -> str:
    said: Any = call.error if call.error not in (None, "", "true", "True") else call.result
    text = said if isinstance(said, str) else orjson.dumps(said, default=str).decode()
    return _shortened(_VARIABLE.sub("*", text)) or "no message"


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_ERROR else line[: MAX_ERROR - 1].rstrip() + "…"
