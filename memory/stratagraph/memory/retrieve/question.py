"""A question as retrieval reads it: its words, names and phrases, and how much of it a record covers. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from math import log
from uuid import UUID

from stratagraph.memory.retrieve.weights import MANY, MOST_RAISED, NAME_ALONE, SPECIFIC, UNKNOWN
from stratagraph.store.model.analysis.folding import WORD, folded
from stratagraph.store.model.analysis.lexemes import MAX_READ, asked, segments
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.unicode_forms import plain_form
from stratagraph.store.model.words import NAME_SHARE, QueryWord, name_terms, query_terms, query_words

MAX_PHRASES = 4  # of one question; further ones are read as words only
MAX_PHRASE = 200  # characters
_QUOTED = re.compile(rf"[\"“”„«]([^\"“”„«»]{{0,{MAX_PHRASE}}})[\"“”»]")
NAME_WORDS = 5  # words in the longest name looked up
DESCRIPTOR_WORDS = 64  # words of the descriptor, from its beginning, that are searched for names
_PART = re.compile(r"[\w-]+")
_SPELLED = re.compile(r"[^\W_]+")
# Words that say nothing of what happened, where a question asks for a time.
_GENERAL = frozenset(
    """
    happen happened happening new news recent recently latest newest last just now today yesterday do done change
    changed changes update updated updates work worked working event events thing things going record records
    recorded captured memory memories
    passiert passierte geschah geschehen war waren los ist wat er passé passée arrivé fait est-il pasó pasado ocurrió
    qué hice que successo accaduto cosa è aconteceu passou fiz o gebeurd gebeurde deed 发生 生了 做了
    了什 什么 了些 些什
    """.split()  # noqa: SIM905 - a list of one word a line would hide the words
)


@dataclass(frozen=True)
class Question:
    """The words of a question, each with its rarity and the alternative terms by which a record may have it.

    Sets of words are bits: bit n stands for word n. `names` are the words of names, and `apart` those of them that name
    a known entity, which BM25 scores with NAME_SHARE of their weight. `emphasis` is by how much each word counts for
    the strength. `entities` has the words that name each entity found by name, or nearly.
    """

    weights: Sequence[float]
    terms: Sequence[Sequence[int]]
    emphasis: Sequence[float]
    apart: int
    names: int
    entities: Mapping[UUID, int] = field(default_factory=dict)

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


def question_of(
    index_key: bytes,
    text: str,
    words: Sequence[QueryWord],
    weights: Sequence[float],
    *,
    named: Sequence[tuple[UUID, str]],
    misspelt: Iterable[tuple[UUID, str]],
    dated: Collection[str],
) -> Question:
    """Return the question `text`, given its `words` with their rarities and the words `dated`, which name a time.

    `named` are entities with the name that found each, `misspelt` those with the word that misspells their name: that
    is no name of the question. A name that is a function word ("Will", "IT") is a word of the question if it is written
    as a name, as rare as the rarest of the words. No record is found by it, but the entity has it, and what is linked
    to the entity.
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
    return Question(
        weights=[*weights, *[max(weights, default=1.0)] * (len(terms) - len(weights))],
        terms=terms,
        emphasis=stressed,
        apart=apart,
        names=apart | words_written_as_names(texts, stressed),
        entities=entities,
    )


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


@dataclass(frozen=True)  # without slots, for the cached words
class AskedWords:
    """The words of the question `text`, by a caller of the tenant with this index key. They are parsed when needed."""

    index_key: bytes
    text: str

    def spelled(self, covered: int) -> list[str]:
        """Return the words that a record has: bit n of `covered` stands for word n, as in `coverage.Question`.

        They are words of the question, in its spelling. The record's other words are not revealed.
        """
        return [word.text for place, word in enumerate(self.words) if covered >> place & 1]

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


def phrases_of(question: str) -> list[str]:
    """Return the phrases of a question as `spaced` does, at most MAX_PHRASES; quotes without a word are none.

    >>> phrases_of('what is the "Retry budget" of the mirror?')
    [' retry budget ']
    """
    found = (spaced(phrase) for phrase in _QUOTED.findall(question))
    return list(dict.fromkeys(phrase for phrase in found if phrase.strip()))[:MAX_PHRASES]


def without_phrases(question: str) -> str | None:
    """Return a question with its phrases read as words, for one whose phrases no record has; None if it is only them.

    Titles stand in quotes, too, and the record that answers need not spell them out.

    >>> without_phrases('Who read "Becoming Nicole"?'), without_phrases('where is "Becoming Nicole"?')
    ('Who read  Becoming Nicole ?', None)
    """
    return _QUOTED.sub(r" \1 ", question) if asked(_QUOTED.sub(" ", question)) else None


def spaced(text: str) -> str:
    """Return the folded words of a text with one space before and after each, but none within a script without spaces.

    So a phrase is in a text if its spaced form is in that of the text.
    """
    words = WORD.findall(plain_form(text[:MAX_READ]))
    parts = ((folded(part), is_run) for word in words for part, is_run in segments(word))
    return "".join(part if is_run else f" {part} " for part, is_run in parts).replace("  ", " ")


def has_phrases(record: MemoryRecord, phrases: Collection[str]) -> bool:
    """Return whether the name or the text of a record has all of the phrases."""
    text = f"{spaced(record.name or '')}\0{spaced(record.text or '')}"
    return all(phrase in text for phrase in phrases)


def terms_of_phrases(index_key: bytes, question: str) -> list[int]:
    """Return terms that every record with the phrases of a question has; none for a question without phrases.

    Function words are left out, and so are words with digits: a record may have those as parts of an identifier only.
    """
    words = [word for phrase in phrases_of(question) for word in phrase.split() if len(word) > 1 and word.isalpha()]
    return name_terms(index_key, " ".join(words))
