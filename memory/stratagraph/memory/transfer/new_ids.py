"""The ids of an export's lines in a compact form, and other ids for its records: of a copy, or of equal ones here."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from uuid import UUID

import numpy as np

from stratagraph.store.keys.callers import Tenant
from stratagraph.store.model.canonical import keyed_hash
from stratagraph.store.model.errors import LimitExceeded

_ID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_WIDTH = 16  # bytes of an id
_KEPT = 64  # bits of an id that a copy keeps: when it was made, and its order within that millisecond
_VARIANT = 0b10 << 62
MOST_MAPPED = 1_000_000  # records of a file that are stored here under other ids


class IdSet:
    """A set of ids, of 16 bytes each, for files of any length. Ids are added first, then looked up."""

    def __init__(self) -> None:
        self._ids = bytearray()
        self._is_sorted = True

    def add(self, id_: UUID) -> None:
        """Add an id. It costs least where ids come in ascending order, as in an export."""
        value = id_.bytes
        self._is_sorted = self._is_sorted and value >= self._ids[-_WIDTH:]
        self._ids += value

    def mapped(self, to: Callable[[UUID], UUID]) -> IdSet:
        """Return the set of what `to` returns for each id."""
        other = IdSet()
        for at in range(0, len(self._ids), _WIDTH):
            other.add(to(UUID(bytes=bytes(self._ids[at : at + _WIDTH]))))
        return other

    def __contains__(self, id_: UUID) -> bool:
        if not self._is_sorted:
            np.frombuffer(self._ids, dtype=f"S{_WIDTH}").sort()  # in place
            self._is_sorted = True
        value, low, high = id_.bytes, 0, len(self._ids) // _WIDTH
        while low < high:
            middle = (low + high) // 2
            if self._ids[middle * _WIDTH : (middle + 1) * _WIDTH] < value:
                low = middle + 1
            else:
                high = middle
        return self._ids[low * _WIDTH : (low + 1) * _WIDTH] == value


class NewIds:
    """Other ids for those of a file, wherever its lines name them: in payloads, relations, provenance and texts.

    An id has the same other one in each run, so that a second run finds what the first one stored. What the file does
    not have as the id of a line, such as a caller's own reference, stays.
    """

    def __init__(self, tenant: Tenant, ids: Collection[IdSet]) -> None:
        self._tenant = tenant
        self._ids = ids

    def applied(self, line: bytes) -> bytes:
        """Return a line with other ids."""
        return _ID.sub(self._replaced, line)

    def of(self, id_: UUID) -> UUID:
        """Return the other id of one of the file. It has the same time, so that lists keep their order."""
        digest = keyed_hash(self._tenant.index_key, "copied id", id_.bytes)
        low = int.from_bytes(digest[:8], "big") >> 2
        return UUID(int=id_.int >> _KEPT << _KEPT | _VARIANT | low)

    def _replaced(self, match: re.Match[bytes]) -> bytes:
        id_ = UUID(match[0].decode())
        return str(self.of(id_)).encode() if any(id_ in ids for ids in self._ids) else match[0]


class MappedIds:
    """The ids of a file's records that are stored here under other ids, each with the one that it has here.

    No two of the file are the same record here.
    """

    def __init__(self) -> None:
        self._here: dict[UUID, UUID] = {}
        self._taken: set[UUID] = set()

    def add(self, id_: UUID, here: UUID) -> None:
        """Map an id. Raises LimitExceeded beyond the most."""
        if len(self._here) >= MOST_MAPPED:
            raise LimitExceeded(
                f"More than {MOST_MAPPED} records of the file are stored here under other ids; give a tenant of its own"
                " with --tenant",
                path=["file"],
            )
        self._here[id_] = here
        self._taken.add(here)

    def has_taken(self, here: UUID) -> bool:
        """Whether a record of the file is the same as this one."""
        return here in self._taken

    def applied(self, line: bytes) -> bytes:
        """Return a line with the ids of here."""
        return _ID.sub(self._replaced, line) if self._here else line

    def _replaced(self, match: re.Match[bytes]) -> bytes:
        here = self._here.get(UUID(match[0].decode()))
        return match[0] if here is None else str(here).encode()
