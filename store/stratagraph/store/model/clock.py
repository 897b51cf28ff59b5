"""Time comes in as an argument, so that tests can turn the hands."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Protocol

from stratagraph.store.model.errors import InvalidInput

RESOLUTION = timedelta(microseconds=1)  # the resolution of timestamptz


class Clock(Protocol):
    def now(self) -> datetime: ...


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


def as_utc(value: datetime, *, path: list[str]) -> datetime:
    """The same instant in UTC. Raises InvalidInput for a datetime without an offset."""
    if value.tzinfo is None or value.utcoffset() is None:
        raise InvalidInput(
            f"{'.'.join(path)}: {value.isoformat()} has no UTC offset; write for example {value.isoformat()}Z",
            path=path,
        )
    return value.astimezone(UTC)


def rfc3339(value: datetime) -> str:
    """UTC with a `Z`, microseconds only where there are any."""
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
