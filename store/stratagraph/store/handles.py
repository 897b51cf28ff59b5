"""Records found by the name that the outside world gives them: a plan_id, a skill_name, an event's ref."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.database import fetch
from stratagraph.store.enums import MemoryType
from stratagraph.store.tenancy import Reach
from stratagraph.store.writing import handle_key


async def find_references(
    connection: AsyncConnection, reach: Reach, *, ids: Collection[UUID], refs: Collection[str]
) -> tuple[set[UUID], Mapping[str, UUID]]:
    """Which of `ids` exist in the caller's full sight, and the newest episodic record of each of `refs` there."""
    keys = {handle_key(reach.tenant, MemoryType.EPISODIC, ref): ref for ref in refs}
    if not ids and not keys:
        return set(), {}
    rows = await fetch(connection, "find_references", **reach.parameters(), ids=list(ids), keys=list(keys))
    by_ref: dict[str, UUID] = {}
    found: set[UUID] = set()
    for row in rows:
        if row["handle_key"] is None:
            found.add(row["id"])
        else:
            by_ref.setdefault(keys[bytes(row["handle_key"])], row["id"])
    return found, by_ref
