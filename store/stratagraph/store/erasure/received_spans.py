"""Spans that were received and may still be imported, so that an erasure must search and delete them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from typing import Any
from uuid import UUID

import orjson
from sqlalchemy import delete
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Tenant
from stratagraph.store.postgres.queries import fetch
from stratagraph.store.postgres.schema import tables
from stratagraph.store.records.received_spans import open_spans

PAGE = 100  # spans in memory at once


async def waiting_spans(connection: AsyncConnection, tenant: Tenant) -> AsyncIterator[tuple[UUID, Any]]:
    """Yield the id and the JSON of each span of a tenant, decrypted. Raises StratagraphError if one does not open."""
    after: UUID | None = None
    while rows := await fetch(connection, "fetch_waiting_spans", tenant=tenant.id, after=after, limit=PAGE):
        for row, content in zip(rows, await open_spans(tenant, rows), strict=True):
            yield row["id"], orjson.loads(content)
        after = rows[-1]["id"]


async def delete_waiting_spans(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]) -> None:
    """Delete the spans with these ids."""
    table = tables.received_span
    await connection.execute(delete(table).where(table.c.tenant == tenant.id, table.c.id.in_(list(ids))))
