"""Runs of learning as callers see them: their reports, and undoing one. See docs/learning.md."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from itertools import groupby
from typing import Any
from uuid import UUID

from stratagraph.memory.learning.needs.stage import refresh_models
from stratagraph.memory.learning.stage import StageReport
from stratagraph.memory.learning.undo import UndoBatch
from stratagraph.memory.records.cursors import MAX_PAGE, decode_id, encode_id
from stratagraph.memory.requests.bounds import check_between
from stratagraph.memory.requests.retrying import retried
from stratagraph.memory.revise.request import MAX_RATIONALE
from stratagraph.memory.secrets.masking import masked_text
from stratagraph.store.keys.callers import Caller
from stratagraph.store.keys.directory import Directory
from stratagraph.store.learning.changes import Kept, list_kept
from stratagraph.store.learning.episodes import relearn_run
from stratagraph.store.learning.groups import Group
from stratagraph.store.learning.runs import (
    UNDO_WINDOW,
    GroupReport,
    end_soon_run,
    list_reports,
    lock_reports,
    mark_undone,
)
from stratagraph.store.model.canonical import check_json
from stratagraph.store.model.clock import Clock, rfc3339
from stratagraph.store.model.enums import Access, Sensitivity
from stratagraph.store.model.errors import Forbidden, InvalidInput, RecordNotFound
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.records.reading import Reader

UNDO_S = 20.0  # seconds for which one request undoes; what is left then is undone by the next one
NAMED = 1_000  # records that were left as they are, named in one answer


class RunState(Enum):
    """How far a run has come in the groups that its reader may read."""

    RUNNING = "running"
    FINISHED = "finished"
    UNDONE = "undone"


@dataclass(frozen=True, slots=True, kw_only=True)
class StageDone:
    """What a stage did in one group, or in all that are shown together. `seconds` is the time it took."""

    name: str
    report: StageReport
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupDone:
    """What a run did in one group, which is named by its scope and sensitivity."""

    scope: str
    sensitivity: Sensitivity
    episodes: int
    set_aside: int
    batches: int
    stages: tuple[StageDone, ...]
    updated_at: datetime
    finished_at: datetime | None
    undone_at: datetime | None
    undone_by: str | None
    can_undo: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationRun:
    """A run, with what it did in the groups that its reader may read in full, by scope and sensitivity."""

    id: UUID
    began_at: datetime
    groups: tuple[GroupDone, ...]

    @property
    def state(self) -> RunState:
        if all(group.undone_at is not None for group in self.groups):
            return RunState.UNDONE
        return RunState.RUNNING if any(group.finished_at is None for group in self.groups) else RunState.FINISHED

    @property
    def updated_at(self) -> datetime:
        """When the last batch of these groups was written."""
        return max(group.updated_at for group in self.groups)

    @property
    def episodes(self) -> int:
        return sum(group.episodes for group in self.groups)

    @property
    def set_aside(self) -> int:
        return sum(group.set_aside for group in self.groups)

    @property
    def stages(self) -> tuple[StageDone, ...]:
        """The reports of each stage added over the groups, in the order of the stages."""
        totals: dict[str, StageDone] = {}
        for stage in (stage for group in self.groups for stage in group.stages):
            known = totals.get(stage.name)
            totals[stage.name] = (
                stage
                if known is None
                else StageDone(
                    name=stage.name, report=known.report + stage.report, seconds=known.seconds + stage.seconds
                )
            )
        return tuple(totals.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPage:
    """A page of runs, newest first."""

    runs: tuple[ConsolidationRun, ...]
    end_cursor: str | None
    has_next: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """The result of undoing a run. `undone` counts the records and relations that this request undid.

    `kept` are records left as they are that the caller may read in full now, with the reason, at most NAMED of them;
    `kept_in_all` is their number. With
    `is_complete` False, some changes are left: ask again to continue.
    """

    run: ConsolidationRun
    undone: int
    kept: tuple[tuple[MemoryRecord, Kept], ...]
    kept_in_all: int
    is_complete: bool


class ConsolidationRuns:
    """The service that lists and undoes runs of learning. One per process; safe to call from many tasks."""

    def __init__(self, database: Database, directory: Directory, clock: Clock) -> None:
        self._database = database
        self._directory = directory
        self._clock = clock

    async def page(self, trust: Trust, *, first: int = 20, after: str | None = None) -> RunPage:
        """Return a page of the runs that learned something in groups that the caller may read in full, newest first.

        `first` is from 1 to 100; `after` is the `end_cursor` of the previous page. Raises InvalidInput.
        """
        trust.require(Access.READ)
        check_between("first", first, 1, MAX_PAGE)
        before = decode_id(after) if after is not None else None
        caller = await self._directory.resolve(trust)
        async with self._database.reading(caller.bounds) as connection:
            reports = await list_reports(connection, caller, first=first + 1, before=before)
        runs = await self._runs(reports)
        return RunPage(
            runs=tuple(runs[:first]),
            end_cursor=encode_id(runs[:first][-1].id) if runs else None,
            has_next=len(runs) > first,
        )

    async def undo(self, trust: Trust, id_: UUID, *, rationale: str, within_s: float | None = UNDO_S) -> Undone:
        """Undo a run in all groups that the caller may write to, for at most `within_s` seconds, and return the result.

        Needs admin access. Undoing a run again names the same records. Raises RecordNotFound for a run that did nothing
        the caller may read, Forbidden where it did so only in groups that the caller may not write to, and InvalidInput
        for a run that is not finished or is too old to be undone.
        """
        trust.require(Access.ADMIN)
        _check_rationale(rationale)
        caller = await self._directory.resolve(trust)
        # A run of texts that are read soon is open for a while, and need not be waited for.
        async with self._database.background(Role.JOBS) as connection:
            await end_soon_run(connection, id_, at=self._clock.now(), tenant=caller.tenant.id)
        reason = f"undid the run {id_}: {masked_text(rationale, caller.tenant.index_key)[0]}"
        deadline = time.monotonic() + within_s if within_s is not None else None
        undone = 0
        while True:
            count, is_complete = await retried(lambda: self._undo_batch(caller, id_, reason))
            undone += count
            if is_complete or (deadline is not None and time.monotonic() > deadline):
                return await self._result(caller, id_, undone, is_complete=is_complete)

    async def learn_again(self, trust: Trust, id_: UUID) -> int:
        """Let the next run learn again from the episodes of an undone one; return how many episodes these are.

        Only in the groups that the caller may write to, and only from episodes of which nothing was deleted since.
        Needs admin access. Raises RecordNotFound and Forbidden as `undo` does, and InvalidInput for a run that is not
        undone.
        """
        trust.require(Access.ADMIN)
        caller = await self._directory.resolve(trust)

        async def mark() -> int:
            async with self._database.writing(caller.bounds) as connection:
                reports = await self._own(caller, id_, await lock_reports(connection, caller, id_))
                groups = [report.group for report in reports if report.undone_at is not None]
                if not groups:
                    raise InvalidInput(
                        f"id: the run {id_} is not undone, so all that it has learned is there; undo it first",
                        path=["id"],
                    )
                return await relearn_run(connection, caller.tenant.id, id_, groups)

        return await retried(mark)

    async def _undo_batch(self, caller: Caller, id_: UUID, rationale: str) -> tuple[int, bool]:
        """Undo one batch; return the number of records and relations undone, and whether none were left."""
        async with self._database.writing(caller.bounds) as connection:
            reports = await lock_reports(connection, caller, id_)
            groups = await self._writable(caller, id_, reports)
            batch = UndoBatch(connection, self._directory, caller, self._clock, id_, groups, rationale)
            count = await batch.undo_next() if groups else 0
            if count == 0 and groups:
                now = self._clock.now()
                await mark_undone(connection, caller.tenant.id, id_, groups, actor=caller.trust.actor, at=now)
                await refresh_models(connection, groups, at=now)
        return count, count == 0

    async def _own(self, caller: Caller, id_: UUID, reports: Sequence[GroupReport]) -> list[GroupReport]:
        """Return the reports of a run on the groups that the caller may write to.

        Raises RecordNotFound if there are no reports, and Forbidden if it may write to none of the groups.
        """
        if not reports:
            raise RecordNotFound(id_, f"id: there is no run {id_} of learning", path=["id"])
        scopes = await self._directory.scope_names({report.group.scope for report in reports})
        allowed = caller.trust.scopes
        mine = [report for report in reports if allowed is None or scopes[report.group.scope] in allowed]
        if not mine:
            raise Forbidden(
                f"id: the run {id_} learned only in scopes that this credential may read but not write to; use one that"
                " may write there",
                path=["id"],
            )
        return mine

    async def _writable(self, caller: Caller, id_: UUID, reports: Sequence[GroupReport]) -> list[Group]:
        """Return the groups of a run that are still to be undone. Raises what `undo` raises for the run."""
        mine = await self._own(caller, id_, reports)
        if any(report.finished_at is None for report in mine):
            raise InvalidInput(
                f"id: the run {id_} is not finished; wait until it is, or let `stratagraph consolidate` finish it",
                path=["id"],
            )
        now = self._clock.now()
        old = next((report for report in mine if report.undone_at is None and report.is_too_old(now)), None)
        if old is not None:
            raise InvalidInput(
                f"id: the run {id_} began at {rfc3339(old.began_at)}, which is more than {UNDO_WINDOW.days} days ago,"
                " so it cannot be undone any more; retract single records instead",
                path=["id"],
            )
        return [report.group for report in mine if report.undone_at is None]

    async def _result(self, caller: Caller, id_: UUID, undone: int, *, is_complete: bool) -> Undone:
        async with self._database.writing(caller.bounds) as connection:
            reports = await lock_reports(connection, caller, id_)
            groups = [report.group for report in reports]
            kept, total = await list_kept(connection, caller, id_, groups, limit=NAMED)
            reader = Reader(connection, self._directory, caller, self._clock.now())
            records = await reader.records(list(kept))
        return Undone(
            run=(await self._runs(reports))[0],
            undone=undone,
            kept=tuple((records[id_], why) for id_, why in kept.items() if id_ in records),
            kept_in_all=total,
            is_complete=is_complete,
        )

    async def _runs(self, reports: Sequence[GroupReport]) -> list[ConsolidationRun]:
        return await runs_of(self._directory, reports, self._clock.now())


async def runs_of(directory: Directory, reports: Sequence[GroupReport], now: datetime) -> list[ConsolidationRun]:
    """Return the runs of reports that are ordered by run, as of `now`."""
    scopes = await directory.scope_names({report.group.scope for report in reports})
    return [
        ConsolidationRun(
            id=id_,
            began_at=of_run[0].began_at,
            groups=tuple(_group(report, scopes[report.group.scope], now) for report in of_run),
        )
        for id_, group in groupby(reports, key=lambda report: report.run)
        if (of_run := list(group))
    ]


def _group(report: GroupReport, scope: str, now: datetime) -> GroupDone:
    return GroupDone(
        scope=scope,
        sensitivity=report.group.sensitivity,
        episodes=report.episodes,
        set_aside=report.set_aside,
        batches=report.batches,
        stages=stages_of(report.stages),
        updated_at=report.updated_at,
        finished_at=report.finished_at,
        undone_at=report.undone_at,
        undone_by=report.undone_by,
        can_undo=report.finished_at is not None and report.undone_at is None and not report.is_too_old(now),
    )


def stages_of(stored: Mapping[str, Any]) -> tuple[StageDone, ...]:
    """Return the reports of the stages of a stored report, in the order of their positions."""
    return tuple(
        StageDone(name=name, report=StageReport.from_json(report), seconds=report["seconds"])
        for name, report in sorted(stored.items(), key=lambda item: item[1]["position"])
    )


def _check_rationale(rationale: str) -> None:
    check_json(rationale, path=["rationale"])
    if not rationale.strip():
        raise InvalidInput("rationale: is empty; give a reason, which the audit log keeps", path=["rationale"])
    if len(rationale) > MAX_RATIONALE:
        raise InvalidInput(
            f"rationale: {len(rationale)} characters; at most {MAX_RATIONALE} are allowed, shorten it",
            path=["rationale"],
        )
