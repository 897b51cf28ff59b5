"""Processing rows so that one that fails does not hold up the others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from stratagraph.store.jobs.set_aside import Key, clear_set_aside, set_aside
from stratagraph.store.model.errors import KeyCollision, StoreUnavailable
from stratagraph.store.postgres.database import Connection, savepoint

K = TypeVar("K")
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a row was set aside, and the instant before which it is not tried again."""

    error: Exception
    retry_at: datetime


async def process_or_set_aside(
    connection: Connection,
    job: str,
    rows: Sequence[K],
    process: Callable[[Sequence[K]], Awaitable[T]],
    *,
    key: Callable[[K], Key],
    at: datetime,
    failed: Mapping[K, Exception] | None = None,
) -> tuple[list[T], dict[K, Failure]]:
    """Process `rows` for `job`, all at once where possible, and set aside the rows that cannot be processed.

    `process` is called in a savepoint, and again for each row alone if that fails. `key` names a row by tenant and id.
    `failed` are further rows, known to fail. Returns the results of the successful calls, and the failure of each row
    set aside; the caller postpones the row to its `retry_at` in the same transaction. Entries of rows that are
    processed now are deleted. Raises StoreUnavailable as `process` does.
    """
    results, errors = await _process_isolated(connection, rows, process)
    errors |= failed or {}
    failures = {
        row: Failure(error=error, retry_at=await set_aside(connection, job, key(row), error, at=at))
        for row, error in errors.items()
    }
    await clear_set_aside(connection, job, [key(row) for row in rows if row not in errors])
    return results, failures


async def _process_isolated(
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
        done, errors = await _process_isolated(connection, [key], process)
        results += done
        failed |= errors
    return results, failed
