"""The queue of re-evaluations: derived records to check again, beyond those that one transaction handles itself."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Caller, Tenant
from stratagraph.store.model.predicates import DERIVATIONS
from stratagraph.store.postgres.queries import Row, fetch, run


@dataclass(frozen=True, slots=True, kw_only=True)
class Reevaluation:
    """A queued re-evaluation of the record `record` because its source `cause` changed.

    `cause` is the record itself where its sources were too many to be read in the transaction of the change.

    `attempts` counts the failed attempts; `error` is the class name of the last error, None if there was none.
    """

    record: UUID
    cause: UUID
    queued_at: datetime
    attempts: int
    error: str | None


async def queue_dependents(
    connection: AsyncConnection, caller: Caller, ids: Collection[UUID], *, hidden: bool = False, at: datetime
) -> int:
    """Queue for re-evaluation all current records derived directly from `ids` that `caller` may read in full.

    With `hidden`, queues the others instead. Returns the number of entries added; records that are queued already are
    skipped.
    """
    rows = await fetch(
        connection,
        "enqueue_dependents",
        **caller.parameters(),
        ids=list(ids),
        hidden=hidden,
        derivations=sorted(DERIVATIONS),
        at=at,
    )
    return len(rows)


async def queue_records(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID], *, at: datetime) -> int:
    """Queue the records `ids` for re-evaluation on their own account; return the number of entries added."""
    if not ids:
        return 0
    return len(await fetch(connection, "enqueue_records", tenant=tenant.id, ids=sorted(ids), at=at))


async def lock_due_reevaluations(
    connection: AsyncConnection, *, now: datetime, limit: int
) -> list[tuple[int, Reevaluation]]:
    """Lock at most `limit` entries of the queue that are due, the oldest first; return them as (tenant, entry).

    Entries that another transaction has locked are skipped.
    """
    rows = await fetch(connection, "lock_due_reevaluations", now=now, limit=limit)
    return [(row["tenant"], _entry(row)) for row in rows]


async def delete_reevaluations(connection: AsyncConnection, tenant: Tenant, ids: Sequence[UUID]) -> None:
    """Delete the queue's entries of the records `ids`, which have been re-evaluated."""
    await run(connection, "delete_reevaluations", tenant=tenant.id, ids=list(ids))


async def postpone_reevaluation(
    connection: AsyncConnection, tenant: Tenant, id_: UUID, *, error: str, next_try_at: datetime
) -> None:
    """Store the error of a failed re-evaluation in its entry, and the instant of its next attempt."""
    await run(connection, "postpone_reevaluation", tenant=tenant.id, id=id_, error=error, next_try_at=next_try_at)


async def list_reevaluations(connection: AsyncConnection, caller: Caller, *, limit: int) -> list[Reevaluation]:
    """Return at most `limit` queued entries of records that the caller may read in full, the oldest first."""
    rows = await fetch(connection, "list_reevaluations", **caller.parameters(), limit=limit)
    return [_entry(row) for row in rows]


def _entry(row: Row) -> Reevaluation:
    return Reevaluation(
        record=row["id"],
        cause=row["cause"],
        queued_at=row["queued_at"],
        attempts=row["attempts"],
        error=row["error"],
    )
