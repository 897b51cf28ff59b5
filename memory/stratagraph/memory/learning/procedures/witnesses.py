"""Values that episodes have shown, each with the episodes that showed it. No I/O.

An episode that is erased takes with it every value that only it is known to have shown.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

WITNESSES = 3  # episodes named for one value, the newest; a value goes when all of them are erased


@dataclass(frozen=True, slots=True, order=True)
class Witness:
    """An episode, by the instant at which it closed (RFC 3339, UTC) and its id."""

    at: str
    episode: str


Witnesses = tuple[Witness, ...]


def newest(witnesses: Iterable[Witness]) -> Witnesses:
    """Return the newest WITNESSES of them, the newest first, each once."""
    return tuple(sorted(set(witnesses), reverse=True)[:WITNESSES])


def without(witnesses: Witnesses, episodes: Collection[str]) -> Witnesses:
    """Return the witnesses that are not among `episodes`."""
    return tuple(one for one in witnesses if one.episode not in episodes)


def witnesses_as_json(witnesses: Witnesses, episodes: dict[Witness, int]) -> list[int]:
    """Return the numbers of the witnesses in `episodes`, to which new ones are added; `witnesses_of_json` reads them.

    An observation names an episode many times, so its JSON has each episode once, and these numbers elsewhere.
    """
    return [episodes.setdefault(one, len(episodes)) for one in witnesses]


def witnesses_of_json(stored: Sequence[int], episodes: Sequence[Witness]) -> Witnesses:
    """Return the witnesses that `witnesses_as_json` wrote as numbers; number n stands for `episodes[n]`."""
    return tuple(episodes[number] for number in stored)


@dataclass(frozen=True, slots=True)
class Shown:
    """A JSON value, how often it was seen, and the newest episodes that showed it."""

    value: Any
    count: int
    by: Witnesses


@dataclass(frozen=True, slots=True)
class ShownValues:
    """The different values that were seen, in the order of their JSON.

    With `overflows`, there were more than the bound of `merged`: then no value is kept, because no few values stand for
    the others.
    """

    values: tuple[Shown, ...] = ()
    overflows: bool = False

    @classmethod
    def one(cls, value: Any, witness: Witness, *, count: int = 1) -> Self:
        """Return the values of one that was seen `count` times in one episode."""
        return cls((Shown(value, count, (witness,)),))

    @property
    def total(self) -> int:
        return sum(one.count for one in self.values)

    def merged(self, other: ShownValues, *, most: int) -> ShownValues:
        """Return the values of both; if there are more than `most` different ones, none of them."""
        if self.overflows or other.overflows:
            return ShownValues(overflows=True)
        found = _united(self.values, other.values)
        return ShownValues(found) if len(found) <= most else ShownValues(overflows=True)

    def newest_merged(self, other: ShownValues, *, most: int) -> ShownValues:
        """Return the values of both; if there are more than `most`, those that were seen last.

        Which values these are does not depend on the order of merges, but their counts then do: a value that was left
        out, and is seen again, is counted from then on.
        """
        found = _united(self.values, other.values)
        if len(found) > most:
            kept = sorted(found, key=lambda one: (one.by[0].at, _key(one.value)), reverse=True)[:most]
            found = tuple(sorted(kept, key=lambda one: _key(one.value)))
        return ShownValues(found)

    def forgetting(self, episodes: Collection[str]) -> ShownValues:
        """Return the values that others than `episodes` showed."""
        kept = (Shown(one.value, one.count, without(one.by, episodes)) for one in self.values)
        return ShownValues(tuple(one for one in kept if one.by), self.overflows)

    def by_count(self) -> list[Shown]:
        """Return the values, the most frequent first; those of equal counts in their order."""
        return sorted(self.values, key=lambda one: -one.count)

    def as_json(self, episodes: dict[Witness, int]) -> dict[str, Any]:
        """Return the values as JSON, which `of_json` reads."""
        values = [
            {"value": one.value, "count": one.count, "by": witnesses_as_json(one.by, episodes)} for one in self.values
        ]
        return {"values": values, **({"overflows": True} if self.overflows else {})}

    @classmethod
    def of_json(cls, stored: Mapping[str, Any], episodes: Sequence[Witness]) -> Self:
        """Return the values of `as_json`."""
        values = (
            Shown(one["value"], int(one["count"]), witnesses_of_json(one["by"], episodes))
            for one in stored.get("values", ())
        )
        return cls(tuple(sorted(values, key=lambda one: _key(one.value))), stored.get("overflows", False))


def _united(one: Sequence[Shown], other: Sequence[Shown]) -> tuple[Shown, ...]:
    found: dict[str, Shown] = {}
    for shown in (*one, *other):
        key = _key(shown.value)
        known = found.get(key)
        found[key] = (
            shown if known is None else Shown(known.value, known.count + shown.count, newest((*known.by, *shown.by)))
        )
    return tuple(found[key] for key in sorted(found))


def _key(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
