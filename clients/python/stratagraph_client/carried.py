"""The writes that a client's reads must reflect: the sequences of its own, and those that it was handed over."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any

SEPARATOR = "."  # of tokens, which the API takes together; none of them has one
MOST = 32  # tokens; the API takes no more


class Carried:
    """The sequences that later reads must reflect.

    Tokens cannot be compared. But a write that was begun after the answer to another had come is later than it, so its
    token takes the place of that one. Only tokens of writes that ran at the same time are kept together.
    """

    def __init__(self, after: str | None = None) -> None:
        self._lock = threading.Lock()
        self._count = 0  # writes that have begun or ended so far, which orders them
        self._ended: dict[str, int] = {token: 0 for token in (after or "").split(SEPARATOR) if token}
        self._given = frozenset(self._ended)

    @property
    def sequence(self) -> str | None:
        """The tokens as one text for `atLeastSequence`, or None."""
        with self._lock:
            return SEPARATOR.join(self._ended) or None

    @property
    def own(self) -> bool:
        """Whether all tokens are of the client's own writes, none of them handed over."""
        with self._lock:
            return self._given.isdisjoint(self._ended)

    def begin(self) -> int:
        """Return the place of a write that begins now."""
        with self._lock:
            self._count += 1
            return self._count

    def end(self, begun: int, token: str, *, replayed: bool) -> None:
        """Note the token of a write that began at `begun`. One that was replayed may be older than others."""
        with self._lock:
            self._count += 1
            if not replayed:
                self._ended = {one: ended for one, ended in self._ended.items() if ended > begun}
            self._ended.pop(token, None)
            self._ended[token] = self._count
            while len(self._ended) > MOST:
                self._ended.pop(next(iter(self._ended)))

    def forget(self) -> None:
        """Drop all tokens, since the database does not know them any more."""
        with self._lock:
            self._ended.clear()


def sequences_in(data: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    """Yield the sequence of each write in the answer to a mutation, with whether it was replayed."""
    for value in data.values():
        if isinstance(value, dict):
            lists = [value.get(name) for name in ("results", "captures")]
            for one in (value, *(one for found in lists if isinstance(found, list) for one in found)):
                if not isinstance(one, dict):
                    continue
                receipt = one.get("receipt")
                token = one.get("sequence") or (receipt.get("sequence") if isinstance(receipt, dict) else None)
                if isinstance(token, str):
                    yield token, bool(one.get("replayed", "captures" in value))
