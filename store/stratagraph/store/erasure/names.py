"""Records that contain a name, found by the index of words."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Tenant
from stratagraph.store.keys.sealing.contents import FIELDS, open_contents
from stratagraph.store.model.words import query_terms
from stratagraph.store.postgres.queries import fetch


@dataclass(frozen=True, slots=True)
class NameMatches:
    """Records and their contents. `complete` is False if there are more, or if a name has no indexed word."""

    records: list[tuple[UUID, dict[str, Any]]]
    complete: bool


async def find_name_matches(
    connection: AsyncConnection, tenant: Tenant, names: Collection[str], *, limit: int
) -> NameMatches:
    """Return records whose indexed words include all words of one of `names`, the newest `limit` for each name.

    The words may stand apart in a record; the caller compares the contents.
    """
    found: dict[UUID, dict[str, Any]] = {}
    complete = True
    for name in sorted(names):
        terms = query_terms(tenant.index_key, name)
        if not terms:
            complete = False
            continue
        rows = await fetch(connection, "fetch_records_with_terms", tenant=tenant.id, terms=terms, limit=limit + 1)
        complete = complete and len(rows) <= limit
        for row, content in zip(rows, await open_contents(tenant.keyring, rows), strict=True):
            found[row["id"]] = {key: row[key] for key in FIELDS} if content is None else content
    return NameMatches(list(found.items()), complete)
