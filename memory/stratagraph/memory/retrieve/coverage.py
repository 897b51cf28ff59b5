"""How much of a question a record covers. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import log

from stratagraph.store.model.words import NAME_SHARE

UNKNOWN = 1.5  # the same beside a name or number that a candidate has, where none has it
NAME_ALONE = 0.5  # part of their weight that names have in a record with none of the question's other words
SPECIFIC = 3.0  # weight of a name or number beside that of another word of the same rarity
MOST_RAISED = 0.5  # to which a small number of records raises nearness, so that an unknown name stays unknown
MANY = 150  # records from which on nearness in meaning counts for the strength as it is
# Least strength of the best record of an answer: below it, nothing is known. Calibrated, see benchmarks/README.md.
STRONG_ENOUGH = 0.25
_PART = re.compile(r"[\w-]+")
_SPELLED = re.compile(r"[^\W_]+")
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

    Sets of words are bits: bit n stands for word n. `names` are the words of names, and `apart` those of them that name
    a known entity, which BM25 scores with NAME_SHARE of their weight. `emphasis` is by how much each word counts for
    the strength.
    """

    weights: Sequence[float]
    terms: Sequence[Sequence[int]]
    emphasis: Sequence[float]
    apart: int
    names: int

    def words_of(self, terms: Collection[int]) -> int:
        """Return the words that a text with these terms has."""
        return words_with(self.terms, terms)

    def words_at(self, covered: int) -> int:
        """Return the words of a record, given which of all terms it has: bit n for the n-th distinct term."""
        words = self._at.get(covered)
        if words is None:
            words = self._at[covered] = sum(bit for bit, places in self._places if covered & places)
        return words

    def weight(self, words: int) -> float:
        """Return the sum of the weights of some words."""
        known = self._known.get(words)
        if known is None:
            known = self._known[words] = _sum_of(self.weights, words)
        return known

    def with_unknown(self, known: int) -> Question:
        """Return the question in which names and numbers that are not among the `known` words count UNKNOWN times."""
        emphasis = [
            factor if factor <= 1 or known >> place & 1 else UNKNOWN * factor
            for place, factor in enumerate(self.emphasis)
        ]
        return replace(self, emphasis=emphasis) if emphasis != self.emphasis else self

    def weight_apart(self, words: int) -> float:
        """Return what names among some words add to a BM25 score that has only NAME_SHARE of their weight.

        A name counts by its rarity alone: how often it occurs in a text, and in how short a text, says nothing. Where
        the question has only names, BM25 has all of their weight.
        """
        return (1 - NAME_SHARE) * self.weight(words & self.apart) if self._has_others else 0.0

    def strength(self, words: int, *, also: float = 0.0) -> float:
        """Return how much of the question some words answer, from 0 to 1: their `share`, less for names alone.

        A name alone says little of a question that asks for more.
        """
        is_name_alone = also <= 0 and self._asks_more and not words & ~self.names
        return self.share(words, also=also) * (NAME_ALONE if is_name_alone else 1.0)

    def share(self, words: int, *, also: float = 0.0) -> float:
        """Return the share of the question's weight that some words have, from 0 to 1; 0 for a question without.

        `also` is a weight that counts besides theirs.
        """
        if self._total <= 0:
            return 0.0
        covered = self._stressed.get(words)
        if covered is None:
            covered = _sum_of(self._emphasised, words)
            self._stressed[words] = covered
        return min(1.0, (covered + also) / self._total)

    @cached_property
    def _at(self) -> dict[int, int]:
        return {}

    def general_strength(self, words: int) -> float:
        """Return the share of the question's weight that some words have, apart from words with the form of a name.

        A skill or plan is for tasks of a kind: whom or what such a task names does not matter.
        """
        total = sum(self._general)
        return _sum_of(self._general, words) / total if total > 0 else 0.0

    def strength_by_meaning(self, nearness: float, *, among: int) -> float:
        """Return how much of the question a text answers that is near to it in meaning, from 0 to 1.

        Nearness, from 0 to 1, stands for all words but names and numbers: a text about the same kind of thing is no
        answer about another one. `among` is the number of records: the nearest of many unrelated texts is nearer than
        the nearest of few, about as the logarithm of their number, so in a small store less nearness is as strong,
        up to MOST_RAISED.
        """
        raised = max(nearness, min(MOST_RAISED, nearness * log(MANY) / log(max(2, among))))
        return raised * sum(self._general) / self._total if self._total > 0 else raised

    @cached_property
    def _general(self) -> list[float]:
        return [weight * (emphasis == 1.0) for weight, emphasis in zip(self.weights, self.emphasis, strict=True)]

    # Sums by words: hundreds of candidates have few different sets of words.
    @cached_property
    def _known(self) -> dict[int, float]:
        return {}

    @cached_property
    def _stressed(self) -> dict[int, float]:
        return {}

    @cached_property
    def _has_others(self) -> bool:
        """Whether there are words that neither name a known entity nor a time."""
        return any(factor > 0 and not self.apart >> place & 1 for place, factor in enumerate(self.emphasis))

    @cached_property
    def _asks_more(self) -> bool:
        return any(weight > 0 and not self.names >> place & 1 for place, weight in enumerate(self._emphasised))

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


def emphasis(descriptor: str, words: Sequence[str], *, dated: Collection[str] = ()) -> list[float]:
    """Return by how much each word of a question counts for the strength of an answer.

    What has the form of a name (a capital or a digit within the question) is what a question is about, so it counts
    SPECIFIC times. The words `dated`, which name a time, count nothing: a record's own date answers them, not its
    words.

    >>> emphasis("Did Ann rent 7 in May 2023?", ["Ann", "rent", "7", "May", "2023"], dated={"May", "2023"})
    [3.0, 1.0, 3.0, 0.0, 0.0]
    """
    first = _first_words(descriptor)
    return [0.0 if word in dated else SPECIFIC if _is_specific(word, first) else 1.0 for word in words]


def _sum_of(weights: Sequence[float], words: int) -> float:
    return sum(weight for place, weight in enumerate(weights) if words >> place & 1)


def _first_words(descriptor: str) -> set[str]:
    """Return the first word of a question, with and without what a hyphen joins to it, unless it occurs again.

    Its capital does not make it a name.
    """
    found = [pattern.findall(descriptor) for pattern in (_SPELLED, _PART)]
    return {words[0] for words in found if words and words.count(words[0]) == 1}


def _is_specific(word: str, first: Collection[str]) -> bool:
    return any(map(str.isdigit, word)) or (word[:1].isupper() and word not in first)


def is_a_name(word: str, descriptor: str) -> bool:
    """Return whether a word is written as a name: alone, in capitals, or with a capital after the first word.

    >>> [is_a_name(word, "Will IT ask Will?") for word in ("Will", "IT")], is_a_name("Will", "Will it rain?")
    ([True, True], False)
    """
    is_alone = len(_SPELLED.findall(descriptor)) == 1
    is_in_capitals = word.isupper() and len(word) > 1
    return is_alone or is_in_capitals or _is_specific(word, _first_words(descriptor))


def words_written_as_names(words: Sequence[str], emphasis: Sequence[float]) -> int:
    """Return the words with the form of a name, given what `emphasis` returned for them."""
    return sum(
        1 << place
        for place, (word, factor) in enumerate(zip(words, emphasis, strict=True))
        if factor > 1 and word[:1].isupper()
    )


def asks_only_when(words: Sequence[str], *, dated: Collection[str]) -> bool:
    """Return whether a question has no words but `dated`, which name a time, and such as "happen".

    >>> asks_only_when(["happened", "last", "week"], dated={"last", "week"})
    True
    """
    return all(word in dated or word.casefold() in _GENERAL for word in words)


def words_named(terms: Sequence[Sequence[int]], names: Iterable[Collection[int]]) -> int:
    """Return the words of a question that belong to `names`, which are given by their terms."""
    return words_with(terms, {term for name in names for term in name})


def words_with(alternatives: Iterable[Sequence[int]], terms: Collection[int]) -> int:
    """Return which words, each given by its alternative terms, have one of `terms`: bit n stands for word n."""
    return sum(1 << place for place, word in enumerate(alternatives) if any(term in terms for term in word))
