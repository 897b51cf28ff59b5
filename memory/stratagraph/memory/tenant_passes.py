"""Batches of a pass over the records of every tenant, once after an upgrade: what its jobs have in common."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from stratagraph.store.jobs.isolation import process_or_set_aside
from stratagraph.store.jobs.set_aside import due_set_aside
from stratagraph.store.jobs.tenant_passes import TenantPass
from stratagraph.store.postgres.database import Connection, Database, Role

RETRIED = 100  # records that were set aside, tried again in one transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class PassedBatch:
    """The number of records read in one batch, and how many of them were set aside; `more` if others may be due."""

    records: int = 0
    set_aside: int = 0
    more: bool = False


class RecordsOfTenant(Protocol):
    """What a pass does with the records of one tenant."""

    async def list_next(self, after: UUID | None, *, limit: int) -> Sequence[UUID]:
        """Return at most `limit` ids of records above `after`, ascending."""

    async def process(self, ids: Sequence[UUID]) -> None: ...


async def pass_batch(
    database: Database,
    tenant_pass: TenantPass,
    open_tenant: Callable[[Connection, int], Awaitable[RecordsOfTenant]],
    *,
    now: datetime,
    batch: int,
) -> PassedBatch:
    """Process at most `batch` records of one tenant, in one transaction.

    The place is stored with what is written, so that the next batch goes on there, whichever server runs it. Records
    that fail are set aside and tried again; the tenant is done when there are none of them left.
    """
    async with database.background(Role.JOBS) as connection:
        beyond = -1
        while (found := await tenant_pass.lock_next(connection, beyond=beyond)) is not None:
            beyond, after = found
            records = await open_tenant(connection, beyond)
            done = await _pass_tenant(connection, tenant_pass, beyond, after, records, now=now, batch=batch)
            if done is not None:
                return done
    return PassedBatch()


async def _pass_tenant(
    connection: Connection,
    tenant_pass: TenantPass,
    tenant: int,
    after: UUID | None,
    records: RecordsOfTenant,
    *,
    now: datetime,
    batch: int,
) -> PassedBatch | None:
    """Process the next records of a locked tenant; None if none is due at `now`."""
    job = tenant_pass.job
    following = await records.list_next(after, limit=batch)
    ids = following
    if not ids:
        due = await due_set_aside(connection, job, now=now, limit=RETRIED)
        ids = [id_ for number, id_ in due if number == tenant]
        if not ids:
            finished = await tenant_pass.finish(connection, tenant)
            return PassedBatch(more=True) if finished else None
    _, failures = await process_or_set_aside(
        connection, job, ids, records.process, key=lambda id_: (tenant, id_), at=now
    )
    if following:
        await tenant_pass.note_done(connection, tenant, following[-1])
    return PassedBatch(records=len(ids), set_aside=len(failures), more=True)
