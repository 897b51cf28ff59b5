"""What speaks for and against two records saying the same, and the score that it adds up to. No I/O.

Each signal has a match weight in bits, log2 of how many times as often it is found between two records of one thing as
between two of different things; weights add up (Fellegi and Sunter, 1969, "A theory for record linkage"). The weights
are judgements, not fitted to any data, and err on the side of listing a pair instead of merging it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

PRIOR_BITS = -5.0  # one in 33 of the pairs that are compared says the same
LISTED = 0.5  # score from which a pair is listed for a decision
MERGED = 0.9  # score from which a pair is merged, if nothing speaks against it
SHARED_FACT_BITS = 1.25  # for each fact that holds of both entities
MAX_SHARED = 4  # such facts that count


class Signal(StrEnum):
    """A kind of evidence about a pair. The first ones are about entities, the others about facts."""

    SAME_NAME = "same_name"  # the names differ at most in case, accents, punctuation, or a legal form such as "Inc."
    SAME_ALIAS = "same_alias"  # so does a name of one and an alias of the other
    SAME_LETTERS = "same_letters"  # the names differ in spaces, in the order of their words or in the legal form
    INITIALS = "initials"  # "J. Smith" and "John Smith"
    SHORT_FORM = "short_form"  # "Mel Miller" and "Melanie Miller"
    SHORT_WORD = "short_word"  # "Mel" and "Melanie", as many unrelated words are alike
    LONGER_NAME = "longer_name"  # "Acme" and "Acme Robotics"
    TYPO = "typo"  # one word of the names differs by a letter, or two in a long word
    SAME_TYPE = "same_type"
    SHARED_FACTS = "shared_facts"  # facts with the same predicate and object
    DIFFERENT_TYPES = "different_types"  # that do not exclude each other: a type is a hint
    ONE_SIDED = "one_sided"  # an alias of one is all that makes it the other, which says nothing of it
    DIFFERENT_IDENTIFIERS = "different_identifiers"  # of one namespace, and none of them is equal
    DIFFERENT_VALUES = "different_values"  # of a predicate that has one value at a time
    AMBIGUOUS = "ambiguous"  # a third record fits as well, so that merging two of them would be a guess
    SAME_OBJECT = "same_object"  # the objects differ at most in case, accents, punctuation or an article
    SAME_STEMS = "same_stems"  # the objects have the same words in other forms
    LONGER_OBJECT = "longer_object"  # the words of one object are among those of the other
    SAME_PREDICATE_STEMS = "same_predicate_stems"  # the predicates have the same words in other forms
    SIMILAR_PREDICATE = "similar_predicate"  # the predicates share their main word


BITS: dict[Signal, float] = {
    Signal.SAME_NAME: 8.5,
    Signal.SAME_ALIAS: 8.5,
    Signal.SAME_LETTERS: 6.0,
    Signal.INITIALS: 5.0,
    Signal.SHORT_FORM: 5.0,
    Signal.SHORT_WORD: 3.0,
    Signal.LONGER_NAME: 4.5,
    Signal.TYPO: 4.5,
    Signal.SAME_TYPE: 1.0,
    Signal.DIFFERENT_TYPES: -3.0,
    Signal.ONE_SIDED: 0.0,
    Signal.DIFFERENT_IDENTIFIERS: -4.0,
    Signal.DIFFERENT_VALUES: -3.0,
    Signal.AMBIGUOUS: 0.0,
    Signal.SAME_OBJECT: 9.0,
    Signal.SAME_STEMS: 7.0,
    Signal.LONGER_OBJECT: 5.5,
    Signal.SAME_PREDICATE_STEMS: 7.0,
    Signal.SIMILAR_PREDICATE: 5.0,
}
# Without one of the first, and with one of the others, no score is high enough to merge.
_SAYS_SAME = {Signal.SAME_NAME, Signal.SAME_ALIAS, Signal.SAME_OBJECT}
_SPEAKS_AGAINST = {
    Signal.DIFFERENT_TYPES,
    Signal.ONE_SIDED,
    Signal.DIFFERENT_IDENTIFIERS,
    Signal.DIFFERENT_VALUES,
    Signal.AMBIGUOUS,
}


@dataclass(frozen=True, slots=True)
class Weight:
    """A signal that was found, and its weight in bits, negative if it speaks against the pair."""

    signal: Signal
    bits: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was found about a pair of records."""

    weights: tuple[Weight, ...]

    @property
    def score(self) -> float:
        """The probability that the two say the same, 0 to 1, as far as the weights are right."""
        return probability(sum(weight.bits for weight in self.weights))

    @property
    def is_listed(self) -> bool:
        return self.score >= LISTED

    @property
    def is_merged(self) -> bool:
        """Whether the two are merged without asking: their names or objects say the same, and nothing speaks against.

        >>> Comparison((Weight(Signal.SAME_NAME, 8.5),)).is_merged
        True
        """
        found = {weight.signal for weight in self.weights}
        return self.score >= MERGED and bool(found & _SAYS_SAME) and not found & _SPEAKS_AGAINST

    def but(self, signal: Signal) -> Comparison:
        """Return the comparison with one more signal."""
        return Comparison((*self.weights, Weight(signal, BITS[signal])))


def comparison(signals: Iterable[Signal], *, shared_facts: int = 0) -> Comparison:
    """Return the comparison of a pair with these signals, and with facts that hold of both entities."""
    weights = [Weight(signal, BITS[signal]) for signal in signals]
    if shared_facts:
        weights.append(Weight(Signal.SHARED_FACTS, SHARED_FACT_BITS * min(shared_facts, MAX_SHARED)))
    return Comparison(tuple(weights))


def probability(bits: float) -> float:
    """Return the probability of a match for a sum of match weights, given PRIOR_BITS.

    >>> probability(5.0), round(probability(8.5), 3)
    (0.5, 0.919)
    """
    return 1.0 / (1.0 + math.exp2(-(bits + PRIOR_BITS)))


def clusters(pairs: Sequence[tuple[UUID, UUID]]) -> list[tuple[UUID, ...]]:
    """Return the connected components of the pairs, each sorted, ordered by their first members."""
    parent: dict[UUID, UUID] = {}

    def root(item: UUID) -> UUID:
        while parent.setdefault(item, item) != item:
            item = parent[item]
        return item

    for one, other in pairs:
        first, second = sorted((root(one), root(other)))
        parent[second] = first
    found: dict[UUID, list[UUID]] = {}
    for item in sorted(parent):
        found.setdefault(root(item), []).append(item)
    return [tuple(found[first]) for first in sorted(found)]
