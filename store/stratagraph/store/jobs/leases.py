"""One row per job, shared by all servers: a lease, the time of the next run, and how runs ended.

A run belongs to the server that holds the lease. The holder renews it; when a server dies, another one claims the job
once the lease has expired. All times are the database's, so that servers whose clocks differ agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import orjson
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.postgres.queries import fetch, run

LEASE_S = 15.0  # after which the job of a server that died may be claimed by another


@dataclass(frozen=True, slots=True, kw_only=True)
class JobState:
    """The stored state of one job.

    `result` has the counts of the last successful run, `totals` their sums over all successful runs. `failures` counts
    the failed runs since the last success; `error` is the reason of the last one. `took_s` is the duration of the last
    run in seconds. `overdue_s` is for how many seconds the job could have been claimed and was not; negative until it
    can be claimed. `set_aside` counts the rows that it could not process.
    """

    name: str
    owner: str | None
    is_running: bool
    next_run_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    took_s: float | None
    result: Mapping[str, int]
    error: str | None
    failures: int
    runs: int
    failed_runs: int
    totals: Mapping[str, int]
    overdue_s: float
    set_aside: int


class JobLeases:
    """Claims the jobs of one database for the server `owner`, and records how their runs ended.

    Every method raises StoreUnavailable if the database cannot be reached.
    """

    def __init__(self, database: Database, *, owner: str) -> None:
        self._database = database
        self._owner = owner

    async def register(self, pauses: Mapping[str, float]) -> None:
        """Store the jobs of these names that are not stored yet, each due after its pause in seconds.

        Known jobs keep their schedule.
        """
        async with self._database.background(Role.JOBS) as connection:
            await run(connection, "register_jobs", names=list(pauses), pauses=list(pauses.values()))

    async def put_off(self, pauses: Mapping[str, float]) -> None:
        """Let the known jobs of these names be due no earlier than after their pause in seconds; a lease stays."""
        async with self._database.background(Role.JOBS) as connection:
            await run(connection, "put_off_jobs", names=list(pauses), pauses=list(pauses.values()))

    async def claim(self, name: str, *, longest_pause_s: float, forced: bool = False) -> int | None:
        """Claim a job for a run of this server; with `forced`, also one that is not due.

        Returns the number of failed runs since its last success, which may be 0, or None if the job was not claimed:
        it is not due, another server runs it, or it is not registered. `longest_pause_s` is the longest time between
        two runs, in seconds; a next run that lies further ahead does not count.
        """
        async with self._database.background(Role.JOBS) as connection:
            await _without_waiting_for_disk(connection)
            rows = await fetch(
                connection,
                "claim_job",
                name=name,
                owner=self._owner,
                lease_s=LEASE_S,
                longest_s=longest_pause_s,
                forced=forced,
            )
        return rows[0]["failures"] if rows else None

    async def due_in_s(self, name: str) -> float | None:
        """Return the seconds until the job may be claimed, at most LEASE_S; None for a job that is not registered."""
        async with self._database.background(Role.JOBS) as connection:
            rows = await fetch(connection, "read_job_due", name=name, most=LEASE_S)
        return float(rows[0]["due_in_s"]) if rows else None

    async def renew(self, name: str) -> bool:
        """Extend the lease of a running job by LEASE_S seconds; False if it was released or another server has it."""
        async with self._database.background(Role.JOBS) as connection:
            return bool(await fetch(connection, "renew_job", name=name, owner=self._owner, lease_s=LEASE_S))

    async def finish(self, name: str, result: Mapping[str, int], *, pause_s: float) -> None:
        """Record a successful run with its counts and release the lease; the job is due again after `pause_s` seconds.

        Does nothing if another server has claimed the job.
        """
        async with self._database.background(Role.JOBS) as connection:
            await _without_waiting_for_disk(connection)
            await run(
                connection,
                "finish_job",
                name=name,
                owner=self._owner,
                result=orjson.dumps(dict(result)).decode(),
                pause_s=pause_s,
            )

    async def fail(self, name: str, error: str, *, pause_s: float) -> None:
        """Record a failed run and release the lease; the job is due again after `pause_s` seconds.

        `error` is the reason, as text. Does nothing if another server has claimed the job.
        """
        async with self._database.background(Role.JOBS) as connection:
            await run(connection, "fail_job", name=name, owner=self._owner, error=error, pause_s=pause_s)

    async def release(self, name: str) -> None:
        """Release the lease of a job whose run was stopped; it stays due, so that any server can claim it at once."""
        async with self._database.background(Role.JOBS) as connection:
            await run(connection, "release_job", name=name, owner=self._owner)

    async def states(self) -> list[JobState]:
        """Return the state of every registered job, ordered by name."""
        async with self._database.background(Role.JOBS) as connection:
            rows = await fetch(connection, "list_jobs")
        return [JobState(**row) for row in rows]


async def _without_waiting_for_disk(connection: AsyncConnection) -> None:
    """Commit without waiting for the disk: after a crash a job runs once more, which every job allows."""
    await connection.execute(text("SET LOCAL synchronous_commit = off"))
