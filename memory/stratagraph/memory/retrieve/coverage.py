"""How much of a question a record covers. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from stratagraph.store.model.words import NAME_SHARE

SPECIFIC = 3.0  # weight of a name or number beside that of another word of the same rarity
# Least strength of the best record of an answer: below it, nothing is known. Calibrated, see docs/retrieval-quality.md.
STRONG_ENOUGH = 0.25
_PART = re.compile(r"[\w-]+")
# Words that say nothing of what happened, where a question asks for a time.
_GENERAL = frozenset(
    """
    happen happened happening new news recent recently latest newest last just now today yesterday do done change
    changed changes update updated updates work worked working event events thing things going record records
    recorded captured memory memories
    """.split()  # noqa: SIM905 - a list of one word a line would hide the words
)


@dataclass(frozen=True)
class Question:
    """The words of a question, each with its rarity and the alternative terms by which a record may have it.

    Sets of words are bits: bit n stands for word n. `names` are the words of names of known entities. `emphasis` is by
    how much each word counts for the strength.
    """

    weights: Sequence[float]
    terms: Sequence[Sequence[int]]
    emphasis: Sequence[float]
    names: int = 0

    def words_of(self, terms: Collection[int]) -> int:
        """Return the words that a text with these terms has."""
        return sum(
            1 << place for place, alternatives in enumerate(self.terms) if any(term in terms for term in alternatives)
        )

    def words_at(self, covered: int) -> int:
        """Return the words of a record, given which of all terms it has: bit n for the n-th distinct term."""
        return sum(bit for bit, places in self._places if covered & places)

    def weight(self, words: int) -> float:
        """Return the sum of the weights of some words."""
        return sum(weight for place, weight in enumerate(self.weights) if words >> place & 1)

    def weight_apart(self, words: int) -> float:
        """Return what names among some words add to a BM25 score that has only NAME_SHARE of their weight.

        A name counts by its rarity alone: how often it occurs in a text, and in how short a text, says nothing. Where
        the question has only names, BM25 has all of their weight.
        """
        everything = (1 << len(self.weights)) - 1
        return (1 - NAME_SHARE) * self.weight(words & self.names) if everything & ~self.names else 0.0

    def strength(self, words: int, *, also: float = 0.0) -> float:
        """Return the share of the question's weight that some words have, from 0 to 1; 0 for a question without.

        `also` is a weight that counts besides theirs.
        """
        if self._total <= 0:
            return 0.0
        covered = sum(weight for place, weight in enumerate(self._emphasised) if words >> place & 1)
        return min(1.0, (covered + also) / self._total)

    @cached_property
    def _total(self) -> float:
        return sum(self._emphasised)

    @cached_property
    def _emphasised(self) -> list[float]:
        return [weight * emphasis for weight, emphasis in zip(self.weights, self.emphasis, strict=True)]

    @cached_property
    def _places(self) -> list[tuple[int, int]]:
        """Each word's bit, and the bits of its terms."""
        places: dict[int, int] = {}
        for alternatives in self.terms:
            for term in alternatives:
                places.setdefault(term, len(places))
        return [
            (1 << place, sum({1 << places[term] for term in alternatives}))
            for place, alternatives in enumerate(self.terms)
        ]


def emphasis(descriptor: str, words: Sequence[str], *, dated: Iterable[str] = ()) -> list[float]:
    """Return by how much each word of a question counts for the strength of an answer.

    What has the form of a name (a capital or a digit within the question) is what a question is about, so it counts
    SPECIFIC times. The parts of the question that name a time, `dated`, count nothing: a record's own date answers
    them, not its words.

    >>> emphasis("Did Ann rent depot 7 in May 2023?", ["Ann", "rent", "depot", "7", "May", "2023"], dated=["May 2023"])
    [3.0, 1.0, 1.0, 3.0, 0.0, 0.0]
    """
    of_times = {word for time in dated for word in _PART.findall(time)}
    first = descriptor.strip()
    return [0.0 if word in of_times else SPECIFIC if _is_specific(word, first) else 1.0 for word in words]


def _is_specific(word: str, descriptor: str) -> bool:
    return any(map(str.isdigit, word)) or (word[:1].isupper() and not descriptor.startswith(word))


def asks_only_when(words: Sequence[str], *, dated: Iterable[str]) -> bool:
    """Return whether a question has no words but those that name a time, and such as "happen".

    >>> asks_only_when(["happened", "last", "week"], dated=["last week"])
    True
    """
    of_times = {word for time in dated for word in _PART.findall(time)}
    return all(word in of_times or word.casefold() in _GENERAL for word in words)


def words_named(terms: Sequence[Sequence[int]], names: Iterable[Collection[int]]) -> int:
    """Return the words of a question that belong to `names`, which are given by their terms."""
    named = {term for name in names for term in name}
    return sum(1 << place for place, alternatives in enumerate(terms) if any(term in named for term in alternatives))
