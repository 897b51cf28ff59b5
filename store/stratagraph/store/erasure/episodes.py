"""Episodes that lose members to an erasure: locking, recounting, and rewriting their history without the members."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.erasure.rewriting import contents_of, read_contents, write_content
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.postgres.queries import fetch, run
from stratagraph.store.postgres.schema import tables


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedEpisode:
    """A locked episode: the number of its scope, and whether it is closed."""

    scope: int
    is_closed: bool


async def lock_episodes_of(
    connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]
) -> dict[UUID, LockedEpisode]:
    """Lock and return the episodes among the records `ids` and those with a member among `ids`, keyed by id.

    They are locked in the order in which writers lock episodes.
    """
    rows = await fetch(connection, "lock_episodes_of", tenant=tenant.id, ids=list(ids))
    return {row["id"]: LockedEpisode(scope=row["scope"], is_closed=row["is_closed"]) for row in rows}


async def recount_episodes(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]) -> None:
    """Update the last record of locked episodes, and the number of events of closed ones, after members were deleted.

    In an open episode the number is also the position of its next event, so it stays.
    """
    if ids:
        await run(connection, "recount_episodes", tenant=tenant.id, ids=list(ids))


async def rewrite_episode_history(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]) -> None:
    """Rewrite the history of closed episodes to match their current name, text and search terms.

    Call it after the episodes have been closed again without the erased members.
    """
    if not ids:
        return
    current = await contents_of(connection, tenant, ids)
    rewritten = await fetch(connection, "copy_episode_terms_to_history", tenant=tenant.id, ids=list(ids))
    versions = {(row["id"], row["row_version"]) for row in rewritten}
    table = tables.record_history
    for row, content in await read_contents(connection, tenant, table, ids):
        if (row["id"], row["row_version"]) not in versions:
            continue  # the episode was still open in this version, and its name was that of its thread alone
        _, now = current[row["id"]]
        rewritten_content = {**content, "name": now["name"], "text": now["text"]}
        await write_content(connection, tenant, table, row, rewritten_content)
