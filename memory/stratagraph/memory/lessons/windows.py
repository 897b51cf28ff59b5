"""Windows of time for lists of lessons, bounded by the caller's local time. Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, timedelta, timezone, tzinfo
from enum import Enum
from zoneinfo import ZoneInfo

from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput

_OFFSET = re.compile(r"([+-])(\d{2}):(\d{2})", re.ASCII)
_OF_SERVER = {"localtime", "posixrules", "Factory"}  # files beside the zones that say how a machine is set up


class Window(Enum):
    """How far back lessons are listed."""

    TODAY = "since midnight, local time"
    WEEK = "since the same local time seven days ago"
    ALL = "all of them"


def start_of(window: Window, now: datetime, zone: tzinfo = UTC) -> datetime | None:
    """Return the UTC instant at which `window` begins in the time zone `zone`; None for ALL.

    A day begins at its first instant, also where the clocks go forward at midnight.
    """
    local = now.astimezone(zone)
    match window:
        case Window.TODAY:
            return datetime.combine(local.date(), time.min, zone).astimezone(UTC)
        case Window.WEEK:
            earlier = local.replace(tzinfo=None) - timedelta(days=7)
            return earlier.replace(tzinfo=zone).astimezone(UTC)
        case Window.ALL:
            return None


def zone_of(name: str | None, *, path: list[str]) -> tzinfo:
    """Return a time zone by its IANA name, such as `Europe/Berlin`, or its offset, such as `+02:00`; UTC for None.

    Raises InvalidInput for any other text.
    """
    if name is None:
        return UTC
    if (match := _OFFSET.fullmatch(name)) and int(match[2]) < 24 and int(match[3]) < 60:
        offset = timedelta(hours=int(match[2]), minutes=int(match[3]))
        return timezone(-offset if match[1] == "-" else offset)
    try:
        if name in _OF_SERVER:
            raise LookupError
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError):  # no key, a directory, not installed
        raise InvalidInput(
            f"{path[0]}: {shown(name)} is no time zone that is known here; give a name such as Europe/Berlin, or an"
            " offset such as +02:00",
            path=path,
        ) from None
