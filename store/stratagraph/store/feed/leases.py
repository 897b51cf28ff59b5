"""A consumer's lease on some of its cursors, and the pages of the log that it reads under that lease."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from stratagraph.store.feed.changes import LoggedChange

LEASE_S = 10  # seconds after which an unrenewed lease expires


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPage:
    """A page of the change log: part of one window.

    `window_snapshot` is the number of the snapshot that ends the window and `nonce` its nonce; `earlier_nonce` is that
    of the snapshot that begins it. `last` is True if the window ends with this page.
    """

    changes: Sequence[LoggedChange]
    window_snapshot: int
    nonce: UUID
    earlier_nonce: UUID
    last: bool

    def split(self, count: int) -> tuple[LogPage, LogPage | None]:
        """Return a page of the first `count` changes, and one of the rest, or None if there is no rest."""
        if len(self.changes) <= count:
            return self, None
        return replace(self, changes=self.changes[:count], last=False), replace(self, changes=self.changes[count:])


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to advance some cursors of a consumer, all at the same position, until another owner takes them over.

    `epochs` has the epoch of each of `cursors`, in the same order. A takeover increases the epoch, so statements of
    the earlier owner no longer match.
    """

    consumer: str
    owner: str
    cursors: tuple[int, ...]
    epochs: tuple[int, ...]
    snapshot: int
    window_snapshot: int | None
    window_seq: int

    @property
    def fence(self) -> dict[str, Any]:
        """The bind parameters that restrict a statement to those cursors that no other owner has taken over."""
        return {
            "consumer": self.consumer,
            "owner": self.owner,
            "cursors": list(self.cursors),
            "epochs": list(self.epochs),
        }

    @property
    def position(self) -> tuple[int, int | None, int]:
        """The common position of the cursors: snapshot, snapshot that ends the current window or None, last seq."""
        return self.snapshot, self.window_snapshot, self.window_seq

    def after(self, page: LogPage) -> Lease:
        """Return this lease at its position after `page` has been applied."""
        if page.last:
            return replace(self, snapshot=page.window_snapshot, window_snapshot=None, window_seq=0)
        return replace(self, window_snapshot=page.window_snapshot, window_seq=page.changes[-1].seq)

    def joined(self, other: Lease) -> Lease:
        """Return one lease on the cursors of this lease and of `other`. Both must be at the same position."""
        assert self.position == other.position
        return replace(self, cursors=self.cursors + other.cursors, epochs=self.epochs + other.epochs)

    def split(self, count: int) -> tuple[Lease, Lease]:
        """Return a lease on the first `count` cursors, and a lease on the rest."""
        return (
            replace(self, cursors=self.cursors[:count], epochs=self.epochs[:count]),
            replace(self, cursors=self.cursors[count:], epochs=self.epochs[count:]),
        )
