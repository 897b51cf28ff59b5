"""Whether two facts about one subject say the same. No I/O."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from stratagraph.memory.learning.duplicates.signals import Comparison, Signal, comparison
from stratagraph.memory.learning.structural_facts import PREDICATE as OBSERVED_IN
from stratagraph.store.model.analysis.languages import BASE, is_stop_word, stem
from stratagraph.store.model.analysis.sequences import NEGATIONS, spelled_out
from stratagraph.store.model.canonical import normalised_name
from stratagraph.store.model.records import MemoryRecord

LONGEST = 500  # characters of an object that is compared by its words
_ARTICLES = frozenset({"a", "an", "the"})
_NUMBER = re.compile(r"[-+]?\d+(?:[.,:]\d+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """The words of an object as they are compared. `signs` are its numbers in their order, and what negates it."""

    words: tuple[str, ...]
    stems: frozenset[str]
    signs: tuple[tuple[str, ...], frozenset[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class FactProfile:
    """A fact as it is compared. `object_entity` is the entity that its object is, None for a literal.

    `said` has the words of the object; None for an object that is not compared by words, or has none.
    """

    id: UUID
    created_at: datetime
    predicate: str
    object: Any
    object_entity: UUID | None
    said: Said | None


def fact_profile(record: MemoryRecord, object_entity: UUID | None) -> FactProfile:
    """Return the profile of a fact that was read in full."""
    payload = record.payload or {}
    return FactProfile(
        id=record.id,
        created_at=record.created_at,
        predicate=payload["predicate"],
        object=payload["object"],
        object_entity=object_entity,
        said=said_in(payload["object"]),
    )


def said_in(value: Any) -> Said | None:
    """Return the words of an object; None if it is no text or number, has no words, or is too long."""
    text = _text(value)
    if text is None or len(text) > LONGEST:
        return None
    plain = normalised_name(text)
    words = _words(plain)
    if not words:
        return None
    return Said(
        words=tuple(words),
        stems=frozenset(stem(word, BASE) for word in words),
        signs=(tuple(_NUMBER.findall(plain)), frozenset(NEGATIONS & set(words))),
    )


def compare_facts(one: FactProfile, other: FactProfile) -> Comparison | None:
    """Return what is found about two facts of one subject, conditions and validity; None if they say different things.

    Either their predicates are equal and their objects alike, or the other way round. What was observed in two events
    is not the same however alike it is.
    """
    if one.predicate == other.predicate == OBSERVED_IN:
        return None
    if one.predicate == other.predicate:
        signal = _alike_objects(one, other)
    elif _same_object(one, other):
        signal = _alike_predicates(one.predicate, other.predicate)
    else:
        signal = None
    return comparison([signal]) if signal is not None else None


def _same_object(one: FactProfile, other: FactProfile) -> bool:
    if one.object_entity is not None or other.object_entity is not None:
        return one.object_entity == other.object_entity
    return _text(one.object) == _text(other.object)


def _alike_objects(one: FactProfile, other: FactProfile) -> Signal | None:
    if one.object_entity is not None and other.object_entity is not None:
        return None  # of two entities, whether they are the same is decided first
    ours, theirs = one.said, other.said
    if ours is None or theirs is None or ours.signs != theirs.signs:
        return None
    if ours.words == theirs.words:
        return Signal.SAME_OBJECT
    if ours.stems == theirs.stems:
        return Signal.SAME_STEMS
    return Signal.LONGER_OBJECT if ours.stems < theirs.stems or theirs.stems < ours.stems else None


def _alike_predicates(one: str, other: str) -> Signal | None:
    """Return whether two predicates have the same words in other forms, or the same main words.

    Neither says that they mean the same: who worked at a place may work there no more.
    """
    first, second = one.split("_"), other.split("_")
    if NEGATIONS & set(first) != NEGATIONS & set(second):
        return None
    if [stem(word, BASE) for word in first] == [stem(word, BASE) for word in second]:
        return Signal.SAME_PREDICATE_STEMS
    main, others = ({stem(word, BASE) for word in words if not is_stop_word(word, BASE)} for words in (first, second))
    return Signal.SIMILAR_PREDICATE if main and main == others else None


def _text(value: Any) -> str | None:
    """Return a literal as text; None for an object or a list, which is compared as a whole.

    >>> _text("5"), _text(5), _text(True), _text([1])
    ('5', '5', 'true', None)
    """
    if isinstance(value, str):
        return value
    return orjson.dumps(value).decode() if isinstance(value, bool | int | float) else None


def _words(text: str) -> list[str]:
    """Return the words of a text and its signs, such as "<", in order; an "a" at the end is a name, as in "plan A"."""
    words = spelled_out(text).split()
    return [word for place, word in enumerate(words, 1) if word not in _ARTICLES or place == len(words)]
