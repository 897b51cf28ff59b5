"""All formats of recorded conversations, and which of them a document has."""

from __future__ import annotations

from collections.abc import Iterable
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

    `lines` are the first lines of its file, where it may have a format whose document is the whole file. Of formats
    that are equally near, the last is taken: chat completions where nothing fits.
    """
    documents = {False: document, True: lines}
    formats = [one for one in reversed(FORMATS) if lines or not one.whole_file]
    found = [(one, one.difference(documents[one.whole_file])) for one in formats]
    one, difference = max(
        ((one, difference) for one, difference in found if difference is not None), key=lambda pair: pair[1].share
    )
    return f"fits no known format; the nearest is {one.name}, but {difference.what}"


def _of(whole_file: bool) -> Iterable[Format]:
    return (one for one in FORMATS if one.whole_file is whole_file)
