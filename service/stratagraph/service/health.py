"""Whether each part of the service works, in words for people."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graphql.services import Report
from stratagraph.store.feed.consumer import Feed
from stratagraph.store.jobs.leases import JobLeases, JobState
from stratagraph.store.mirror.generations import Generations
from stratagraph.store.model.errors import StatementFailed, StratagraphError
from stratagraph.store.postgres.database import Database
from stratagraph.store.postgres.partitions import count_default_rows

KEEPS_FAILING = 3  # failed runs in a row, from which a job is reported
OVERDUE_S = 120.0  # that a job could have run and no server ran it, from which it is reported


class Health:
    """Reports on the parts of one process. Never raises: a part that cannot be asked is reported as failing."""

    def __init__(
        self, database: Database, jobs: JobLeases, feed: Feed, mirror: Mirror | None, generations: Generations
    ) -> None:
        self._database = database
        self._jobs = jobs
        self._feed = feed
        self._mirror = mirror
        self._generations = generations

    async def reports(self) -> list[Report]:
        """Return one report per part."""
        return [
            await _report("database", self._check_database),
            await _report("feed", self._check_feed),
            await _report("jobs", self._check_jobs),
            await _report("mirror", self._check_mirror),
        ]

    async def ready(self) -> bool:
        """Return whether the database answers. The other parts do not count: requests can be answered without them."""
        return (await _report("database", self._check_database)).ok

    async def _check_database(self) -> tuple[bool, str]:
        await self._database.ping()
        return True, "answers"

    async def _check_feed(self) -> tuple[bool, str]:
        rows = await count_default_rows(self._database)
        if rows:
            return False, f"{rows} changes lie in the default partition of the log: check that the background jobs run"
        return True, "every change has its day"

    async def _check_jobs(self) -> tuple[bool, str]:
        states = await self._jobs.states()
        problems = [problem for state in states if (problem := _problem(state)) is not None]
        aside = sum(state.set_aside for state in states)
        if aside:
            problems.append(f"{aside} rows are set aside: see `stratagraph jobs set-aside`")
        if problems:
            return False, "; ".join(problems)
        return True, f"{len(states)} jobs run on schedule"

    async def _check_mirror(self) -> tuple[bool, str]:
        if self._mirror is None:
            return True, "none configured; the graph is walked in SQL"
        await self._mirror.ping()
        lag = await self._feed.lag()
        newest = await self._generations.newest()
        if lag is None:
            return False, "answers, but no worker has written to it yet"
        if newest is not None and newest["state"] == "building":
            return (
                False,
                f"is being filled: {newest['done']} of about {newest['total']} rows; the graph is walked in SQL",
            )
        return True, f"{lag.changes} changes and {lag.seconds:.1f} s behind"


async def _report(name: str, check: Callable[[], Awaitable[tuple[bool, str]]]) -> Report:
    try:
        ok, detail = await check()
    except StratagraphError as error:
        return Report(name=name, ok=False, detail=error.message)
    except StatementFailed as error:
        return Report(name=name, ok=False, detail=f"the database refused a statement: {error}")
    return Report(name=name, ok=ok, detail=detail)


def _problem(state: JobState) -> str | None:
    """What is wrong with a job, None if nothing is."""
    if state.failures >= KEEPS_FAILING:
        return f"{state.name} has failed {state.failures} times in a row: {state.error}"
    if state.overdue_s > OVERDUE_S:
        return f"{state.name} has been due for {state.overdue_s:.0f} s and no server runs it"
    return None
