"""The analysis of texts of the release before: English stems and whole identifiers. A frozen copy, for its records."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

import Stemmer

from stratagraph.store.model.analysis.languages import BASE, STOP_WORDS
from stratagraph.store.model.unicode_forms import normalised
from stratagraph.store.model.words import AVERAGE_LENGTH, K1, B, Terms, term_number

_PIECE = re.compile(r"[^\s\"'`()\[\]{}<>,;!?|]+")
_WORD = re.compile(r"[^\W_]+")
_IDENTIFIER = re.compile(r"[\d_/@#:\\]|\.\w|\w-\w|[a-z][A-Z]")
_stemmer = Stemmer.Stemmer("english")


def old_lexemes(text: str) -> list[str]:
    found: list[str] = []
    for match in _PIECE.finditer(normalised("NFKC", text)):
        piece = match.group().strip(".:*")
        if _IDENTIFIER.search(piece):
            found.append("=" + piece.casefold())
        words = [word.casefold() for word in _WORD.findall(_unaccented(piece))]
        found += [_stemmer.stemWord(word) for word in words if word not in STOP_WORDS[BASE]]
    return found


def _unaccented(text: str) -> str:
    return "".join(character for character in normalised("NFKD", text) if not unicodedata.combining(character))


def old_terms(index_key: bytes, text: str) -> Terms:
    words = old_lexemes(text)
    saturation = K1 * (1 - B + B * max(1, len(words)) / AVERAGE_LENGTH)
    impacts = {
        term_number(index_key, word): count * (K1 + 1) / (count + saturation) for word, count in Counter(words).items()
    }
    return Terms(sorted(impacts), [impacts[number] for number in sorted(impacts)])
