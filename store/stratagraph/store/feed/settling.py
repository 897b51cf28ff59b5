"""Waiting until an answer about a past instant is exact: until no open transaction can still write at that instant.

A writer takes its instant after its transaction has received its transaction id, and commits later. So a reader of an
instant waits for the transactions that had an id at that instant, which the snapshots of the change feed identify.
Transactions that begin afterwards write at later instants (docs/specification.md, History).
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
LEEWAY = timedelta(seconds=1)  # the most by which the clocks of two servers may differ
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.005, 0.1


def past_instant(as_of: datetime, *, now: datetime, name: str = "asOf") -> datetime:
    """Return `as_of` in UTC. Raises InvalidInput, which names the argument, if it has no offset or is after `now`."""
    instant = as_utc(as_of, path=[name])
    if instant > now:
        raise InvalidInput(
            f"{name}: {rfc3339(instant)} lies in the future; the time is {rfc3339(now)}. Leave it out to read the"
            " present.",
            path=[name],
        )
    return instant


async def settle(database: Database, instant: datetime, *, within_s: float = WAIT_S) -> None:
    """Wait until no open transaction can still write rows with an instant up to `instant`.

    A reader that begins afterwards sees all of them. Usually returns at once. Raises StoreUnavailable if such a
    transaction is still open after `within_s` seconds.
    """
    deadline = time.monotonic() + within_s
    pause_s = _FIRST_PAUSE_S
    async with database.autonomous() as connection:
        horizon = (await fetch(connection, "read_settling_horizon", after=instant + LEEWAY))[0]["horizon"]
    while True:
        async with database.autonomous() as connection:  # a new transaction each time, for a new snapshot
            oldest = (await fetch(connection, "read_oldest_writer"))[0]["oldest"]
        if oldest >= horizon:
            return
        if time.monotonic() + pause_s > deadline:
            raise StoreUnavailable(
                f"asOf: a write that began before {rfc3339(instant)} is still open, so the past at that instant is not"
                " settled yet. Retry shortly, or ask for an earlier instant.",
                path=["asOf"],
            )
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
