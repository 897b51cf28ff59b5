"""Times that a text names: "last week", "in May 2023", "before the release of Kestrel 4.1". Pure.

`time_grammar` has the expressions of English, and `time_languages` puts those of other languages into English. The
event of "before the release" is the record that has its words; its own date bounds the time.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial, reduce
from itertools import islice
from operator import or_
from uuid import UUID

from stratagraph.memory.retrieve.question import Question
from stratagraph.memory.retrieve.time_grammar import (
    HINT,
    MONTH,
    NEWEST,
    PAST,
    RULES,
    YEAR,
    YEARLY,
    Interval,
    Rule,
    listed,
    tenses,
)
from stratagraph.memory.retrieve.time_languages import in_english
from stratagraph.memory.retrieve.weights import BESIDE, LANDMARK, SAID
from stratagraph.store.model.analysis.lexemes import asked, segments

MAX_READ = 2_000  # characters of a question, from its beginning
MAX_TIMES = 32  # intervals of one question
MAX_MATCHES = 8  # of one expression in a question
EARLIEST = datetime(1900, 1, 1, tzinfo=UTC)  # where the times before something begin

_DAY, _LONGEST = timedelta(days=1), timedelta(days=31)  # lengths of an interval by which distances from it are measured

LONGEST_SAID = _LONGEST  # of an interval that a text names: a year is too long to say when something happened

_FROM, _TO = re.compile(r"\b(?:from|between)(?: the)? $"), re.compile(r" ?(?:to|through|and|-|–) ?(?:the )?")
_WITH_YEAR = re.compile(rf"(?<!\d){YEAR}(?!\d)")
_ABSOLUTE = re.compile(rf"{MONTH}|{YEAR}|\d[./-]\d", re.IGNORECASE)
_BOUND = re.compile(r"\b(before|until|till|since|after)\b(?: the)? ?")
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
_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class NamedTime:
    """Words of a question that name a time, and the interval [start, end) that they mean.

    In a script without spaces, which is searched by pairs, `around` has the characters beside the words, too.
    """

    words: str
    start: datetime
    end: datetime
    around: str = ""


@dataclass(frozen=True)  # without slots, for the cached words
class TimeWords:
    """The times that a question names, and whether it asks for what is newest, or for what was at any time.

    `named_by` are the records whose text has the words of a time, with its year.
    """

    times: tuple[NamedTime, ...] = ()
    newest: bool = False
    past: bool = False
    named_by: frozenset[UUID] = frozenset()

    @property
    def intervals(self) -> list[tuple[datetime, datetime]]:
        """The intervals, each from its first instant until before its second."""
        return [(one.start, one.end) for one in self.times]

    @cached_property
    def words(self) -> frozenset[str]:
        """The words that name the times, but years, as those of the question are written.

        Records are searched by them with less weight. What was said later may have only the year to tell its time.

        >>> sorted(time_words("in mid-May, on 2026-05-03 or in 2024?", datetime(2026, 5, 7, tzinfo=UTC)).words)
        ['03', '05', '2026', '2026-05-03', 'May', 'mid', 'mid-May']
        """
        days = {word for one in self.times if not _is_year(one) for word in _words_of(one)}
        return self.all_words - {word for word in self.all_words - days if _WITH_YEAR.fullmatch(word)}

    @cached_property
    def all_words(self) -> frozenset[str]:
        """The words that name the times, with the years."""
        return frozenset(word for one in self.times for word in _words_of(one))

    def texts_naming(self, words: Sequence[str]) -> list[int]:
        """Return which `words` of the question a text must have to name each of the times by itself, as bits.

        Times that mean another day in another text, such as "last week", are left out.

        >>> time_words("after 3 May or last week", datetime(2026, 5, 7, tzinfo=UTC)).texts_naming(["3", "May", "last"])
        [3]
        """
        return [bits for _, bits in self._naming(words) if bits]

    def dates(self, words: Sequence[str]) -> list[int]:
        """Return the same of the times that are named with their year, which mean no other day in any text."""
        return [bits for one, bits in self._naming(words) if bits and _WITH_YEAR.search(one.words)]

    def words_astray(self, words: Sequence[str], named: Sequence[tuple[datetime, datetime]]) -> int:
        """Return which `words` name a day or a month that is none of the times which a text has `named`, as bits."""
        if not named or self.said(named) > 0:
            return 0
        days = [bits for one, bits in self._naming(words) if one.end - one.start <= LONGEST_SAID]
        return reduce(or_, days, 0)

    def _naming(self, words: Sequence[str]) -> Iterator[tuple[NamedTime, int]]:
        for one in self.times:
            if _ABSOLUTE.search(one.words):
                own = {word.text for word in asked(one.words)}
                yield one, sum(1 << place for place, word in enumerate(words) if word in own)

    def fit(self, at: datetime) -> float:
        """Return how well an instant fits the times that were named, 0 to 1: 1 within one of them.

        Beside an interval it is at most BESIDE, and falls by half with each length of the interval: "last week" may
        be said of ten days ago. Returns 0 if no time was named.
        """
        return max((_fit(one, at) for one in self.times), default=0.0)

    def said(self, named: Iterable[tuple[datetime, datetime]]) -> float:
        """Return how well the times fit those that a text names: SAID if one lies within the other, less for a part.

        It is over BESIDE if they overlap, and 0 otherwise.
        """
        shares = [
            _covered(one, start, end) * (one.end - one.start) / min(one.end - one.start, end - start)
            for one in self.times
            for start, end in named
        ]
        best = max(shares, default=0.0)
        return BESIDE + (SAID - BESIDE) * min(best, 1.0) if best > 0 else 0.0

    def held(self, since: datetime | None, until: datetime | None) -> float:
        """Return how well the times fit what held from `since` until before `until`: 1 if that covers one of them.

        Where it covers a part of one, between BESIDE and 1; otherwise -1.
        """
        shares = [_covered(one, since or one.start, until or one.end) for one in self.times]
        best = max(shares, default=0.0)
        return BESIDE + (1 - BESIDE) * best if best > 0 else -1.0


def _is_year(time: NamedTime) -> bool:
    return time.end - time.start > LONGEST_SAID and _WITH_YEAR.search(time.words) is not None


def _words_of(time: NamedTime) -> set[str]:
    return {word.text for word in asked(time.around or time.words)}


def said_times(text: str, at: datetime, *, zone: timedelta) -> list[NamedTime]:
    """Return the times that a text names that was said at an instant, in a zone with this offset from UTC.

    Without those that have no beginning or are longer than LONGEST_SAID, and those that the own date of the text has:
    "today".

    >>> (one,) = said_times("I ate out last Friday", datetime(2026, 7, 30, 9, tzinfo=UTC), zone=timedelta(hours=2))
    >>> one.words, one.start
    ('last Friday', datetime.datetime(2026, 7, 23, 22, 0, tzinfo=datetime.timezone.utc))
    """
    try:
        local = time_words(text, at + zone, said=True)  # its days begin at midnight of the zone
        times = [NamedTime(one.words, one.start - zone, one.end - zone) for one in local.times]
    except OverflowError:  # at the ends of the calendar
        return []
    return [
        one
        for one in times
        if one.start >= EARLIEST
        and one.end - one.start <= LONGEST_SAID
        and not (one.start <= at < one.end and one.end - one.start <= _DAY)
    ]


def time_words(text: str, now: datetime, *, said: bool = False) -> TimeWords:
    """Return the times that a question names, as intervals relative to `now`, at most MAX_TIMES.

    Where a day recurs, as "on Friday", a question means the last one, unless its tense is of the future. A text that
    was `said` then means the last or the next one: both, where no tense tells.

    >>> time_words("what broke yesterday?", datetime(2026, 5, 7, 12, tzinfo=UTC)).times[0].start
    datetime.datetime(2026, 5, 6, 0, 0, tzinfo=datetime.timezone.utc)
    """
    text = text[:MAX_READ]
    lowered = text.lower()
    if len(lowered) != len(text):  # "İ" is two characters in lower case
        text = lowered
    now = now.astimezone(UTC)
    tense = tenses(lowered)

    def is_coming(start: int, end: int) -> bool | None:
        return tense(start, end) if said else tense(start, end) is True

    read = [*_read(lowered, now, is_coming)]
    for start, end, english in islice(in_english(lowered), MAX_TIMES):
        reading = _read(english, now, partial(_same, is_coming(start, end)))
        read += [(start, end, intervals) for _, _, intervals in islice(reading, 1)]
    # Of expressions that overlap, the longest is meant: "3. April 2026" is a day, and the English in it a month.
    found: list[tuple[int, list[NamedTime]]] = []
    for start, end, intervals in sorted(read, key=lambda one: one[0] - one[1]):
        if "\0" not in lowered[start:end]:
            around = _around(text, start, end)
            found.append((start, [NamedTime(text[start:end].strip(), *one, around) for one in intervals]))
            lowered = lowered[:start] + "\0" * (end - start) + lowered[end:]
    times = tuple(_ranges(text, sorted(found, key=lambda one: one[0]))[:MAX_TIMES])
    return TimeWords(times, newest=NEWEST.search(lowered) is not None, past=PAST.search(lowered) is not None)


def _read(
    lowered: str, now: datetime, is_coming: Callable[[int, int], bool | None]
) -> Iterator[tuple[int, int, list[Interval]]]:
    """Yield where an English text in lower case names times, and which."""
    if HINT.search(lowered):
        for rule in RULES:
            for match in list(rule.expression.finditer(lowered))[:MAX_MATCHES]:
                start, end = match.span()
                times = _intervals(rule, match, now, is_coming=is_coming(start, end))
                intervals = [one for one in times if one[0] < one[1]]
                if intervals:
                    yield start, end, intervals
                    # Its parts are not read again.
                    lowered = lowered[:start] + "\0" * (end - start) + lowered[end:]


def _same(is_coming: bool | None, *_: int) -> bool | None:
    return is_coming


def _around(text: str, start: int, end: int) -> str:
    """Return the words of a time with a character beside them on each side, if those are of a script without spaces."""
    before, after = text[max(0, start - 1) : start], text[end : end + 1]
    sides = [side if any(is_run for _, is_run in segments(side)) else "" for side in (before, after)]
    return f"{sides[0]}{text[start:end]}{sides[1]}" if any(sides) else ""


def _ranges(text: str, found: Sequence[tuple[int, list[NamedTime]]]) -> list[NamedTime]:
    """Return the times of a text, those as one of which it says "from the first to the second".

    `found` has the readings of each, by where it begins.
    """
    times: list[tuple[int, list[NamedTime]]] = []
    for start, readings in found:
        began, whole = start, readings
        if times and _is_range(text, times[-1][0], times[-1][1][0], start):
            place, firsts = times[-1]
            words = text[place : start + len(readings[0].words)]
            last = [min((time.end for time in readings if time.end > first.start), default=None) for first in firsts]
            pairs = [NamedTime(words, one.start, end) for one, end in zip(firsts, last, strict=True) if end is not None]
            if pairs:
                times.pop()
                began, whole = place, pairs
        times.append((began, whole))
    return [time for _, readings in times for time in readings]


def _is_range(text: str, began: int, first: NamedTime, start: int) -> bool:
    """Return whether a text says "from … to …" of a time that begins at one place and the next one at another."""
    between = text[began + len(first.words) : start].lower()
    return _TO.fullmatch(between) is not None and _FROM.search(text[:began].lower()) is not None


def _intervals(rule: Rule, match: re.Match[str], now: datetime, *, is_coming: bool | None) -> list[Interval]:
    """Return the intervals of a match, with a word like "before" before it; none for a date that does not exist.

    Those to come or those that have been; where that is not known, both.
    """
    if rule.is_coming and is_coming is False:
        return []
    try:
        intervals = _of_tense(rule, match, now, is_coming=is_coming)
    except (ValueError, OverflowError):
        return []
    bound = _BOUND.search(match.string, max(0, match.start() - 11), match.end())
    if bound is None or not bound.start() <= match.start() <= bound.end():
        return intervals
    if bound[1] in ("before", "until", "till"):
        return [(EARLIEST, start) for start, _ in intervals]
    return [(start if bound[1] == "since" else end, now + _DAY) for start, end in intervals]


def _of_tense(rule: Rule, match: re.Match[str], now: datetime, *, is_coming: bool | None) -> list[Interval]:
    latest = listed(rule.reading(match, now))
    if is_coming is False or not latest:
        return latest
    if is_coming is None and any(start <= now < end for start, end in latest):
        return latest
    following = rule.next_ones(match, now)
    if not following or is_coming:
        return following or latest
    if rule.every == YEARLY and match.groupdict().get("w"):  # the nearest one that falls on the weekday
        return min((latest, following), key=lambda one: abs(one[0][0] - now))
    return latest + following


def _covered(time: NamedTime, since: datetime, until: datetime) -> float:
    return (min(until, time.end) - max(since, time.start)) / (time.end - time.start)


def _fit(time: NamedTime, at: datetime) -> float:
    length = min(max(time.end - time.start, _DAY), _LONGEST).total_seconds()
    distance = max((time.start - at).total_seconds(), (at - time.end).total_seconds(), 0.0)
    return 1.0 if time.start <= at < time.end else BESIDE * 0.5 ** (distance / length)


def with_landmarks(
    times: TimeWords,
    text: str,
    question: Question,
    words: Sequence[str],
    records: Sequence[tuple[int, datetime]],
    *,
    now: datetime,
) -> TimeWords:
    """Return the times of a question with those that it names by an event, for which there is a record.

    `words` are those of the question in its spelling; `records` are which of them each record has, as bits, and when it
    occurred. An event has a name or several words, and its record has most of them by weight. The first of a few such
    records is meant; of many, none. At most MAX_TIMES events are read.
    """
    found = []
    for relation, event in islice(events_of(text), MAX_TIMES):
        if any(time.words in f"{relation} {event}" for time in times.times):
            continue
        spelled = {*_WORD.findall(event)}
        bits = sum(1 << place for place, word in enumerate(words) if spelled.issuperset(_WORD.findall(word)))
        at = _instant_of(bits, question, records)
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


def _instant_of(bits: int, question: Question, records: Iterable[tuple[int, datetime]]) -> datetime | None:
    """Return when the event with these words occurred; None where no record has enough of them."""
    whole = question.weight(bits)
    is_event = bits.bit_count() > 1 or any(
        question.emphasis[place] > 1 for place in range(bits.bit_length()) if bits >> place & 1
    )
    if whole <= 0 or not is_event:
        return None
    shares = [(question.weight(has & bits) / whole, at) for has, at in records if has & bits]
    best = max([share for share, _ in shares], default=0.0)
    events = [at for share, at in shares if share == best]
    return min(events) if best >= LANDMARK and len(events) <= MOST_EVENTS else None
