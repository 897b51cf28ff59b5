"""Resolve mentions to entities: find the entity of an identifier or name, or create exactly one under concurrency."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy import select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Caller, Tenant
from stratagraph.store.model.canonical import keyed_hash, normalised_name
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.ids import new_id
from stratagraph.store.postgres import tables
from stratagraph.store.postgres.bulk import insert_rows
from stratagraph.store.postgres.queries import fetch

IDENTIFIER, NAME, ALIAS = 1, 2, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A name in a capture that is to be resolved to an entity.

    `scope` and `sensitivity` are those of the capture: only an entity of this scope, or an unscoped one, with at most
    this sensitivity is found. `identifiers` are (namespace, value). With `known_only`, no entity is created.
    """

    name: str
    scope: int
    sensitivity: int
    type: str | None = None
    identifiers: tuple[tuple[str, str], ...] = ()
    aliases: tuple[str, ...] = ()
    known_only: bool = field(default=False)


@dataclass(frozen=True, slots=True)
class Term:
    """A keyed hash by which an entity is found; `kind` is IDENTIFIER, NAME or ALIAS."""

    key: bytes
    kind: int


@dataclass(slots=True)
class Resolution:
    """The result of resolving mentions: the entity of each, and the new entities with the mention that created each.

    The caller must still insert the records of new entities. A mention that resolved to none is not in `entities`.
    """

    entities: dict[Mention, UUID]
    new: dict[UUID, Mention]


def name_key(tenant: Tenant, name: str) -> bytes:
    """Return the keyed hash of a name or alias, normalised first, so that spellings that differ in case are equal."""
    return keyed_hash(tenant.index_key, "name", normalised_name(name).encode())


def identifier_key(tenant: Tenant, namespace: str, value: str) -> bytes:
    """Return the keyed hash of an identifier in its namespace."""
    return keyed_hash(tenant.index_key, "identifier", f"{namespace}\x00{value}".encode())


def terms_of(tenant: Tenant, mention: Mention) -> list[Term]:
    """Return the distinct terms of a mention: identifiers, name, aliases. The first decides who claims an entity."""
    found = [Term(identifier_key(tenant, *identifier), IDENTIFIER) for identifier in mention.identifiers]
    found.append(Term(name_key(tenant, mention.name), NAME))
    found.extend(Term(name_key(tenant, alias), ALIAS) for alias in mention.aliases)
    return list({term.key: term for term in reversed(found)}.values())[::-1]


async def resolve(
    connection: AsyncConnection, tenant: Tenant, mentions: Iterable[Mention], *, unscoped: int | None
) -> Resolution:
    """Find the entity of each mention, and claim the terms of a new entity for each mention that has none.

    An entity is found by identifier, then by name or alias, first in the mention's scope and then among unscoped
    entities; `unscoped` is the number of the scope `""`, None if it has none yet. The record of a new entity must be
    inserted in the same transaction. If two transactions claim the same term, the second waits for the first to commit
    and then finds its entity.
    """
    wanted = {mention: terms_of(tenant, mention) for mention in mentions}
    resolution = Resolution({}, {})
    if not wanted:
        return resolution
    await _find(connection, tenant, wanted, resolution, unscoped)
    missing = {m: t for m, t in wanted.items() if m not in resolution.entities and not m.known_only}
    if missing:
        await _claim(connection, tenant, missing, resolution)
        await _find(connection, tenant, {m: t for m, t in missing.items() if m not in resolution.entities},
                    resolution, unscoped)  # fmt: skip
    return resolution


async def _find(
    connection: AsyncConnection,
    tenant: Tenant,
    wanted: dict[Mention, list[Term]],
    resolution: Resolution,
    unscoped: int | None,
) -> None:
    keys = list({term.key for terms in wanted.values() for term in terms})
    if not keys:
        return
    table = tables.entity_term
    rows = await connection.execute(
        select(
            table.c.term_key, table.c.entity, table.c.scope, table.c.sensitivity, table.c.kind, table.c.claimed
        ).where(table.c.tenant == tenant.id, table.c.term_key == text("ANY(:keys)").bindparams(keys=keys))
    )
    by_key: dict[bytes, list[Any]] = {}
    for row in rows:
        by_key.setdefault(bytes(row.term_key), []).append(row)
    for mention, terms in wanted.items():
        fit = [
            (order, row.scope != mention.scope, -row.sensitivity, not row.claimed, row.entity)
            for order, term in enumerate(terms)
            for row in by_key.get(term.key, ())
            if row.scope in (mention.scope, unscoped) and row.sensitivity <= mention.sensitivity
        ]
        if fit:
            resolution.entities[mention] = min(fit)[-1]


async def _claim(
    connection: AsyncConnection, tenant: Tenant, missing: dict[Mention, list[Term]], resolution: Resolution
) -> None:
    """Claim all terms in one sorted statement. A new entity exists if the claim of its deciding term succeeded."""
    candidates = {mention: new_id() for mention in missing}
    rows: dict[tuple[int, int, bytes], dict[str, Any]] = {}
    for mention, terms in missing.items():
        for term in terms:
            rows.setdefault(
                (mention.scope, mention.sensitivity, term.key),
                {
                    "tenant": tenant.id,
                    "term_key": term.key,
                    "entity": candidates[mention],
                    "scope": mention.scope,
                    "sensitivity": mention.sensitivity,
                    "kind": term.kind,
                    "claimed": True,
                },
            )
    claimed = await insert_rows(
        connection,
        tables.entity_term,
        [rows[key] for key in sorted(rows)],
        suffix="ON CONFLICT (tenant, scope, sensitivity, term_key) WHERE claimed DO NOTHING"
        " RETURNING term_key, scope, sensitivity, entity",
    )
    claimed_by = {(row.scope, row.sensitivity, bytes(row.term_key)): row.entity for row in claimed}
    rejected: list[UUID] = []
    unclaimed: list[dict[str, Any]] = []
    for mention, terms in missing.items():
        entity = candidates[mention]
        is_claimed = [claimed_by.get((mention.scope, mention.sensitivity, term.key)) == entity for term in terms]
        if not is_claimed[0]:
            rejected.append(entity)
            continue
        resolution.entities[mention] = entity
        resolution.new[entity] = mention
        unclaimed.extend(
            {
                **rows[mention.scope, mention.sensitivity, term.key],
                "entity": entity,
                "kind": term.kind,
                "claimed": False,
            }
            for term, claimed_here in zip(terms, is_claimed, strict=True)
            if not claimed_here and term.kind != IDENTIFIER
        )
    if rejected:  # another mention or transaction has claimed the deciding term: delete the other terms claimed with it
        await connection.execute(
            tables.entity_term.delete().where(
                tables.entity_term.c.tenant == tenant.id, tables.entity_term.c.entity.in_(rejected)
            )
        )
    await insert_rows(
        connection, tables.entity_term, unclaimed, suffix="ON CONFLICT (tenant, term_key, entity) DO NOTHING"
    )


async def lock_terms(connection: AsyncConnection, tenant: Tenant, entities: Collection[UUID]) -> None:
    """Lock the rows of all terms of `entities`. A writing transaction takes these locks before all others."""
    await fetch(connection, "lock_entity_terms", tenant=tenant.id, entities=list(entities))


async def replace_terms(
    connection: AsyncConnection, tenant: Tenant, mention: Mention, entity: UUID, *, absorbed: Iterable[UUID] = ()
) -> None:
    """Replace all terms of `entity` by those of `mention`, and delete the terms of the entities it absorbed.

    Raises InvalidInput if one of the identifiers belongs to another entity; the two must be merged. If another entity
    has claimed a name already, both have it: a search by name finds both, while a mention resolves to the other one.
    """
    former = [entity, *absorbed]
    await lock_terms(connection, tenant, former)
    table = tables.entity_term
    await connection.execute(table.delete().where(table.c.tenant == tenant.id, table.c.entity.in_(former)))
    rows = [
        {
            "tenant": tenant.id,
            "term_key": term.key,
            "entity": entity,
            "scope": mention.scope,
            "sensitivity": mention.sensitivity,
            "kind": term.kind,
            "claimed": True,
        }
        for term in sorted(terms_of(tenant, mention), key=lambda term: term.key)
    ]
    claimed = await insert_rows(
        connection,
        table,
        rows,
        suffix="ON CONFLICT (tenant, scope, sensitivity, term_key) WHERE claimed DO NOTHING RETURNING term_key",
    )
    claimed_keys = {bytes(row.term_key) for row in claimed}
    shared = [row for row in rows if row["term_key"] not in claimed_keys]
    if any(row["kind"] == IDENTIFIER for row in shared):
        raise InvalidInput(
            "payload.identifiers: one of them belongs to another entity; remove it, or merge the two entities",
            path=["payload", "identifiers"],
        )
    await insert_rows(connection, table, [{**row, "claimed": False} for row in shared])


async def find_entities_by_name(
    connection: AsyncConnection, caller: Caller, names: Sequence[str], *, limit: int
) -> list[tuple[UUID, str]]:
    """Return at most `limit` entities whose name or alias is in `names`, each with the name that matched.

    Only current entities that the caller may read in full are returned.
    """
    if not names:
        return []
    by_key = {name_key(caller.tenant, name): name for name in names}
    rows = await fetch(connection, "find_entities", **caller.parameters(), keys=list(by_key), limit=limit)
    return [(row["entity"], by_key[bytes(row["term_key"])]) for row in rows]
