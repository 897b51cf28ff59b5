"""Failed captures, which are stored with their input for a retry, so that an erasure must search and delete them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import orjson
from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Tenant
from stratagraph.store.keys.sealing.contents import CANDIDATE
from stratagraph.store.keys.sealing.vault import Sealed
from stratagraph.store.model.trust import UNSCOPED
from stratagraph.store.postgres.schema import tables


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedCapture:
    """A failed capture: its input, and the name of the scope that a successful retry would write to."""

    id: UUID
    input: dict[str, Any]
    scope: str


async def failed_captures(connection: AsyncConnection, tenant: Tenant) -> list[FailedCapture]:
    """Return all failed captures of a tenant, with their input decrypted.

    Raises StratagraphError if a sealed input cannot be opened.
    """
    table, scopes, credential = tables.candidate, tables.scope, tables.credential
    rows = (
        await connection.execute(
            select(table.c.id, table.c.actor, table.c.input, table.c.sealed, scopes.c.name.label("scope"))
            .outerjoin(scopes, (scopes.c.tenant == table.c.tenant) & (scopes.c.id == table.c.scope))
            .where(table.c.tenant == tenant.id, table.c.state == "failed")
        )
    ).all()
    if not rows:
        return []
    limited = await connection.execute(
        select(credential.c.name, credential.c.scopes).where(
            credential.c.tenant == tenant.id, credential.c.all_scopes.is_(False)
        )
    )
    only_scopes = {row.name: row.scopes[0] for row in limited if len(row.scopes) == 1}
    blobs = [Sealed(id=row.id, purpose=CANDIDATE, blob=bytes(row.sealed)) for row in rows if row.sealed is not None]
    inputs = iter(await tenant.keyring.open(blobs)) if blobs else iter(())
    found = []
    for row in rows:
        sent = (row.input if row.sealed is None else orjson.loads(next(inputs))["input"]) or {}
        # Earlier releases kept no scope: a capture that names none is written to its credential's only scope, or else
        # unscoped (docs/specification.md, Capture).
        scope = row.scope if row.scope is not None else sent.get("scope")
        if scope is None:
            scope = only_scopes.get(row.actor, UNSCOPED)
        found.append(FailedCapture(id=row.id, input=sent, scope=scope))
    return found


async def delete_failed_captures(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]) -> int:
    """Delete the captures with these ids; return the number deleted. Ids that do not exist are skipped."""
    table = tables.candidate
    statement = delete(table).where(table.c.tenant == tenant.id, table.c.id.in_(list(ids)))
    return (await connection.execute(statement)).rowcount
