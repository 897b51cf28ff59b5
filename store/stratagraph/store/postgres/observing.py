"""What the connection pools report: how many connections are used and waited for, and each transaction of a role."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

# Called with the role of a transaction; the context that it returns lasts from the wait for a connection to the end.
TransactionObserver = Callable[[str], AbstractContextManager[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolUsage:
    """The use of one pool: connections allowed, connections in use, and tasks that wait for one."""

    name: str
    size: int
    in_use: int
    waiting: int


def unobserved(_: str) -> AbstractContextManager[None]:
    """Observe nothing."""
    return nullcontext()
