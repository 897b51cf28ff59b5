"""The history of lifecycles, from which the salience of a record at a past instant is computed."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Tenant
from stratagraph.store.model.salience import Salience
from stratagraph.store.postgres.bulk import insert_rows
from stratagraph.store.postgres.schema import tables


async def insert_lifecycle_history(
    connection: AsyncConnection, tenant: Tenant, record: UUID, before: Salience, *, until: datetime
) -> None:
    """Store in the history the lifecycle that a locked record had until `until`.

    Call it before a pin, an unpin or a new lifecycle replaces `before`.
    """
    decay = before.decay
    await insert_rows(
        connection,
        tables.lifecycle_history,
        [
            {
                "tenant": tenant.id,
                "id": record,
                "to_at": until,
                "curve": int(decay.curve),
                "half_life_s": decay.half_life_s,
                "min_salience": decay.min_salience,
                "max_age_s": decay.max_age_s,
                "reinforcement_gain": decay.reinforcement_gain,
                "params": decay.params,
                "pinned": before.pinned,
                "deletion_policy": int(before.deletion_policy),
            }
        ],
    )
