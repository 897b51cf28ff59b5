"""Records of an answer that were deleted after it was given."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from stratagraph.store.keys.callers import Caller
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.trust import Visibility
from stratagraph.store.postgres.database import Connection
from stratagraph.store.records.tombstones import find_tombstones


async def deleted_among(
    connection: Connection, directory: Directory, caller: Caller, ids: Collection[UUID]
) -> set[UUID]:
    """Return the records among `ids` that were deleted, as far as the caller could read them in full."""
    tombstones = await find_tombstones(connection, caller.tenant, ids)
    scopes = await directory.scope_names({one.scope for one in tombstones.values()})
    return {
        one.id
        for one in tombstones.values()
        if caller.trust.visibility(scope=scopes[one.scope], sensitivity=one.sensitivity) is Visibility.FULL
    }
