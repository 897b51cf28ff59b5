"""Look-ups of identifiers of entities."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Tenant
from stratagraph.store.postgres.queries import fetch
from stratagraph.store.records.entities import identifier_term


async def find_known_identifiers(
    connection: AsyncConnection, tenant: Tenant, scopes: Collection[int], identifiers: Collection[tuple[str, str]]
) -> set[tuple[str, str]]:
    """Return those of `identifiers`, as (namespace, value), that an entity has in one of `scopes`."""
    if not identifiers:
        return set()
    keys = {identifier_term(tenant, *identifier).key: identifier for identifier in identifiers}
    rows = await fetch(connection, "find_known_identifiers", tenant=tenant.id, keys=list(keys), scopes=sorted(scopes))
    return {keys[bytes(row["term_key"])] for row in rows}
