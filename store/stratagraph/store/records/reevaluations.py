"""The queue of records to be re-evaluated, where a change concerned more of them than one transaction should touch."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import RowMapping
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.tenancy import Tenant
from stratagraph.store.postgres.queries import fetch, run


@dataclass(frozen=True, slots=True, kw_only=True)
class Reevaluation:
    """A record that waits to be looked at again. `error` names what went wrong at the last attempt."""

    record: UUID
    cause: UUID
    queued_at: datetime
    attempts: int
    error: str | None


async def queue_dependents(
    connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID], *, known: Collection[UUID], at: datetime
) -> int:
    """Queue all that was derived directly from `ids`, however many, those in `known` apart; returns how many."""
    rows = await fetch(connection, "enqueue_dependents", tenant=tenant.id, ids=list(ids), known=list(known), at=at)
    return len(rows)


async def due_reevaluations(
    connection: AsyncConnection, *, now: datetime, limit: int
) -> list[tuple[int, Reevaluation]]:
    """The oldest due entries with their tenant, locked; what another worker holds is left to it."""
    rows = await fetch(connection, "lock_due_reevaluations", now=now, limit=limit)
    return [(row["tenant"], _entry(row)) for row in rows]


async def settle_reevaluations(connection: AsyncConnection, tenant: Tenant, ids: Sequence[UUID]) -> None:
    await run(connection, "delete_reevaluations", tenant=tenant.id, ids=list(ids))


async def postpone_reevaluation(
    connection: AsyncConnection, tenant: Tenant, id_: UUID, *, error: str, next_try_at: datetime
) -> None:
    """Keep an entry that failed, with the kind of its error, until later."""
    await run(connection, "postpone_reevaluation", tenant=tenant.id, id=id_, error=error, next_try_at=next_try_at)


async def waiting_reevaluations(connection: AsyncConnection, tenant: Tenant, *, limit: int) -> list[Reevaluation]:
    """What waits for the tenant, oldest first."""
    return [_entry(row) for row in await fetch(connection, "list_reevaluations", tenant=tenant.id, limit=limit)]


def _entry(row: RowMapping) -> Reevaluation:
    return Reevaluation(
        record=row["id"],
        cause=row["cause"],
        queued_at=row["queued_at"],
        attempts=row["attempts"],
        error=row["error"],
    )
