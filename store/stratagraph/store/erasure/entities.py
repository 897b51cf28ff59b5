"""The identities of an entity, and the records linked to it."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Tenant
from stratagraph.store.postgres.queries import fetch


async def merged_entities(connection: AsyncConnection, tenant: Tenant, entity: UUID) -> set[UUID]:
    """Return the entity and all entities merged with it, in either direction; empty if `entity` is no entity."""
    return {row["id"] for row in await fetch(connection, "fetch_merged_entities", tenant=tenant.id, id=entity)}


async def linked_records(connection: AsyncConnection, tenant: Tenant, entities: Collection[UUID]) -> set[UUID]:
    """Return all records linked to `entities`, except entities that these merely point to."""
    rows = await fetch(connection, "fetch_linked_records", tenant=tenant.id, ids=list(entities))
    return {row["id"] for row in rows}
