"""How else a name may be spelled: transliterated, or with a typo. Pure.

Texts are found by keyed terms, so a name that no record has is looked up by every spelling that it may have. Vowels,
doubled letters, an h and letters that languages write differently may differ, of a long word twice or any letter once.
That keeps "Marta" apart from "Maria", "Chile" from "child", and "Gina" from "gone".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from string import ascii_lowercase

from stratagraph.store.model.analysis.folding import folded
from stratagraph.store.model.analysis.languages import BASE, stem

SHORTEST, LONGEST = 5, 12  # letters of a name that is looked up
LONG, LONGER = 6, 9  # letters of a long word, and from which on only one difference is looked for
_VOWELS = "aeiouy"
_SAME = "c-k k-ck ks-x f-ph v-w s-z s-sz s-sh s-sch sh-si zh-zi i-j t-th ch-kh u-ou i-ee"
_PAIRS = [tuple(each) for pair in _SAME.split() for each in (pair.split("-"), pair.split("-")[::-1])]
_DOUBLE = re.compile(r"(.)\1")


def spellings(name: str) -> set[str]:
    """Return the other spellings of a name, in folded form; none for one that is too short or no word of letters.

    >>> {"muhhamed", "muhammed"} <= spellings("Muhammad"), "maria" in spellings("Marta"), spellings("R2D2")
    (True, False, set())
    """
    word = folded(name)
    if not (SHORTEST <= len(word) <= LONGEST and word.isascii() and word.isalpha()):
        return set()
    single = _DOUBLE.sub(r"\1", word)
    found = {single, *_alike(word), *_alike(single)}
    if len(word) >= LONG:
        again = map(_alike, found) if len(word) < LONGER else ()
        found = found.union(*again, _typed_wrong(word))
    known = stem(word, BASE)
    return {other for other in found if other[:1] in _initials(word) and stem(other, BASE) != known}


def _alike(word: str) -> Iterator[str]:
    """Yield the words that sound alike: with another vowel, a letter doubled or single, an h more or less."""
    for place, letter in enumerate(word):
        before, after = word[:place], word[place + 1 :]
        if letter in _VOWELS:
            yield from (before + other + after for other in _VOWELS if other != letter)
        if letter == "h" or (place and letter == word[place - 1]):
            yield before + after
        yield before + letter + letter + after
        if letter != "h":
            yield before + letter + "h" + after
    for one, other in _PAIRS:
        start = word.find(one)
        while start >= 0:
            yield word[:start] + other + word[start + len(one) :]
            start = word.find(one, start + 1)


def _typed_wrong(word: str) -> Iterator[str]:
    """Yield the words with one letter missing, too much or wrong, or two swapped, but for the first one."""
    for place in range(1, len(word) + 1):
        before, after = word[:place], word[place:]
        yield from (before + letter + after for letter in ascii_lowercase)
        if after:
            yield before + after[1:]
            yield from (before + letter + after[1:] for letter in ascii_lowercase)
        if len(after) > 1:
            yield before + after[1] + after[0] + after[2:]


def _initials(word: str) -> set[str]:
    """Return the letters that a spelling of a word may begin with."""
    return {word[0]} | {other[0] for one, other in _PAIRS if word.startswith(one)}
