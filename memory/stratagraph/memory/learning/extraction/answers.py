"""Reading an answer: only what has the form that was asked for, and only facts whose words are in the texts. No I/O."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt, StrictStr, ValidationError

from stratagraph.memory.learning.extraction.prompt import MAX_FACTS, Item
from stratagraph.store.model.analysis.folding import WORD
from stratagraph.store.model.analysis.languages import BASE, is_function_word, stem
from stratagraph.store.model.canonical import normalised_name
from stratagraph.store.model.visible_text import says_something

MAX_NAME = 200  # characters of a subject, and of an object
MAX_QUOTE = 1_000
_FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(.*)\n\s*```\s*\Z", re.DOTALL)
_NO_WORD = frozenset({"i", "me", "my", "you", "your", "he", "she", "it", "we", "they", "this", "that", "him", "her"})


class BadAnswer(Exception):
    """An answer that is not of the form that was asked for. The message says why, and quotes none of its values."""


class _Fact(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    subject: Annotated[StrictStr, Field(min_length=1, max_length=MAX_NAME)]
    predicate: Annotated[StrictStr, Field(pattern=r"^[a-z][a-z0-9]*(_[a-z0-9]+)*$", max_length=63)]
    object: Annotated[StrictStr, Field(min_length=1, max_length=MAX_NAME)] | StrictInt | StrictFloat
    item: Annotated[StrictInt, Field(ge=1)]
    quote: Annotated[StrictStr, Field(min_length=1, max_length=MAX_QUOTE)]


class _Facts(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    facts: Annotated[list[_Fact], Field(max_length=MAX_FACTS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedFact:
    """A fact that an answer states and the text `source` says.

    `others` are the other records of the request that its subject or predicate may come from.
    """

    subject: str
    predicate: str
    object: str | int | float
    source: Item
    others: frozenset[UUID]


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """The facts of an answer, each once, and the number of those that are not in the texts."""

    facts: tuple[ExtractedFact, ...]
    ungrounded: int


def read_answer(text: str, part: Sequence[Item], predicates: Collection[str] = ()) -> Read:
    """Return the facts of an answer about `part`, for which `predicates` were named to the model.

    Raises BadAnswer if the answer is not of the form that was asked for.
    """
    fenced = _FENCE.match(text)
    try:
        found = _Facts.model_validate_json(fenced.group(1) if fenced else text)
    except ValidationError as error:
        raise BadAnswer(_problem(error)) from None
    facts = []
    for fact in found.facts:
        source = _source_of(fact, part)
        if source is not None:
            subject, named = fact.subject.strip(), fact.predicate in predicates
            facts.append(
                ExtractedFact(
                    subject=subject,
                    predicate=fact.predicate,
                    object=_plain(fact.object),
                    source=source,
                    others=other_records(subject, "" if named else fact.predicate, source, part),
                )
            )
    return Read(facts=tuple(dict.fromkeys(facts)), ungrounded=len(found.facts) - len(facts))


def _source_of(fact: _Fact, part: Sequence[Item]) -> Item | None:
    """Return the text that says what the fact does; None if its words are not there.

    The quote must be in the text that it names and hold the object, and the subject in this text or an earlier one of
    the request. A number must be written as it is in JSON. Punctuation and invisible characters say nothing.
    """
    if fact.item > len(part) or normalised_name(fact.subject) in _NO_WORD:
        return None
    if not says_something(fact.subject) or not _is_value(fact.object):
        return None
    source = part[fact.item - 1]
    is_said = (
        normalised_name(fact.quote) in normalised_name(source.text)
        and occurs(str(fact.object), fact.quote)
        and any(occurs(fact.subject, item.text) for item in part[: fact.item])
    )
    return source if is_said else None


def _is_value(value: str | int | float) -> bool:
    return says_something(value) if isinstance(value, str) else abs(value) <= sys.float_info.max


def _plain(value: str | int | float) -> str | int | float:
    return value.strip() if isinstance(value, str) else value


def _problem(error: ValidationError) -> str:
    """Return what is wrong with an answer, without any of its values, which may quote a record.

    Keys that were not asked for are not named either.
    """
    found = []
    for one in error.errors(include_input=False, include_url=False, include_context=False)[:5]:
        known = [str(step) for step in one["loc"] if isinstance(step, int) or step in {"facts", *_Fact.model_fields}]
        kind = "is not allowed" if one["type"] == "extra_forbidden" else str(one["type"]).replace("_", " ")
        found.append(f"{'.'.join(known) or 'it'}: {kind}")
    return "; ".join(found)


def occurs(literal: str, text: str) -> bool:
    """Return whether a literal is in a text as a whole, not within a longer word or number.

    >>> occurs("ann", "Ann left"), occurs("Ann", "Anna left"), occurs("3", "version 3.1")
    (True, False, False)
    """
    wanted = normalised_name(literal)
    pattern = rf"(?<!\w)(?<!\d[.,]){re.escape(wanted)}(?!\w)(?![.,]\d)"
    return bool(wanted) and re.search(pattern, normalised_name(text)) is not None


def other_records(subject: str, predicate: str, source: Item, part: Sequence[Item]) -> frozenset[UUID]:
    """Return the records of a request from which words of a fact may come that the record of `source` does not have.

    `predicate` is empty where its words are known without the texts. The words of the predicate are compared by their
    stems, because it is asked for in the present tense, and function words of it count for nothing.
    """
    own = [item.text for item in part if item.record == source.record]
    others = [item for item in part if item.record != source.record]
    found = set[UUID]()
    if not any(occurs(subject, text) for text in own):
        lacking = [word for word in _words([subject]) if not any(occurs(word, text) for text in own)]
        found |= {item.record for item in others if any(occurs(word, item.text) for word in [subject, *lacking])}
    stems = {stem(word, BASE) for word in _words(predicate.split("_")) if not is_function_word(word)}
    stems -= _stems(own)
    return frozenset(found | {item.record for item in others if stems & _stems([item.text])})


def _stems(texts: Iterable[str]) -> set[str]:
    return {stem(word, BASE) for word in _words(texts)}


def _words(texts: Iterable[str]) -> list[str]:
    return [word for text in texts for word in WORD.findall(normalised_name(text))]
