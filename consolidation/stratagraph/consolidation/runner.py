"""Runs every background job on its own schedule, on any number of servers but one at a time.

Each job has a loop of its own, so a job that is slow or fails does not keep the others waiting. A run holds the job's
lease (`stratagraph.store.jobs.leases`), ends at its deadline, and is recorded with its counts. A failed run is repeated
after a pause that doubles, and so does the pause of a job that finds nothing to do, up to a few seconds; an outage of
the database is logged once and waited for.

procrastinate was measured and not taken: see docs/decisions.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from stratagraph.consolidation.job import Job, JobResult
from stratagraph.memory.embedding.embedder import EmbedderUnavailable
from stratagraph.memory.learning.extraction.extractor import ExtractorUnavailable
from stratagraph.store.event_log import get_logger
from stratagraph.store.jobs.leases import LEASE_S, JobLeases
from stratagraph.store.model.clock import Clock
from stratagraph.store.model.errors import StatementTimedOut, StoreUnavailable, StratagraphError, error_kind
from stratagraph.store.postgres.database import Database

JITTER = 0.2  # share of every pause, so that servers do not act in step
SHORTEST_PAUSE_S = 0.1
LONGEST_IDLE_PAUSE_S = 8.0  # between runs of a job that finds nothing to do, unless its interval is longer
LONGEST_OUTAGE_PAUSE_S = 30.0  # between attempts while the database cannot be reached
_log = get_logger(__name__)
_MODEL_UNAVAILABLE = (EmbedderUnavailable, ExtractorUnavailable)
T = TypeVar("T")


class RunStopped(StratagraphError):
    """A run was stopped: it exceeded its deadline, or another server took its lease."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """How one run ended: `counts` and no `error`, or the reason why it failed and no counts. `took_s` is in seconds."""

    job: str
    counts: Mapping[str, int]
    error: str | None
    took_s: float
    pause_s: float  # until the job is due again


class Runner:
    """The background jobs of one server. `owner` names the server among all that run jobs."""

    def __init__(self, database: Database, clock: Clock, jobs: Sequence[Job], *, owner: str) -> None:
        self._jobs = {job.name: job for job in jobs}
        self._clock = clock
        self.leases = JobLeases(database, owner=owner)
        self._is_away = False
        self._idle_runs: Counter[str] = Counter()  # of each job, in a row, that found nothing to do

    @property
    def jobs(self) -> Mapping[str, Job]:
        """The jobs by name."""
        return self._jobs

    async def put_off(self) -> None:
        """Let the jobs that have a first pause wait for it, because the database was upgraded; none is due earlier.

        Such a job may have much to do then, while people wait for the service. Raises StoreUnavailable.
        """
        await self.leases.put_off(
            {name: job.config.first_pause_s for name, job in self._jobs.items() if job.config.first_pause_s}
        )

    async def run(self) -> None:
        """Run each job whenever it is due, until cancelled. A job that fails, and an outage, do not end this."""
        async with asyncio.TaskGroup() as group:
            for job in self._jobs.values():
                group.create_task(self._loop(job), name=f"job {job.name}")

    async def run_once(self, name: str) -> Run | None:
        """Run one job now, due or not, and return how it ended; None if another server is running it.

        A run that fails is returned with its error. Raises KeyError for an unknown name.
        """
        return await self.run_now(self._jobs[name])

    async def run_now(self, job: Job) -> Run | None:
        """Run `job` now in place of the job of its name, with that one's lease; else as `run_once` does."""
        await self.leases.register({job.name: job.config.first_pause_s})
        failures = await self.leases.claim(job.name, longest_pause_s=_longest_s(job), forced=True)
        return None if failures is None else await self._run(job, failures)

    async def _loop(self, job: Job) -> None:
        while True:
            try:
                pause_s = await self._until_reached(lambda: self._turn(job))
            except Exception as error:  # a defect in the bookkeeping of one job must not stop the others, nor the API
                pause_s = LEASE_S
                _log.error("job could not be run", job=job.name, error=_reason(error), retry_in_s=pause_s)
            # Never less, or the job would not be due yet, and would be looked at twice for each run.
            await asyncio.sleep(min(pause_s, LEASE_S) * random.uniform(1, 1 + JITTER))

    async def _turn(self, job: Job) -> float:
        """Run the job if it is due; return the seconds until this server should look again."""
        failures = await self.leases.claim(job.name, longest_pause_s=_longest_s(job))
        if failures is not None:
            return (await self._run(job, failures)).pause_s
        due_in_s = await self.leases.due_in_s(job.name)
        if due_in_s is None:
            await self.leases.register({job.name: job.config.first_pause_s})
            return min(LEASE_S, job.config.first_pause_s)
        return max(SHORTEST_PAUSE_S, due_in_s)

    async def _run(self, job: Job, failures: int) -> Run:
        """Run a job whose lease is held, record how it ended, and return that."""
        began = time.monotonic()
        try:
            result = await self._held(job)
        except asyncio.CancelledError:
            with contextlib.suppress(StoreUnavailable):  # the lease then expires by itself
                await asyncio.shield(self.leases.release(job.name))
            raise
        except Exception as error:  # a defect of one job must not stop the others
            return await self._failed(job, error, failures, time.monotonic() - began)
        took_s = time.monotonic() - began
        pause_s = self._pause_s(job, result)
        await self.leases.finish(job.name, result.counts, pause_s=pause_s)
        counts = {name: count for name, count in result.counts.items() if count}
        if failures:
            _log.info("job runs again", job=job.name, failed_runs=failures)
        if counts:
            _log.info("job ran", job=job.name, took_s=round(took_s, 3), **counts)
        return Run(job=job.name, counts=result.counts, error=None, took_s=took_s, pause_s=pause_s)

    def _pause_s(self, job: Job, result: JobResult) -> float:
        """Return the seconds until the next run; they double while the job finds nothing to do."""
        if result.pause_s is not None:
            return result.pause_s
        if result.more or any(result.counts.values()):
            self._idle_runs[job.name] = 0
            return 0.0 if result.more else job.config.interval_s
        self._idle_runs[job.name] += 1
        doubled_s = job.config.interval_s * 2.0 ** min(self._idle_runs[job.name] - 1, 20)
        return min(doubled_s, max(job.config.interval_s, LONGEST_IDLE_PAUSE_S))

    async def _failed(self, job: Job, error: Exception, failures: int, took_s: float) -> Run:
        pause_s = min(job.config.longest_pause_s, max(1.0, job.config.interval_s) * 2 ** min(failures, 20))
        reason = _reason(error)
        await self.leases.fail(job.name, reason, pause_s=pause_s)  # during an outage raises, and the outage is logged
        # A run that the database or a model left is no defect of the job, also where it is back already.
        is_outage = type(error) in (StoreUnavailable, StatementTimedOut) or isinstance(error, _MODEL_UNAVAILABLE)
        log = _log.warning if is_outage else _log.error
        log("job failed", job=job.name, error=reason, failures=failures + 1, retry_in_s=round(pause_s, 1))
        return Run(job=job.name, counts={}, error=reason, took_s=took_s, pause_s=pause_s)

    async def _held(self, job: Job) -> JobResult:
        """Run the job while its lease is kept. Raises RunStopped at the deadline, or when the lease is lost."""
        run = asyncio.create_task(job.run_once(self._clock.now()), name=f"run of {job.name}")
        renewal = asyncio.create_task(self._renew(job.name), name=f"lease of {job.name}")
        try:
            done, _ = await asyncio.wait(
                {run, renewal}, timeout=job.config.deadline_s, return_when=asyncio.FIRST_COMPLETED
            )
            if run in done:
                return run.result()
            if renewal in done:
                raise RunStopped("the lease was lost: another server runs this job now")
            raise RunStopped(f"stopped after its deadline of {job.config.deadline_s:g} s")
        finally:
            await _cancelled(run, renewal)

    async def _renew(self, name: str) -> None:
        """Keep the lease; return when another server has it."""
        while True:
            await asyncio.sleep(LEASE_S / 3)
            with contextlib.suppress(StoreUnavailable):  # the run itself meets the outage
                if not await self.leases.renew(name):
                    return

    async def _until_reached(self, step: Callable[[], Awaitable[T]]) -> T:
        """Return what `step` returns, repeating it while the database cannot be reached. The outage is logged once."""
        pause_s = 1.0
        while True:
            try:
                done = await step()
            except StoreUnavailable as error:
                if not self._is_away:
                    _log.warning("background jobs wait for the database", reason=error.message)
                self._is_away = True
                await asyncio.sleep(pause_s * random.uniform(1 - JITTER, 1 + JITTER))
                pause_s = min(2 * pause_s, LONGEST_OUTAGE_PAUSE_S)
            else:
                if self._is_away:
                    _log.info("background jobs reach the database again")
                self._is_away = False
                return done


def _longest_s(job: Job) -> float:
    """The longest time that may lie between two runs of the job, in seconds."""
    return max(job.config.interval_s, job.config.longest_pause_s)


async def _cancelled(*tasks: asyncio.Task[object]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _reason(error: Exception) -> str:
    """Why a run failed, without any text that could quote a row."""
    if isinstance(error, (RunStopped, StoreUnavailable, *_MODEL_UNAVAILABLE)):
        return error.message
    return error_kind(error)
