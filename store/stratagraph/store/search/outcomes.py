"""The reported outcomes of retrievals, in the entries of the log, and counts of how many returned records were used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.enums import Outcome
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.postgres.queries import Row, fetch, run


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReport:
    """The outcome that was reported of a retrieval. Records that were deleted since are missing.

    `hash` identifies the report. `credited` are the used records that the outcome was counted for, `penalized` all
    whose salience it lowered. `sequence` is the id of the report's transaction.
    """

    outcome: Outcome
    at: datetime
    hash: bytes
    credited: tuple[UUID, ...]
    penalized: tuple[UUID, ...]
    sequence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalEntry:
    """An entry of the log: when a retrieval was answered, the records that it returned, and its report, if it has one.

    Records that were deleted since are missing. `is_playbook` is whether they are the lessons of a playbook. `composed`
    is the id of the composed plan that it returned, and its `plan_id`.
    """

    id: UUID
    at: datetime
    nodes: tuple[UUID, ...]
    composed: tuple[UUID, str] | None
    report: StoredReport | None
    is_playbook: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalUse:
    """Counts of reported retrievals: by outcome, and of the records that they returned and that were used."""

    successes: int = 0
    failures: int = 0
    partials: int = 0
    returned: int = 0
    used: int = 0

    @property
    def usefulness(self) -> float | None:
        """The share of the returned records that were used, from 0 to 1; None before the first report."""
        return self.used / self.returned if self.returned else None


async def fetch_retrieval(connection: AsyncConnection, caller: Caller, id_: UUID) -> RetrievalEntry | None:
    """Return the log's entry of a retrieval by the caller; None if there is none."""
    rows = await fetch(connection, "fetch_retrieval", tenant=caller.tenant.id, id=id_, actor=caller.trust.identity)
    if not rows:
        return None
    row = rows[0]
    composed = None if row["composed_id"] is None else (row["composed_id"], row["composed"])
    return RetrievalEntry(
        id=row["id"],
        at=row["at"],
        nodes=tuple(row["nodes"]),
        composed=composed,
        report=_report(row),
        is_playbook=row["is_playbook"],
    )


async def find_composed(connection: AsyncConnection, caller: Caller, id_: UUID) -> str | None:
    """Return the `plan_id` of the plan that was composed for the caller under an id; None if there is none."""
    rows = await fetch(connection, "find_composed_plan", tenant=caller.tenant.id, id=id_, actor=caller.trust.identity)
    return rows[0]["composed"] if rows else None


async def lock_retrieval(connection: AsyncConnection, caller: Caller, id_: UUID) -> None:
    """Lock the entry of a retrieval by the caller until the end of the transaction."""
    await fetch(connection, "lock_retrieval", tenant=caller.tenant.id, id=id_, actor=caller.trust.identity)


async def store_report(
    connection: AsyncConnection,
    caller: Caller,
    entry: RetrievalEntry,
    outcome: Outcome,
    *,
    at: datetime,
    report_hash: bytes,
    credited: Sequence[UUID],
    penalized: Sequence[UUID],
) -> None:
    """Store what was reported of a locked retrieval."""
    await run(
        connection,
        "store_report",
        tenant=caller.tenant.id,
        id=entry.id,
        outcome=int(outcome),
        at=at,
        hash=report_hash,
        credited=list(credited),
        penalized=list(penalized),
    )


async def count_use(connection: AsyncConnection, caller: Caller, outcome: Outcome, *, returned: int, used: int) -> None:
    """Add a reported retrieval to the counts of the caller's tenant.

    All reports of a tenant wait for its row here, so call it last in a transaction.
    """
    await run(
        connection,
        "count_retrieval_use",
        tenant=caller.tenant.id,
        outcome=int(outcome),
        returned=returned,
        used=used,
    )


async def fetch_use(connection: AsyncConnection, tenant: int) -> RetrievalUse:
    """Return the counts of one tenant."""
    rows = await fetch(connection, "fetch_retrieval_use", tenant=tenant)
    return RetrievalUse(**rows[0]) if rows else RetrievalUse()


async def sum_use(database: Database) -> RetrievalUse:
    """Return the counts of all tenants together. Raises StoreUnavailable."""
    async with database.background(Role.JOBS) as connection:
        return RetrievalUse(**(await fetch(connection, "sum_retrieval_use"))[0])


def _report(row: Row) -> StoredReport | None:
    if row["outcome"] is None:
        return None
    return StoredReport(
        outcome=Outcome(row["outcome"]),
        at=row["reported_at"],
        hash=bytes(row["report_hash"]),
        credited=tuple(row["credited"]),
        penalized=tuple(row["penalized"]),
        sequence=row["sequence"],
    )
