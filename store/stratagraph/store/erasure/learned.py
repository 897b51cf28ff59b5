"""Skills and plans that were learned from erased episodes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Tenant
from stratagraph.store.postgres.queries import fetch, run


@dataclass(frozen=True, slots=True)
class LearnedFromRemoved:
    """What was learned from removed records: `records`, and the episodes `sources`, which no longer support them."""

    sources: frozenset[UUID] = frozenset()
    records: frozenset[UUID] = frozenset()


async def learned_from_removed(
    connection: AsyncConnection, tenant: Tenant, removed: Collection[UUID]
) -> LearnedFromRemoved:
    """Return what was learned from removed records and from episodes with one of them, as tombstones list it.

    Call it before they are marked as erased.
    """
    rows = await fetch(connection, "fetch_learned_from_removed", tenant=tenant.id, ids=list(removed)) if removed else []
    records = {id_ for row in rows for id_ in row["learned"]}
    return LearnedFromRemoved(frozenset(row["id"] for row in rows), frozenset(records))


async def derivations_between(
    connection: AsyncConnection, tenant: Tenant, sources: Collection[UUID], targets: Collection[UUID]
) -> list[UUID]:
    """Return the open relations by which `targets` were learned from `sources`."""
    if not sources or not targets:
        return []
    rows = await fetch(
        connection, "fetch_derivations_between", tenant=tenant.id, sources=list(sources), targets=list(targets)
    )
    return [row["id"] for row in rows]


async def learned_procedures(
    connection: AsyncConnection, tenant: Tenant, episodes: Collection[UUID], known: Collection[UUID] = ()
) -> set[UUID]:
    """Return all versions of the skills and plans that were learned from episodes, or that are among `known`."""
    if not episodes and not known:
        return set()
    rows = await fetch(connection, "fetch_learned_procedures", tenant=tenant.id, ids=list(episodes), known=list(known))
    return {row["id"] for row in rows}


async def copy_terms_to_history(connection: AsyncConnection, tenant: Tenant, procedures: Collection[UUID]) -> None:
    """Let the earlier contents of rewritten records have their current search terms."""
    if procedures:
        await run(connection, "copy_procedure_terms_to_history", tenant=tenant.id, ids=list(procedures))
