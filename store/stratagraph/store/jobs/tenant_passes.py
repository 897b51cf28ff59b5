"""The pass of a job over the records of every tenant, once after an upgrade.

A table lists the tenants that are left, with the last record that is done, so that any server goes on from there. A
tenant whose records have all been read once, but some of which are set aside, is left with END in place of that record.
Jobs whose work depends on what a pass computes wait until then (`passes_are_under_way`).
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import Table, delete, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.postgres.queries import fetch

END = UUID(int=2**128 - 1)  # above every record's id


@dataclass(frozen=True, slots=True)
class TenantPass:
    """The pass of the job named `job`; `table` has the columns `tenant` and `after`."""

    job: str
    table: Table

    async def lock_next(self, connection: AsyncConnection, *, beyond: int) -> tuple[int, UUID | None] | None:
        """Lock the first tenant above `beyond` that is left and that no other server works on.

        Return it with the last record that is done.
        """
        columns = self.table.c
        statement = select(columns.tenant, columns.after).where(columns.tenant > beyond).order_by(columns.tenant)
        found = (await connection.execute(statement.limit(1).with_for_update(skip_locked=True))).one_or_none()
        return (found.tenant, found.after) if found is not None else None

    async def note_done(self, connection: AsyncConnection, tenant: int, after: UUID) -> None:
        """Store the last record of a locked tenant that is done."""
        await connection.execute(update(self.table).where(self.table.c.tenant == tenant).values(after=after))

    async def finish(self, connection: AsyncConnection, tenant: int) -> bool:
        """Forget a locked tenant, all of whose records are done; return False if the job has set some of them aside."""
        rows = await fetch(connection, "count_set_aside_of", job=self.job, tenant=tenant)
        if rows[0]["any_left"]:
            await self.note_done(connection, tenant, END)
            return False
        await connection.execute(delete(self.table).where(self.table.c.tenant == tenant))
        return True


async def passes_are_under_way(database: Database) -> bool:
    """Return whether a pass has not read all records of every tenant once."""
    async with database.background(Role.JOBS) as connection:
        rows = await fetch(connection, "find_pass_under_way", end=END)
    return bool(rows[0]["any_left"])
