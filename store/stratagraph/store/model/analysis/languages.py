"""The language of a text, and the forms of its words.

A word's language is that of its script, or else of the text around it, which its function words tell. Records and
questions need not agree on it: every word has its English stem too, whatever the language, and a question asks for that
first. So a wrong guess costs the inflections of a word, never the word.

py3langid was tried on short notes of an agent: as many right, but 9 of 342 English commit subjects wrong instead of
none, 0.8 seconds to load, and numpy.
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
# Letters with an accent of each language, the languages of most texts first: where letters alone do not tell, the first
# is meant.
_LETTERS = {
    "german": "äöüß", "french": "àâçéèêëîïôœùûü", "spanish": "áéíóúñü", "portuguese": "áâãàçéêíóôõú",
    "italian": "àèéìòù", "polish": "ąćęłńóśźż", "swedish": "åäö", "norwegian": "åøæ", "danish": "åøæ",
    "turkish": "çğıöşü", "czech": "áčďéěíňóřšťúůýž", "romanian": "ăâîșşțţ", "hungarian": "áéíóöőúüű",
    "finnish": "äöå", "estonian": "äõöüšž", "lithuanian": "ąčęėįšųūž", "catalan": "àçèéíïòóúü",
}  # fmt: skip
_ALPHABETS = {name: frozenset(letters) for name, letters in _LETTERS.items()}
_ACCENTED = frozenset("".join(_LETTERS.values()))
# Endings that show a language in words without an accent. Italian words end in vowels, of which the English stemmer
# leaves -a, -i and -o.
_ENDINGS = {
    "german": re.compile(r"\w{3,}(?:ung|heit|keit|schaft)(?:en)?"),
    "polish": re.compile(r"\w{3,}(?:cja|cji|cje|owy|owa|owe)"),
}
_VOWELS = "italian"
MAX_GUESSES = 2  # languages that the letters of a question suggest, and as many that the endings of its words do
MOST_SPELLED = 2  # words with a language's letters that count


def language_of(words: Set[str], *, least: int = 2) -> str:
    """Return the language of a text in Latin script by its distinct words, in lower case.

    The language needs `least` signs, and more than twice as many of them as the text has English function words that
    the language does not have. Signs are function words that English does not have, words that end in vowels, and up to
    MOST_SPELLED other words with accents, all of which the language has, less those with others. Letters alone tell a
    language only if no other one fits them as well.
    """
    english = words & _SIGNS[BASE]
    if len(english) >= 4 and 5 * len(english) >= len(words):  # ordinary English prose
        return BASE
    plain, fits = words, dict[str, int]()
    if not all(map(str.isascii, words)):
        plain = {folded(word) for word in words}
        fits = _fits([word for word in words if folded(word) not in _FUNCTION_WORDS])
    functions = {name: len(plain & _SIGNS[name]) for name in LATIN}
    functions[_VOWELS] += 2 * _ends_in_vowels(words, least=4)
    signs = {name: functions[name] + min(MOST_SPELLED, fits.get(name, 0)) for name in LATIN}
    count = max(signs.values())
    if count < least:
        return BASE
    best = [name for name in LATIN if signs[name] == count]
    if len(best) > 1 and not any(functions[name] for name in best):
        return BASE
    name = max(best, key=lambda one: (len(plain & STOP_WORDS[one]), one))
    return name if count > 2 * len(english - STOP_WORDS[name]) else BASE


def _ends_in_vowels(words: Collection[str], *, least: int) -> bool:
    """Return whether `least` words of four letters or more end as Italian ones do, and at most one in five does not."""
    longer = [word for word in words if len(word) > 3]
    ended = [word for word in longer if word[-1] in "aeioàèéìòù"]
    return len(ended) >= max(least, 0.8 * len(longer)) and 2 * sum(word[-1] != "e" for word in ended) >= len(ended)


def _fits(words: Collection[str]) -> dict[str, int]:
    """Return for each language the number of words with accents that it has, less those with others."""
    accents = [_ACCENTED.intersection(word) for word in words if not word.isascii()]
    return {name: sum(1 if own <= alphabet else -1 for own in accents if own) for name, alphabet in _ALPHABETS.items()}


def suggested_languages(words: Collection[str]) -> list[str]:
    """Return languages that the letters and the endings of a few words suggest, at most twice MAX_GUESSES."""
    fits = _fits(words)
    spelled = [name for name in sorted(fits, key=lambda name: -fits[name]) if fits[name] > 0][:MAX_GUESSES]
    ended = [name for name, ending in _ENDINGS.items() if any(map(ending.fullmatch, words))]
    if _ends_in_vowels(words, least=2):
        ended.append(_VOWELS)
    return list(dict.fromkeys([*spelled, *ended[:MAX_GUESSES]]))


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
