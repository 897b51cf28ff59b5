"""The clock that services are given, and the forms in which times are read and written."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Protocol

from stratagraph.store.model.errors import InvalidInput

RESOLUTION = timedelta(microseconds=1)  # the resolution of timestamptz


class Clock(Protocol):
    """The source of the current time. Services take it as an argument, so that tests can set the time."""

    def now(self) -> datetime: ...


class SystemClock:
    """The clock of the machine, in UTC."""

    def now(self) -> datetime:
        return datetime.now(UTC)


def as_utc(value: datetime, *, path: list[str]) -> datetime:
    """Return the same instant in UTC.

    Raises InvalidInput, naming `path`, for a datetime without an offset, or out of the calendar in UTC.
    """
    if value.tzinfo is None or value.utcoffset() is None:
        raise InvalidInput(
            f"{'.'.join(path)}: {value.isoformat()} has no UTC offset; write for example {value.isoformat()}Z",
            path=path,
        )
    try:
        return value.astimezone(UTC)
    except OverflowError as error:
        raise InvalidInput(
            f"{'.'.join(path)}: {value.isoformat()} is not between the years 1 and 9999 in UTC", path=path
        ) from error


def rfc3339(value: datetime) -> str:
    """Return the instant as RFC 3339 text in UTC with a `Z`; microseconds only if they are not 0."""
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
