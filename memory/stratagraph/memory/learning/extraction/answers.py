"""Reading an answer: only what has the form that was asked for, and only what rests on words of the texts. No I/O."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Annotated, Protocol, TypeVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt, StrictStr, ValidationError

from stratagraph.memory.capture.literals import is_sentence, is_value
from stratagraph.memory.learning.extraction.prompt import MAX_FACTS, MAX_LABELS, MAX_MENTIONS, MAX_TIMES, Item
from stratagraph.memory.retrieve.times import EARLIEST, LONGEST_SAID, NamedTime, time_words
from stratagraph.store.model.analysis.folding import WORD
from stratagraph.store.model.analysis.languages import BASE, is_function_word, stem
from stratagraph.store.model.canonical import normalised_name
from stratagraph.store.model.shown_text import shown_text
from stratagraph.store.model.visible_text import says_something

MAX_NAME = 200  # characters of a subject, and of an object
MAX_QUOTE = 1_000
MAX_INSTANT = 40
MAX_LABEL, MAX_LABEL_WORDS = 40, 3  # characters and words of a label
LATEST = datetime(2200, 1, 1, tzinfo=UTC)  # of a time that a text names
_DAY = timedelta(days=1)
_DAY_ALONE = re.compile(r"\d{4}-\d{2}-\d{2}")
_YEAR = re.compile(r"(?<!\d)(?:19|20|21)\d{2}(?!\d)")
_LABEL = re.compile(r"[^\W_]+(?:[ '’+#.-]{1,2}[^\W_]+)*[+#]*")
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


class _Mention(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    item: Annotated[StrictInt, Field(ge=1)]
    name: Annotated[StrictStr, Field(min_length=1, max_length=MAX_NAME)]


class _Time(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    item: Annotated[StrictInt, Field(ge=1)]
    words: Annotated[StrictStr, Field(min_length=1, max_length=MAX_NAME)]
    start: Annotated[StrictStr, Field(max_length=MAX_INSTANT)]
    end: Annotated[StrictStr, Field(max_length=MAX_INSTANT)]


class _Label(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    item: Annotated[StrictInt, Field(ge=1)]
    label: Annotated[StrictStr, Field(max_length=MAX_NAME)]


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    facts: Annotated[list[_Fact], Field(max_length=MAX_FACTS)]
    mentions: Annotated[list[_Mention], Field(max_length=MAX_MENTIONS)] = []
    times: Annotated[list[_Time], Field(max_length=MAX_TIMES)] = []
    labels: Annotated[list[_Label], Field(max_length=MAX_LABELS)] = []


_KEYS = frozenset(name for model in (_Answer, _Fact, _Mention, _Time, _Label) for name in model.model_fields)


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
    """What an answer says, each thing once, and how many are left out because they are not in the texts.

    `names`, `times` and `labels` are those that it gives to each record.
    """

    facts: tuple[ExtractedFact, ...] = ()
    names: Mapping[UUID, tuple[str, ...]] = field(default_factory=dict)
    times: Mapping[UUID, tuple[NamedTime, ...]] = field(default_factory=dict)
    labels: Mapping[UUID, tuple[str, ...]] = field(default_factory=dict)
    ungrounded: int = 0
    refused_names: int = 0
    refused_times: int = 0
    refused_labels: int = 0


def read_answer(text: str, part: Sequence[Item], predicates: Collection[str] = ()) -> Read:
    """Return what an answer says about `part`, for which `predicates` were named to the model.

    Raises BadAnswer if the answer is not of the form that was asked for.
    """
    fenced = _FENCE.match(text)
    try:
        found = _Answer.model_validate_json(fenced.group(1) if fenced else text)
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
    names, refused_names = _collected(found.mentions, part, _name)
    times, refused_times = _collected(found.times, part, _time)
    labels, refused_labels = _collected(found.labels, part, _label)
    return Read(
        facts=tuple(dict.fromkeys(facts)),
        names=names,
        times=times,
        labels=labels,
        ungrounded=len(found.facts) - len(facts),
        refused_names=refused_names,
        refused_times=refused_times,
        refused_labels=refused_labels,
    )


class _Of(Protocol):
    """What an answer says of one text, by the number of its item."""

    @property
    def item(self) -> int: ...


Said = TypeVar("Said", bound=_Of)
T = TypeVar("T")


class _Refused(Exception):
    """What an answer says of a text is not in the text."""


def _collected(
    found: Sequence[Said], part: Sequence[Item], checked: Callable[[Said, Item], T | None]
) -> tuple[dict[UUID, tuple[T, ...]], int]:
    """Return what `checked` makes of each thing, by record and each once, and the number of those that it refuses.

    It returns None for what need not be kept.
    """
    kept: dict[UUID, dict[T, None]] = {}
    refused = 0
    for one in found:
        source = _item(one.item, part)
        try:
            if source is None:
                raise _Refused
            value = checked(one, source)
        except _Refused:
            refused += 1
        else:
            if value is not None:
                kept.setdefault(source.record, {})[value] = None
    return {record: tuple(values) for record, values in kept.items()}, refused


def _item(number: int, part: Sequence[Item]) -> Item | None:
    """Return the text of a number; None if there is none, or if it was read before."""
    item = part[number - 1] if number <= len(part) else None
    return None if item is None or item.is_known else item


def _name(mention: _Mention, source: Item) -> str:
    """Return the name that a text has. Raises _Refused for what is no name, or not in the text as a whole word."""
    name = mention.name.strip()
    is_name = not (normalised_name(name) in _NO_WORD or is_value(name) or is_sentence(name))
    if not (is_name and says_something(name) and shown_text(name) == name and occurs(name, source.text)):
        raise _Refused
    return name


def _label(label: _Label, source: Item) -> str:
    """Return a label in lower case. Raises _Refused for what is not a few words of letters and digits."""
    found = " ".join(label.label.lower().split())
    if not _LABEL.fullmatch(found) or len(found) > MAX_LABEL or len(found.split()) > MAX_LABEL_WORDS:
        raise _Refused
    return found


def _time(time: _Time, source: Item) -> NamedTime | None:
    """Return the time that words of a text name; None if the project's own grammar reads the same in them.

    Raises _Refused if the words are not in the text, if the interval is none or too long, or if the grammar, or a year
    among the words, says another time. Offsets of people are not known, so a day more or less is no contradiction.
    """
    words = time.words.strip()
    if not (says_something(words) and shown_text(words) == words and occurs(words, source.text)):
        raise _Refused
    start, end = _interval(time.start, time.end)
    years = {int(year) for year in _YEAR.findall(normalised_name(words))}
    if years and not any(start.year <= year <= (end - _DAY).year for year in years):
        raise _Refused
    read = time_words(words, source.at, said=True).times
    if read and not any(one.start - _DAY < end and start < one.end + _DAY for one in read):
        raise _Refused
    is_known = any(one.end - one.start <= LONGEST_SAID for one in read)  # a year alone says less than the answer
    return None if is_known else NamedTime(words, start, end)


def _interval(first: str, last: str) -> tuple[datetime, datetime]:
    """Return the interval from the beginning of a day, or an instant, to the end of a day, or an instant.

    Without an offset they are of UTC. Raises _Refused for what is no interval of up to LONGEST_SAID.
    """
    try:
        start = _instant(first)
        end = _instant(last) + (_DAY if _DAY_ALONE.fullmatch(last.strip()) else timedelta(0))
    except (ValueError, OverflowError):
        raise _Refused from None
    if not (EARLIEST <= start < end <= LATEST and end - start <= LONGEST_SAID):
        raise _Refused
    return start, end


def _instant(text: str) -> datetime:
    found = datetime.fromisoformat(text.strip())
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def _source_of(fact: _Fact, part: Sequence[Item]) -> Item | None:
    """Return the text that says what the fact does; None if its words are not there.

    The quote must be in the text that it names and hold the object, and the subject in this text or an earlier one of
    the request. A number must be written as it is in JSON. Punctuation and invisible characters say nothing.
    """
    source = _item(fact.item, part)
    if source is None or normalised_name(fact.subject) in _NO_WORD:
        return None
    if not says_something(fact.subject) or not _is_value(fact.object):
        return None
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
        known = [str(step) for step in one["loc"] if isinstance(step, int) or step in _KEYS]
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
