"""The registered predicates of facts: the built-in ones, and those that a tenant registered instead or in addition."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Tenant
from stratagraph.store.model.fact_predicates import BUILT_IN, UNKNOWN, FactPredicate
from stratagraph.store.postgres.queries import fetch
from stratagraph.store.postgres.schema import tables


async def registered(connection: AsyncConnection, tenant: Tenant, names: Collection[str]) -> dict[str, FactPredicate]:
    """Return what is registered for each of `names`, keyed by name; UNKNOWN for a name that is not registered.

    A tenant's row replaces the built-in entry of the same predicate.
    """
    if not names:
        return {}
    own = await registered_by(connection, tenant, names)
    return {name: own.get(name) or BUILT_IN.get(name, UNKNOWN) for name in names}


async def registered_by(
    connection: AsyncConnection, tenant: Tenant, names: Collection[str] | None = None
) -> dict[str, FactPredicate]:
    """Return the tenant's own registrations of `names`, or all of them for None, keyed by name."""
    wanted = None if names is None else sorted(set(names))
    return {
        row["predicate"]: FactPredicate(single_valued=row["single_valued"], object_kind=row["object_kind"])
        for row in await fetch(connection, "fetch_fact_predicates", tenant=tenant.id, names=wanted)
    }


async def single_valued_predicates(connection: AsyncConnection, tenant: Tenant) -> set[str]:
    """Return the predicates whose new slots begin as single-valued."""
    known = BUILT_IN | await registered_by(connection, tenant)
    return {name for name, predicate in known.items() if predicate.single_valued}


async def register(connection: AsyncConnection, tenant: Tenant, name: str, predicate: FactPredicate) -> None:
    """Store the tenant's registration of a predicate, replacing an earlier one."""
    values = {"single_valued": predicate.single_valued, "object_kind": predicate.object_kind}
    await connection.execute(
        insert(tables.fact_predicate)
        .values(tenant=tenant.id, predicate=name, **values)
        .on_conflict_do_update(index_elements=["tenant", "predicate"], set_=values)
    )
