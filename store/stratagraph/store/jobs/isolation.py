"""One row that cannot be processed must not keep its neighbours waiting."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from stratagraph.store.model.errors import KeyCollision, StoreUnavailable
from stratagraph.store.postgres.database import Connection, savepoint

K = TypeVar("K")
T = TypeVar("T")


async def process_isolated(
    connection: Connection, keys: Sequence[K], process: Callable[[Sequence[K]], Awaitable[T]]
) -> tuple[list[T], dict[K, Exception]]:
    """Call `process` for all `keys` in one savepoint, and if that fails for each key in a savepoint of its own.

    Returns the results of the calls that succeeded, and the error of each key whose call failed. Raises
    StoreUnavailable, because an outage is no property of a row.
    """
    if not keys:
        return [], {}
    try:
        async with savepoint(connection):
            return [await process(keys)], {}
    except Exception as error:
        if isinstance(error, StoreUnavailable) and not isinstance(error, KeyCollision):
            raise
        if len(keys) == 1:
            return [], {keys[0]: error}
    results: list[T] = []
    failed: dict[K, Exception] = {}
    for key in keys:
        done, errors = await process_isolated(connection, [key], process)
        results += done
        failed |= errors
    return results, failed
