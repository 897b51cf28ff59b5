"""The header Range: a part of a representation of which the length is known (RFC 9110)."""

from __future__ import annotations

import re

_RANGE = re.compile(r"bytes=(?P<first>\d{0,19})-(?P<last>\d{0,19})\Z")


class NotSatisfiable(Exception):
    """The range begins after the end of the representation."""


def byte_range(header: str | None, size: int) -> range | None:
    """Return the positions of the bytes that are asked for; None for all of them.

    A header that is malformed or names several ranges asks for all, as RFC 9110 allows. Raises NotSatisfiable.

    >>> [byte_range(f"bytes={part}", 10) for part in ("2-3", "8-", "-4", "5-99")]
    [range(2, 4), range(8, 10), range(6, 10), range(5, 10)]
    >>> byte_range(None, 10), byte_range("bytes=0-1,4-5", 10), byte_range("lines=1-2", 10), byte_range("bytes=3-2", 10)
    (None, None, None, None)
    """
    found = _RANGE.match(header.strip()) if header is not None else None
    if found is None:
        return None
    first, last = found["first"], found["last"]
    if not first:
        if not last:
            return None
        if int(last) == 0 or size == 0:
            raise NotSatisfiable
        return range(max(0, size - int(last)), size)
    if last and int(last) < int(first):
        return None
    if int(first) >= size:
        raise NotSatisfiable
    return range(int(first), min(size, int(last) + 1) if last else size)
