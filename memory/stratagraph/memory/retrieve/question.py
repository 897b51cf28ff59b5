"""A question as retrieval reads it: its words, names and phrases, and how much of it a record covers. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import islice
from math import log
from operator import or_
from uuid import UUID

from stratagraph.memory.retrieve.messages import asking_sentences, sentences
from stratagraph.memory.retrieve.namesakes import full_names
from stratagraph.memory.retrieve.weights import (
    FAINT,
    FAINT_OF_NAMED,
    FURTHER,
    MANY,
    MOST_RAISED,
    NAME_ALONE,
    NEXT,
    ONE_WORD,
    SPECIFIC,
    STRONG_ENOUGH,
    UNKNOWN,
    UNKNOWN_PART,
)
from stratagraph.store.model.analysis.folding import folded
from stratagraph.store.model.analysis.lexemes import Asked, asked, has_capital_nouns, is_dense
from stratagraph.store.model.unicode_forms import plain_form
from stratagraph.store.model.words import NAME_SHARE, QueryWord, query_terms, query_words

NAME_WORDS = 5  # words in the longest name looked up
DESCRIPTOR_WORDS = 64  # words of the descriptor, from its beginning, that are searched for names
_ROLES = ("user", "assistant")
_VERB = re.compile(
    r"\b(?:do|does|did|can|could|shall|should|will|would|must)(?:n't| not)? (?:i|we|you|they|he|she|it|one) (\w+)",
    re.IGNORECASE,
)
_PART = re.compile(r"[\w-]+")
_SPELLED = re.compile(r"[^\W_]+")
# Words that say nothing of what happened, where a question asks for a time.
_GENERAL = frozenset(
    """
    happen happens happened happening planned scheduled new news recent recently latest newest last just now today
    yesterday do done change changed changes update updated updates work worked working event events thing things
    going record records recorded captured memory memories passiert passierte geschah geschehen war waren los ist
    gemacht machte machten mache getan tat taten erlebt erlebte unternommen ereignet ereignete gewesen geplant
    vorgefallen wat er passé passée arrivé fait faite faites faisais est-il pasó pasado ocurrió hicimos hizo hecho
    fatto facemmo fizemos fez feito qué hice que successo accaduto cosa è aconteceu passou fiz o gebeurd gebeurde deed
    deden gedaan gjorde gjort skete sket skjedde 发生 生了 做了 了什 什么 了些 些什
    """.split()  # noqa: SIM905 - a list of one word a line would hide the words
)


class _Sums(dict[int, float]):
    """The sum of the weights of some words, by their bits, where -1 is all: many candidates have few sets of words."""

    def __init__(self, weights: Sequence[float]) -> None:
        super().__init__()
        self._weights = weights

    def __missing__(self, words: int) -> float:
        total = self[words] = sum(weight for place, weight in enumerate(self._weights) if words >> place & 1)
        return total


@dataclass(frozen=True)
class Question:
    """The words of a question, each with its weight and the alternative terms by which a record may have it.

    Sets of words are bits: bit n stands for word n. `names` are the words of names, and `apart` those of them that name
    a known entity, which BM25 scores with NAME_SHARE of their weight. `emphasis` is by how much each word counts for
    the strength, times its rarity, which is its weight where `rarities` are not given. `entities` has the words that
    name each entity found by name, or nearly. `pairs` are the pairs of characters of scripts without spaces. `asking`
    are the words of the sentences that ask, where there are others: of all, and of each. `verbs` are what somebody does
    in "did we …". `shows_names` is false where capitals tell no names. `full_names` has the first and the further words
    of each. `dates` has the words of each date with a year: a record without them may lie in that time, so they count
    for those that have all of them, and against none. `parts` are the words that are parts of others, and `compounds`
    has those of each place.
    """

    weights: Sequence[float]
    terms: Sequence[Sequence[int]]
    emphasis: Sequence[float]
    apart: int
    names: int
    entities: Mapping[UUID, int] = field(default_factory=dict)
    rarities: Sequence[float] | None = None
    pairs: int = 0
    asking: Sequence[int] = ()
    verbs: int = 0
    shows_names: bool = True
    parts: int = 0
    compounds: Mapping[int, int] = field(default_factory=dict)
    full_names: Sequence[tuple[int, int]] = ()
    dates: Sequence[int] = ()

    def words_at(self, covered: int) -> int:
        """Return the words of a record, given which of all terms it has: bit n for the n-th distinct term."""
        words = self._at.get(covered)
        if words is None:
            words = self._at[covered] = sum(bit for bit, places in self._places if covered & places)
        return words

    def weight(self, words: int) -> float:
        """Return the sum of the weights of some words."""
        return self._weights_of[words]

    def with_unknown(self, known: int) -> Question:
        """Return the question in which names and numbers that are not among the `known` words count UNKNOWN times.

        Pairs of characters that are not count UNKNOWN_PART times, since every other one of a text is of two words, and
        so do compounds of which a part is known. What a message says besides its question does not count then, nor the
        surname of somebody whose first name is known.
        """
        aside = ~self.asking[0] if self.asking else 0
        surnames = self._surnames(known)

        def factor_of(place: int, factor: float) -> float:
            word = 1 << place
            if known & word:
                return factor
            if (aside | surnames) & word:
                return 0.0
            is_in_part = self.pairs & word or known & self.compounds.get(place, 0)
            return factor * (UNKNOWN_PART if is_in_part else UNKNOWN if factor > 1 else 1.0)

        emphasis = [factor_of(place, factor) for place, factor in enumerate(self.emphasis)]
        return replace(self, emphasis=emphasis) if emphasis != self.emphasis else self

    def least_strength(self, known: int) -> float:
        """Return the strength that the best record of an answer must have, given the words that some record has.

        Less is enough where the store knows a name of the question, and least where it knows all of its names and
        numbers: then other words may be the asker's own. German, where every noun has a capital, and scripts without
        spaces show no names.
        """
        if self.unknown_names(known):
            return FAINT if self.names & known else STRONG_ENOUGH
        return FAINT if self.shows_names and not self.names & known else FAINT_OF_NAMED

    def unknown_names(self, known: int) -> int:
        """Return the names and numbers of the question that are not among the `known` words."""
        wanted = (self.asking[0] if self.asking else -1) & ~known & ~self._surnames(known)
        return sum(1 << place for place, factor in enumerate(self.emphasis) if factor > 1 and wanted >> place & 1)

    def _surnames(self, known: int) -> int:
        return reduce(or_, (further for first, further in self.full_names if first & known), 0)

    def weight_apart(self, words: int) -> float:
        """Return what names among some words add to a BM25 score that has only NAME_SHARE of their weight.

        A name counts by its rarity alone: how often it occurs in a text, and in how short a text, says nothing. Where
        the question has only names, BM25 has all of their weight.
        """
        return (1 - NAME_SHARE) * self.weight(words & self.apart) if self._has_others else 0.0

    def strength(self, words: int, lent: Sequence[int] = ()) -> float:
        """Return how much of the question some words answer, from 0 to 1: their `share`, less for names alone."""
        return self.share(words, lent) * self.fullness(words, lent)

    def fullness(self, words: int, lent: Sequence[int] = ()) -> float:
        """Return the part of their share that some words answer.

        A name alone says little of a question that asks for more, and so does the verb of "did we …".
        """
        is_little = not lent and self._asks_more and not words & ~(self.names | self.verbs)
        return NAME_ALONE if is_little else 1.0

    def share(self, words: int, lent: Sequence[int] = ()) -> float:
        """Return the share of the question's weight that some words have, from 0 to 1; 0 for a question without.

        `lent` are further words, by their distance in the thread, each of which counts NEXT or less of its weight. Of a
        message with sentences that ask, the share is that of all of these, or of one, if it is greater; half of it for
        a sentence of one word.
        """
        shares = [self._share(words, lent, -1)]
        for asking in self.asking:
            is_one = (asking & ~self.parts).bit_count() == 1
            shares.append(self._share(words, lent, asking) * (ONE_WORD if is_one else 1.0))
        return max(shares)

    def _share(self, words: int, lent: Sequence[int], among: int) -> float:
        said = self._rarities_of[self.dated(words) & among] if self.dates else 0.0
        total = self._emphasised_of[among] + said
        if total <= 0:
            return 0.0
        covered, part = self._emphasised_of[words & among] + said, NEXT
        for further in lent:
            covered += part * self._rarities_of[further & among]
            part *= FURTHER
        return min(1.0, covered / total)

    def dated(self, words: int) -> int:
        """Return the words of the dates of which some words have all."""
        return reduce(or_, (date for date in self.dates if words & date == date), 0)

    @cached_property
    def _at(self) -> dict[int, int]:
        return {}

    def strength_by_meaning(self, nearness: float, *, among: int) -> float:
        """Return how much of the question a text answers that is near to it in meaning, from 0 to 1.

        Nearness, from 0 to 1, stands for all words but names and numbers: a text about the same kind of thing is no
        answer about another one. `among` is the number of records: the nearest of many unrelated texts is nearer than
        the nearest of few, about as the logarithm of their number, so in a small store less nearness is as strong,
        up to MOST_RAISED.
        """
        raised = max(nearness, min(MOST_RAISED, nearness * log(MANY) / log(max(2, among))))
        total = self._emphasised_of[-1]
        return raised * self._general_of[-1] / total if total > 0 else raised

    @cached_property
    def _weights_of(self) -> _Sums:
        return _Sums(self.weights)

    @cached_property
    def _rarities_of(self) -> _Sums:
        return _Sums(self._rarities)

    @cached_property
    def _emphasised_of(self) -> _Sums:
        return _Sums(self._emphasised)

    @cached_property
    def _general_of(self) -> _Sums:
        return _Sums(
            [weight * (emphasis == 1.0) for weight, emphasis in zip(self._rarities, self.emphasis, strict=True)]
        )

    @cached_property
    def _has_others(self) -> bool:
        """Whether there are words that neither name a known entity nor a time."""
        return any(factor > 0 and not self.apart >> place & 1 for place, factor in enumerate(self.emphasis))

    @cached_property
    def _asks_more(self) -> bool:
        known = self.names | self.verbs
        return any(weight > 0 and not known >> place & 1 for place, weight in enumerate(self._emphasised))

    @cached_property
    def _emphasised(self) -> list[float]:
        return [weight * emphasis for weight, emphasis in zip(self._rarities, self.emphasis, strict=True)]

    @property
    def _rarities(self) -> Sequence[float]:
        return self.weights if self.rarities is None else self.rarities

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


def question_of(
    index_key: bytes,
    text: str,
    words: Sequence[QueryWord],
    weights: Sequence[float],
    rarities: Sequence[float],
    *,
    named: Sequence[tuple[UUID, str]],
    misspelt: Iterable[tuple[UUID, str]],
    dated: Collection[str],
    dates: Sequence[int] = (),
) -> Question:
    """Return the question `text`, given its `words` with their rarities and the words `dated`, which name a time.

    `dates` has the words of each time that is named with its year, as bits. `named` are entities with the name that
    found each, `misspelt` those with the word that misspells their name: that is no name of the question. A name that
    is a function word ("Will", "IT") is a word of the question if it is written as a name, as rare as the rarest of the
    words. No record is found by it, but the entity has it, and what is linked to the entity.
    """
    terms, texts = [word.numbers for word in words], [word.text for word in words]
    entities = {id_: words_named(terms, [query_terms(index_key, name)]) for id_, name in named}
    for name in dict.fromkeys(name for id_, name in named if not entities[id_] and is_a_name(name, text)):
        entities |= {id_: 1 << len(terms) for id_, other in named if other == name}
        terms.append((-len(terms),))  # the number of no term
        texts.append(name)
    apart = 0
    for bits in entities.values():
        apart |= bits
    for id_, misspelling in misspelt:
        bits = sum(1 << place for place, word in enumerate(texts) if word == misspelling)
        entities[id_] = entities.get(id_, 0) | bits
    stressed = emphasis(text, texts, dated=dated)
    parts = [word.is_part for word in words] + [False] * (len(texts) - len(words))
    names = words_written_as_names(texts, stressed) & ~sum(1 << place for place, is_part in enumerate(parts) if is_part)
    has_capitals = has_capital_nouns(text)
    if has_capitals:
        parts = [is_part or not any(map(str.isdigit, word)) for word, is_part in zip(texts, parts, strict=True)]
    stressed = [min(factor, 1.0) if is_usual else factor for factor, is_usual in zip(stressed, parts, strict=True)]
    pairs = sum(1 << place for place, word in enumerate(texts) if is_dense(word))
    return Question(
        weights=[*weights, *[max(weights, default=1.0)] * (len(terms) - len(weights))],
        rarities=[*rarities, *[max(rarities, default=1.0)] * (len(terms) - len(rarities))],
        terms=terms,
        emphasis=stressed,
        apart=apart,
        names=apart | names,
        pairs=pairs,
        shows_names=not (pairs or has_capitals),
        asking=_asking(text, texts),
        compounds=_compounds(words),
        parts=sum(1 << place for place, word in enumerate(words) if word.is_part),
        verbs=_words_of(" ".join(_VERB.findall(text)), texts),
        full_names=[(_folded(name[:1], texts), _folded(name[1:], texts)) for name in full_names(text)],
        entities=entities,
        dates=dates,
    )


def _compounds(words: Sequence[QueryWord]) -> dict[int, int]:
    """Return the parts of the words that have any, by their places."""
    parts = [(place, word.text) for place, word in enumerate(words) if word.is_part]
    return {
        whole: bits
        for whole, word in enumerate(words if parts else ())
        if not word.is_part and (bits := sum(1 << place for place, part in parts if part in word.text))
    }


def _folded(some: Collection[str], words: Sequence[str]) -> int:
    return sum(1 << place for place, word in enumerate(words) if folded(word) in some)


def _asking(text: str, words: Sequence[str]) -> list[int]:
    """Return the words of all sentences that ask, and of each; nothing where there are no others."""
    each = [bits for sentence in asking_sentences(text) if (bits := _words_of(sentence, words))]
    return [reduce(or_, each), *each] if each else []


def _words_of(part: str, words: Sequence[str]) -> int:
    own = {word.text for word in asked(part)}
    return sum(1 << place for place, word in enumerate(words) if word in own)


def words_aside(message: str) -> frozenset[str]:
    """Return the words of the sentences that do not ask, where others do, but for names.

    >>> sorted(words_aside("Juno likes films. Which dessert may Juno eat?"))
    ['films', 'likes']
    """
    asking = asking_sentences(message)
    if not asking:
        return frozenset()
    first = _first_words(message)
    said = [word.text for sentence in sentences(message) if sentence not in asking for word in asked(sentence)]
    wanted = {word.text for sentence in asking for word in asked(sentence)}
    return frozenset(word for word in said if word not in wanted and not _is_specific(word, first))


def emphasis(descriptor: str, words: Sequence[str], *, dated: Collection[str] = ()) -> list[float]:
    """Return by how much each word of a question counts for the strength of an answer.

    What has the form of a name (a capital or a digit within the question) is what a question is about, so it counts
    SPECIFIC times. The words `dated`, which name a time, count nothing: a record's own date answers them, not its
    words. Nor do the roles before a turn.

    >>> emphasis("Did Ann rent 7 in May 2023?", ["Ann", "rent", "7", "May", "2023"], dated={"May", "2023"})
    [3.0, 1.0, 3.0, 0.0, 0.0]
    """
    first = _first_words(descriptor)
    roles = _ROLES if any(word.casefold() not in _ROLES for word in words) else ()
    return [
        0.0 if word in dated or word.casefold() in roles else SPECIFIC if _is_specific(word, first) else 1.0
        for word in words
    ]


def _first_words(descriptor: str) -> set[str]:
    """Return the first words of sentences, with and without what a hyphen joins to them, unless they occur elsewhere.

    Their capitals do not make them names.
    """
    found = set()
    for pattern in (_SPELLED, _PART):
        words = Counter(pattern.findall(descriptor))
        first = Counter(match[0] for match in map(pattern.search, sentences(descriptor)) if match is not None)
        found |= {word for word, times in first.items() if times == words[word]}
    return found


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


def asks_only_when(words: Iterable[QueryWord | Asked], *, dated: Collection[str]) -> bool:
    """Return whether a question has no words but `dated`, which name a time, and such as "happen".

    >>> asks_only_when(asked("happened last week"), dated={"last", "week"})
    True
    """
    return all(word.is_part or word.text in dated or word.text.casefold() in _GENERAL for word in words)


def words_named(terms: Sequence[Sequence[int]], names: Iterable[Collection[int]]) -> int:
    """Return the words of a question that belong to `names`, which are given by their terms."""
    return words_with(terms, {term for name in names for term in name})


def words_with(alternatives: Iterable[Sequence[int]], terms: Collection[int]) -> int:
    """Return which words, each given by its alternative terms, have one of `terms`: bit n stands for word n."""
    return sum(1 << place for place, word in enumerate(alternatives) if any(term in terms for term in word))


@dataclass(frozen=True)  # without slots, for the cached words
class AskedWords:
    """The words of the question `text`, by a caller of the tenant with this index key. They are parsed when needed."""

    index_key: bytes
    text: str

    def spelled(self, covered: int) -> list[str]:
        """Return the words that a record has: bit n of `covered` stands for word n, as in `coverage.Question`.

        They are words of the question, in its spelling. The record's other words are not revealed.
        """
        return [word.text for place, word in enumerate(self.words) if covered >> place & 1 and not word.is_part]

    def covered_by(self, terms: set[int]) -> int:
        """Return the words that a text with these terms has, as bits."""
        return words_with((word.numbers for word in self.words), terms)

    @cached_property
    def words(self) -> list[QueryWord]:
        """All words that a record may have."""
        return query_words(self.index_key, self.text)


def candidate_names(descriptor: str) -> list[str]:
    """Return every run of up to NAME_WORDS words, longest first: each may be the name of an entity.

    >>> candidate_names("Alice's build")
    ["Alice's build", "Alice's", 'build', 'Alice']
    """
    words = [word.strip(".,;:!?()[]{}\"'") for word in islice(plain_form(descriptor).split(), DESCRIPTOR_WORDS)]
    runs = [
        " ".join(words[start : start + length])
        for length in range(NAME_WORDS, 0, -1)
        for start in range(len(words) - length + 1)
    ]
    runs += [run.removesuffix("'s") for run in runs]
    return list(dict.fromkeys(run for run in runs if len(run) > 1))
