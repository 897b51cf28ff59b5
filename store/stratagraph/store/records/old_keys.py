"""Tenants whose names and facts have the keys of an earlier release, and what is needed to compute them again."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.jobs.tenant_passes import TenantPass
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.keys.sealing.contents import open_contents
from stratagraph.store.postgres import tables
from stratagraph.store.postgres.bulk import insert_rows
from stratagraph.store.postgres.queries import fetch, run
from stratagraph.store.records.fact_keys import FactKeys
from stratagraph.store.records.inserting import latest_evidence

REKEYING = TenantPass("rekey", tables.rekeying)


@dataclass(frozen=True, slots=True, kw_only=True)
class OldFact:
    """A fact that an earlier release wrote, whose parts are not yet in the table `fact`."""

    id: UUID
    scope: int
    sensitivity: int
    payload: dict[str, Any]
    provenance: dict[str, Any]
    occurred_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class FactLink:
    """An open relation of a fact to its subject or, with `is_object`, to its object."""

    relation: UUID
    fact: UUID
    entity: UUID
    is_object: bool


async def list_rekeyable(connection: AsyncConnection, tenant: Tenant, *, after: UUID | None, limit: int) -> list[UUID]:
    """Return at most `limit` ids of entities and facts above `after`, ascending."""
    rows = await fetch(connection, "list_rekeyable", tenant=tenant.id, after=after, limit=limit)
    return [row["id"] for row in rows]


async def fetch_old_facts(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]) -> list[OldFact]:
    """Return those of `ids` that are facts without a row in `fact`; sealed content is decrypted."""
    rows = await fetch(connection, "fetch_unkeyed", tenant=tenant.id, ids=list(ids))
    found = []
    for row, content in zip(rows, await open_contents(tenant.keyring, rows), strict=True):
        values: Mapping[Any, Any] = row if content is None else content
        found.append(
            OldFact(
                id=row["id"],
                scope=row["scope"],
                sensitivity=row["sensitivity"],
                payload=values["payload"],
                provenance=values["provenance"],
                occurred_at=row["occurred_at"],
            )
        )
    return found


async def fetch_fact_links(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]) -> list[FactLink]:
    """Return the open relations of facts to their subjects and objects."""
    rows = await fetch(connection, "fetch_entities_of_facts", tenant=tenant.id, ids=list(ids))
    return [
        FactLink(relation=row["id"], fact=row["source"], entity=row["target"], is_object=row["name"] == "object_entity")
        for row in rows
    ]


async def hold_records(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]) -> None:
    """Lock records against being merged or deleted until the transaction ends."""
    await run(connection, "hold_records", tenant=tenant.id, ids=list(ids))


async def insert_fact_rows(
    connection: AsyncConnection, tenant: Tenant, facts: Sequence[tuple[OldFact, FactKeys]]
) -> None:
    """Insert what identifies facts; those that have a row already are skipped."""
    await insert_rows(
        connection,
        tables.fact,
        [
            {
                "tenant": tenant.id,
                "id": fact.id,
                "subject_entity": keys.identity.subject_entity,
                "subject_key": keys.identity.subject_key,
                "subject_is_ambiguous": keys.identity.subject_is_ambiguous,
                "predicate_key": keys.identity.predicate_key,
                "object_entity": keys.identity.object_entity,
                "value_key": keys.identity.value_key,
                "stated_key": keys.identity.stated_key,
                "stated": keys.stated,
                "evidence_at": latest_evidence(fact.provenance, fact.occurred_at),
                "scope": fact.scope,
                "sensitivity": fact.sensitivity,
            }
            for fact, keys in facts
        ],
        suffix="ON CONFLICT DO NOTHING",
    )
