"""Processing rows so that one that fails does not hold up the others."""

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
    """Call `process` once for all `keys` in a savepoint; if that fails, once for each key in a savepoint of its own.

    Returns the results of the calls that succeeded, and the error of each key whose own call failed. StoreUnavailable
    is raised, because an outage is not the fault of a row, except KeyCollision, which counts as a failed call.
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
