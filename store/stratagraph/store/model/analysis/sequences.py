"""The sequence of the words of a text, by which two texts say the same or not.

A set of words, or of stems, does not tell "allowed" from "not allowed", "on" from "off", nor who owes whom. Two texts
say the same only if they have equal words in the same order, whatever their case and punctuation is.
"""

from __future__ import annotations

import re
import unicodedata

from stratagraph.store.model.analysis.folding import MARKS
from stratagraph.store.model.unicode_forms import plain_form

# A number with its sign, a word with the "!" that negates it, "!=", or another sign.
_TOKEN = re.compile(
    r"(?:(?<![\w)\]%-])-)?\d+(?:[.,:]\d+)*%?"
    rf"|(?:(?<!\w)!)?[^\W_](?:[^\W_]|[{MARKS}])*#?"
    r"|!=|[^\w\s]"
)
NEGATIONS = frozenset({"no", "not", "never", "none", "nothing", "nobody", "without", "cannot", "non"})
_CONTRACTED = re.compile(r"n't\b")  # as in "isn't"
_SYMBOLS = ("Sc", "Sm", "So")  # currencies, "<" and ">", "+", arrows, emoji; "^" and accents alone are none


def word_sequence(text: str) -> str:
    """Return the words of a text in their order, case-folded, with a space between them and without punctuation.

    Function words are words, and so are symbols and the signs of numbers. Empty for a text without words.

    >>> word_sequence("Deploys are NOT allowed \u2013 on Fridays!"), word_sequence("a != -5")
    ('deploys are not allowed on fridays', 'a != -5')
    """
    return " ".join(token for token in _TOKEN.findall(plain_form(plain_form(text).casefold())) if _is_word(token))


def spelled_out(text: str) -> str:
    """Return the words of a text as `word_sequence` does, with "not" for the end of "isn't".

    >>> spelled_out("It isn\u2019t open.")
    'it is not open'
    """
    return word_sequence(_CONTRACTED.sub(" not", plain_form(text).casefold()))


def negations(text: str) -> int:
    """Return how many words of an English text negate.

    >>> negations("Don't deploy on Fridays, never.")
    2
    """
    return sum(word in NEGATIONS for word in spelled_out(text).split())


def _is_word(token: str) -> bool:
    return len(token) > 1 or token.isalnum() or token == "&" or unicodedata.category(token) in _SYMBOLS
