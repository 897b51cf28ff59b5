"""The support of records: the sources they rest on, which of those are invalid, and the state that follows.

A record rests on the records it was derived from and on the sources that its provenance names. A source outside the
store is always valid. A source record is valid while it is active. A source record that a reader of the derived record
might not see, since it is more sensitive or in another scope, counts as outside the store: otherwise its state, or
whether it exists, could be inferred from the state of what names it. A pruned record was valid when something was
learned from it, so it stays valid; a deleted or erased one does not. A record without a valid source becomes contested
instead of staying active silently, and becomes active again once a source is valid. See docs/specification.md,
Revision.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Caller, Tenant
from stratagraph.store.model.enums import RecordState
from stratagraph.store.model.predicates import DERIVATIONS
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.postgres.queries import fetch

MAX_DOWNSTREAM = 1_000  # derivations read in one transaction; the remaining ones are queued


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """The sources of one record, those of them that are invalid, and whether an open dispute involves the record."""

    sources: frozenset[UUID | str]
    invalid: frozenset[UUID | str]
    disputed: bool

    @property
    def valid(self) -> frozenset[UUID | str]:
        """The sources that still support the record."""
        return self.sources - self.invalid

    def next_state(self, state: RecordState, *, is_supported: bool) -> RecordState:
        """Return the state that a record in `state` should have.

        Only ACTIVE and CONTESTED follow from the support; a superseded or retracted record stays so.
        """
        if state is RecordState.ACTIVE and (self.disputed or not is_supported):
            return RecordState.CONTESTED
        if state is RecordState.CONTESTED and is_supported and not self.disputed:
            return RecordState.ACTIVE
        return state


async def fetch_downstream(
    connection: AsyncConnection, caller: Caller, ids: Collection[UUID], *, limit: int = MAX_DOWNSTREAM
) -> dict[UUID, frozenset[UUID]]:
    """Return the current records derived from `ids`, directly or through others, found over at most `limit` relations.

    Only records that `caller` may read in full, through records of that kind. Keyed by id; the value has the direct
    sources of the record that are in `ids` or were themselves derived from them.
    """
    if not ids:
        return {}
    rows = await fetch(
        connection,
        "fetch_downstream",
        **caller.parameters(),
        ids=list(ids),
        derivations=sorted(DERIVATIONS),
        limit=limit,
    )
    return {row["id"]: frozenset(row["sources"]) for row in rows}


async def direct_dependents(
    connection: AsyncConnection, caller: Caller, ids: Collection[UUID], *, hidden: bool = False, limit: int
) -> list[UUID]:
    """Return the ids of at most `limit` current records derived directly from `ids`, in id order.

    They are those that `caller` may read in full; with `hidden`, the others. The two are limited apart, so that what
    the caller sees of a re-evaluation does not depend on what it may not see.
    """
    if not ids:
        return []
    rows = await fetch(
        connection,
        "direct_dependents",
        **caller.parameters(),
        ids=list(ids),
        hidden=hidden,
        derivations=sorted(DERIVATIONS),
        limit=limit,
    )
    return [row["id"] for row in rows]


async def fetch_support(
    connection: AsyncConnection,
    tenant: Tenant,
    records: Mapping[UUID, MemoryRecord],
    *,
    without: Collection[UUID] = (),
) -> dict[UUID, Support]:
    """Return the support of each record, keyed by id; the ids in `without` count as invalid sources.

    The records must not be redacted. Runs three statements, whatever the number of records.
    """
    if not records:
        return {}
    ids = list(records)
    rows = await fetch(connection, "sources_of", tenant=tenant.id, ids=ids, derivations=sorted(DERIVATIONS))
    derived_from = {row["id"]: set(row["sources"]) for row in rows}
    sources = {
        id_: (references(record.provenance) | derived_from.get(id_, set())) - {id_} for id_, record in records.items()
    }
    pairs = [(id_, ref) for id_, refs in sources.items() for ref in refs if isinstance(ref, UUID)]
    rows = await fetch(
        connection,
        "find_sources",
        tenant=tenant.id,
        ids=[id_ for id_, _ in pairs],
        sources=[ref for _, ref in pairs],
    )
    invalid = {row["source"] for row in rows if row["in_reach"] and row["is_invalid"]} | set(without)
    for row in rows:
        if not row["in_reach"]:
            sources[row["id"]] = {*(sources[row["id"]] - {row["source"]}), str(row["source"])}
    disputed = {row["id"] for row in await fetch(connection, "disputed_records", tenant=tenant.id, ids=ids)}
    return {
        id_: Support(sources=frozenset(refs), invalid=frozenset(refs & invalid), disputed=id_ in disputed)
        for id_, refs in sources.items()
    }


def references(provenance: Mapping[str, Any] | None) -> set[UUID | str]:
    """Return the sources that a provenance names: records as ids, everything else as its ref."""
    return {_reference(source["ref"]) for source in (provenance or {}).get("sources", ())}


async def rests_on(connection: AsyncConnection, tenant: Tenant, id_: UUID, sources: Collection[UUID]) -> bool:
    """Return whether a relation leads from each of `sources` to the record that was derived from it."""
    if not sources:
        return True
    rows = await fetch(
        connection,
        "count_derivations",
        tenant=tenant.id,
        id=id_,
        sources=list(sources),
        derivations=sorted(DERIVATIONS),
    )
    return int(rows[0]["sources"]) == len(set(sources))


def as_id(ref: str) -> UUID | None:
    """Return the id of the record that a reference of a provenance may name; None for another reference."""
    try:
        return UUID(ref)
    except ValueError:
        return None


def _reference(ref: str) -> UUID | str:
    return as_id(ref) or ref
