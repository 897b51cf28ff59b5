"""Unicode normalisation in time linear in the text.

`unicodedata.normalize` sorts each run of combining marks by insertion, which takes time that grows with the square of
the run: a name of 200,000 marks holds the process for minutes. Runs are therefore cut to the 30 marks of the
Stream-Safe Text Format (UAX #15), more than any writing system uses. Text is compared and searched in these forms; it
is stored and shown as it was sent.

The plain form is the compatibility form NFKC in which the typographic signs of keyboards, editors and models are those
of ASCII, and in which nothing is invisible.
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

# Ranges of regular expressions: the signs in place of which people also write the apostrophe, the quote and the hyphen.
APOSTROPHES = "`\u02b9\u02bb-\u02bf\u055a\u05f3\u2018-\u201b\u2032\u2035\u2039\u203a\ua78b\ua78c"
HYPHENS = "\u058a\u05be\u1400\u1806\u2010-\u2013\u2043\u2212\u30a0"  # without the dashes of a sentence
_QUOTES = "\u00ab\u00bb\u02ba\u02ee\u05f4\u201c-\u201f\u301d-\u301f"
# The property Default_Ignorable_Code_Point: soft hyphens, joiners, marks of direction, selectors of a variant.
INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_SIGN = re.compile(f"([{APOSTROPHES}])|([{_QUOTES}])|([{HYPHENS}])|[{INVISIBLE}]")
_PLAIN_SIGNS = ("", "'", '"', "-")  # by the number of the group that matched, 0 for what is invisible


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


def plain_form(text: str) -> str:
    """Return a text in NFKC with the apostrophes, quotes and hyphens of ASCII, and without invisible characters.

    Whatever the normalisation form of the text is; idempotent. Takes time linear in the text.

    >>> plain_form("Liam O\u2019Brien"), plain_form("Jean\u2011Luc"), plain_form("Kiwi\u200bWorks")
    ("Liam O'Brien", 'Jean-Luc', 'KiwiWorks')
    """
    if text.isascii():
        return text.replace("`", "'")
    # Once more, because letters between which something invisible was may combine.
    return normalised("NFKC", _SIGN.sub(_plain, normalised("NFKC", text)))


def _plain(sign: re.Match[str]) -> str:
    return _PLAIN_SIGNS[sign.lastindex or 0]


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
