"""The names of an erased entity: they must not stay in the receipt, and the receipt lists where else they occur."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from stratagraph.memory.erase.name_matching import name_matcher, names_in, strings_in
from stratagraph.memory.erase.request import Erase
from stratagraph.store.erasure.entities import merged_entities
from stratagraph.store.erasure.names import find_name_matches
from stratagraph.store.erasure.receipts import Receipt
from stratagraph.store.erasure.rewriting import contents_of
from stratagraph.store.keys.callers import Caller, Tenant
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.postgres.database import Connection, elevated

MAX_ELSEWHERE = 200  # records read for each name of an erased entity, and listed in its receipt


async def names_to_erase(connection: Connection, tenant: Tenant, request: Erase) -> set[str]:
    """Return the names, aliases and identifiers of the entity to be erased; an empty set for other requests.

    Raises InvalidInput if the rationale, which the receipt keeps, contains one of them.
    """
    if request.entity_id is None:
        return set()
    entities = await merged_entities(connection, tenant, request.entity_id)
    contents = await contents_of(connection, tenant, entities)
    names = {name for _, content in contents.values() for name in names_in(content)}
    if name_matcher(names)(request.rationale):
        raise InvalidInput(
            "rationale: contains a name of the entity to be erased, and the receipt keeps the rationale; give a ticket"
            " number instead",
            path=["rationale"],
        )
    return names


async def list_elsewhere(connection: Connection, caller: Caller, receipt: Receipt, names: Collection[str]) -> Receipt:
    """Return the receipt with the records that still contain one of `names`.

    The index of words finds candidates, whose contents are then compared.
    """
    async with elevated(connection, caller.unrestricted().bounds):
        found = await find_name_matches(connection, caller.tenant, names, limit=MAX_ELSEWHERE)
    contains_name = name_matcher(names)
    ids = [id_ for id_, content in found.records if any(contains_name(text) for text in strings_in(content))]
    complete = found.complete and len(ids) <= MAX_ELSEWHERE
    return replace(receipt, elsewhere=tuple(ids[:MAX_ELSEWHERE]), elsewhere_complete=complete)
