"""Write transactions that got in each other's way are run again; callers never hear of a deadlock."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from stratagraph.store.model.errors import WriteCollision

ATTEMPTS = 8
LONGEST_PAUSE_S = 0.5
T = TypeVar("T")


class StaleRead(WriteCollision):
    """Others keep changing this record; try again shortly."""


async def retried(transaction: Callable[[], Awaitable[T]]) -> T:
    """Run `transaction`, and run it again while other writers get in its way, up to ATTEMPTS times.

    `transaction` must begin and end a database transaction of its own. Between attempts it pauses for a random time
    that doubles up to LONGEST_PAUSE_S seconds, so that the same two writers do not meet again. Raises WriteCollision
    after the last attempt, and any other exception at once.
    """
    for attempt in range(1, ATTEMPTS):
        try:
            return await transaction()
        except WriteCollision:
            await asyncio.sleep(random.uniform(0, min(LONGEST_PAUSE_S, 0.01 * 2**attempt)))
    return await transaction()
