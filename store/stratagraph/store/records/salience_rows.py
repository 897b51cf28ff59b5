"""The rows of the table `salience`: the last event of each record, from which its present salience is computed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Tenant
from stratagraph.store.model.salience import Salience
from stratagraph.store.postgres.bulk import insert_rows
from stratagraph.store.postgres.queries import fetch
from stratagraph.store.postgres.schema import tables

_NOTED = "noted_salience"  # the key of a connection's `info`


@dataclass(frozen=True, slots=True, kw_only=True)
class SalienceBefore:
    """The last salience event of a record before a transaction changed it: the value `s` at the instant `t0`."""

    s: float
    t0: datetime
    last_reinforced_at: datetime | None

    def as_fields(self) -> dict[str, Any]:
        """Return the event as fields of a Salience."""
        return {"s": self.s, "t0": self.t0, "last_reinforced_at": self.last_reinforced_at}


def salience_row(tenant: Tenant, record: UUID, salience: Salience) -> dict[str, Any]:
    """Return `salience` as a row of the table, with the instant from which the record may be pruned."""
    decay = salience.decay
    return {
        "tenant": tenant.id,
        "id": record,
        "s": salience.s,
        "t0": salience.t0,
        "curve": int(decay.curve),
        "half_life_s": decay.half_life_s,
        "min_salience": decay.min_salience,
        "max_age_s": decay.max_age_s,
        "reinforcement_gain": decay.reinforcement_gain,
        "params": decay.params,
        "pinned": salience.pinned,
        "deletion_policy": int(salience.deletion_policy),
        "due_at": salience.due_at(),
        "last_reinforced_at": salience.last_reinforced_at,
    }


async def write_salience(connection: AsyncConnection, tenant: Tenant, events: Sequence[tuple[UUID, Salience]]) -> None:
    """Store the salience of records, each given as (id, salience), replacing their earlier one."""
    noted: dict[UUID, SalienceBefore] | None = connection.info.get(_NOTED)
    if noted is not None:
        await _note(connection, tenant, noted, [record for record, _ in events if record not in noted])
    rows = [salience_row(tenant, record, salience) for record, salience in events]
    await insert_rows(
        connection,
        tables.salience,
        rows,
        suffix="ON CONFLICT (tenant, id) DO UPDATE SET (s, t0, curve, half_life_s, min_salience, max_age_s,"
        " reinforcement_gain, params, pinned, deletion_policy, due_at, last_reinforced_at) = (excluded.s, excluded.t0,"
        " excluded.curve, excluded.half_life_s, excluded.min_salience, excluded.max_age_s, excluded.reinforcement_gain,"
        " excluded.params, excluded.pinned, excluded.deletion_policy, excluded.due_at, excluded.last_reinforced_at),"
        " check_at = NULL",
    )


@asynccontextmanager
async def noting_salience(connection: AsyncConnection) -> AsyncIterator[dict[UUID, SalienceBefore]]:
    """Yield a mapping to which `write_salience` adds, within the block, what the salience of each record was before.

    So that it can be restored. Records without a row, which are new, are not added.
    """
    noted: dict[UUID, SalienceBefore] = {}
    info = connection.info  # read now, because a connection that is lost no longer returns it
    info[_NOTED] = noted
    try:
        yield noted
    finally:
        info.pop(_NOTED, None)


async def _note(
    connection: AsyncConnection, tenant: Tenant, noted: dict[UUID, SalienceBefore], records: Sequence[UUID]
) -> None:
    rows = await fetch(connection, "fetch_salience_events", tenant=tenant.id, ids=list(records)) if records else ()
    for row in rows:
        noted[row["id"]] = SalienceBefore(s=row["s"], t0=row["t0"], last_reinforced_at=row["last_reinforced_at"])
