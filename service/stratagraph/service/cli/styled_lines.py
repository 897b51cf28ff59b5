"""Lines with styles as JSON, as answers carry them to the command that prints them.

Not as rich's markup: a stored text with backslashes before a bracket does not survive it, or cannot be read at all.
"""

from __future__ import annotations

from typing import Any

from rich.text import Span, Text


def as_styled_line(text: Text) -> dict[str, Any]:
    """Return a line as JSON: its text, its style, and the styles of its parts by their places."""
    return {
        "text": text.plain,
        "style": str(text.style),
        "parts": [[span.start, span.end, str(span.style)] for span in text.spans],
    }


def text_of(line: dict[str, Any]) -> Text:
    """Return the line of `as_styled_line`."""
    return Text(line["text"], style=line["style"], spans=[Span(*part) for part in line["parts"]])
