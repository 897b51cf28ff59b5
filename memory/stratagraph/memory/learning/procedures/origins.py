"""Where the arguments of calls came from: the user's words, the results of earlier calls, or nowhere. No I/O."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from stratagraph.memory.learning.episode import Episode, ToolCall
from stratagraph.memory.learning.procedures.arguments import COMPOSED, SAID, leaves, origin_in_result
from stratagraph.memory.learning.procedures.moments import USERS, moments_of

MIN_TRACED = 4  # characters of a value that is looked for elsewhere; shorter ones match by chance
MAX_TEXT = 20_000  # characters of a turn or a result that is a text, in which values are looked for
MAX_RESULT = 4_000  # values of one result among which arguments are looked for
_TOKEN = re.compile(r"[\w@#./:+-]*\w")
_DATA_KEY = re.compile(r"[^A-Za-z_]|.{41}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedCall:
    """A call, where each of its arguments came from, and the earlier calls whose results it took arguments from.

    `origins` maps the path of an argument to COMPOSED, SAID or `<tool>: <path in the result>`. With `follows_user`, the
    user has spoken since the last call that returned something; with `is_confirmed`, what they said last brought none
    of the arguments: the agent was to go ahead with what was known.
    """

    call: ToolCall
    origins: Mapping[str, str]
    fed_by: tuple[str, ...]
    follows_user: bool
    is_confirmed: bool


@dataclass(slots=True)
class _Known:
    """Values known so far, each with where it was seen first: its origin, the call that gave it, and the turn."""

    values: dict[str, tuple[str, str | None, int]] = field(default_factory=dict)

    def add(self, value: str, origin: str, call: str | None, turn: int) -> None:
        self.values.setdefault(value, (origin, call, turn))


def trace_calls(episode: Episode) -> tuple[TracedCall, ...]:
    """Return the calls of an episode in order, with the origins of their arguments.

    A value came from where it was seen first. Numbers and truth values are not traced: they are equal by chance.
    """
    known, found = _Known(), []
    turn, follows_user = 0, False
    for one in moments_of(episode).sequence:
        if not isinstance(one, ToolCall):
            if one.role in USERS:
                turn, follows_user = turn + 1, True
                for value in _words(one.text):
                    known.add(value, SAID, None, turn)
            continue
        found.append(_traced(one, known, turn=turn, follows_user=follows_user))
        follows_user = follows_user and one.result in ("", None, [], {})
        if not one.failed:
            for path, value in _values(one.result):
                known.add(value, origin_in_result(one.tool, path), one.id, turn)
    return tuple(found)


def _traced(call: ToolCall, known: _Known, *, turn: int, follows_user: bool) -> TracedCall:
    origins: dict[str, str] = {}
    sources: list[str] = []
    is_new = False
    for path, value in leaves(call.args):
        origin, source, when = known.values.get(_form(value), (COMPOSED, None, 0))
        is_new = is_new or (origin == SAID and when == turn)
        if origins.get(path, COMPOSED) == COMPOSED:
            origins[path] = origin
        if source is not None:
            sources.append(source)
    return TracedCall(
        call=call,
        origins=origins,
        fed_by=tuple(dict.fromkeys(sources)),
        follows_user=follows_user,
        is_confirmed=follows_user and not is_new and bool(origins),
    )


def _form(value: Any) -> str:
    """Return the form in which values are compared; empty for one that is not traced."""
    return value.strip().casefold() if isinstance(value, str) and len(value.strip()) >= MIN_TRACED else ""


def _words(text: str) -> Iterator[str]:
    """Return the words of a text, and what stands in it as a whole."""
    whole = _form(text[:MAX_TEXT])
    if whole:
        yield whole
    for word in _TOKEN.findall(text[:MAX_TEXT]):
        if len(word) >= MIN_TRACED:
            yield word.casefold()


def _values(result: Any) -> Iterator[tuple[str, str]]:
    """Return the path and the form of each text in a result; of a result that is a text, its words."""
    if isinstance(result, str):
        for word in _words(result):
            yield "", word
        return
    for number, (path, value) in enumerate(_leaves_and_keys(result)):
        if number == MAX_RESULT:
            return
        form = _form(value)
        if form:
            yield path, form


def _leaves_and_keys(result: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Return the leaves of a result, and the keys of its objects that are data, such as ids; their paths have `*`."""
    if isinstance(result, Mapping):
        for key, value in result.items():
            is_data = _DATA_KEY.search(key) is not None
            inner = f"{path}.{'*' if is_data else key}".lstrip(".")
            if is_data:
                yield inner, key
            yield from _leaves_and_keys(value, inner)
    elif isinstance(result, list):
        for value in result:
            yield from _leaves_and_keys(value, f"{path}[]")
    else:
        yield path, result
