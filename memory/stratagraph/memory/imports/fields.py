"""Reading the fields of a recorded JSON object, so that each is taken, refused with its path, or counted as unread."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from stratagraph.store.model.error_values import json_type, shown
from stratagraph.store.model.errors import InvalidInput

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECONDS = re.compile(r"[0-9]{9,19}(\.[0-9]*)?")  # fewer digits may be a date
# The unit of a number is found by its size: seconds reach the year 5138 at the first bound, and so on.
_EPOCH_UNITS = ((1e11, 1.0), (1e14, 1e3), (1e17, 1e6), (1e20, 1e9))
_PLACE = re.compile(r"\.[0-9]+(?=\.|$)")


@dataclass(slots=True, kw_only=True)
class Reading:
    """What the user asked for, and the counts of one conversation while it is read.

    `zone` is that of times without an offset; None refuses them. `outcome_field` names the field with the outcome.
    """

    zone: tzinfo | None = None
    outcome_field: str | None = None
    skipped: Counter[str] = field(default_factory=Counter)
    unread: Counter[str] = field(default_factory=Counter)

    def object(self, value: Any, path: str) -> Fields:
        """Return the fields of a JSON object at `path`, such as `messages.3`. Raises InvalidInput if it is none."""
        if not isinstance(value, dict):
            raise InvalidInput(f"{path}: must be an object, not {json_type(value)}")
        return Fields(value, path, self)


class Fields:
    """The fields of one object. Leaving the `with` block counts those that were not taken and are not empty."""

    def __init__(self, values: Mapping[str, Any], path: str, reading: Reading) -> None:
        self._values, self._path, self._reading = values, path, reading
        self._taken: set[str] = set()

    def __enter__(self) -> Fields:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            for name in self._values.keys() - self._taken:
                if self._values[name] not in (None, "", [], {}):
                    self._reading.unread[_PLACE.sub("[]", self.path(str(name)))] += 1

    @property
    def reading(self) -> Reading:
        """The reading of which the object is a part."""
        return self._reading

    def path(self, name: str) -> str:
        """Return the path of a field."""
        return f"{self._path}.{name}" if self._path else name

    def take(self, *names: str) -> Any:
        """Return the first of these fields that has a value, or None. All of them count as read."""
        self._taken.update(names)
        return next((self._values[name] for name in names if self._values.get(name) is not None), None)

    def first(self, *names: str) -> Any:
        """Return the first of these fields that has a value, or None. The others do not count as read."""
        name = next((name for name in names if self._values.get(name) is not None), None)
        return None if name is None else self.take(name)

    def skip(self, reason: str, *names: str) -> None:
        """Count the fields that are present as left out for `reason`."""
        if self.take(*names) is not None:
            self._reading.skipped[reason] += 1

    def skip_all(self, reason: str) -> None:
        """Count the object as left out for `reason`, with all its fields."""
        self._taken.update(self._values)
        self._reading.skipped[reason] += 1

    def peek(self, name: str) -> Any:
        """Return the value of a field, None if it is absent; it does not count as read."""
        return self._values.get(name)

    def holds(self, name: str, kind: type) -> bool:
        """Return whether a field has a value of this type; it does not count as read."""
        return isinstance(self._values.get(name), kind)

    def rest(self) -> dict[str, Any]:
        """Return the fields that were not taken, with their values. All of them count as read."""
        left = {name: value for name, value in self._values.items() if name not in self._taken}
        self._taken.update(left)
        return left

    def without(self, *names: str) -> Fields:
        """Return these fields without some, which count as read."""
        self.take(*names)
        left = Fields(
            {name: value for name, value in self._values.items() if name not in names}, self._path, self._reading
        )
        left._taken = self._taken
        return left

    def _named(self, names: Sequence[str]) -> str:
        """Return the path of the first of the fields that has a value."""
        return self.path(next((name for name in names if self._values.get(name) is not None), names[0]))

    def text(self, *names: str) -> str | None:
        """Return a string field; None if it is absent. Raises InvalidInput for another value."""
        value = self.first(*names)
        if value is not None and not isinstance(value, str):
            raise InvalidInput(f"{self._named(names)}: must be a string, not {json_type(value)}")
        return value

    def id(self, *names: str) -> str | None:
        """Return an id, which is a string or a whole number; None if it is absent or blank."""
        value = self.first(*names)
        if value is None or (isinstance(value, str) and not value.strip()):
            return None
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise InvalidInput(f"{self._named(names)}: must be a string or a whole number, not {described(value)}")
        return str(value)

    def required_text(self, *names: str) -> str:
        """Return a string field. Raises InvalidInput if it is absent or blank."""
        value = self.text(*names)
        if value is None or not value.strip():
            raise InvalidInput(f"{self.path(names[0])}: is missing; it must be a string")
        return value

    def list(self, *names: str) -> Sequence[Any]:
        """Return a list field; empty if it is absent. Raises InvalidInput for another value."""
        value = self.first(*names)
        if value is None:
            return ()
        if not isinstance(value, list):
            raise InvalidInput(f"{self._named(names)}: must be a list, not {json_type(value)}")
        return value

    def objects(self, *names: str) -> Iterator[Fields]:
        """Yield the objects of a list field."""
        for place, value in enumerate(self.list(*names)):
            yield self._reading.object(value, f"{self._named(names)}.{place}")

    def object(self, *names: str) -> Fields | None:
        """Return an object field; None if it is absent. Raises InvalidInput for another value."""
        value = self.first(*names)
        return None if value is None else self._reading.object(value, self._named(names))

    def time(self, *names: str) -> datetime | None:
        """Return a time: RFC 3339, or a number since 1970. Raises InvalidInput for a malformed one."""
        value = self.first(*names)
        return None if value is None else read_time(value, self._named(names), self._reading.zone)


def read_time(value: Any, path: str, zone: tzinfo | None) -> datetime | None:
    """Return a time in a file; a number counts seconds, milliseconds, microseconds or nanoseconds since 1970.

    A time without an offset is one of `zone`. Raises InvalidInput for a malformed time, or without an offset and zone.
    """
    if isinstance(value, str) and _SECONDS.fullmatch(value.strip()):
        value = float(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        per_second = next((unit for bound, unit in _EPOCH_UNITS if 0 <= value < bound), None)
        if per_second is None:
            raise InvalidInput(f"{path}: {shown(value)} is not a time since 1970 in seconds or milliseconds")
        return _EPOCH + timedelta(seconds=value / per_second)
    try:
        at = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise InvalidInput(
            f"{path}: {described(value)} is not an RFC 3339 time; write one such as 2026-01-28T09:30:00Z"
        ) from None
    if at.tzinfo is not None:
        return at
    if zone is None:
        raise InvalidInput(f"{path}: {value!r} has no UTC offset; write {value}Z, or name the zone with --timezone")
    return at.replace(tzinfo=zone)


def described(value: object) -> str:
    """Return a value of a file as an error names it: a string or a number as it is, others by their JSON type."""
    is_plain = isinstance(value, str | int | float) and not isinstance(value, bool)
    return shown(value) if is_plain else json_type(value)
