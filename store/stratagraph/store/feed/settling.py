"""When an answer about a past instant is exact: once nothing that was being written by then can still commit.

A writer takes its instant after its transaction has its number, and commits later. So whoever asks for an instant
waits for the transactions that had a number by then, which the ticks of the change feed tell; what begins
afterwards writes at later instants (design decision 9).
"""

from __future__ import annotations

import asyncio
import time
from datetime import datetime, timedelta

from stratagraph.store.model.clock import as_utc, rfc3339
from stratagraph.store.model.errors import InvalidInput, StoreUnavailable
from stratagraph.store.postgres.database import Database
from stratagraph.store.postgres.queries import fetch

WAIT_S = 2.0
LEEWAY = timedelta(seconds=1)  # by which the clocks of servers may differ
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.005, 0.1


def past_instant(as_of: datetime, *, now: datetime) -> datetime:
    """`as_of` in UTC. Raises InvalidInput where it has no offset or lies in the future."""
    instant = as_utc(as_of, path=["asOf"])
    if instant > now:
        raise InvalidInput(
            f"asOf: {rfc3339(instant)} lies in the future; it is {rfc3339(now)} now. Leave it out for the present.",
            path=["asOf"],
        )
    return instant


async def settle(database: Database, instant: datetime, *, within_s: float = WAIT_S) -> None:
    """Wait until a snapshot taken from now on holds everything that was ever written up to `instant`.

    Usually there is nothing to wait for. Raises StoreUnavailable when a write that had begun by then is still open
    after `within_s` seconds.
    """
    deadline = time.monotonic() + within_s
    pause_s = _FIRST_PAUSE_S
    async with database.autonomous() as connection:
        horizon = (await fetch(connection, "read_settling_horizon", after=instant + LEEWAY))[0]["horizon"]
    while True:
        async with database.autonomous() as connection:  # a transaction each, for a snapshot of its own
            oldest = (await fetch(connection, "read_oldest_writer"))[0]["oldest"]
        if oldest >= horizon:
            return
        if time.monotonic() + pause_s > deadline:
            raise StoreUnavailable(
                f"asOf: a write that began before {rfc3339(instant)} has not ended yet, so what was known then is not"
                " settled. Ask again shortly, or for an earlier instant.",
                path=["asOf"],
            )
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
