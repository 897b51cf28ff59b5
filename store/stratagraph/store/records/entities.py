"""Finding the entity that is meant, or making it: exactly one per identifier or name, however many ask at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy import select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.tenancy import Caller, Tenant
from stratagraph.store.model.canonical import keyed_hash, normalised_name
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.ids import new_id
from stratagraph.store.postgres import tables
from stratagraph.store.postgres.bulk import insert_rows
from stratagraph.store.postgres.queries import fetch

IDENTIFIER, NAME, ALIAS = 1, 2, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """Something named in a capture, to be resolved within one scope and up to one sensitivity."""

    name: str
    scope: int
    sensitivity: int
    type: str | None = None
    identifiers: tuple[tuple[str, str], ...] = ()
    aliases: tuple[str, ...] = ()
    known_only: bool = field(default=False)  # link if there is such an entity, but do not make one


@dataclass(frozen=True, slots=True)
class Term:
    key: bytes
    kind: int


@dataclass(slots=True)
class Resolution:
    """Which entity each mention means, and which of them have to be written because nobody knew them."""

    entities: dict[Mention, UUID]
    new: dict[UUID, Mention]


def name_key(tenant: Tenant, name: str) -> bytes:
    return keyed_hash(tenant.index_key, "name", normalised_name(name).encode())


def identifier_key(tenant: Tenant, namespace: str, value: str) -> bytes:
    return keyed_hash(tenant.index_key, "identifier", f"{namespace}\x00{value}".encode())


def terms_of(tenant: Tenant, mention: Mention) -> list[Term]:
    """All that a mention is known by; the first is the one that decides who it is."""
    found = [Term(identifier_key(tenant, *identifier), IDENTIFIER) for identifier in mention.identifiers]
    found.append(Term(name_key(tenant, mention.name), NAME))
    found.extend(Term(name_key(tenant, alias), ALIAS) for alias in mention.aliases)
    return list({term.key: term for term in reversed(found)}.values())[::-1]


async def resolve(
    connection: AsyncConnection, tenant: Tenant, mentions: Iterable[Mention], *, unscoped: int | None
) -> Resolution:
    """Find each mention's entity: by identifier, then name or alias in its scope, then unscoped; else claim it new.

    A new entity's record must be written in this transaction. Of two transactions that claim the same term, the
    second waits for the first and then finds it.
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
    """One sorted statement claims all terms; an entity is ours if its deciding term was won."""
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
    won = await insert_rows(
        connection,
        tables.entity_term,
        [rows[key] for key in sorted(rows)],
        suffix="ON CONFLICT (tenant, scope, sensitivity, term_key) WHERE claimed DO NOTHING"
        " RETURNING term_key, scope, sensitivity, entity",
    )
    mine = {(row.scope, row.sensitivity, bytes(row.term_key)): row.entity for row in won}
    lost: list[UUID] = []
    unclaimed: list[dict[str, Any]] = []
    for mention, terms in missing.items():
        entity = candidates[mention]
        held = [mine.get((mention.scope, mention.sensitivity, term.key)) == entity for term in terms]
        if not held[0]:
            lost.append(entity)
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
            for term, ours in zip(terms, held, strict=True)
            if not ours and term.kind != IDENTIFIER
        )
    if lost:  # another mention or another transaction was first: what we claimed for the loser is given up
        await connection.execute(
            tables.entity_term.delete().where(
                tables.entity_term.c.tenant == tenant.id, tables.entity_term.c.entity.in_(lost)
            )
        )
    await insert_rows(
        connection, tables.entity_term, unclaimed, suffix="ON CONFLICT (tenant, term_key, entity) DO NOTHING"
    )


async def lock_terms(connection: AsyncConnection, tenant: Tenant, entities: Collection[UUID]) -> None:
    """Lock the terms of `entities`: the first locks that a writer takes."""
    await fetch(connection, "lock_entity_terms", tenant=tenant.id, entities=list(entities))


async def rename(
    connection: AsyncConnection, tenant: Tenant, mention: Mention, entity: UUID, *, absorbed: Iterable[UUID] = ()
) -> None:
    """Let `entity` be known by just what `mention` says, and those it absorbed by nothing any more.

    Raises InvalidInput where an identifier belongs to yet another entity: the two have to be merged. A name that
    another one was first to claim is shared: both are found by it, the other is meant by it.
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
    won = await insert_rows(
        connection,
        table,
        rows,
        suffix="ON CONFLICT (tenant, scope, sensitivity, term_key) WHERE claimed DO NOTHING RETURNING term_key",
    )
    mine = {bytes(row.term_key) for row in won}
    shared = [row for row in rows if row["term_key"] not in mine]
    if any(row["kind"] == IDENTIFIER for row in shared):
        raise InvalidInput(
            "payload.identifiers: one of them belongs to another entity; merge the two instead",
            path=["payload", "identifiers"],
        )
    await insert_rows(connection, table, [{**row, "claimed": False} for row in shared])


async def find_by_names(
    connection: AsyncConnection, caller: Caller, names: Sequence[str], *, limit: int
) -> list[tuple[UUID, str]]:
    """Entities the caller may read in full whose name or alias is among `names`, with the name that matched."""
    if not names:
        return []
    by_key = {name_key(caller.tenant, name): name for name in names}
    rows = await fetch(connection, "find_entities", **caller.parameters(), keys=list(by_key), limit=limit)
    return [(row["entity"], by_key[bytes(row["term_key"])]) for row in rows]
