"""The log of what a run changed: records, their salience, and relations, with the versions before and after.

A record that the run wrote in several batches has one row: its state before the first and after the last of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.feed.changes import Change, Kind
from stratagraph.store.keys.callers import Caller, Tenant
from stratagraph.store.keys.sealing.contents import FIELDS, open_contents
from stratagraph.store.learning.groups import Group
from stratagraph.store.model.enums import MemoryType, RecordState
from stratagraph.store.model.words import Terms
from stratagraph.store.postgres.queries import Row, fetch, run
from stratagraph.store.records.salience_rows import SalienceBefore


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedRecord:
    """A record that a run changed: its row versions before and after, and its salience before.

    `before` is None for one that the run created, and `after` for one of which only the salience was changed;
    `salience` is None where that was not changed. `row_version` and `t0` are those of now.
    """

    id: UUID
    type: MemoryType
    state: RecordState
    before: int | None
    after: int | None
    salience: SalienceBefore | None
    t0_after: datetime | None
    is_merged: bool
    is_mixed: bool
    row_version: int
    t0: datetime

    @property
    def is_created(self) -> bool:
        return self.before is None and self.after is not None

    @property
    def is_untouched(self) -> bool:
        """Whether nothing but the run has changed the record's content or state since the run began."""
        return not self.is_mixed and (self.after is None or self.row_version == self.after)


class Kept(IntEnum):
    """Why undoing a run left a record as it is."""

    REVISED = 1  # another writer has changed its content or state since
    SALIENCE = 2  # another writer has changed its salience since
    USED = 3  # an entity that the run created and that other records name now
    DISPLACED = 4  # another record has taken its place since


@dataclass(frozen=True, slots=True, kw_only=True)
class FormerVersion:
    """A record as it was at one of its versions."""

    state: RecordState
    confidence: float
    name: str
    text: str
    payload: dict[str, Any]
    provenance: dict[str, Any]
    interpretation: dict[str, Any] | None
    learned_state: dict[str, Any] | None
    terms: Terms
    occurred_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedRelation:
    """A relation between records that existed before the run, which the run inserted (`is_new`) or ended."""

    id: UUID
    source: UUID
    target: UUID
    predicate: str
    weight: float
    is_new: bool
    is_live: bool


async def log_run_changes(
    connection: AsyncConnection,
    tenant: Tenant,
    run_id: UUID,
    group: Group,
    changes: Sequence[Change],
    *,
    salience: Mapping[UUID, SalienceBefore],
    merged: Collection[UUID],
) -> None:
    """Add to the log what one batch of a run changed: its changes for the feed, and the salience that it noted.

    `merged` are the entities that the batch merged into others.
    """
    versions: dict[UUID, tuple[int, int]] = {}
    relations: dict[UUID, bool] = {}
    for change in changes:
        if change.kind is Kind.RECORD:
            least, most = versions.get(change.id, (change.version, change.version))
            versions[change.id] = min(least, change.version), max(most, change.version)
        elif change.id in relations:
            del relations[change.id]  # inserted and ended by the same batch
        else:
            relations[change.id] = change.version == 1
    ids = sorted({*versions, *salience})
    before = {id_: least - 1 for id_, (least, _) in versions.items() if least > 1}
    await run(
        connection,
        "log_changed_records",
        tenant=tenant.id,
        run=run_id,
        scope=group.scope,
        sensitivity=int(group.sensitivity),
        ids=ids,
        befores=[before.get(id_) for id_ in ids],
        afters=[versions[id_][1] if id_ in versions else None for id_ in ids],
        saliences=[salience[id_].s if id_ in salience else None for id_ in ids],
        instants=[salience[id_].t0 if id_ in salience else None for id_ in ids],
        reinforced=[salience[id_].last_reinforced_at if id_ in salience else None for id_ in ids],
        merged=[id_ in merged for id_ in ids],
    )
    if relations:
        await run(
            connection,
            "log_changed_relations",
            tenant=tenant.id,
            run=run_id,
            scope=group.scope,
            sensitivity=int(group.sensitivity),
            ids=list(relations),
            new=list(relations.values()),
        )


async def next_changes(
    connection: AsyncConnection, tenant: Tenant, run_id: UUID, groups: Sequence[Group], *, limit: int
) -> list[LoggedRecord]:
    """Return at most `limit` records of the log that are still to be undone.

    The entity that was merged last comes first, alone; after all merged ones the records that the run created, entities
    last among them, then the others; both from the newest to the oldest. They are not locked. Those that are kept as
    they are count as undone.
    """
    where = _groups(tenant, run_id, groups)
    rows = await fetch(connection, "next_merged_record", **where)
    if not rows:
        rows = await fetch(connection, "next_changed_records", **where, limit=limit)
    return [_record(row) for row in rows]


async def next_relations(
    connection: AsyncConnection, tenant: Tenant, run_id: UUID, groups: Sequence[Group], *, limit: int
) -> list[LoggedRelation]:
    """Return at most `limit` relations of the log that are still to be undone."""
    rows = await fetch(connection, "next_changed_relations", **_groups(tenant, run_id, groups), limit=limit)
    return [LoggedRelation(**row) for row in rows]


async def fetch_former_versions(
    connection: AsyncConnection, tenant: Tenant, versions: Mapping[UUID, int]
) -> dict[UUID, FormerVersion]:
    """Return records as they were at the given row versions, keyed by id, without those whose history was deleted."""
    rows = await fetch(
        connection, "fetch_former_versions", tenant=tenant.id, ids=list(versions), versions=list(versions.values())
    )
    found = {}
    for row, content in zip(rows, await open_contents(tenant.keyring, rows), strict=True):
        values = {name: (row if content is None else content)[name] for name in FIELDS}
        found[row["id"]] = FormerVersion(
            state=RecordState(row["state"]),
            confidence=row["confidence"],
            terms=Terms.of_sparsevec(row["impacts"]),
            occurred_at=row["occurred_at"],
            **values,
        )
    return found


async def used_entities(connection: AsyncConnection, tenant: Tenant, run_id: UUID, ids: Collection[UUID]) -> set[UUID]:
    """Return those of the given entities that have a relation to a current record which the run has not created."""
    rows = await fetch(connection, "fetch_used_entities", tenant=tenant.id, run=run_id, ids=list(ids))
    return {row["id"] for row in rows}


async def keep_changes(connection: AsyncConnection, tenant: Tenant, run_id: UUID, kept: Mapping[UUID, Kept]) -> None:
    """Note of records in the log that they are left as they are, and why."""
    if kept:
        await run(
            connection,
            "keep_changed_records",
            tenant=tenant.id,
            run=run_id,
            ids=list(kept),
            reasons=[int(why) for why in kept.values()],
        )


async def list_kept(
    connection: AsyncConnection, caller: Caller, run_id: UUID, groups: Sequence[Group], *, limit: int
) -> tuple[dict[UUID, Kept], int]:
    """Return at most `limit` records that undoing the run left as they are, with the reason, and the number of all.

    Only of records that the caller may read in full now; others may have been raised or moved since the run.
    """
    rows = await fetch(
        connection,
        "list_kept_records",
        **_groups(caller.tenant, run_id, groups),
        all_scopes=caller.scopes is None,
        allowed=list(caller.scopes or ()),
        ceiling=int(caller.ceiling),
        limit=limit,
    )
    return {row["id"]: Kept(row["kept"]) for row in rows}, rows[0]["total"] if rows else 0


async def follow_changes(connection: AsyncConnection, tenant: Tenant, run_id: UUID, changes: Sequence[Change]) -> None:
    """Note that the undoing of a run has changed records of its log, which were as the run had left them."""
    records = [change for change in changes if change.kind is Kind.RECORD]
    for change in records:
        await run(connection, "follow_change", tenant=tenant.id, run=run_id, id=change.id, after=change.version)


async def follow_salience(
    connection: AsyncConnection, tenant: Tenant, run_id: UUID, salience: Mapping[UUID, SalienceBefore]
) -> None:
    """Note that the undoing of a run has changed the salience of records, whose last event before it is given.

    Those of its log that had the event of the run are still as the run left them.
    """
    if salience:
        instants = [before.t0 for before in salience.values()]
        await run(connection, "follow_salience", tenant=tenant.id, run=run_id, ids=list(salience), instants=instants)


async def forget_changes(
    connection: AsyncConnection, tenant: Tenant, run_id: UUID, *, records: Collection[UUID], relations: Collection[UUID]
) -> None:
    """Delete what was undone, or cannot be, from the log."""
    if records:
        await run(connection, "forget_changed_records", tenant=tenant.id, run=run_id, ids=list(records))
    if relations:
        await run(connection, "forget_changed_relations", tenant=tenant.id, run=run_id, ids=list(relations))


async def trim_changes(connection: AsyncConnection, *, before: datetime, limit: int) -> int | None:
    """Delete at most `limit` changes of a finished run that began before an instant; return how many.

    None if no such run has a log. The run is marked first, so that it cannot be undone once part of its log is deleted.
    """
    reports = await fetch(connection, "find_old_report", before=before)
    if not reports:
        return None
    one = {"tenant": reports[0]["tenant"], "run": reports[0]["run"]}
    await run(connection, "mark_trimmed", **one)
    deleted = await run(connection, "trim_changed_records", **one, limit=limit)
    if deleted < limit:
        deleted += await run(connection, "trim_changed_relations", **one, limit=limit - deleted)
    if deleted < limit:
        await run(connection, "mark_unlogged", **one)
    return deleted


def _record(row: Row) -> LoggedRecord:
    before = None
    if row["s"] is not None:
        before = SalienceBefore(s=row["s"], t0=row["t0_before"], last_reinforced_at=row["last_reinforced_at"])
    return LoggedRecord(
        id=row["id"],
        type=MemoryType(row["type"]),
        state=RecordState(row["state"]),
        before=row["before"],
        after=row["after"],
        salience=before,
        t0_after=row["t0_after"],
        is_merged=row["is_merged"],
        is_mixed=row["is_mixed"],
        row_version=row["row_version"],
        t0=row["t0"],
    )


def _groups(tenant: Tenant, run_id: UUID, groups: Sequence[Group]) -> dict[str, object]:
    return {
        "tenant": tenant.id,
        "run": run_id,
        "scopes": [group.scope for group in groups],
        "sensitivities": [int(group.sensitivity) for group in groups],
    }
