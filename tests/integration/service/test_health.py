"""Health tells a caller nothing of other tenants, and fails when a part is late for longer than is allowed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from fix_health import JOB, constant
from fix_memory import Memory, trust_of

from stratagraph.graph_sync.worker import CONSUMER
from stratagraph.graphql.services import HealthReport
from stratagraph.service.health import KEEPS_FAILING, OVERDUE_S, Health, HealthConfig
from stratagraph.service.measuring import Gauge, Measurements
from stratagraph.store.feed.changes import Kind, LoggedChange
from stratagraph.store.feed.consumer import Lag
from stratagraph.store.jobs.leases import JobLeases
from stratagraph.store.jobs.set_aside import set_aside
from stratagraph.store.mirror.dead_letters import DeadLetters
from stratagraph.store.mirror.status import MirrorStatus
from stratagraph.store.model.enums import Access, Sensitivity
from stratagraph.store.model.errors import MirrorUnavailable
from stratagraph.store.postgres.database import Role
from stratagraph.store.postgres.partitions import make_days

SOUND = MirrorStatus(
    followed_s=0.1,
    maintained_s=0.1,
    checked_s=30.0,
    check_took_s=4.0,
    drift={},
    live_workers=1,
    is_building=False,
    is_damaged=False,
)
COMPARED = "compared in full 30 s ago, in 1 min"  # of all tenants together
IN_STEP = Lag(changes=0, seconds=0.0, dead_letters=0)
LIMIT_S = 60.0


def measured(memory: Memory, **given: Gauge[Any]) -> Measurements:
    """Measurements of the test's database and of a mirror that is in step, except for those given."""
    gauges = Measurements.of(memory.database, JobLeases(memory.database, owner="test"), None)
    mirror: dict[str, Any] = {
        "mirror": constant(SOUND),
        "neo4j": constant(None),
        "lags": constant({CONSUMER: IN_STEP}),
    }
    return replace(gauges, **mirror | given)


def health_of(memory: Memory, *, running_s: float = 2 * LIMIT_S, **given: Gauge[Any]) -> Health:
    """A health of a process that has run for `running_s` seconds."""
    health = Health(measured(memory, **given), memory.database, memory.directory, HealthConfig(max_lag_s=LIMIT_S))
    health._began_at -= running_s
    return health


def told(report: HealthReport) -> list[tuple[str, bool, str, bool]]:
    """What a report tells, without when it was measured."""
    return [(one.name, one.ok, one.detail, one.fails) for one in report.checks]


async def damage(memory: Memory, tenant: str) -> None:
    """Let a job set three rows of a tenant aside and the mirror refuse four, with errors that name them."""
    number = (await memory.directory.resolve(trust_of(tenant=tenant))).tenant.id
    async with memory.database.background(Role.JOBS) as connection:
        for _ in range(3):
            await set_aside(connection, "prune", (number, uuid4()), ValueError(tenant), at=datetime.now(UTC))
    letters = DeadLetters(memory.database, CONSUMER)
    for seq in range(4):
        change = LoggedChange(seq=seq, tenant=number, kind=Kind.RECORD, id=uuid4(), version=1, op="U")
        await letters.add(change, f"refused for {tenant}")


async def test_the_health_of_a_tenant_is_equal_whatever_became_of_another_tenant(memory: Memory) -> None:
    await make_days(memory.database, datetime.now(UTC).date())
    for tenant in ("acme", "umbrella"):
        await memory.observe("Alice", "works_at", tenant, trust=trust_of(tenant=tenant))
    callers = [
        trust_of(tenant="umbrella"),
        trust_of(tenant="umbrella", access=Access.READ, ceiling=Sensitivity.LOW, scopes={"mine"}),
    ]

    async def answers() -> list[tuple[bool, list[tuple[str, bool, str, bool]]]]:
        reports = [await Health.report(health_of(memory), caller) for caller in callers]
        return [(report.ok, told(report)) for report in reports]

    before = await answers()
    await damage(memory, "acme")
    for number in range(5):
        await memory.observe("Bob", "works_at", number, trust=trust_of(tenant="acme"))
    assert await answers() == before
    lags = constant({CONSUMER: Lag(changes=9_000, seconds=LIMIT_S - 1, dead_letters=4)})
    busy = [told(await health_of(memory, lags=lags).report(caller)) for caller in callers]
    assert busy == [answer for _, answer in before], "less than the allowed lag does not show"
    for _, checks in before:
        for _, _, detail, _ in checks:
            assert not any(map(str.isdigit, detail.replace("60 s", "").replace(COMPARED, "")))


async def test_a_credential_for_a_whole_tenant_sees_what_could_not_be_processed_of_it(memory: Memory) -> None:
    await make_days(memory.database, datetime.now(UTC).date())
    await memory.observe("Alice", "works_at", "Acme")
    await damage(memory, "acme")
    report = await health_of(memory).report(memory.trust)
    assert report.ok, "a row of one tenant does not make the service fail"
    details = {one.name: one.detail for one in report.checks if not one.ok}
    assert details["jobs"].startswith("3 rows of this tenant are set aside")
    assert details["mirror"].startswith("Neo4j refused 4 changes of this tenant")
    for narrower in (
        trust_of(access=Access.WRITE),
        trust_of(ceiling=Sensitivity.HIGH),
        trust_of(scopes={"one"}),
    ):
        assert all(one.ok for one in (await health_of(memory).report(narrower)).checks)


UNSEEN = replace(SOUND, followed_s=None, maintained_s=None, live_workers=0)
FOREVER_S = 1e9
# Status, lag, for how long this process runs, and whether the service fails.
LATENESS: list[tuple[MirrorStatus, Lag | None, float, bool]] = [
    (SOUND, IN_STEP, FOREVER_S, False),
    (SOUND, replace(IN_STEP, changes=1, seconds=LIMIT_S - 1), FOREVER_S, False),
    (SOUND, replace(IN_STEP, changes=1, seconds=LIMIT_S + 1), FOREVER_S, True),
    (SOUND, replace(IN_STEP, changes=1, seconds=LIMIT_S + 1), 0.0, True),  # the lag was there before the process
    (replace(SOUND, followed_s=LIMIT_S - 1), IN_STEP, FOREVER_S, False),
    (replace(SOUND, followed_s=LIMIT_S + 1), IN_STEP, FOREVER_S, True),
    (replace(SOUND, maintained_s=LIMIT_S - 1), IN_STEP, FOREVER_S, False),
    (replace(SOUND, maintained_s=LIMIT_S + 1), IN_STEP, FOREVER_S, True),
    (replace(SOUND, followed_s=1e6, maintained_s=1e6), IN_STEP, LIMIT_S - 1, False),  # it may still begin
    (UNSEEN, None, LIMIT_S - 1, False),
    (UNSEEN, None, LIMIT_S + 1, True),
    (replace(SOUND, is_building=True), replace(IN_STEP, changes=1, seconds=1e6), FOREVER_S, False),
    (replace(SOUND, is_building=True, maintained_s=LIMIT_S + 1), IN_STEP, FOREVER_S, True),
]


@pytest.mark.parametrize("answers", [True, False])
async def test_the_service_fails_once_the_mirror_is_late_for_longer_than_allowed(memory: Memory, answers: bool) -> None:
    async def ping() -> None:
        if not answers:
            raise MirrorUnavailable

    for status, lag, running_s, fails in LATENESS:
        given: dict[str, Gauge[Any]] = {"mirror": constant(status), "neo4j": Gauge(ping)}
        given["lags"] = constant({CONSUMER: lag} if lag is not None else {})
        health = health_of(memory, running_s=running_s, **given)
        assert await health.unready() == [], "without a mirror, SQL answers"
        report = await health.report(memory.trust)
        assert report.ok is not fails, (status, lag)
        if not answers:
            mirror = next(one for one in report.checks if one.name == "mirror")
            assert (mirror.ok, mirror.detail) == (False, MirrorUnavailable().message)


@pytest.mark.parametrize(
    ("status", "lag", "detail"),
    [
        (SOUND, None, "answers, but no worker has written to it yet"),
        (replace(SOUND, is_building=True), IN_STEP, "is being filled; the graph is walked in SQL"),
        (
            replace(SOUND, is_damaged=True),
            IN_STEP,
            "differs from PostgreSQL and is being repaired; the graph is walked in SQL",
        ),
        (replace(SOUND, live_workers=0), IN_STEP, "answers, but no worker runs"),
        (replace(SOUND, followed_s=31), IN_STEP, "answers, but the workers complete no pass: see their log"),
        (replace(SOUND, maintained_s=31), IN_STEP, "answers, but the workers complete no pass: see their log"),
        (replace(SOUND, followed_s=29, maintained_s=29), IN_STEP, None),
    ],
)
async def test_what_the_mirror_waits_for_is_reported_before_the_service_fails(
    memory: Memory, status: MirrorStatus, lag: Lag | None, detail: str | None
) -> None:
    lags = constant({CONSUMER: lag} if lag is not None else {})
    report = await health_of(memory, mirror=constant(status), lags=lags).report(memory.trust)
    mirror = next(one for one in report.checks if one.name == "mirror")
    assert report.ok
    assert mirror.detail == (detail or f"answers, and is at most 60 s behind; {COMPARED}: no difference")
    assert mirror.ok is (detail is None)


@pytest.mark.parametrize(
    ("failures", "overdue_s", "ok", "fails"),
    [
        (KEEPS_FAILING - 1, 0.0, True, False),
        (KEEPS_FAILING, 0.0, False, True),
        (0, OVERDUE_S - 1, True, False),
        (0, OVERDUE_S + 1, False, False),
    ],
)
async def test_the_service_fails_while_a_job_keeps_failing(
    memory: Memory, failures: int, overdue_s: float, ok: bool, fails: bool
) -> None:
    state = replace(JOB, failures=failures, overdue_s=overdue_s, set_aside=7)
    report = await health_of(memory, jobs=constant([state])).report(memory.trust)
    jobs = next(one for one in report.checks if one.name == "jobs")
    assert (jobs.ok, jobs.fails, report.ok) == (ok, fails, not fails)
    assert "23505" not in jobs.detail


async def test_health_says_how_old_a_report_is_that_cannot_be_renewed(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    health = health_of(memory)
    assert all(not one.is_stale for one in (await health.report(memory.trust)).checks)
    gauge = health._measurements.database
    gauge._since -= 3_600.0  # as if nothing could be measured for an hour
    monkeypatch.setattr("stratagraph.service.measuring.FRESH_S", 1e9)
    database = next(one for one in (await health.report(memory.trust)).checks if one.name == "database")
    assert (database.is_stale, database.ok, database.fails) == (True, False, True)
    assert database.age_s >= 3_600.0 - 1
    assert database.detail == "not checked for more than 5 s; before that: answers"
