"""Write transactions that meet others: retries of collisions, and requests that run beside a retry of their own."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.errors import (
    IdempotencyMismatch,
    StatementTimedOut,
    StoreUnavailable,
    StratagraphError,
    TenantErased,
    WriteCollision,
)
from stratagraph.store.postgres.database import Database
from stratagraph.store.records.candidates import RequestKey, find_used_keys

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


async def or_replayed(
    database: Database, caller: Caller, keys: Iterable[RequestKey], commit: Callable[[], Awaitable[T]]
) -> T:
    """Return the result of `commit`, which looks up `keys` and makes a change in a transaction of its own.

    Where it is refused while one of the keys is in use, it is run once more: the other request with that key may have
    been stored after the look-up, and what it changed is then the reason of the refusal. The second run finds its key.
    """
    try:
        return await commit()
    except (IdempotencyMismatch, StoreUnavailable):
        raise
    except StratagraphError:
        hashes = [key.key_hash for key in keys if key.key_hash is not None]
        if not hashes:
            raise
        async with database.writing(caller.bounds) as connection:  # readers may not read keys
            used = await find_used_keys(connection, caller, hashes)
        if not used:
            raise
    return await commit()
