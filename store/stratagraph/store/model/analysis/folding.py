"""Folding: one form for all spellings of a word that differ in case, accents or character form."""

from __future__ import annotations

import re
import unicodedata

from stratagraph.store.model.unicode_forms import character_class, normalised

# Marks of alphabets whose words are the same without them: Latin, Greek, Cyrillic, Hebrew, Arabic, and the voicing of
# kana. The marks of other scripts are vowels, and stay.
_ACCENTS = re.compile(
    "[\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed\u1ab0-\u1aff"
    "\u1dc0-\u1dff\u20d0-\u20f0\u3099\u309a\ufe00-\ufe0f\ufe20-\ufe2f]"
)
_JOINERS = "\u00ad\u200c\u200d\u2060\ufeff"  # of the parts of one word
_LETTERS = str.maketrans(
    {
        "ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ı": "i", "þ": "th", "æ": "ae", "œ": "oe", "ŧ": "t",
        **dict.fromkeys(_JOINERS),
    }
)  # fmt: skip


# Blocks that have combining marks, so that not every character is looked at when the module is loaded.
_BLOCKS = (range(0x300, 0x3100), range(0xA600, 0xAC00), range(0xFB00, 0xFE30), range(0x10A00, 0x12000),
           range(0x16A00, 0x17000), range(0x1BC00, 0x1BD00), range(0x1E000, 0x1E960))  # fmt: skip


def _marks() -> str:
    """Return the combining marks, as the ranges of a regular expression."""
    return character_class(
        point for block in _BLOCKS for point in block if unicodedata.category(chr(point)).startswith("M")
    )


# A word: letters and digits of any script, with their marks. Most vowels of Indic scripts are marks, not letters.
MARKS = _marks()
WORD = re.compile(rf"[^\W_](?:[^\W_]+|[{MARKS}{_JOINERS}]+)*")


def folded(word: str) -> str:
    """Return a word in lower case, without accents, in decomposed compatibility form. Idempotent."""
    if word.isascii():
        return word.lower()
    return _ACCENTS.sub("", normalised("NFKD", word)).casefold().translate(_LETTERS)
