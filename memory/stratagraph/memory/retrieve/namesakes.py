"""Full names of a question, and records that are about somebody else with a part of such a name. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import dropwhile

from stratagraph.memory.retrieve.messages import sentences
from stratagraph.store.model.analysis.folding import folded
from stratagraph.store.model.analysis.languages import BASE, is_stop_word
from stratagraph.store.model.analysis.lexemes import has_capital_nouns
from stratagraph.store.model.unicode_forms import plain_form

MAX_READ = 4_000  # characters of a text
_WORD = re.compile(r"[\w-]+")
_POSSESSIVE = re.compile(r"'s?\b")


def full_names(question: str) -> list[tuple[str, ...]]:
    """Return the names of several words that a question writes with capitals, folded.

    Languages in which every noun has a capital show none.

    >>> full_names("Is Sam Okafor's bike in New York?"), full_names("Is Sam here?")
    ([('sam', 'okafor'), ('new', 'york')], [])
    """
    if has_capital_nouns(question):
        return []
    found = [name for sentence in sentences(question) for name in _in(sentence)]
    return list(dict.fromkeys(name for name in found if len(name) > 1))


def _in(text: str) -> list[tuple[str, ...]]:
    """Return the words with capitals that stand side by side, without function words before them."""
    text = _POSSESSIVE.sub("", plain_form(text))
    names: list[list[str]] = []
    end = -1  # of the last word with a capital
    for match in _WORD.finditer(text):
        word = match[0]
        if not word[0].isupper():
            end = -1
            continue
        if match.start() != end + 1 or text[end] != " " or end < 0:
            names.append([])
        names[-1].append(folded(word))
        end = match.end()
    return [tuple(dropwhile(lambda word: is_stop_word(word, BASE), name)) for name in names]


def names_another(text: str, asked: Collection[Sequence[str]]) -> bool:
    """Return whether a text has the first word of a name that is asked for in another full name, and not the rest.

    A name with one of the further words, or nearly, may be the same in another writing.

    >>> asked = [("sam", "okafor")]
    >>> names_another("Sam Lindqvist is allergic", asked)
    True
    >>> [names_another(text, asked) for text in ("Sam is allergic", "Sam Okafor met Sam Wu", "Sam Okafors")]
    [False, False, False]
    """
    names = [name for name in _in(text[:MAX_READ]) if len(name) > 1]
    return any(
        any(name[0] == own[0] for name in names) and not any(_shared(name[1:], own[1:]) for name in names)
        for own in asked
    )


def _shared(some: Sequence[str], others: Sequence[str]) -> bool:
    return any(one.startswith(other) or other.startswith(one) for one in some for other in others)
