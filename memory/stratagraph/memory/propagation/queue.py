"""Background re-evaluation of queued records, for which the transaction of the change had no budget left."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from stratagraph.memory.propagation.reevaluation import derived_records, reevaluate
from stratagraph.store.feed.changes import append_changes
from stratagraph.store.jobs.isolation import process_or_set_aside
from stratagraph.store.keys.callers import Caller, Tenant
from stratagraph.store.keys.directory import Directory
from stratagraph.store.learning.groups import Group
from stratagraph.store.model.clock import RESOLUTION
from stratagraph.store.model.enums import Access, Sensitivity
from stratagraph.store.model.trust import UNSCOPED, Trust
from stratagraph.store.postgres.database import Connection, Database, Role, elevated
from stratagraph.store.records.locking import lock_records
from stratagraph.store.records.reevaluations import delete_reevaluations, lock_due_reevaluations, postpone_reevaluation

JOB = "reevaluate"
ACTOR = "propagation"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reevaluated:
    """How many queued records were due in one batch, and how many of them were set aside."""

    due: int
    set_aside: int


def everything_of(tenant: Tenant, actor: str) -> Caller:
    """Return a caller that may read and write all records of a tenant, for background jobs."""
    trust = Trust(tenant=tenant.name, actor=actor, access=Access.ADMIN, ceiling=Sensitivity.HYPER, scopes=None)
    return Caller(tenant=tenant, trust=trust, scopes=None)


async def caller_of(directory: Directory, group: Group, actor: str) -> Caller:
    """Return a caller that may read and write exactly what belongs to a group, and read what is unscoped."""
    tenant = await directory.tenant_by_id(group.tenant)
    scope = (await directory.scope_names([group.scope]))[group.scope]
    scopes = await directory.scopes(tenant, {UNSCOPED, scope}, create=True)
    trust = Trust(
        tenant=tenant.name, actor=actor, access=Access.WRITE, ceiling=group.sensitivity, scopes=frozenset({scope})
    )
    return Caller(tenant=tenant, trust=trust, scopes=tuple(sorted({scopes[UNSCOPED], group.scope})))


async def reevaluate_due(database: Database, directory: Directory, *, now: datetime, batch: int) -> Reevaluated:
    """Re-evaluate one batch of at most `batch` queued records that are due.

    A record that cannot be re-evaluated is set aside and stays in the queue for a later attempt. Any number of servers
    may call this at once: each skips the entries that another one has locked.
    """
    failures = 0
    async with database.background(Role.JOBS) as connection:
        due = await lock_due_reevaluations(connection, now=now, limit=batch)
        by_tenant: dict[int, list[UUID]] = defaultdict(list)
        for number, entry in due:
            by_tenant[number].append(entry.record)
        for number, ids in sorted(by_tenant.items()):
            failures += await _reevaluate(connection, directory, number, ids, now)
    return Reevaluated(due=len(due), set_aside=failures)


async def _reevaluate(
    connection: Connection, directory: Directory, number: int, ids: Sequence[UUID], now: datetime
) -> int:
    """Re-evaluate queued records of one tenant; return how many were set aside."""
    caller = everything_of(await directory.tenant_by_id(number), ACTOR)

    async def process(part: Sequence[UUID]) -> None:
        async with elevated(connection, caller.bounds):
            rows = await lock_records(
                connection, caller.tenant, {*part, *await derived_records(connection, caller, part)}
            )
            at = max([now, *(row.updated_at + RESOLUTION for row in rows.values())])
            done = await reevaluate(connection, directory, caller, doubtful=part, actor=ACTOR, at=at, is_queued=True)
            await delete_reevaluations(connection, caller.tenant, part)
            await append_changes(connection, caller.tenant, done.changes)

    _, failures = await process_or_set_aside(connection, JOB, ids, process, key=lambda id_: (number, id_), at=now)
    for id_, failure in failures.items():
        kind = type(failure.error).__name__
        await postpone_reevaluation(connection, caller.tenant, id_, error=kind, next_try_at=failure.retry_at)
    return len(failures)
