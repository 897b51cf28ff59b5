"""Requests that run at the same time as a retry of theirs with the same idempotency key."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.errors import IdempotencyMismatch, StoreUnavailable, StratagraphError
from stratagraph.store.postgres.database import Database
from stratagraph.store.records.candidates import RequestKey, find_used_keys

T = TypeVar("T")


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
