"""The terms by which entities are found: read for the mentions of a request, locked, and written."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Caller, Tenant
from stratagraph.store.model.canonical import keyed_hash, normalised_identifier, normalised_name
from stratagraph.store.model.entity_kinds import KIND_OF, excluded_by, folded_type
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.postgres.bulk import array_literal, insert_rows
from stratagraph.store.postgres.queries import Row, fetch, fetch_together, run, sending
from stratagraph.store.postgres.schema import tables
from stratagraph.store.records.name_index import (
    ALIAS,
    IDENTIFIER,
    NAME,
    TYPE,
    KnownEntity,
    MentionKeys,
    NameIndex,
    Term,
)

NAMESAKES = 64  # entities read for one name, the oldest; more of them are as ambiguous
_BUCKETS = 512  # locks of a tenant's names, so that a large request holds a bounded number of them
_LOCK_SPACE = 0x5347 << 48  # keeps these advisory locks apart from others


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A name in a capture that is to be resolved to an entity.

    `scope` and `sensitivity` are those of the capture: only an entity of this scope, or an unscoped one, with at most
    this sensitivity is found. `identifiers` are (namespace, value). With `known_only`, no entity is created. With
    `states_type`, what has other types is something else; otherwise a type is a hint.
    """

    name: str
    scope: int
    sensitivity: int
    type: str | None = None
    types: tuple[str, ...] = ()
    identifiers: tuple[tuple[str, str], ...] = ()
    aliases: tuple[str, ...] = ()
    known_only: bool = False
    states_type: bool = False

    def keys(self, tenant: Tenant, unscoped: int) -> MentionKeys:
        """Return the mention as keyed hashes; `unscoped` is the number of the scope `""`."""
        excluded, compatible = _kinds(tenant.index_key, folded_type(self.type))
        return MentionKeys(
            scope=self.scope,
            unscoped=unscoped,
            sensitivity=self.sensitivity,
            name=Term(name_key(tenant, self.name), NAME),
            identifiers=tuple(identifier_term(tenant, *identifier) for identifier in self.identifiers),
            aliases=tuple(Term(name_key(tenant, alias), ALIAS) for alias in self.aliases),
            type=type_term(tenant, self.type),
            excluded=excluded,
            compatible=compatible,
            states_type=self.states_type,
        )


def name_key(tenant: Tenant, name: str) -> bytes:
    """Return the keyed hash of a name or alias, equal for all spellings of which `normalised_name` makes one."""
    return keyed_hash(tenant.index_key, "name", normalised_name(name).encode())


def identifier_term(tenant: Tenant, namespace: str, value: str) -> Term:
    """Return the term of an identifier. Namespaces, and the values of `email`, are compared without case."""
    space, exact = normalised_identifier(namespace, value)
    return Term(
        keyed_hash(tenant.index_key, "identifier", f"{space}\x00{exact}".encode()),
        IDENTIFIER,
        keyed_hash(tenant.index_key, "namespace", space.encode()),
    )


def type_term(tenant: Tenant, name: str | None) -> Term | None:
    """Return the term of an entity type; None for no type, and for `Other`, which says nothing."""
    folded = folded_type(name)
    return None if folded is None else Term(_type_key(tenant.index_key, folded), TYPE)


def _type_key(index_key: bytes, folded: str) -> bytes:
    return keyed_hash(index_key, "type", folded.encode())


@lru_cache(maxsize=2_000)
def _kinds(index_key: bytes, folded: str | None) -> tuple[frozenset[bytes], frozenset[bytes]]:
    """Return the keys of the types that a type excludes, and of the others that tell a kind; none if it has no kind."""
    excluded = excluded_by(folded) if folded is not None else frozenset()
    compatible = KIND_OF.keys() - excluded if excluded else ()
    return (
        frozenset(_type_key(index_key, one) for one in excluded),
        frozenset(_type_key(index_key, one) for one in compatible),
    )


def terms_of(tenant: Tenant, mention: Mention) -> list[Term]:
    """Return the terms of an entity with the names, identifiers and types of a mention, each once."""
    keys = mention.keys(tenant, mention.scope)
    more = [term for name in mention.types if (term := type_term(tenant, name)) is not None]
    return list(dict.fromkeys([*keys.terms, *more]))


async def read_names(connection: AsyncConnection, tenant: Tenant, mentions: Collection[MentionKeys]) -> NameIndex:
    """Return the current entities that have a name or an identifier of one of the mentions, with all their terms."""
    return index_of_names(await find_names(connection, tenant, mentions))


async def find_names(
    connection: AsyncConnection, tenant: Tenant, mentions: Collection[MentionKeys]
) -> list[dict[str, Any]]:
    """Return the terms of the current entities that have a name or an identifier of one of the mentions, as rows.

    Of the entities of one name that a mention may mean, the oldest NAMESAKES are read. Equal rows in two answers mean
    that nothing has changed between them. Runs one statement.
    """
    keys = {(term.key, mention.sensitivity) for mention in mentions for term in mention.terms if term.kind != TYPE}
    scopes = {scope for mention in mentions for scope in (mention.scope, mention.unscoped)}
    if not keys:
        return []
    return await fetch(
        connection,
        "find_named_entities",
        tenant=tenant.id,
        keys=[key for key, _ in keys],
        sensitivities=[sensitivity for _, sensitivity in keys],
        scopes=list(scopes),
        most=NAMESAKES,
    )


def index_of_names(rows: Iterable[Row]) -> NameIndex:
    """Return the entities whose terms are `rows`."""
    found: dict[UUID, KnownEntity] = {}
    for row in rows:
        entity = found.setdefault(
            row["entity"], KnownEntity(row["entity"], row["entity_scope"], row["entity_sensitivity"])
        )
        entity.terms[Term(row["term_key"], row["kind"], row["namespace_key"]), row["scope"], row["sensitivity"]] = None
    return NameIndex(found.values())


async def lock_names(connection: AsyncConnection, tenant: Tenant, keys: Iterable[bytes]) -> None:
    """Lock names and identifiers for the rest of the transaction, so that no other one creates their entity as well.

    The locks are shared out by hash among _BUCKETS per tenant, and are taken in order.
    """
    buckets = sorted({int.from_bytes(key[:8], "big") % _BUCKETS for key in keys})
    if buckets:
        space = _LOCK_SPACE | (tenant.id & 0xFFFFFFFF) << 16
        await run(connection, "lock_names", locks=[space | bucket for bucket in buckets])


async def hold_entities(
    connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID], *, taught: Collection[UUID]
) -> bool:
    """Lock entities against being merged or withdrawn until the transaction ends; those in `taught` also for changes.

    Returns False if one of them is no longer current.
    """
    if not ids:
        return True
    named = sorted(set(ids) - set(taught))
    held = await fetch(connection, "hold_entities", tenant=tenant.id, ids=named) if named else []
    changing = await fetch(connection, "lock_taught_entities", tenant=tenant.id, ids=sorted(taught)) if taught else []
    return len(held) + len(changing) == len({*ids, *taught})


async def insert_terms(
    connection: AsyncConnection, tenant: Tenant, terms: Iterable[tuple[UUID, Term, int, int]]
) -> None:
    """Insert terms as (entity, term, scope, sensitivity); existing ones, and taken identifiers, are skipped."""
    rows = [
        {
            "tenant": tenant.id,
            "term_key": term.key,
            "entity": entity,
            "scope": scope,
            "sensitivity": sensitivity,
            "kind": term.kind,
            "namespace_key": term.namespace,
        }
        for entity, term, scope, sensitivity in terms
    ]
    rows.sort(key=lambda row: (row["scope"], row["sensitivity"], row["term_key"], row["entity"]))
    await insert_rows(connection, tables.entity_term, rows, suffix="ON CONFLICT DO NOTHING")


async def lock_terms(connection: AsyncConnection, tenant: Tenant, entities: Collection[UUID]) -> None:
    """Lock the rows of all terms of `entities`. A writing transaction takes these locks before all others."""
    await fetch(connection, "lock_entity_terms", tenant=tenant.id, entities=list(entities))


async def delete_terms(connection: AsyncConnection, tenant: Tenant, entities: Collection[UUID]) -> None:
    """Delete all terms of `entities`, which are no longer current, so that their names and identifiers are free."""
    await run(connection, "delete_entity_terms", tenant=tenant.id, entities=list(entities))


async def replace_terms(
    connection: AsyncConnection, tenant: Tenant, mention: Mention, entity: UUID, *, skip_taken: bool = False
) -> None:
    """Replace the terms that `entity` has at its own scope and sensitivity, those of `mention`, by the mention's.

    Terms that captures of other scopes or sensitivities taught are kept. Raises InvalidInput if one of the identifiers
    belongs to another entity; with `skip_taken`, the entity does not get that one.
    """
    await lock_terms(connection, tenant, [entity])
    terms = terms_of(tenant, mention)
    identifiers = [] if skip_taken else [term.key for term in terms if term.kind == IDENTIFIER]
    taken = identifiers and await fetch(
        connection,
        "find_taken_identifiers",
        tenant=tenant.id,
        entity=entity,
        scope=mention.scope,
        sensitivity=mention.sensitivity,
        keys=identifiers,
    )
    if taken:
        raise InvalidInput(
            "payload.identifiers: one of them belongs to another entity; remove it, or merge the two entities",
            path=["payload", "identifiers"],
        )
    await run(
        connection,
        "delete_own_terms",
        tenant=tenant.id,
        entity=entity,
        scope=mention.scope,
        sensitivity=mention.sensitivity,
    )
    await insert_terms(connection, tenant, [(entity, term, mention.scope, mention.sensitivity) for term in terms])


async def find_entities_by_name(
    connection: AsyncConnection, caller: Caller, names: Sequence[str], *, limit: int
) -> list[tuple[UUID, str]]:
    """Return at most `limit` entities whose name or alias is in `names`, each with the name that matched.

    Only current entities that the caller may read in full are returned, found by terms that the caller may read.
    """
    search = NameSearch(caller, names, limit=limit)
    (rows,) = await fetch_together(connection, search.statement)
    return search.found(rows)


class NameSearch:
    """The search of entities by name: its statement, and what the rows of that mean. See `find_entities_by_name`."""

    def __init__(self, caller: Caller, names: Sequence[str], *, limit: int) -> None:
        self._by_key = {name_key(caller.tenant, name): name for name in reversed(names)}
        parameters = {**caller.parameters(), "keys": array_literal(list(self._by_key)), "limit": limit}
        self.statement = sending("find_entities", parameters)

    def found(self, rows: Iterable[Mapping[str, Any]]) -> list[tuple[UUID, str]]:
        """Return the entities of the statement's rows, each with the name that matched."""
        return [(row["entity"], self._by_key[bytes(row["term_key"])]) for row in rows]
