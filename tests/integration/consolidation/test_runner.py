"""Each job runs on its own: a job that fails or hangs does not affect the others."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import pytest
from fix_jobs import resources_of, run_jobs, server_of
from fix_memory import Memory, trust_of, until
from fix_words import words_counted
from sqlalchemy import text

from stratagraph.consolidation.job import Job, JobConfig, JobResult
from stratagraph.consolidation.jobs.prune import Prune
from stratagraph.consolidation.registry import build_jobs
from stratagraph.consolidation.runner import Runner
from stratagraph.graphql.services import Report
from stratagraph.service.health import KEEPS_FAILING, Health, HealthConfig
from stratagraph.service.measuring import Measurements
from stratagraph.store.jobs.leases import JobLeases, JobState
from stratagraph.store.jobs.set_aside import SetAside, list_set_aside
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.model.errors import StoreUnavailable
from stratagraph.store.postgres.database import Role

FADED = timedelta(days=400)
OFTEN = JobConfig(interval_s=0.05, longest_pause_s=0.2)


@dataclass
class Probe:
    """A job with a behaviour given by the test; it counts its runs and how many overlap."""

    name: str
    config: JobConfig = OFTEN
    action: Callable[[], Awaitable[None]] | None = None
    found: int = 1  # things that a run finds to do
    runs: int = 0
    at_once: int = 0
    most_at_once: int = 0
    summary: str = "A job of a test."

    async def run_once(self, now: datetime) -> JobResult:
        self.runs += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            if self.action is not None:
                await self.action()
        finally:
            self.at_once -= 1
        return JobResult(counts={"things": self.found})

    async def ran(self, times: int) -> None:
        async def enough() -> bool:
            return self.runs >= times

        await until(enough)


async def fail() -> None:
    raise ZeroDivisionError("with a memory in its text")


async def hang() -> None:
    await asyncio.Event().wait()


@contextlib.asynccontextmanager
async def running(memory: Memory, *jobs: Job, owner: str = "one") -> AsyncIterator[Runner]:
    runner = Runner(memory.database, memory.clock, jobs, owner=owner)
    task = asyncio.create_task(runner.run())
    try:
        yield runner
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def state_of(memory: Memory, name: str) -> JobState:
    return next(one for one in await JobLeases(memory.database, owner="reader").states() if one.name == name)


async def set_aside_rows(memory: Memory) -> list[SetAside]:
    async with memory.database.background(Role.JOBS) as connection:
        return await list_set_aside(connection, limit=100)


async def test_the_pause_of_a_job_doubles_while_it_finds_nothing_to_do(memory: Memory) -> None:
    probe, slow = Probe("probe", JobConfig(interval_s=2.0)), Probe("slow", JobConfig(interval_s=60.0), found=0)
    runner = Runner(memory.database, memory.clock, [probe, slow], owner="one")

    async def pause_s(job: Probe, found: int) -> float:
        job.found = found
        run = await runner.run_once(job.name)
        assert run is not None
        return run.pause_s

    assert [await pause_s(probe, found) for found in (1, 0, 0, 0, 0, 1, 0)] == [2, 2, 4, 8, 8, 2, 2]
    assert [await pause_s(slow, 0) for _ in range(3)] == [60, 60, 60]


async def test_a_failing_job_does_not_stop_the_others_and_reports_only_the_error_class(memory: Memory) -> None:
    bad, good = Probe("bad", action=fail), Probe("good")
    async with running(memory, bad, good):
        await bad.ran(3)
        before = good.runs
        await good.ran(before + 3)
    failed, fine = await state_of(memory, "bad"), await state_of(memory, "good")
    assert failed.failures == failed.failed_runs >= 2
    assert failed.error == "ZeroDivisionError"
    assert (fine.failures, fine.error, fine.result) == (0, None, {"things": 1})
    assert fine.totals["things"] == fine.runs >= 3


async def test_a_hanging_job_is_stopped_at_its_deadline_and_delays_no_other(memory: Memory) -> None:
    slow = Probe("slow", config=JobConfig(interval_s=0.05, deadline_s=0.3, longest_pause_s=0.2), action=hang)
    good = Probe("good")
    async with running(memory, slow, good):
        await good.ran(3)  # during the first run of the slow job
        await slow.ran(2)  # the second run starts after the deadline ends the first
    assert (await state_of(memory, "slow")).error == "stopped after its deadline of 0.3 s"


async def test_pauses_double_up_to_the_longest_and_health_reports_until_the_job_succeeds(memory: Memory) -> None:
    job = Probe("bad", config=JobConfig(interval_s=10.0, longest_pause_s=60.0), action=fail)
    runner = Runner(memory.database, memory.clock, [job], owner="one")
    runs = [await runner.run_once("bad") for _ in range(KEEPS_FAILING + 2)]
    assert [run.pause_s for run in runs if run is not None] == [10.0, 20.0, 40.0, 60.0, 60.0]
    leases = JobLeases(memory.database, owner="reader")

    async def jobs_report() -> Report:
        gauges = Measurements.of(memory.database, leases, None)
        health = Health(gauges, memory.database, memory.directory, HealthConfig())
        checks = (await health.report(memory.trust)).checks
        return next(one for one in checks if one.name == "jobs")

    report = await jobs_report()
    assert (report.ok, report.fails) == (False, True)
    assert report.detail == "bad keeps failing", "the kind of the error is for operators"
    job.action = None
    done = await runner.run_once("bad")
    assert done is not None
    assert (done.error, done.pause_s) == (None, 10.0)
    assert (await jobs_report()).ok


async def test_several_servers_run_a_job_one_at_a_time_and_once_per_interval(memory: Memory) -> None:
    job = Probe("shared", config=JobConfig(interval_s=0.3), action=lambda: asyncio.sleep(0.05))
    async with contextlib.AsyncExitStack() as stack:
        for owner in ("one", "two", "three"):
            await stack.enter_async_context(running(memory, job, owner=owner))
        began = asyncio.get_running_loop().time()
        await job.ran(5)
        took_s = asyncio.get_running_loop().time() - began
    assert job.most_at_once == 1
    assert took_s > 4 * 0.3  # three servers with an interval each would take a third of this time


async def test_a_job_with_a_first_pause_waits_for_it_when_it_is_new_and_after_an_upgrade(memory: Memory) -> None:
    slow, quick = Probe("slow", JobConfig(interval_s=60, first_pause_s=50)), Probe("quick")
    async with running(memory, slow, quick) as runner:
        await quick.ran(2)
        assert slow.runs == 0
        assert -50 <= (await state_of(memory, "slow")).overdue_s < -30
        assert await runner.run_once("slow") is not None  # where a person asks for it
    assert slow.runs == 1
    await memory.rows("UPDATE job SET next_run_at = clock_timestamp() - interval '1 day'")
    upgraded = Runner(memory.database, memory.clock, [slow, quick], owner="two")
    await upgraded.put_off()
    assert await upgraded.leases.claim("slow", longest_pause_s=600) is None
    assert await upgraded.leases.claim("quick", longest_pause_s=600) == 0
    for next_run_at in ("infinity", "3000-01-01T00:00:00Z"):
        await memory.rows("UPDATE job SET next_run_at = CAST(CAST(:at AS text) AS timestamptz)", at=next_run_at)
        before = await state_of(memory, "slow")
        await upgraded.put_off()
        assert (await state_of(memory, "slow")).next_run_at == before.next_run_at  # never earlier


def test_a_job_that_may_take_minutes_has_a_first_pause(memory: Memory) -> None:
    usual = JobConfig(interval_s=1).deadline_s
    for job in build_jobs(resources_of(memory)):
        assert job.config.deadline_s <= usual or job.config.first_pause_s == job.config.interval_s, job.name


async def test_another_server_takes_over_a_job_whose_server_died(memory: Memory) -> None:
    dead = JobLeases(memory.database, owner="dead")
    await dead.register({"shared": 0})
    assert await dead.claim("shared", longest_pause_s=60) == 0
    runner = Runner(memory.database, memory.clock, [Probe("shared")], owner="two")
    assert await runner.run_once("shared") is None  # the lease is held
    await memory.rows("UPDATE job SET lease_until = clock_timestamp() - interval '1 s'")
    assert (run := await runner.run_once("shared")) is not None
    assert run.error is None
    assert not await dead.renew("shared")
    await dead.finish("shared", {"things": 7}, pause_s=0)  # the lease was lost, so nothing is written
    assert (await state_of(memory, "shared")).result == {"things": 1}


async def test_a_run_during_an_outage_fails_and_names_the_outage(memory: Memory) -> None:
    async def raise_unavailable() -> None:
        raise StoreUnavailable

    job = Probe("away", action=raise_unavailable)
    run = await Runner(memory.database, memory.clock, [job], owner="one").run_once("away")
    assert run is not None
    assert run.error == StoreUnavailable().message


async def test_one_bad_curve_stops_neither_pruning_nor_counting(memory: Memory) -> None:
    bad = (await memory.turn("a remark with a bad curve")).primary.id
    for number in range(5):
        await memory.turn(f"remark {number}")
    await memory.rows("""UPDATE salience SET curve = 3, params = '{"name": "gone"}' WHERE id = :id""", id=bad)
    memory.clock.forward(FADED)
    counts = await run_jobs(memory)
    assert (counts["records_pruned"], counts["changes_counted"], counts["set_aside"]) == (5, 6, 1)
    assert [(one.job, one.id, one.error, one.attempts) for one in await set_aside_rows(memory)] == [
        ("prune", bad, "InvalidInput in store.model.curves.custom_curve", 1)
    ]
    assert (await run_jobs(memory))["set_aside"] == 0  # retried after a minute
    memory.clock.forward(timedelta(minutes=1))
    assert (await run_jobs(memory))["set_aside"] == 1
    assert [one.attempts for one in await set_aside_rows(memory)] == [2]
    await memory.rows("UPDATE salience SET curve = 1, params = NULL WHERE id = :id", id=bad)
    memory.clock.forward(timedelta(hours=1))
    assert (await run_jobs(memory))["records_pruned"] == 1
    assert await set_aside_rows(memory) == []


async def test_a_record_that_cannot_be_deleted_is_set_aside_and_the_others_are_pruned(memory: Memory) -> None:
    kept = (await memory.turn("a remark that another table references")).primary.id
    for number in range(3):
        await memory.turn(f"remark {number}")
    await memory.rows("CREATE TABLE holder (tenant bigint, id uuid, FOREIGN KEY (tenant, id) REFERENCES record)")
    await memory.rows("GRANT SELECT ON holder TO PUBLIC")
    await memory.rows("INSERT INTO holder SELECT tenant, id FROM record WHERE id = :id", id=kept)
    memory.clock.forward(FADED)
    counts = (await Prune(resources_of(memory)).run_once(memory.clock.now())).counts
    assert counts == {"records_pruned": 3, "pruned_unlearned": 0, "set_aside": 1}
    (aside,) = await set_aside_rows(memory)
    assert (aside.id, aside.error.split()[0]) == (kept, "KeyCollision")


async def test_an_episode_that_cannot_be_captioned_is_set_aside_and_the_others_close(memory: Memory) -> None:
    secret = trust_of(ceiling=Sensitivity.HYPER)
    for thread in ("a", "b", "c"):
        await memory.turn("hello", thread=thread, trust=secret, sensitivity=Sensitivity.HIGH)
    async with memory.database.engine.begin() as connection:
        broken: UUID = (
            await connection.execute(
                text(
                    "UPDATE record SET sealed = overlay(sealed placing '\\x00' from 40) WHERE id ="
                    " (SELECT record FROM episode_event ORDER BY record LIMIT 1) RETURNING"
                    " (SELECT episode FROM episode_event e WHERE e.record = record.id)"
                )
            )
        ).scalar_one()
    memory.clock.forward(timedelta(hours=1))
    counts = await run_jobs(memory)
    assert (counts["episodes_closed"], counts["set_aside"]) == (2, 1)
    assert [(one.job, one.id) for one in await set_aside_rows(memory)] == [("close-episodes", broken)]


async def test_a_tenant_whose_words_cannot_be_counted_does_not_delay_the_others(memory: Memory) -> None:
    await memory.turn("remark 0")
    other = trust_of(tenant="globex")
    await memory.turn("a remark", trust=other)
    for number in range(1, 3):
        await memory.turn(f"remark {number}")
    await memory.rows(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no''; END'"
    )
    refused = (await memory.directory.resolve(other)).tenant.id
    await memory.rows(
        "CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON word_count FOR EACH ROW"
        f" WHEN (NEW.tenant = {refused}) EXECUTE FUNCTION refuse()",
    )
    jobs = server_of(memory).jobs
    run = await Runner(memory.database, memory.clock, jobs, owner="one").run_once("count-words")
    assert run is not None
    assert run.error is not None
    counted = await words_counted(memory.database)
    assert [(tenant == refused, n) for (tenant, term), n in sorted(counted.items()) if term == 0] == [(False, 3)]
    await memory.rows("DROP TRIGGER refuse ON word_count")
    run = await Runner(memory.database, memory.clock, jobs, owner="one").run_once("count-words")
    assert run is not None
    assert run.error is None
    counted = await words_counted(memory.database)
    assert {tenant == refused: n for (tenant, term), n in counted.items() if term == 0} == {False: 3, True: 1}


@pytest.mark.parametrize(
    "name", ["close-episodes", "count-words", "log-days", "prune", "reevaluate", "retry-captures", "trim-logs"]
)
async def test_every_job_can_be_run_by_name(memory: Memory, name: str) -> None:
    jobs = server_of(memory).jobs
    run = await Runner(memory.database, memory.clock, jobs, owner="one").run_once(name)
    assert run is not None
    assert run.error is None
    assert (await state_of(memory, name)).runs == 1
