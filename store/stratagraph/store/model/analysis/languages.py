"""The language of a text, and the forms of its words.

A word's language is that of its script, or else of the text around it, which its function words tell. Records and
questions need not agree on it: every word has its English stem too, whatever the language, and a question asks for that
first. So a wrong guess costs the inflections of a word, never the word.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Set
from functools import lru_cache

import Stemmer

from stratagraph.store.model.analysis.folding import folded
from stratagraph.store.model.analysis.function_words import ENGLISH, LATIN, OF_SCRIPT
from stratagraph.store.model.unicode_forms import normalised

BASE = "english"  # the language of texts that show no other one
MAX_WORD = 64  # characters; longer words are not searched

STOP_WORDS = {
    name: frozenset(folded(word) for word in words.split())
    for name, words in {BASE: ENGLISH, **LATIN, **OF_SCRIPT}.items()
}
_FUNCTION_WORDS = frozenset[str]().union(*STOP_WORDS.values())
# Words of one letter are stop words, but variables too.
_SIGNS = {
    name: frozenset(word for word in STOP_WORDS[name] if len(word) > 1) - (STOP_WORDS[BASE] if name in LATIN else set())
    for name in (BASE, *LATIN)
}
_STEMMERS = {name: Stemmer.Stemmer(name) for name in (*STOP_WORDS, "armenian", "tamil")}
_SCRIPT = re.compile(
    "(?P<greek>[\u0370-\u03ff\u1f00-\u1fff])|(?P<russian>[\u0400-\u052f])|(?P<armenian>[\u0531-\u0587])"
    "|(?P<arabic>[\u0620-\u064a])|(?P<hindi>[\u0904-\u0939])|(?P<tamil>[\u0b83-\u0bb9])"
)
# Letters with an accent that few languages have, for questions of a word or two.
_LETTERS = {
    "german": "äöüß", "french": "çèêëîïœùû", "spanish": "ñáíóú", "portuguese": "ãõçâ", "italian": "àèìòù",
    "swedish": "åäö", "norwegian": "åøæ", "danish": "åøæ", "hungarian": "őűáéí", "polish": "ąćęłńśźż",
    "czech": "čďěňřšťůž", "turkish": "ğışçöü", "romanian": "ăâîșț", "finnish": "äö", "estonian": "õäöü",
    "lithuanian": "ąčęėįšųūž", "catalan": "çàèò",
}  # fmt: skip
_LANGUAGES_OF = {
    letter: [name for name, letters in _LETTERS.items() if letter in letters]
    for letter in set("".join(_LETTERS.values()))
}
MAX_GUESSES = 2  # languages that the letters of a question suggest


def language_of(words: Set[str], *, least: int = 2) -> str:
    """Return the language of a text in Latin script by its distinct words, in lower case.

    The language needs `least` function words that English does not have, and more than twice as many of them as the
    text has English ones that the language does not have.
    """
    english = words & _SIGNS[BASE]
    if len(english) >= 4 and 5 * len(english) >= len(words):  # ordinary English prose
        return BASE
    plain = words if all(map(str.isascii, words)) else {folded(word) for word in words}
    count, name = max((len(plain & _SIGNS[name]), name) for name in LATIN)
    return name if count >= least and count > 2 * len(english - STOP_WORDS[name]) else BASE


def suggested_languages(words: Collection[str]) -> list[str]:
    """Return languages that the letters of a few words suggest, at most MAX_GUESSES."""
    names = [name for word in words if not word.isascii() for letter in word for name in _LANGUAGES_OF.get(letter, ())]
    return sorted(dict.fromkeys(names), key=lambda name: -names.count(name))[:MAX_GUESSES]


def own_language(word: str, language: str) -> str:
    """Return the language of a word by its script; `language` for the Latin one and those without a stemmer."""
    if word.isascii():
        return language
    found = _SCRIPT.search(word)
    return (found.lastgroup or language) if found else language


def is_stop_word(plain: str, language: str) -> bool:
    """Return whether a folded word is a function word of the language, or of the only language of its script."""
    return plain in STOP_WORDS.get(own_language(plain, language), ())


def is_function_word(word: str) -> bool:
    """Return whether a word is a function word of any language."""
    return folded(word) in _FUNCTION_WORDS


@lru_cache(maxsize=200_000)
def stem(word: str, language: str) -> str:
    """Return the folded stem of a word; the stemmer sees its accents, which it needs."""
    if language == BASE:
        return str(_STEMMERS[BASE].stemWord(folded(word)))
    return folded(str(_STEMMERS[language].stemWord(normalised("NFC", word.casefold()))))


def stems(word: str, languages: Collection[str]) -> tuple[str, ...]:
    """Return the distinct stems of a word: in English, which every record has, and in the given languages."""
    return tuple(dict.fromkeys([stem(word, BASE), *(stem(word, own_language(word, name)) for name in languages)]))
