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

from stratagraph.store.keys.tenancy import Tenant
from stratagraph.store.model.enums import RecordState
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.postgres.queries import fetch

MAX_DOWNSTREAM = 1_000  # derivations looked at in one transaction; the rest is queued


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a record stands: all it rests on, what of that holds nothing any more, and whether it is disputed."""

    grounds: frozenset[UUID | str]
    lapsed: frozenset[UUID | str]
    disputed: bool

    @property
    def holding(self) -> frozenset[UUID | str]:
        return self.grounds - self.lapsed

    def verdict(self, state: RecordState, *, is_held: bool) -> RecordState:
        """The state it should have. Only doubt comes and goes by itself: what was withdrawn stays withdrawn."""
        if state is RecordState.ACTIVE and (self.disputed or not is_held):
            return RecordState.CONTESTED
        if state is RecordState.CONTESTED and is_held and not self.disputed:
            return RecordState.ACTIVE
        return state


async def downstream(
    connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID], *, limit: int = MAX_DOWNSTREAM
) -> dict[UUID, frozenset[UUID]]:
    """Current records derived from `ids`, directly or not, with what leads to each; at most `limit` edges."""
    if not ids:
        return {}
    rows = await fetch(connection, "fetch_downstream", tenant=tenant.id, ids=list(ids), limit=limit)
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
    above = {row["id"]: set(row["sources"]) for row in await fetch(connection, "sources_of", tenant=tenant.id, ids=ids)}
    grounds = {id_: (references(record.provenance) | above.get(id_, set())) - {id_} for id_, record in records.items()}
    inside = {ref for refs in grounds.values() for ref in refs if isinstance(ref, UUID)}
    rows = await fetch(connection, "invalid_references", tenant=tenant.id, ids=list(inside))
    lapsed = {row["id"] for row in rows} | set(without)
    disputed = {row["id"] for row in await fetch(connection, "disputed_records", tenant=tenant.id, ids=ids)}
    return {
        id_: Standing(grounds=frozenset(refs), lapsed=frozenset(refs & lapsed), disputed=id_ in disputed)
        for id_, refs in grounds.items()
    }


def references(provenance: Mapping[str, Any] | None) -> set[UUID | str]:
    """What a provenance names: records by their id, all else by its ref."""
    return {_reference(source["ref"]) for source in (provenance or {}).get("sources", ())}


def _reference(ref: str) -> UUID | str:
    try:
        return UUID(ref)
    except ValueError:
        return ref
