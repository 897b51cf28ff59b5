"""Jobs that wait after an upgrade until the records of the earlier release have been read."""

from __future__ import annotations

from datetime import datetime

from stratagraph.consolidation.job import Job, JobConfig, JobResult
from stratagraph.store.jobs.tenant_passes import passes_are_under_way
from stratagraph.store.postgres.database import Database

PAUSE_S = 5.0  # between two looks at the passes


class AfterPasses:
    """A job that does nothing while a pass after an upgrade is under way (`stratagraph.memory.tenant_passes`).

    It finds records by names, facts or words, or changes or deletes those that have them. Before the passes have given
    the older records their keys and terms, it would find fewer, and the outcome of an upgrade would depend on the order
    in which the jobs run.
    """

    def __init__(self, job: Job, database: Database) -> None:
        self._job = job
        self._database = database

    @property
    def name(self) -> str:
        return self._job.name

    @property
    def summary(self) -> str:
        return self._job.summary

    @property
    def config(self) -> JobConfig:
        return self._job.config

    async def run_once(self, now: datetime) -> JobResult:
        """Run the job, or ask for another run in PAUSE_S seconds while a pass is under way."""
        if await passes_are_under_way(self._database):
            return JobResult(pause_s=PAUSE_S)
        return await self._job.run_once(now)
