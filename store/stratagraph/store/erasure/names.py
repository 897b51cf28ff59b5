"""Records that contain a name, found by the index of words."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Tenant
from stratagraph.store.keys.sealing.contents import FIELDS, open_contents
from stratagraph.store.model.words import likely_name_terms, name_terms
from stratagraph.store.postgres.queries import fetch


@dataclass(frozen=True, slots=True)
class NameMatches:
    """The records found, each with its decrypted content.

    `complete` is False if a name has more matches than the limit, or only words by which the records of a language are
    not indexed (its function words).
    """

    records: list[tuple[UUID, dict[str, Any]]]
    complete: bool


async def find_name_matches(
    connection: AsyncConnection, tenant: Tenant, names: Collection[str], *, limit: int
) -> NameMatches:
    """Return records whose indexed words include all words of one of `names`, the newest `limit` for each name.

    A match may have the words in another order or far apart, so the caller must compare the contents with the names.
    """
    found: dict[UUID, dict[str, Any]] = {}
    complete = True
    for name in sorted(names):
        complete = complete and bool(name_terms(tenant.index_key, name))
        terms = likely_name_terms(tenant.index_key, name)
        if not terms:
            continue
        rows = await fetch(connection, "fetch_records_with_terms", tenant=tenant.id, terms=terms, limit=limit + 1)
        complete = complete and len(rows) <= limit
        for row, content in zip(rows, await open_contents(tenant.keyring, rows), strict=True):
            found[row["id"]] = {key: row[key] for key in FIELDS} if content is None else content
    return NameMatches(list(found.items()), complete)
