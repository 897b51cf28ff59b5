"""All formats of recorded conversations, and which of them a document has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from functools import lru_cache
from itertools import islice
from typing import Any

from stratagraph.memory.imports.formats.anthropic import ANTHROPIC, ANTHROPIC_LINES
from stratagraph.memory.imports.formats.atif import ATIF
from stratagraph.memory.imports.formats.chat_completions import CHAT_COMPLETIONS, CHAT_LINES
from stratagraph.memory.imports.formats.claude_code import CLAUDE_CODE
from stratagraph.memory.imports.formats.codex import CODEX
from stratagraph.memory.imports.formats.format import Format
from stratagraph.memory.imports.formats.gemini import GEMINI, GEMINI_LINES
from stratagraph.memory.imports.formats.langchain import LANGCHAIN, LANGCHAIN_LINES
from stratagraph.memory.imports.formats.otel import OTEL, OTEL_MESSAGES
from stratagraph.memory.imports.formats.responses import RESPONSES, RESPONSES_CHAIN, RESPONSES_LINES
from stratagraph.memory.imports.formats.sharegpt import SHAREGPT
from stratagraph.memory.imports.formats.swe_agent import SWE_AGENT

MAX_NAMES = 200  # names of fields of a document that are compared with the marks of formats
MAX_NAME = 40  # characters of one that may be a misspelt mark

# The first that fits is taken: those that share a field with others, such as `messages`, come last.
FORMATS: tuple[Format, ...] = (
    CLAUDE_CODE,
    CODEX,
    SWE_AGENT,
    ATIF,
    *(OTEL, OTEL_MESSAGES),
    *(RESPONSES_CHAIN, RESPONSES_LINES, RESPONSES),
    *(LANGCHAIN_LINES, LANGCHAIN),
    *(GEMINI_LINES, GEMINI),
    SHAREGPT,
    *(ANTHROPIC_LINES, ANTHROPIC),
    *(CHAT_LINES, CHAT_COMPLETIONS),
)


def format_of(document: Any, *, whole_file: bool) -> Format | None:
    """Return the format of a document; `whole_file` asks for formats whose document is a list of all lines."""
    return next((one for one in _of(whole_file) if one.difference(document) is None), None)


def nearest(document: Any, lines: list[Any] | None = None) -> str:
    """Return why a document has no format: the one that is nearest to it, and the first difference.

    `lines` are the first lines of its file, where it may have a format whose document is the whole file. The nearest
    has most marks in the document, also misspelt; of equally near ones, that of which most fits. It is chat completions
    where nothing is near.
    """
    documents = {False: document, True: lines}
    near = _nearness(frozenset(islice(_names(document), MAX_NAMES)))
    found = [
        (one, one.difference(documents[one.whole_file])) for one in reversed(FORMATS) if lines or not one.whole_file
    ]
    one, difference = max(
        ((one, difference) for one, difference in found if difference is not None),
        key=lambda pair: (near[pair[0].name], pair[1].share if near[pair[0].name] else 0),
    )
    return f"fits no known format; the nearest is {one.name}, but {difference.what}"


def _names(value: Any, depth: int = 4) -> Iterator[str]:
    """Yield the names of the fields of a document, of the first elements of its lists only."""
    if isinstance(value, list) and depth:
        for one in value[:3]:
            yield from _names(one, depth - 1)
    elif isinstance(value, dict) and depth:
        yield from value
        for one in value.values():
            yield from _names(one, depth - 1)


@lru_cache(256)
def _nearness(names: frozenset[str]) -> dict[str, float]:
    """Return the number of the marks of each format that are among the names; a misspelt one counts half."""
    short = [name for name in names if len(name) <= MAX_NAME]
    worth = {
        mark: 1.0 if mark in names else 0.5 if get_close_matches(mark, short, 1, 0.8) else 0.0
        for one in FORMATS
        for mark in one.marks
    }
    return {one.name: sum(worth[mark] for mark in one.marks) for one in FORMATS}


def _of(whole_file: bool) -> Iterable[Format]:
    return (one for one in FORMATS if one.whole_file is whole_file)
