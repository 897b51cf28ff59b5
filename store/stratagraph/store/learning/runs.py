"""Runs of learning, and what each has done in each group."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import orjson
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.feed.changes import Change, Kind, Seen, log_changes
from stratagraph.store.keys.callers import Caller
from stratagraph.store.learning.groups import Group
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.postgres.queries import Row, fetch, run

UNDO_WINDOW = timedelta(days=90)  # after the beginning of a run, for which it can be undone
_BEGUN, _FINISHED, _UNDONE = 1, 2, 3  # steps of a run, as the change log numbers them
REPORTS_KEPT = timedelta(days=365)  # after the beginning of a run, for which its reports are kept


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """A run: its instant, which is that of its beginning also when it is resumed, and the names of its stages.

    `is_soon` is whether it reads texts soon after their capture, and does not consolidate.
    """

    id: UUID
    began_at: datetime
    stages: tuple[str, ...]
    is_soon: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupReport:
    """What a run did in one group. `stages` has the report of each stage as JSON, with its seconds, by its name.

    `finished_at` is None while the run is not finished, `undone_at` unless it was undone.
    """

    run: UUID
    group: Group
    began_at: datetime
    updated_at: datetime
    finished_at: datetime | None
    batches: int
    episodes: int
    set_aside: int
    stages: Mapping[str, Any]
    undone_at: datetime | None
    undone_by: str | None
    is_trimmed: bool

    def is_too_old(self, now: datetime) -> bool:
        """Whether the run cannot be undone any more in this group, because its log is or may soon be deleted."""
        return self.is_trimmed or self.began_at < now - UNDO_WINDOW


async def unfinished_run(connection: AsyncConnection, *, is_soon: bool = False) -> StoredRun | None:
    """Return the run of its kind that was begun and not finished, of which there is one at most."""
    rows = await fetch(connection, "fetch_unfinished_run", is_soon=is_soon)
    return _run(rows[0]) if rows else None


async def begin_run(
    connection: AsyncConnection, id_: UUID, *, stages: Sequence[str], at: datetime, is_soon: bool = False
) -> StoredRun | None:
    """Store a new run and return it; None if there is one of its kind that is not finished."""
    rows = await fetch(connection, "begin_run", id=id_, stages=list(stages), at=at, is_soon=is_soon)
    return _run(rows[0]) if rows else None


async def finish_run(connection: AsyncConnection, id_: UUID, *, at: datetime) -> None:
    """Mark a run, and its reports in all groups, as finished."""
    await run(connection, "finish_run", id=id_)
    await _log_finished(connection, await fetch(connection, "finish_reports", id=id_, at=at, of_tenant=None))


async def end_soon_run(connection: AsyncConnection, id_: UUID, *, at: datetime, tenant: int | None = None) -> None:
    """End the run that reads texts soon, if it is this one, so that it can be undone and another one begins.

    With `tenant`, it ends only where the tenant has a report of it, and only that tenant's reports are finished.
    """
    if await run(connection, "end_soon_run", id=id_, of_tenant=tenant):
        await _log_finished(connection, await fetch(connection, "finish_reports", id=id_, at=at, of_tenant=tenant))


async def finish_soon_reports(connection: AsyncConnection, *, at: datetime) -> None:
    """Mark reports as finished whose run, of texts that were read soon, has ended."""
    await _log_finished(connection, await fetch(connection, "finish_soon_reports", at=at))


async def _log_finished(connection: AsyncConnection, rows: Sequence[Row]) -> None:
    """Append to the change log that runs have finished on the groups of these reports."""
    for tenant in sorted({row["tenant"] for row in rows}):
        of_tenant = [row for row in rows if row["tenant"] == tenant]
        groups = [Group(tenant, row["scope"], Sensitivity(row["sensitivity"])) for row in of_tenant]
        changes = [_step(row["run"], group, _FINISHED) for row, group in zip(of_tenant, groups, strict=True)]
        await log_changes(connection, tenant, changes)


def _step(run_id: UUID, group: Group, version: int) -> Change:
    """Return the change to log of a run that has come to a step on a group."""
    seen = Seen(scope=group.scope, sensitivity=int(group.sensitivity))
    return Change(kind=Kind.RUN, id=run_id, version=version, seen=seen)


async def has_ended(connection: AsyncConnection, run_id: UUID, group: Group) -> bool:
    """Lock the report of a run on a group, if there is one, and return whether the run has ended there."""
    rows = await fetch(connection, "lock_report_end", **_group(group), run=run_id)
    return bool(rows and rows[0]["is_finished"])


async def add_to_report(
    connection: AsyncConnection,
    stored: StoredRun,
    group: Group,
    *,
    episodes: int,
    set_aside: int,
    stages: Mapping[str, Any],
    at: datetime,
) -> None:
    """Replace the report of a run on a group by one with `episodes` and `set_aside` added, and with these `stages`."""
    (row,) = await fetch(
        connection,
        "add_to_report",
        **_group(group),
        run=stored.id,
        began_at=stored.began_at,
        at=at,
        episodes=episodes,
        set_aside=set_aside,
        stages=orjson.dumps(dict(stages)).decode(),
        is_soon=stored.is_soon,
    )
    if row["batches"] == 1:
        await log_changes(connection, group.tenant, [_step(stored.id, group, _BEGUN)])


async def lock_stage_reports(connection: AsyncConnection, run_id: UUID, group: Group) -> dict[str, Any]:
    """Lock the report of a run on a group, and return the reports of its stages so far."""
    rows = await fetch(connection, "lock_stage_reports", **_group(group), run=run_id)
    return dict(rows[0]["stages"]) if rows else {}


async def spent_by(connection: AsyncConnection, run_id: UUID, stage: str) -> dict[int, dict[str, float]]:
    """Return what a stage has cost in a run so far, over all groups of each tenant, by tenant and unit.

    A tenant for which it has cost nothing is left out.
    """
    return _costs(await fetch(connection, "sum_costs", run=run_id, stage=stage))


async def spent_soon(connection: AsyncConnection, stage: str, *, since: datetime) -> dict[int, dict[str, float]]:
    """Return what a stage has cost, in runs since an instant that read texts soon, by tenant and unit."""
    return _costs(await fetch(connection, "sum_soon_costs", stage=stage, since=since))


def _costs(rows: Sequence[Row]) -> dict[int, dict[str, float]]:
    found: dict[int, dict[str, float]] = {}
    for row in rows:
        found.setdefault(row["tenant"], {})[row["unit"]] = row["cost"]
    return found


async def list_reports(
    connection: AsyncConnection, caller: Caller, *, first: int, before: UUID | None
) -> list[GroupReport]:
    """Return the reports, on the groups that the caller may read, of its `first` newest runs with ids below `before`.

    Newest run first, its groups by scope and sensitivity. A run that did nothing in these groups is left out.
    """
    rows = await fetch(connection, "list_reports", **caller.parameters(), first=first, before=before)
    return [_report(row) for row in rows]


async def lock_reports(connection: AsyncConnection, caller: Caller, run_id: UUID) -> list[GroupReport]:
    """Lock and return the reports of one run on the groups that the caller may read."""
    rows = await fetch(connection, "lock_reports", **caller.parameters(), run=run_id)
    return [_report(row) for row in rows]


async def mark_undone(
    connection: AsyncConnection, tenant: int, run_id: UUID, groups: Collection[Group], *, actor: str, at: datetime
) -> None:
    """Mark a run as undone in these groups."""
    await run(
        connection,
        "mark_undone",
        tenant=tenant,
        run=run_id,
        scopes=[group.scope for group in groups],
        sensitivities=[int(group.sensitivity) for group in groups],
        actor=actor,
        at=at,
    )
    await log_changes(connection, tenant, [_step(run_id, group, _UNDONE) for group in groups])


async def trim_reports(connection: AsyncConnection, *, before: datetime, limit: int) -> int:
    """Delete at most `limit` reports of runs that began before an instant and were not undone; return how many."""
    return await run(connection, "trim_reports", before=before, limit=limit)


def _run(row: Row) -> StoredRun:
    return StoredRun(id=row["id"], began_at=row["began_at"], stages=tuple(row["stages"]), is_soon=row["is_soon"])


def _report(row: Row) -> GroupReport:
    return GroupReport(
        run=row["run"],
        group=Group(row["tenant"], row["scope"], Sensitivity(row["sensitivity"])),
        **{
            name: row[name]
            for name in (
                "began_at",
                "updated_at",
                "finished_at",
                "batches",
                "episodes",
                "set_aside",
                "stages",
                "undone_at",
                "undone_by",
                "is_trimmed",
            )
        },
    )


def _group(group: Group) -> dict[str, Any]:
    return {"tenant": group.tenant, "scope": group.scope, "sensitivity": int(group.sensitivity)}
