"""The queue of entities whose names earlier records may hold: a job links these records to the entity."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Tenant
from stratagraph.store.postgres.bulk import array_literal, insert_rows
from stratagraph.store.postgres.queries import fetch, run
from stratagraph.store.postgres.schema import tables


async def insert_link_requests(
    connection: AsyncConnection, tenant: Tenant, entities: Collection[UUID], *, at: datetime
) -> None:
    """Queue entities that have new names. Their records must have been inserted; those queued already are skipped."""
    await insert_rows(
        connection,
        tables.link_request,
        [{"tenant": tenant.id, "entity": id_, "queued_at": at, "next_try_at": at} for id_ in sorted(entities)],
        suffix="ON CONFLICT (tenant, entity) DO NOTHING",
    )


async def lock_link_requests(connection: AsyncConnection, *, now: datetime, limit: int) -> list[tuple[int, UUID]]:
    """Lock at most `limit` queued entities that are due, the oldest first; return them as (tenant, entity).

    Entries that another transaction has locked are skipped.
    """
    rows = await fetch(connection, "lock_link_requests", now=now, limit=limit)
    return [(row["tenant"], row["entity"]) for row in rows]


async def count_link_requests(connection: AsyncConnection, *, now: datetime, most: int) -> int:
    """Return the number of queued entities that are due, at most `most`."""
    return int((await fetch(connection, "count_link_requests", now=now, most=most))[0]["n"])


async def delete_link_requests(connection: AsyncConnection, tenant: Tenant, entities: Sequence[UUID]) -> None:
    """Delete the queue's entries of entities whose names have been looked for."""
    await run(connection, "delete_link_requests", tenant=tenant.id, entities=list(entities))


async def postpone_link_request(
    connection: AsyncConnection, tenant: Tenant, entity: UUID, *, next_try_at: datetime
) -> None:
    """Set the instant of the next attempt to link records to an entity, after one that failed."""
    await run(connection, "postpone_link_request", tenant=tenant.id, entity=entity, next_try_at=next_try_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedTerms:
    """The terms of a name that records are searched for, and which of these records may link to `entity`.

    They are in `scope`, or in any scope for None, and have at least `least_sensitivity`.
    """

    terms: Sequence[int]
    scope: int | None
    least_sensitivity: int
    entity: UUID


async def find_records_with_terms(
    connection: AsyncConnection, tenant: Tenant, wanted: Sequence[WantedTerms], *, most: int
) -> list[tuple[WantedTerms, dict[tuple[int, int], list[UUID]]]]:
    """Return the current records, other than entities, that have all of the terms, for each of `wanted` that has any.

    They are keyed by (scope, sensitivity). Of each the newest `most` are returned, so that they do not depend on
    records that their readers may not see. Records that refer to `entity` are left out, except facts.
    """
    if not wanted:
        return []
    rows = await fetch(
        connection,
        "find_records_with_terms",
        tenant=tenant.id,
        numbers=list(range(len(wanted))),
        terms=[array_literal(one.terms) for one in wanted],
        scopes=[one.scope for one in wanted],
        least_sensitivities=[one.least_sensitivity for one in wanted],
        entities=[one.entity for one in wanted],
        most=most,
    )
    found: dict[int, dict[tuple[int, int], list[UUID]]] = {}
    for row in rows:
        found.setdefault(row["number"], {})[row["scope"], row["sensitivity"]] = row["ids"]
    return [(wanted[number], records) for number, records in sorted(found.items())]
