"""One row per job, shared by all servers: a lease, the time of the next run, and how runs ended.

A run belongs to the server that holds the lease. The holder renews it; when a server dies, another one claims the job
once the lease has expired. All times are the database's, so that servers whose clocks differ agree.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
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
    """A job as the database knows it.

    `result` has the counts of the last successful run and `totals` those of all. `failures` counts the failed runs
    since the last success; `error` is the reason of the last one. `overdue_s` is how long the job could have been
    claimed and was not, in seconds; negative while it is not due. `set_aside` counts the rows it could not process.
    """

    name: str
    owner: str | None
    is_running: bool
    next_run_at: datetime
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
    """The jobs of one database, on behalf of one server called `owner`. Every method raises StoreUnavailable."""

    def __init__(self, database: Database, *, owner: str) -> None:
        self._database = database
        self._owner = owner

    async def register(self, names: Collection[str]) -> None:
        """Make jobs known that are new; they are due at once."""
        async with self._database.background(Role.JOBS) as connection:
            await run(connection, "register_jobs", names=sorted(names))

    async def claim(self, name: str, *, forced: bool = False) -> int | None:
        """Claim a job that is due, or, when `forced`, one that is not; return how often it has failed since its last
        success, or None if it is not due or another server runs it."""
        async with self._database.background(Role.JOBS) as connection:
            await _without_waiting_for_disk(connection)
            rows = await fetch(connection, "claim_job", name=name, owner=self._owner, lease_s=LEASE_S, forced=forced)
        return rows[0]["failures"] if rows else None

    async def due_in_s(self, name: str) -> float:
        """Return the seconds until the job may be claimed."""
        async with self._database.background(Role.JOBS) as connection:
            rows = await fetch(connection, "read_job_due", name=name)
        return float(rows[0]["due_in_s"]) if rows else 0.0

    async def renew(self, name: str) -> bool:
        """Keep the lease of a job that runs; False if another server has it by now."""
        async with self._database.background(Role.JOBS) as connection:
            return bool(await fetch(connection, "renew_job", name=name, owner=self._owner, lease_s=LEASE_S))

    async def finish(self, name: str, result: Mapping[str, int], *, pause_s: float) -> None:
        """Record a successful run with its counts; the job is due again after `pause_s` seconds."""
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
        """Record a failed run; the job is due again after `pause_s` seconds."""
        async with self._database.background(Role.JOBS) as connection:
            await run(connection, "fail_job", name=name, owner=self._owner, error=error, pause_s=pause_s)

    async def release(self, name: str) -> None:
        """Release the lease of a job whose run was stopped, so that another server can claim it at once."""
        async with self._database.background(Role.JOBS) as connection:
            await run(connection, "release_job", name=name, owner=self._owner)

    async def states(self) -> list[JobState]:
        """Return all jobs by name."""
        async with self._database.background(Role.JOBS) as connection:
            rows = await fetch(connection, "list_jobs")
        return [JobState(**row) for row in rows]


async def _without_waiting_for_disk(connection: AsyncConnection) -> None:
    """Commit without waiting for the disk: after a crash a job runs once more, which every job allows."""
    await connection.execute(text("SET LOCAL synchronous_commit = off"))
