"""The keys of a name, by which entities with a similar name are found at a cost that does not grow with their number.

Two names that `alike` takes for similar share a key of one with a key that the other asks for, except for a single word
that begins with the other, and two errors of which one is at each end of a word. No I/O.
"""

from __future__ import annotations

from collections.abc import Iterator

from stratagraph.memory.learning.duplicates.names import SHORTEST_PART, name_of
from stratagraph.store.learning.duplicates import NameKeys
from stratagraph.store.search.similar_names import LONG, SHORTEST

MAX_WORDS = 8  # of a name; a longer one has only the key of all its letters
_END, _LONG_END = 2, 4  # letters at an end of one of several words, and of a single long word


def keys_of(text: str) -> NameKeys | None:
    """Return the keys of a name; None for one that is compared by equal names alone, such as a path.

    >>> sorted(keys_of("Ada King").held)
    ['<0ad|king', '<1ki|ada', 'full a|king', 'part aad', 'part gikn', 'word aadgikn']
    """
    name = name_of(text)
    if not name.is_natural:
        return None
    words = name.words
    whole = _letters(words)
    held, asked = {f"word {whole}"}, {f"word {whole}", f"part {whole}"}
    if 1 < len(words) <= MAX_WORDS:
        parts = {_letters(part) for part in _parts(words)}
        held |= {f"part {part}" for part in parts}
        asked |= {f"word {part}" for part in parts}
        initials = "|".join([*(word[0] for word in words[:-1]), words[-1]])
        is_short = any(len(word) == 1 for word in words[:-1])
        held.add(f"{'short' if is_short else 'full'} {initials}")
        asked |= {f"short {initials}"} | ({f"full {initials}"} if is_short else set())
    if len(words) <= MAX_WORDS:
        shared = set(_ends(words) if len(words) > 1 else _spellings(words[0]))
        held |= shared
        asked |= shared
    return NameKeys(text=text, held=frozenset(held), asked=frozenset(asked))


def _letters(words: tuple[str, ...]) -> str:
    """Return the letters of words in alphabetical order: neither spaces nor the order of words matter."""
    return "".join(sorted("".join(words)))


def _parts(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the first and the last words of a name, of which a shorter name may consist."""
    for length in range(1, len(words)):
        for part in (words[:length], words[length:]):
            if len("".join(part)) >= SHORTEST_PART:
                yield part


def _ends(words: tuple[str, ...]) -> Iterator[str]:
    """Yield each word's first and last letters with the other words: an error or a short form leaves one of both."""
    for place, word in enumerate(words):
        others = "|".join((*words[:place], *words[place + 1 :]))
        if len(word) >= SHORTEST_PART:
            yield f"<{place}{word[:_END]}|{others}"
        if len(word) >= SHORTEST:
            yield f">{place}{word[-_END:]}|{others}"


def _spellings(word: str) -> Iterator[str]:
    """Yield the word without one letter, which another one with an error may be; both ends of a long word."""
    if SHORTEST <= len(word) <= LONG:
        yield f"- {word}"
        yield from (f"- {word[:place]}{word[place + 1 :]}" for place in range(len(word)))
    if len(word) >= LONG - 1:
        yield f"< {word[:_LONG_END]}"
        yield f"> {word[-_LONG_END:]}"
