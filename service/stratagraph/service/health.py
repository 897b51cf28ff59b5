"""Whether this process can answer requests, and whether each part of the service works, in words for people.

Every caller of the API may ask. So a report says nothing that depends on the data of other tenants: no counts, no lag,
no error of a job, no name; those are for operators, in /metrics and on the command line. A caller whose credential
covers its whole tenant is also told what could not be processed of that tenant.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from stratagraph.graph_sync.worker import CONSUMER
from stratagraph.graphql.services import HealthReport, Report
from stratagraph.memory.embedding.filling import JOB as EMBED
from stratagraph.memory.embedding.questions import QuestionEmbedder
from stratagraph.memory.learning.extraction.reader import JOB as INTERPRET
from stratagraph.service.measuring import STALE_S, Gauge, Measured, Measurements
from stratagraph.service.processes.board import ProcessState
from stratagraph.store.event_log import get_logger
from stratagraph.store.feed.consumer import Lag
from stratagraph.store.jobs.leases import JobState
from stratagraph.store.jobs.queues import TenantProblems, count_tenant_problems
from stratagraph.store.keys.directory import Directory
from stratagraph.store.mirror.status import MirrorStatus
from stratagraph.store.model.enums import Access, Sensitivity
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Database
from stratagraph.store.postgres.probing import DatabaseState, Probe
from stratagraph.store.search.embeddings import ModelState

KEEPS_FAILING = 3  # failed runs in a row, from which a job is reported
MAX_TENANTS = 1_000  # whose problems are remembered for a second
OVERDUE_S = 120.0  # that a job could have run and no server ran it, from which it is reported
UNFINISHED_S = 30.0  # since workers or their leader completed a pass, from which it is reported
CLOCK_S = 5.0  # by which the clocks of this machine and of the database may differ
WATCH_S = 2.0  # between two looks at the database by `watch`
_READS_ONLY = frozenset({DatabaseState.READ_ONLY, DatabaseState.STANDBY})
_DATABASE = {
    DatabaseState.WRITABLE: "answers",
    DatabaseState.READ_ONLY: "answers, and accepts no writes, because it is read-only",
    DatabaseState.STANDBY: "answers, and accepts no writes, because it is a standby",
    DatabaseState.OUT_OF_CONNECTIONS: "has no free connection; raise max_connections, or lower the connections of"
    " its clients",
}
_NO_DIGITS = str.maketrans("", "", "0123456789")
_log = get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthConfig:
    """`max_lag_s` is for how many seconds the mirror may be behind, not followed or not maintained."""

    max_lag_s: float = 300.0


class Health:
    """Reports on the parts of one process. Never raises: a part that cannot be asked is reported as failing.

    `database_problem` says why the server of the database does not run, where this process knows it. `processes`
    returns the states of the processes of the service, where these are several. `questions` is what embeds questions,
    where there is an embedder. `is_stopping` returns whether this process has been told to stop.
    """

    def __init__(
        self,
        measurements: Measurements,
        database: Database,
        directory: Directory,
        config: HealthConfig,
        *,
        database_problem: Callable[[], str | None] = lambda: None,
        processes: Callable[[], list[ProcessState]] = list,
        questions: QuestionEmbedder | None = None,
        is_stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self._measurements = measurements
        self._database = database
        self._directory = directory
        self._config = config
        self._database_problem = database_problem
        self._processes = processes
        self._questions = questions
        self._is_stopping = is_stopping
        self._serves = False  # as of the last look
        self._began_at = time.monotonic()
        self._of_tenant: dict[str, Gauge[TenantProblems]] = {}

    async def report(self, trust: Trust) -> HealthReport:
        """Return one report per part, with what concerns the caller's own tenant if `trust` covers all of it."""
        reports = await self._reports()
        is_ok = not any(one.fails for one in reports)
        own = await self._tenant_problems(trust)
        if own.set_aside:
            text = f"{own.set_aside} rows of this tenant are set aside: see `stratagraph jobs set-aside`"
            reports = _with_problem(reports, "jobs", text)
        if own.dead_letters and self._measurements.mirror is not None and self._measurements.is_mirrored():
            text = f"Neo4j refused {own.dead_letters} changes of this tenant: see `stratagraph sync dead-letters list`"
            reports = _with_problem(reports, "mirror", text)
        return HealthReport(ok=is_ok, checks=reports)

    async def report_to_operator(self) -> HealthReport:
        """Return one report per part, with nothing of a tenant."""
        reports = await self._reports()
        return HealthReport(ok=not any(one.fails for one in reports), checks=reports)

    async def unready(self) -> list[str]:
        """Return what keeps this process from answering requests now; empty if it is ready.

        Only what every request needs belongs here: a part without which requests are answered, such as Neo4j, a job or
        another process, is for `report`. A further reason is one more entry of `reasons`.
        """
        if self._is_stopping():
            return ["stopping"]
        reasons = {"database": not await self._database_serves()}
        self._serves = not any(reasons.values())
        return [name for name, applies in reasons.items() if applies]

    @property
    def is_ready(self) -> bool:
        """Whether this process could answer requests when it was last asked, at most about WATCH_S ago."""
        return self._serves and not self._is_stopping()

    async def watch(self) -> None:
        """Log what becomes of the readiness, the database and the clock, until cancelled.

        Where the database accepts no writes, its idle connections are replaced: a session keeps the setting that it was
        opened with, and a URL of several servers may lead to another one.
        """
        problems: dict[str, str] = {}
        was_ready = True
        while not self._is_stopping():
            unready = await self.unready()
            measured, newer = await self._database_state()
            for report in (self._database_report(measured, newer), _check_clock(measured)):
                _log_change(report, problems)
            if was_ready and unready:
                _log.warning("not ready", failing=unready)
            elif unready == [] and not was_ready:
                _log.info("ready again")
            was_ready = not unready
            if measured.value is not None and measured.value.state in _READS_ONLY:
                await self._database.reconnect()
            await asyncio.sleep(WATCH_S)

    async def _database_serves(self) -> bool:
        measured, newer = await self._database_state()
        if self._database_problem() is not None or measured.is_stale or measured.value is None:
            return False
        return measured.value.serves and newer.value is None

    async def _reports(self) -> list[Report]:
        # At the same time, so that parts that do not answer delay the answer only once.
        checks = (self._check_database(), self._check_feed(), self._check_jobs(), self._check_mirror())
        reports = list(await asyncio.gather(*checks))
        reports.insert(1, _check_clock(await self._measurements.database.current()))
        if self._questions is not None:
            reports.append(await self._check_embedder(self._questions))
        states = self._processes()
        return [*reports, _check_processes(states)] if states else reports

    async def _check_database(self) -> Report:
        return self._database_report(*await self._database_state())

    async def _database_state(self) -> tuple[Measured[Probe], Measured[str | None]]:
        """Return what the database can do, and the revision that a newer version has migrated it to."""
        gauges = self._measurements
        return await asyncio.gather(gauges.database.current(), gauges.newer_revision.current())

    def _database_report(self, measured: Measured[Probe], newer: Measured[str | None]) -> Report:
        problem = self._database_problem()
        if problem is None and newer.value is not None:
            problem = (
                f"was migrated to revision {newer.value}, which this version of Stratagraph does not know, by a newer"
                " one: stop this service, and start that version"
            )
        if problem is not None:
            measured = replace(measured, problem=problem)
        state = measured.value.state if measured.value is not None else DatabaseState.UNREACHABLE
        detail = _DATABASE.get(state, "")
        return _report("database", measured, detail, ok=state is DatabaseState.WRITABLE, fails=True)

    async def _check_feed(self) -> Report:
        measured = await self._measurements.default_rows.current()
        if measured.value:
            return _report(
                "feed", measured, "changes lie outside the days of the log: check that the jobs run", ok=False
            )
        return _report("feed", measured, "the change log has its days")

    async def _check_jobs(self) -> Report:
        measured = await self._measurements.jobs.current()
        states = measured.value or ()
        # Without an embedder that answers, words find the records: the embedder's own check says so. Without a language
        # model that answers, everything else works, and texts wait.
        optional = (EMBED, INTERPRET)
        failing = [f"{one.name} keeps failing" for one in states if one.name not in optional and _keeps_failing(one)]
        waiting = [f"{one.name} is due and no server runs it" for one in states if one.overdue_s > OVERDUE_S]
        if failing or waiting:
            return _report("jobs", measured, "; ".join([*failing, *waiting]), ok=False, fails=bool(failing))
        return _report("jobs", measured, "run on schedule")

    async def _check_mirror(self) -> Report:
        gauges = self._measurements
        if gauges.mirror is None or gauges.neo4j is None or not gauges.is_mirrored():
            text = "none configured; the graph is walked in SQL"
            return _report("mirror", await gauges.database.current(), text, is_independent=True)
        status, lags, neo4j = await asyncio.gather(
            gauges.mirror.current(), gauges.lags.current(), gauges.neo4j.current()
        )
        for measured in (status, lags):
            if measured.problem is not None or measured.value is None:
                return _report("mirror", measured, "")
        assert status.value is not None
        assert lags.value is not None
        late = self._late(status.value, lags.value.get(CONSUMER))
        if neo4j.problem is not None:
            return _report("mirror", neo4j, "", fails=bool(late))
        if late:
            return _report("mirror", neo4j, "; ".join(late), ok=False, fails=True)
        waiting = _waiting(status.value, lags.value.get(CONSUMER))
        if waiting is not None:
            return _report("mirror", neo4j, waiting, ok=False)
        detail = f"answers, and is at most {self._config.max_lag_s:g} s behind; {_last_scrub(status.value)}"
        return _report("mirror", neo4j, detail)

    async def _check_embedder(self, questions: QuestionEmbedder) -> Report:
        """Report on the embedder, without which the service works: words and names find records too."""
        assert self._measurements.embedding is not None
        jobs, models = await asyncio.gather(self._measurements.jobs.current(), self._measurements.embedding.current())
        if questions.is_paused or any(one.name == EMBED and _keeps_failing(one) for one in jobs.value or ()):
            text = "does not answer; records are found by words and names until it does: see the log"
            return _report("embedder", models, text, ok=False)
        states = {one.state for one in models.value or ()}
        if ModelState.FILLING in states or not states:
            return _report("embedder", models, "answers; records are being embedded: see `stratagraph jobs list`")
        return _report(
            "embedder", models, "answers; records get their vectors in the background, the existing ones have them"
        )

    def _late(self, status: MirrorStatus, lag: Lag | None) -> list[str]:
        """Return what has been late for longer than the allowed lag.

        What has never happened, or happened before this process, is given the allowed lag from the start of this
        process. While the mirror is being filled, its cursors do not move, so that only the pages written count.
        """
        limit = self._config.max_lag_s
        running_s = time.monotonic() - self._began_at

        def is_late(seconds: float | None) -> bool:
            return running_s > limit and (seconds is None or seconds > limit)

        late = []
        if is_late(status.followed_s):
            late.append(f"no worker has followed the feed for more than {limit:g} s")
        if is_late(status.maintained_s):
            late.append(f"no worker has maintained it for more than {limit:g} s")
        if lag is not None and lag.seconds > limit and not status.is_building:
            late.append(f"is more than {limit:g} s behind")
        return late

    async def _tenant_problems(self, trust: Trust) -> TenantProblems:
        if (trust.access, trust.ceiling, trust.scopes) != (Access.ADMIN, Sensitivity.HYPER, None):
            return TenantProblems()
        if len(self._of_tenant) >= MAX_TENANTS:
            self._of_tenant.clear()
        gauge = self._of_tenant.setdefault(trust.tenant, Gauge(lambda: self._count(trust.tenant)))
        return (await gauge.current()).value or TenantProblems()  # without one, the check of the database says why

    async def _count(self, name: str) -> TenantProblems:
        tenant = await self._directory.tenant(name)
        return await count_tenant_problems(self._database, tenant.id) if tenant is not None else TenantProblems()


def _check_processes(states: list[ProcessState]) -> Report:
    """Report on the processes. One that answers is enough, but not before all have been started once."""
    problems = [problem for one in states if (problem := one.problem) is not None]
    return Report(
        name="processes",
        ok=not problems,
        detail="; ".join(problems) or f"{len(states)} processes run",
        fails=any(one.starts <= 1 and not one.is_ready and not one.ends_in_a_row for one in states),
        checked_at=datetime.now(UTC),
        age_s=0.0,
        is_stale=False,
    )


def _check_clock(measured: Measured[Probe]) -> Report:
    """Report on the clock of this machine, which dates records, beside that of the database, which ends leases."""
    probe = measured.value
    if probe is None or probe.clock_ahead_s is None:
        return _report("clock", measured, "could not be compared: the database did not answer", is_independent=True)
    if abs(probe.clock_ahead_s) - probe.clock_error_s <= CLOCK_S:
        return _report("clock", measured, "agrees with that of the database", is_independent=True)
    side = "ahead of" if probe.clock_ahead_s > 0 else "behind"
    detail = f"is {abs(probe.clock_ahead_s):.1f} s {side} that of the database; set both by the same time server"
    return _report("clock", measured, detail, ok=False, fails=True)


def _log_change(report: Report, problems: dict[str, str]) -> None:
    """Log a part that has come to fail or to work since it was last logged; `problems` are those logged by part."""
    before = problems.get(report.name)
    if report.ok and before is not None:
        _log.info("part of the service works again", part=report.name)
        del problems[report.name]
    elif not report.ok:
        problem = report.detail.translate(_NO_DIGITS)  # how far a clock or a measurement is off changes all the time
        if problem != before:
            _log.warning("part of the service does not work", part=report.name, reason=report.detail)
        problems[report.name] = problem


def _keeps_failing(state: JobState) -> bool:
    return state.failures >= KEEPS_FAILING


def _waiting(status: MirrorStatus, lag: Lag | None) -> str | None:
    """Return what a mirror that answers waits for, without being late yet; None if nothing."""
    if lag is None:
        return "answers, but no worker has written to it yet"
    if status.is_building:
        return "is being filled; the graph is walked in SQL"
    if status.is_damaged:
        return "differs from PostgreSQL and is being repaired; the graph is walked in SQL"
    if status.live_workers == 0:
        return "answers, but no worker runs"
    if any(seconds is not None and seconds > UNFINISHED_S for seconds in (status.followed_s, status.maintained_s)):
        return "answers, but the workers complete no pass: see their log"
    return None


def _last_scrub(status: MirrorStatus) -> str:
    """Return when the mirror was last compared with Postgres in full, and whether anything was found.

    Without numbers of rows, and the duration in minutes, because they depend on what all tenants store.
    """
    if status.checked_s is None:
        return "it has not been compared in full yet"
    took = "" if status.check_took_s is None else f", in {math.ceil(status.check_took_s / 60)} min"
    found = "differences were found and repaired" if status.drift else "no difference"
    return f"compared in full {status.checked_s:.0f} s ago{took}: {found}"


def _report(
    name: str,
    measured: Measured[object],
    detail: str,
    *,
    ok: bool = True,
    fails: bool = False,
    is_independent: bool = False,
) -> Report:
    """Return a report. `fails` says whether the service does not work as it should while it is not ok.

    A part that could not be measured, or not lately, is not ok, unless the report `is_independent` of the measurement.
    """
    if not is_independent:
        if measured.problem is not None:
            ok, detail = False, measured.problem
        if measured.is_stale:
            ok, detail = False, f"not checked for more than {STALE_S:g} s; before that: {detail}"
    return Report(
        name=name,
        ok=ok,
        detail=detail,
        fails=fails and not ok,
        checked_at=measured.at,
        age_s=measured.age_s,
        is_stale=measured.is_stale and not is_independent,
    )


def _with_problem(reports: list[Report], name: str, problem: str) -> list[Report]:
    """Return the reports, with a problem added to the one of this name; it does not make the service fail."""
    return [
        replace(one, ok=False, detail=problem if one.ok else f"{one.detail}; {problem}") if one.name == name else one
        for one in reports
    ]
