"""What a record rests on, and what becomes of it when that no longer holds (SPEC §5).

A record rests on the records it was derived from and on the sources its provenance names. A source outside the store
holds for ever; a record holds while it is active; one that was merely forgotten (pruned) held when it was learned
from, so it still does. What has nothing left to rest on is contested, not silently kept, and is active again once
something holds it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.database import fetch
from stratagraph.store.enums import RecordState
from stratagraph.store.records import MemoryRecord
from stratagraph.store.tenancy import Tenant

MAX_DOWNSTREAM = 1_000  # derivations looked at in one transaction; the rest is queued


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a record stands: what still holds it, and whether another record contests it."""

    holding: frozenset[UUID | str]
    disputed: bool

    def verdict(self, state: RecordState) -> RecordState:
        """The state it should have. Only doubt comes and goes by itself: what was withdrawn stays withdrawn."""
        if state is RecordState.ACTIVE and (self.disputed or not self.holding):
            return RecordState.CONTESTED
        if state is RecordState.CONTESTED and self.holding and not self.disputed:
            return RecordState.ACTIVE
        return state


async def downstream(
    connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID], *, limit: int = MAX_DOWNSTREAM
) -> dict[UUID, frozenset[UUID]]:
    """Current records derived from `ids`, directly or not, with what leads to each; at most `limit` edges."""
    if not ids:
        return {}
    rows = await fetch(connection, "downstream", tenant=tenant.id, ids=list(ids), limit=limit)
    return {row["id"]: frozenset(row["sources"]) for row in rows}


async def direct_dependents(
    connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID], *, known: Collection[UUID], limit: int
) -> list[UUID]:
    """Current records derived directly from `ids`, those in `known` apart, in order, at most `limit`."""
    if not ids:
        return []
    rows = await fetch(connection, "direct_dependents", tenant=tenant.id, ids=list(ids), known=list(known), limit=limit)
    return [row["id"] for row in rows]


async def standings(
    connection: AsyncConnection,
    tenant: Tenant,
    records: Mapping[UUID, MemoryRecord],
    *,
    without: Collection[UUID] = (),
) -> dict[UUID, Standing]:
    """How each of `records` (whole ones) stands, if `without` were gone. Three statements for any number."""
    if not records:
        return {}
    ids = list(records)
    live = {
        row["id"]: set(row["sources"]) for row in await fetch(connection, "live_sources", tenant=tenant.id, ids=ids)
    }
    named = {id_: references(record.provenance) for id_, record in records.items()}
    inside = [ref for refs in named.values() for ref in refs if isinstance(ref, UUID)]
    lapsed = {row["id"] for row in await fetch(connection, "lapsed_references", tenant=tenant.id, ids=inside)}
    disputed = {row["id"] for row in await fetch(connection, "disputed", tenant=tenant.id, ids=ids)}
    gone = lapsed | set(without)
    return {
        id_: Standing(holding=frozenset((named[id_] | live.get(id_, set())) - gone - {id_}), disputed=id_ in disputed)
        for id_ in ids
    }


def references(provenance: Mapping[str, Any] | None) -> set[UUID | str]:
    """What a provenance names: records by their id, all else by its ref."""
    return {_reference(source["ref"]) for source in (provenance or {}).get("sources", ())}


def _reference(ref: str) -> UUID | str:
    try:
        return UUID(ref)
    except ValueError:
        return ref
