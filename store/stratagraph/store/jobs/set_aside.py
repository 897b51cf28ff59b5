"""Rows that a job could not process: recorded with the kind of the error, skipped for a while, tried again later."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.model.errors import error_origin
from stratagraph.store.postgres.queries import fetch, run

FIRST_PAUSE_S = 60.0  # before the second attempt; doubles with each further one, up to a day

Key = tuple[int, UUID]  # tenant and id of a row


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAside:
    """A row that a job could not process.

    `error` is the class of the last error and where it arose; its text is never stored. `stage` is the stage that
    failed (several are joined by ", "); None for a job without stages, and for a failure outside all of them.
    """

    job: str
    tenant: int
    id: UUID
    stage: str | None
    error: str
    attempts: int
    since: datetime
    next_try_at: datetime


async def set_aside(
    connection: AsyncConnection, job: str, key: Key, error: Exception, *, at: datetime, stage: str | None = None
) -> datetime:
    """Record that `job`, or its `stage`, could not process the row `key`; return the instant of the next attempt.

    The pause before it doubles with each failure, up to one day.

    The caller postpones the row itself to that instant, in the same transaction, so that no run reads it before.
    """
    tenant, id_ = key
    rows = await fetch(
        connection,
        "set_row_aside",
        job=job,
        tenant=tenant,
        id=id_,
        error=error_origin(error),
        stage=stage,
        at=at,
        pause_s=FIRST_PAUSE_S,
    )
    next_try_at: datetime = rows[0]["next_try_at"]
    return next_try_at


async def clear_set_aside(connection: AsyncConnection, job: str, keys: Collection[Key]) -> None:
    """Delete the entries of rows that `job` has processed after all. Rows without an entry are ignored."""
    if keys:
        await run(
            connection,
            "delete_set_aside",
            job=job,
            tenants=[tenant for tenant, _ in keys],
            ids=[id_ for _, id_ in keys],
        )


async def forget_set_aside(connection: AsyncConnection, tenant: int, ids: Collection[UUID]) -> None:
    """Delete the entries of deleted rows, whichever job set them aside."""
    await run(connection, "forget_set_aside", tenant=tenant, ids=list(ids))


async def due_set_aside(connection: AsyncConnection, job: str, *, now: datetime, limit: int) -> list[Key]:
    """Return at most `limit` rows that `job` has set aside and should try again, the longest due first."""
    rows = await fetch(connection, "fetch_due_set_aside", job=job, now=now, limit=limit)
    return [(row["tenant"], row["id"]) for row in rows]


async def list_set_aside(connection: AsyncConnection, *, job: str | None = None, limit: int) -> list[SetAside]:
    """Return at most `limit` rows that are set aside, by one job or, with None, by any; the longest so first."""
    return [SetAside(**row) for row in await fetch(connection, "list_set_aside", job=job, limit=limit)]
