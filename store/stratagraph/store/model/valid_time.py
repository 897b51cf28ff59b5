"""Valid time of facts: what a new fact and a stored one that contradicts it leave of each other. No I/O.

A new fact states the interval [s, e), a stored one holds in [a, b); None is unbounded. The two contradict each other,
and their intervals overlap. "Now" is the instant of the write. A fact is past if its interval has ended, future if it
has not begun, and present otherwise. "Within" means a >= s and b <= e.

| new | stored | condition | consequence |
|---|---|---|---|
| past | any | the stored one is within the new one | the stored one is superseded |
| past | not past | otherwise | the stored one begins at e |
| past | past | otherwise, a < s | the stored one ends at s |
| past | past | otherwise | the stored one begins at e |
| present | present | both have a start, and a < s | the stored one ends at s |
| present | present | otherwise | the stored one is superseded |
| present | past | the new one has no start | the new one begins at b |
| present | past | the stored one is within the new one | the stored one is superseded |
| present | past | otherwise | the stored one ends at s |
| present | future | the new one has no end | the new one ends at a |
| present | future | the stored one is within the new one | the stored one is superseded |
| present | future | otherwise | the stored one begins at e |
| future | any | a < s | the stored one ends at s |
| future | any | the stored one is within the new one | the stored one is superseded |
| future | any | otherwise | the stored one begins at e |

Afterwards the two do not overlap. Every interval is compared with the new one as stated, so that the result does not
depend on the order of the stored facts. See docs/specification.md, Facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import IntEnum
from typing import Any
from uuid import UUID

_FIRST = datetime.min.replace(tzinfo=UTC)
_LAST = datetime.max.replace(tzinfo=UTC)


class Side(IntEnum):
    """The end of an interval that a trim moves. Stored in `fact_trim.side`."""

    START = 1
    END = 2


@dataclass(frozen=True, slots=True)
class Cut:
    """A new start or a new end of an interval."""

    side: Side
    at: datetime


@dataclass(frozen=True, slots=True)
class Interval:
    """The instants from `start` until before `end`; None is unbounded.

    >>> from datetime import UTC, datetime
    >>> year = Interval(datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC))
    >>> year.holds_at(year.start), year.holds_at(year.end), year.is_within(Interval()), year.overlaps(Interval())
    (True, False, True, True)
    """

    start: datetime | None = None
    end: datetime | None = None

    @classmethod
    def stated_in(cls, validity: Mapping[str, Any]) -> Interval:
        """Return the interval that a payload's validity states."""
        start, end = validity.get("start"), validity.get("end")
        return cls(
            datetime.fromisoformat(start).astimezone(UTC) if start else None,
            datetime.fromisoformat(end).astimezone(UTC) if end else None,
        )

    @property
    def low(self) -> datetime:
        return self.start or _FIRST

    @property
    def high(self) -> datetime:
        return self.end or _LAST

    def holds_at(self, instant: datetime) -> bool:
        return self.low <= instant < self.high

    def is_past(self, now: datetime) -> bool:
        return self.high <= now

    def is_future(self, now: datetime) -> bool:
        return self.low > now

    def overlaps(self, other: Interval) -> bool:
        return self.low < other.high and other.low < self.high

    def is_within(self, other: Interval) -> bool:
        return other.low <= self.low and self.high <= other.high

    def cut(self, cuts: Iterable[Cut]) -> Interval:
        """Return the interval with the latest start and the earliest end among its own and those of `cuts`."""
        start, end = self.low, self.high
        for one in cuts:
            if one.side is Side.START:
                start = max(start, one.at)
            else:
                end = min(end, one.at)
        return Interval(None if start == _FIRST else start, None if end == _LAST else end)

    def __str__(self) -> str:
        """Return the interval as a PostgreSQL range of timestamptz in text form."""
        start, end = (at.isoformat() if at is not None else "" for at in (self.start, self.end))
        return f"[{start},{end})"


@dataclass(frozen=True, slots=True)
class Ruling:
    """The consequence for one pair: the stored fact is superseded, or one of the two is cut.

    Exactly one of `cut_old` and `cut_new` is given, or neither, which means that the stored fact is superseded.
    """

    cut_old: Cut | None = None
    cut_new: Cut | None = None

    @property
    def supersedes(self) -> bool:
        return self.cut_old is None and self.cut_new is None


SUPERSEDE = Ruling()


def rule(new: Interval, old: Interval, now: datetime) -> Ruling:
    """Return what becomes of a new fact and of a stored one that contradicts it, by the table of this module.

    >>> from datetime import UTC, datetime
    >>> now, year = datetime(2026, 6, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)
    >>> rule(Interval(year), Interval(), now).cut_old
    Cut(side=<Side.END: 2>, at=datetime.datetime(2027, 1, 1, 0, 0, tzinfo=datetime.timezone.utc))
    >>> rule(Interval(), Interval(year), now).cut_new
    Cut(side=<Side.END: 2>, at=datetime.datetime(2027, 1, 1, 0, 0, tzinfo=datetime.timezone.utc))
    >>> rule(Interval(), Interval(), now).supersedes
    True
    """
    if new.is_past(now):
        return _past(new, old, now)
    return _future(new, old) if new.is_future(now) else _present(new, old, now)


def _past(new: Interval, old: Interval, now: datetime) -> Ruling:
    if old.is_within(new):
        return SUPERSEDE
    return _old_ends(new) if old.is_past(now) and old.low < new.low else _old_begins(new)


def _present(new: Interval, old: Interval, now: datetime) -> Ruling:
    if old.is_past(now):
        if new.start is None:
            return Ruling(cut_new=Cut(Side.START, old.high))
        return SUPERSEDE if old.is_within(new) else _old_ends(new)
    if old.is_future(now):
        if new.end is None:
            return Ruling(cut_new=Cut(Side.END, old.low))
        return SUPERSEDE if old.is_within(new) else _old_begins(new)
    begins_later = new.start is not None and old.start is not None and old.start < new.start
    return _old_ends(new) if begins_later else SUPERSEDE


def _future(new: Interval, old: Interval) -> Ruling:
    if old.low < new.low:
        return _old_ends(new)
    return SUPERSEDE if old.is_within(new) else _old_begins(new)


def _old_ends(new: Interval) -> Ruling:
    return Ruling(cut_old=Cut(Side.END, new.low))


def _old_begins(new: Interval) -> Ruling:
    return Ruling(cut_old=Cut(Side.START, new.high))


def restored(
    stated: Interval, present: Interval, remaining: Iterable[Cut], neighbours: Mapping[UUID, Interval]
) -> tuple[Interval, dict[UUID, Cut]]:
    """Return the interval of a fact after some of its trims were undone, and the new trims by its neighbours.

    That is the interval as stated, cut by the `remaining` trims and by the nearest of `neighbours`, which are the
    intervals of current facts that contradict the fact, by id. `present` is its interval until now. Neighbours that
    overlap `present` are in dispute with the fact and do not cut it.
    """
    wide = stated.cut(remaining)
    before = [(one.high, id_) for id_, one in neighbours.items() if one.high <= present.low and one.overlaps(wide)]
    after = [(one.low, id_) for id_, one in neighbours.items() if one.low >= present.high and one.overlaps(wide)]
    cuts: dict[UUID, Cut] = {}
    if before:
        at, id_ = max(before)
        cuts[id_] = Cut(Side.START, at)
    if after:
        at, id_ = min(after)
        cuts[id_] = Cut(Side.END, at)
    return wide.cut(cuts.values()), cuts


def multirange(intervals: Iterable[Interval]) -> str:
    """Return intervals as a tstzmultirange in text form."""
    return f"{{{','.join(map(str, intervals))}}}"
