"""Unicode normalisation in time linear in the text.

`unicodedata.normalize` sorts each run of combining marks by insertion, which takes time that grows with the square of
the run: a name of 200,000 marks holds the process for minutes. Runs are therefore cut to the 30 marks of the
Stream-Safe Text Format (UAX #15), more than any writing system uses. Text is compared and searched in these forms; it
is stored and shown as it was sent.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Literal

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]

MAX_MARKS = 30  # non-starters of one run, counted in the compatibility decomposition
# No mark decomposes into more than two non-starters, and the character before a run brings at most three of its own, so
# a run that is too long has at least this many characters.
_SUSPECT = 14
_MARKS_OF_CLASS_0 = "\u0f73\u0f75\u0f81\uff9e\uff9f"  # they decompose into non-starters, but are none themselves
_CODE_POINTS = range(0x300, 0x20000)  # of all characters with a combining class


def character_class(points: Iterable[int]) -> str:
    """Return code points, which must ascend, as the ranges of a regular expression."""
    ranges: list[list[int]] = []
    for point in points:
        if ranges and ranges[-1][1] == point - 1:
            ranges[-1][1] = point
        else:
            ranges.append([point, point])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


def _mark_class() -> str:
    """Return the characters that decompose into non-starters only, as the ranges of a regular expression."""
    return character_class(
        point for point in _CODE_POINTS if unicodedata.combining(chr(point)) or chr(point) in _MARKS_OF_CLASS_0
    )


_LONG_RUN = re.compile(f"[{_mark_class()}]{{{_SUSPECT},}}")


def normalised(form: Form, text: str) -> str:
    """Return the text in a normalisation form, each run of combining marks cut to MAX_MARKS.

    Equal to `unicodedata.normalize` for text without longer runs; idempotent for all text. At most 18 times as long as
    the text, so bound the text first.
    """
    if text.isascii():
        return text
    return unicodedata.normalize(form, _LONG_RUN.sub(_cut, text))


def _cut(run: re.Match[str]) -> str:
    text, start = run.string, run.start()
    count = _marks_at_end(text[start - 1]) if start else 0
    for place in range(start, run.end()):
        count += len(unicodedata.normalize("NFKD", text[place]))
        if count > MAX_MARKS:
            return text[start:place]
    return run.group()


def _marks_at_end(character: str) -> int:
    """Return how many non-starters the decomposition of a character ends with."""
    count = 0
    for part in reversed(unicodedata.normalize("NFKD", character)):
        if not unicodedata.combining(part):
            break
        count += 1
    return count
