"""Entities of one scope and sensitivity that have the same name."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Tenant
from stratagraph.store.learning.groups import Group
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.postgres.queries import fetch


async def find_namesakes(
    connection: AsyncConnection, tenant: Tenant, entities: Collection[UUID], *, most: int
) -> list[tuple[Group, list[UUID]]]:
    """Return the current entities whose own name is that of one of `entities`, by name, the oldest first.

    Of one name the first `most` are returned; names of one entity alone are left out.
    """
    rows = await fetch(connection, "find_namesakes", tenant=tenant.id, entities=sorted(entities), most=most)
    return [(Group(tenant.id, row["scope"], Sensitivity(row["sensitivity"])), row["ids"]) for row in rows]
