"""How much of a question a record covers. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Question:
    """The words of a question, each with its rarity and the alternative terms by which a record may have it.

    Sets of words are bits: bit n stands for word n. `names` are the words of names of known entities.
    """

    weights: Sequence[float]
    terms: Sequence[Sequence[int]]
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

    def strength(self, words: int) -> float:
        """Return the share of the question's weight that some words have, from 0 to 1; 0 for a question without."""
        return self.weight(words) / self._total if self._total > 0 else 0.0

    @cached_property
    def _total(self) -> float:
        return sum(self.weights)

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


def words_named(terms: Sequence[Sequence[int]], names: Iterable[Collection[int]]) -> int:
    """Return the words of a question that belong to `names`, which are given by their terms."""
    named = {term for name in names for term in name}
    return sum(1 << place for place, alternatives in enumerate(terms) if any(term in named for term in alternatives))
