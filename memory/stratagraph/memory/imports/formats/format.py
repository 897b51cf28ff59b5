"""What a format of recorded conversations is: how its files are told from others, and how one is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from stratagraph.memory.imports.conversation import Conversation
from stratagraph.memory.imports.fields import Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The first thing in which a document differs from a format. `share` in [0, 1] is how much of it fits."""

    share: float
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A format. `name` is shown to users; `documented` names the version of the documentation that it was read from.

    A document is a JSON value: a line, an element of an array, or a whole file. Where `whole_file`, it is the list of
    all lines of a file (or its one JSON value in a list), which belong together. `difference` returns None for a
    document that has the format's shape, looking at its beginning only. `read` returns the conversations of one, and
    raises InvalidInput, whose message begins with the path of what is wrong; it makes a new `Reading` for each
    conversation by `reading()`, and gives its counts to the conversation. `marks` are the names of fields by which a
    person would recognise it; of a document that has no format, they tell which one is nearest.
    """

    name: str
    documented: str
    difference: Callable[[Any], Difference | None]
    read: Callable[[Any, Callable[[], Reading]], Iterable[Conversation]]
    marks: tuple[str, ...]
    whole_file: bool = False


def first_difference(checks: Sequence[tuple[bool, str]]) -> Difference | None:
    """Return the first check that fails, with the share of those before it; None if all hold.

    The first check, of the kind of value, says nothing about the format and counts for nothing. A check that needs
    those before it is written so that it is False, not an error, without them.
    """
    for place, (holds, what) in enumerate(checks):
        if not holds:
            return Difference(share=max(0, place - 1) / len(checks), what=what)
    return None


def one_a_line(one: Format) -> Format:
    """Return the format of a file whose lines are the messages of one conversation, which `one` reads as a list."""

    def difference(lines: Any) -> Difference | None:
        if isinstance(lines, list) and len(lines) > 1 and all(isinstance(line, dict) for line in lines):
            return one.difference(lines)
        return Difference(share=0.0, what="its lines are no messages of one conversation")

    return replace(one, name=f"{one.name}, one message a line", difference=difference, whole_file=True)
