"""Retries of write transactions that conflict with others, so that callers do not see deadlocks."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from stratagraph.store.model.errors import StatementTimedOut, StoreUnavailable, TenantErased, WriteCollision

ATTEMPTS = 8  # of one transaction
LONGEST_PAUSE_S = 0.5  # seconds between two attempts
T = TypeVar("T")


class StaleRead(WriteCollision):
    """Other writers changed this record at the same time; try again shortly."""


def is_outage(error: Exception) -> bool:
    """Return whether an error says that the database cannot be used now, rather than that one transaction fails."""
    of_transaction = (StatementTimedOut, TenantErased, WriteCollision)
    return isinstance(error, StoreUnavailable) and not isinstance(error, of_transaction)


async def retried(transaction: Callable[[], Awaitable[T]]) -> T:
    """Run `transaction` and return its result, retrying while it raises WriteCollision, up to ATTEMPTS times.

    `transaction` must begin and end a database transaction of its own. The pause between attempts is random, below a
    bound that doubles up to LONGEST_PAUSE_S seconds, so that the same two writers do not conflict again. Raises
    WriteCollision after the last attempt, and any other exception at once.
    """
    for attempt in range(1, ATTEMPTS):
        try:
            return await transaction()
        except WriteCollision:
            await asyncio.sleep(random.uniform(0, min(LONGEST_PAUSE_S, 0.01 * 2**attempt)))
    return await transaction()
