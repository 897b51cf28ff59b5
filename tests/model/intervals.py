"""Intervals of valid time, and what a new fact does to one that it contradicts (docs/specification.md, Facts)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

_FIRST = datetime.min.replace(tzinfo=UTC)
_LAST = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Interval:
    """The instants from `start` on and before `end`; None is unbounded."""

    start: datetime | None = None
    end: datetime | None = None

    @property
    def low(self) -> datetime:
        return self.start or _FIRST

    @property
    def high(self) -> datetime:
        return self.end or _LAST

    def contains(self, instant: datetime) -> bool:
        return self.low <= instant < self.high

    def overlaps(self, other: Interval) -> bool:
        return max(self.low, other.low) < min(self.high, other.high)

    def within(self, other: Interval) -> bool:
        return other.low <= self.low and self.high <= other.high

    def is_past(self, now: datetime) -> bool:
        return self.high <= now

    def is_future(self, now: datetime) -> bool:
        return self.low > now

    def starting(self, start: datetime | None) -> Interval:
        return replace(self, start=start)

    def ending(self, end: datetime | None) -> Interval:
        return replace(self, end=end)

    def cut(self, other: Interval) -> Interval:
        """Return the instants in both."""
        return Interval(max(self.start or _FIRST, other.low), min(self.end or _LAST, other.high)).unbounded()

    def unbounded(self) -> Interval:
        return Interval(None if self.start == _FIRST else self.start, None if self.end == _LAST else self.end)


def replace_at(new: Interval, old: Interval, now: datetime) -> tuple[Interval, Interval | None]:
    """Return what is left of a new fact and of an old one that it contradicts; None: the old one is superseded.

    `new` is as the new fact states it, `old` the effective interval of the old one. They overlap.
    """
    if new.is_past(now):
        return new, _replaced_by_past(new, old, now)
    if new.is_future(now):
        return new, _replaced_by_future(new, old)
    if old.is_past(now) and new.start is None:
        return new.starting(old.end), old
    if old.is_future(now) and new.end is None:
        return new.ending(old.start), old
    return new, _replaced_by_present(new, old, now)


def _replaced_by_present(new: Interval, old: Interval, now: datetime) -> Interval | None:
    if old.is_past(now):
        return None if old.within(new) else old.ending(new.start)
    if old.is_future(now):
        return None if old.within(new) else old.starting(new.end)
    starts_later = new.start is not None and old.start is not None and old.start < new.start
    return old.ending(new.start) if starts_later else None


def _replaced_by_past(new: Interval, old: Interval, now: datetime) -> Interval | None:
    if old.within(new):
        return None
    starts_before = new.start is not None and old.low < new.low
    if old.is_past(now) and starts_before:
        return old.ending(new.start)
    return old.starting(new.end)


def _replaced_by_future(new: Interval, old: Interval) -> Interval | None:
    if old.low < new.low:
        return old.ending(new.start)
    return None if old.within(new) else old.starting(new.end)
