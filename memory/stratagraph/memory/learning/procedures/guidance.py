"""What an agent needs to act by a learned step: what to ask the user for, and what to check before a change. No I/O."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from stratagraph.memory.learning.procedures.arguments import COMPOSED, SAID, Argument, main_origin
from stratagraph.memory.learning.procedures.effects import Effect

MAX_ASKED = 12  # arguments of one step
_MOST_NAMED = 6  # values that a question names
_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W_A-Za-z0-9]+")


def questions_for(arguments: Mapping[str, Argument]) -> list[dict[str, str]]:
    """Return the arguments that mostly came from the user's words, each with the question that asks for it.

    Where only a few values were ever seen, the question names them.
    """
    found = []
    for path, one in sorted(arguments.items()):
        if main_origin(one) == SAID:
            values = [str(shown.value) for shown in one.values.values]
            is_small = not one.values.overflows and 1 < len(values) <= _MOST_NAMED
            is_choice = is_small and one.values.total > 2 * len(values)
            choice = f" ({' or '.join(values)})" if is_choice else ""
            found.append({"argument": path, "question": f"What is the {in_words(path)}{choice}?"})
    return found[:MAX_ASKED]


def in_words(path: str) -> str:
    """Return the name of an argument in words.

    >>> in_words("order_id"), in_words("address.zipCode"), in_words("items[]")
    ('order id', 'address zip code', 'items')
    """
    return " ".join(word.lower() for word in _WORDS.findall(path)) or path


def checks_before(
    tool: str, arguments: Mapping[str, Argument], earlier: Sequence[str], effects: Mapping[str, Effect]
) -> list[str]:
    """Return the reading tools to call before a tool that changes state; none for one that does not.

    They are those of the `earlier` tools from whose results it took arguments, or else the last reading one.
    """
    if effects.get(tool) is not Effect.CHANGES:
        return []
    reading = [one for one in earlier if effects.get(one) is Effect.READS and one != tool]
    origins = {main_origin(one) for one in arguments.values()} - {None, SAID, COMPOSED}
    feeding = {str(origin).split(": ")[0] for origin in origins}
    return [one for one in dict.fromkeys(reading) if one in feeding] or reading[-1:]


def guidance_of(
    tool: str, arguments: Mapping[str, Argument], earlier: Sequence[str], effects: Mapping[str, Effect]
) -> dict[str, Any]:
    """Return the keys `ask` and `check` of a step, those that have anything."""
    found = {"ask": questions_for(arguments), "check": checks_before(tool, arguments, earlier, effects)}
    return {key: value for key, value in found.items() if value}
