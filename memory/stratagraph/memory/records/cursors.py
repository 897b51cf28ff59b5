"""Cursors of pages: opaque strings made from the key of the last item of a page."""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

import orjson

from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput

MAX_PAGE = 100  # items of one page
_LARGEST = 2**31 - 1  # number of a version or of an audit entry


def encode_id(id_: UUID) -> str:
    """Return the cursor after which the page that follows the record `id_` begins."""
    return _encode(id_.bytes)


def decode_id(cursor: str) -> UUID:
    """Return the record id in a cursor. Raises InvalidInput if it is not a cursor of `encode_id`."""
    return UUID(bytes=_decode(cursor, length=16))


def encode_version(number: int) -> str:
    """Return the cursor after which the page that follows version `number` of a record begins."""
    return _encode(number.to_bytes(8))


def decode_version(cursor: str) -> int:
    """Return the version number in a cursor. Raises InvalidInput if it is not a cursor of `encode_version`."""
    number = int.from_bytes(_decode(cursor, length=8))
    if number > _LARGEST:
        raise _not_a_cursor(cursor)
    return number


def encode_pair(score: float, one: UUID, other: UUID) -> str:
    """Return the cursor after which the page that follows a pair of records with this score begins."""
    return _encode(struct.pack(">d", score) + one.bytes + other.bytes)


def decode_pair(cursor: str) -> tuple[float, UUID, UUID]:
    """Return the score and the ids in a cursor. Raises InvalidInput if it is not a cursor of `encode_pair`."""
    key = _decode(cursor, length=40)
    (score,) = struct.unpack(">d", key[:8])
    if not 0 <= score <= 1:
        raise _not_a_cursor(cursor)
    return score, UUID(bytes=key[8:24]), UUID(bytes=key[24:])


def encode_ids(root: UUID, ids: Collection[UUID]) -> str:
    """Return the cursor of a page of neighbours of `root`: all that were on it and on the pages before."""
    return _encode(root.bytes + b"".join(sorted(id_.bytes for id_ in ids)))


def decode_ids(cursor: str, root: UUID) -> list[UUID]:
    """Return the neighbours in a cursor. Raises InvalidInput if it is not a cursor of `encode_ids` for `root`."""
    try:
        key = base64.urlsafe_b64decode(cursor + "==")
    except (ValueError, binascii.Error):
        key = b""
    if not key or len(key) % 16 or key[:16] != root.bytes:
        raise _not_a_cursor(cursor)
    return [UUID(bytes=key[start : start + 16]) for start in range(16, len(key), 16)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListCursor:
    """The place in a list after which a page begins.

    `mark` is the digest of the list's filter and order. `value` is what the order goes by, beside the id. `at` is the
    instant as of which the first page computed salience.
    """

    mark: str
    id: UUID
    value: datetime | float | str | None
    at: datetime

    def encode(self) -> str:
        value: object = self.value
        if isinstance(value, datetime):
            value = [_microseconds(value)]
        return _encode(orjson.dumps([self.mark, self.id, value, _microseconds(self.at)]))

    @classmethod
    def decode(cls, cursor: str, mark: str) -> ListCursor:
        """Return what `encode` wrote. Raises InvalidInput for other text, and for a cursor with another mark."""
        try:
            given, id_, value, at = orjson.loads(base64.urlsafe_b64decode(cursor + "=="))
            if isinstance(value, list):
                (microseconds,) = value
                value = _instant(microseconds)
            found = cls(mark=str(given), id=UUID(id_), value=value, at=_instant(at))
        except (ValueError, TypeError, AttributeError, OverflowError, binascii.Error):
            raise _not_a_cursor(cursor) from None
        if found.mark != mark:
            raise InvalidInput(
                "after: this cursor is of a list with another filter or order; give those of the page before, or begin"
                " without a cursor",
                path=["after"],
            )
        if value is not None and not isinstance(value, datetime | float | str):
            raise _not_a_cursor(cursor)
        return found


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _microseconds(instant: datetime) -> int:
    return (instant - _EPOCH) // timedelta(microseconds=1)


def _instant(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)


def _encode(key: bytes) -> str:
    return base64.urlsafe_b64encode(key).decode().rstrip("=")


def _decode(cursor: str, *, length: int) -> bytes:
    try:
        key = base64.urlsafe_b64decode(cursor + "==")
    except (ValueError, binascii.Error):
        key = b""
    if len(key) != length:
        raise _not_a_cursor(cursor)
    return key


def _not_a_cursor(cursor: str) -> InvalidInput:
    return InvalidInput(
        f"after: {shown(cursor)} is not a cursor; give `pageInfo.endCursor` of the previous page", path=["after"]
    )
