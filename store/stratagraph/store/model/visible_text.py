"""Which texts have a visible character, and which say something. A name must be visible."""

from __future__ import annotations

import unicodedata
from typing import Final

# By general category: spaces, controls, formats such as zero-width characters, and marks, which need a character to be
# on. Characters that Python's Unicode does not know yet, and those of private use, count as visible.
_UNSEEN: Final = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Mn", "Me"})
_FILLERS: Final = frozenset("\u115f\u1160\u2800\u3164\uffa0")  # letters and a symbol that are drawn as blanks
_IGNORABLE: Final = frozenset((*range(0xFFF0, 0xFFF9), *range(0xE0000, 0xE1000), 0x2065))  # also where unassigned
_SYMBOLS: Final = frozenset({"Sm", "Sc", "So", "Co", "Cn"})
_SIGNS: Final = frozenset("%‰")  # by their category punctuation
_STAND_INS: Final = frozenset("\ufffc\ufffd")  # for what could not be written


def is_blank(text: str) -> bool:
    """Return whether a text has no visible character.

    >>> is_blank(" \\u200b\\u3164"), is_blank("\\u200b!")
    (True, False)
    """
    return not any(map(_is_visible, text))


def says_something(text: str) -> bool:
    """Return whether a text has a visible letter, digit or symbol, rather than punctuation alone.

    >>> [says_something(text) for text in ("…", "“”", "\\u200b", "C++", "€", "👍", "东")]
    [False, False, False, True, True, True, True]
    """
    return any(_is_visible(character) and _is_word_or_symbol(character) for character in text)


def _is_visible(character: str) -> bool:
    is_drawn = character not in _FILLERS and ord(character) not in _IGNORABLE
    return is_drawn and unicodedata.category(character) not in _UNSEEN


def _is_word_or_symbol(character: str) -> bool:
    category = unicodedata.category(character)
    is_known = category[0] in "LN" or category in _SYMBOLS or character in _SIGNS
    return is_known and character not in _STAND_INS
