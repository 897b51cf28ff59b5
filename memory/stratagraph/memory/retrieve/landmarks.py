"""Times that a question names by an event: "before the release of Kestrel 4.1", "since we moved to Hetzner". Pure.

The event is the record that has its words; its own date bounds the time.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice
from uuid import UUID

from stratagraph.memory.retrieve.coverage import Question
from stratagraph.memory.retrieve.rank import Rankable
from stratagraph.memory.retrieve.time_words import EARLIEST, MAX_READ, MAX_TIMES, NamedTime, TimeWords

LANDMARK = 0.75  # least share of the weight of an event's words that the record of the event has
MOST_EVENTS = 3  # records that have as much of an event's words
LEAST_EVENT, MOST_EVENT = 3, 200  # characters of an event
_BEFORE = ("before", "until", "till", "prior to", "earlier than")
# "The following steps" name no time, and "between" compares things more often than it names one.
_RELATION = re.compile(
    rf"\b(?:{'|'.join(_BEFORE)}|after|since|later than|following(?= (?:the|our|a|an)\b)) ", re.IGNORECASE
)
# What follows the event in a question.
_END = re.compile(
    r"[,.;:?!](?= |$)|\b(?:about|regarding|concerning|and|but|what|which|who|how|why|when|where|did|do|does)\b|$",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+")
_TICK, _DAY = timedelta(microseconds=1), timedelta(days=1)


def with_landmarks(
    times: TimeWords,
    text: str,
    question: Question,
    words: Sequence[str],
    covered: Mapping[UUID, int],
    records: Mapping[UUID, Rankable],
    *,
    now: datetime,
) -> TimeWords:
    """Return the times of a question with those that it names by an event, for which there is a record.

    `words` are those of the question in its spelling, `covered` which of them each candidate has, as bits. An event
    has a name or several words, and its record has most of them by weight. The first of a few such records is meant; of
    many, none. At most MAX_TIMES events are read.
    """
    found = []
    for relation, event in islice(events_of(text), MAX_TIMES):
        if any(time.words in f"{relation} {event}" for time in times.times):
            continue
        spelled = {*_WORD.findall(event)}
        bits = sum(1 << place for place, word in enumerate(words) if spelled.issuperset(_WORD.findall(word)))
        at = _instant_of(bits, question, covered, records)
        if at is None:
            continue
        is_before = relation.lower() in _BEFORE
        start, end = (EARLIEST, at) if is_before else (at + _TICK, now + _DAY)
        found.append(NamedTime(f"{relation} {event}", start, end))
    return replace(times, times=(*times.times, *found)) if found else times


def events_of(text: str) -> Iterator[tuple[str, str]]:
    """Yield the events that a text names after a word of time, each with that word; in linear time.

    >>> list(events_of("what broke after the move to Hetzner, and before 4.1?"))
    [('after', 'the move to Hetzner'), ('before', '4.1')]
    """
    # No expression spans an event: one that is tried at each length, beside white space of any, takes cubic time.
    text = " ".join(text[:MAX_READ].split())
    ends = [match.start() for match in _END.finditer(text)]
    read = 0
    for match in _RELATION.finditer(text):
        start = match.end()
        place = bisect_left(ends, start + LEAST_EVENT)
        if match.start() < read or place == len(ends):
            continue
        event = text[start : ends[place]].rstrip()
        if len(event) <= MOST_EVENT:
            read = ends[place]
            yield match[0].rstrip(), event


def _instant_of(
    bits: int, question: Question, covered: Mapping[UUID, int], records: Mapping[UUID, Rankable]
) -> datetime | None:
    """Return when the event with these words occurred; None where no record has enough of them."""
    whole = question.weight(bits)
    is_event = bits.bit_count() > 1 or any(
        question.emphasis[place] > 1 for place in range(bits.bit_length()) if bits >> place & 1
    )
    if whole <= 0 or not is_event:
        return None
    share = {id_: question.weight(has & bits) / whole for id_, has in covered.items() if has & bits and id_ in records}
    best = max(share.values(), default=0.0)
    events = [id_ for id_, one in share.items() if one == best]
    if best < LANDMARK or len(events) > MOST_EVENTS:
        return None
    return min(records[id_].occurred_at for id_ in events)
