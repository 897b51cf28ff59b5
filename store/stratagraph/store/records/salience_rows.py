"""The rows of the table `salience`: the last event of each record, from which its present salience is computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Tenant
from stratagraph.store.model.salience import Salience
from stratagraph.store.postgres import tables
from stratagraph.store.postgres.bulk import insert_rows


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
