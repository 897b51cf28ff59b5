"""The identities of an entity, and the records linked to it."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Tenant
from stratagraph.store.postgres.queries import fetch


async def merged_entities(connection: AsyncConnection, tenant: Tenant, entity: UUID) -> set[UUID]:
    """Return the ids of the entity, of all entities merged into it, and of those into which it was merged.

    The set is empty if `entity` is not the id of an entity.
    """
    return {row["id"] for row in await fetch(connection, "fetch_merged_entities", tenant=tenant.id, id=entity)}


async def linked_records(connection: AsyncConnection, tenant: Tenant, entities: Collection[UUID]) -> set[UUID]:
    """Return the ids of all records with a relation to or from one of `entities`.

    An entity that is only the target of such a relation is left out: the relation names it and says nothing more.
    """
    rows = await fetch(connection, "fetch_linked_records", tenant=tenant.id, ids=list(entities))
    return {row["id"] for row in rows}
