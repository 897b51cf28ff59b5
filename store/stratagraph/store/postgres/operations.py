"""The operation that a task works for: whose it is, and when it must have ended.

Transactions of an operation count against the connections of its party, and their statements end with its deadline.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

STATEMENT_MARGIN_S = 0.5  # seconds for which a statement may outlive its operation, whose end normally cancels it


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """An operation of one party. `ends_at` is on the clock of `time.monotonic`.

    All operations of the party together hold at most `connections` database connections at a time.
    """

    party: str
    ends_at: float
    connections: int

    def statement_timeout_ms(self, most: int) -> int:
        """Return the timeout for a statement that begins now, from 1 to `most` milliseconds."""
        left_s = self.ends_at + STATEMENT_MARGIN_S - time.monotonic()
        return max(1, min(most, int(left_s * 1_000)))


_current: ContextVar[Operation | None] = ContextVar("operation", default=None)


def current_operation() -> Operation | None:
    """Return the operation that the present task works for; None in background work and on the command line."""
    return _current.get()


@contextmanager
def working_for(operation: Operation) -> Iterator[None]:
    """Run the block, and the tasks that it starts, for `operation`."""
    token = _current.set(operation)
    try:
        yield
    finally:
        _current.reset(token)
