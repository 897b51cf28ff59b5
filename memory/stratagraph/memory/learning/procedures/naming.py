"""Names and texts that skills and plans share. No I/O."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from stratagraph.memory.learning.procedures.arguments import COMPOSED, SAID, Argument, main_origin
from stratagraph.memory.learning.procedures.errors import problem
from stratagraph.memory.learning.procedures.observation import Observation

MAX_SIGNATURE = 400  # characters; a longer signature is cut, and ends in a hash of the whole


def signature(tools: Sequence[str]) -> str:
    """Return the sorted tools joined by `+`: what makes two episodes the same procedure.

    In the name of a tool, `+` is written `%2B`, and `%` is written `%25`.

    >>> signature(["search", "book"])
    'book+search'
    >>> signature(["c++"])
    'c%2B%2B'
    """
    whole = "+".join(tool.replace("%", "%25").replace("+", "%2B") for tool in sorted(set(tools)))
    if len(whole) <= MAX_SIGNATURE:
        return whole
    return f"{whole[:MAX_SIGNATURE]}+{hashlib.sha256(whole.encode()).hexdigest()[:16]}"


def described(tool: str, arguments: Mapping[str, Argument]) -> str:
    """Return a step in words: the tool, and where its arguments come from.

    >>> described("search", {})
    'search'
    """
    sources = []
    for path, one in sorted(arguments.items()):
        origin = main_origin(one)
        if origin == SAID:
            sources.append(f"{path} from the user")
        elif origin is not None and origin != COMPOSED:
            sources.append(f"{path} from {origin}")
    return f"{tool} ({', '.join(sources)})" if sources else tool


def triggers_of(observed: Observation) -> list[dict[str, Any]]:
    """Return the triggers of a procedure: its tasks, each once, and the errors against which it knows a remedy."""
    conditions = conditions_of(observed)
    also = {"conditions": conditions} if conditions else {}
    signals = {one.text: {"signal": one.text, **also, "outcome": one.outcome} for one in reversed(observed.tasks)}
    errors = [one.value for one in observed.failures.by_count() if _is_remedied(one.value, observed)]
    return [*reversed(signals.values()), *({"signal": error, **also} for error in errors[:3])]


def conditions_of(observed: Observation) -> dict[str, Any]:
    """Return the values that the environment had in every success, by key; a list stands for any of its entries."""
    found = {}
    for key, values in observed.conditions.items():
        if not values.overflows and values.values and values.total >= observed.successes:
            seen = [one.value for one in values.values]
            found[key] = seen[0] if len(seen) == 1 else seen
    return found


def _is_remedied(error: str, observed: Observation) -> bool:
    problems = tuple(
        problem(tool, error.removeprefix(f"{tool}: ")) for tool in observed.tools if error.startswith(f"{tool}: ")
    )
    return any(one.value.startswith(problems) for one in observed.remedies.values)
