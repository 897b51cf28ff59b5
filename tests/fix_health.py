"""What is measured of a service, as a test states it."""

from __future__ import annotations

from typing import TypeVar

from stratagraph.service.measuring import Gauge
from stratagraph.store.jobs.leases import JobState

T = TypeVar("T")
JOB = JobState(
    name="prune",
    owner=None,
    is_running=False,
    next_run_at=None,
    started_at=None,
    finished_at=None,
    took_s=None,
    result={},
    error="StatementFailed: UniqueViolation (23505)",
    failures=0,
    runs=9,
    failed_runs=9,
    totals={},
    overdue_s=0.0,
    set_aside=0,
)


def constant(value: T) -> Gauge[T]:
    """Return a gauge that always shows `value`."""

    async def read() -> T:
        return value

    return Gauge(read)
