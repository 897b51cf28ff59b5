"""The header by which an HTTP endpoint says when to ask again."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def retry_after_s(value: str | None) -> float | None:
    """Return the seconds that a Retry-After header asks for, as a number or as a date; None if it asks for nothing.

    >>> retry_after_s("1.5"), retry_after_s(None), retry_after_s("soon")
    (1.5, None, None)
    """
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
