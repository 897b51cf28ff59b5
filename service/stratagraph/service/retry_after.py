"""The header by which an HTTP endpoint says when to ask again."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def retry_after_s(value: str | None) -> float | None:
    """Return the seconds that a Retry-After header asks for, as a number or as a date; None if it asks for nothing.

    A number that is not finite, and a date that is none, such as one of the year 100,000, ask for nothing.

    >>> retry_after_s("1.5"), retry_after_s(None), retry_after_s("soon")
    (1.5, None, None)
    """
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        pass
    else:
        return max(0.0, seconds) if math.isfinite(seconds) else None
    try:
        at = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
