"""What a database can do for a process now: whether it can be read and written, and whether the clocks agree."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.model.errors import OutOfConnections
from stratagraph.store.postgres.failures import translated
from stratagraph.store.postgres.pools import Pool
from stratagraph.store.postgres.queries import query

PROBE_WAIT_S = 1.0  # for which a probe waits for a connection where none is free


class DatabaseState(StrEnum):
    """What a database can do for this process."""

    WRITABLE = "writable"
    READ_ONLY = "read_only"  # new transactions may not write
    STANDBY = "standby"  # the same, because it follows another server
    OUT_OF_CONNECTIONS = "out_of_connections"  # the server refuses further connections
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """The state of a database that answers, or that has no connection left.

    `serves` says whether callers' requests can be answered, which takes a connection of each of two pools. The clock of
    this machine is ahead of the server's by `clock_ahead_s`, measured to `clock_error_s`; None without an answer.
    """

    state: DatabaseState
    serves: bool
    clock_ahead_s: float | None
    clock_error_s: float = 0.0


async def probe(callers: Pool, background: Pool) -> Probe:
    """Return what the database can do, over the pools that callers' requests need. Raises StoreUnavailable."""
    try:
        async with translated(), AsyncExitStack() as stack:
            connection = await _take(stack, callers)
            began = time.time()
            row = (await connection.execute(query("probe_database"))).mappings().one()
            ended = time.time()
            if background.is_refused:  # by now it may have one
                await _take(stack, background)
    except (OutOfConnections, TimeoutError):
        serves = callers.open > 0 and background.open > 0
        return Probe(state=DatabaseState.OUT_OF_CONNECTIONS, serves=serves, clock_ahead_s=None)
    state = DatabaseState.WRITABLE
    if row["is_standby"]:
        state = DatabaseState.STANDBY
    elif row["is_read_only"]:
        state = DatabaseState.READ_ONLY
    elif callers.is_refused or background.is_refused:
        state = DatabaseState.OUT_OF_CONNECTIONS
    return Probe(
        state=state,
        serves=True,
        clock_ahead_s=(began + ended) / 2 - row["clock_s"],
        clock_error_s=(ended - began) / 2,
    )


async def _take(stack: AsyncExitStack, pool: Pool) -> AsyncConnection:
    """Take a connection; wait no longer for one than a probe may, where all are in use."""
    usage = pool.usage()
    async with asyncio.timeout(PROBE_WAIT_S if usage.in_use >= usage.size else None):
        return await pool.take(stack, PROBE_WAIT_S)
