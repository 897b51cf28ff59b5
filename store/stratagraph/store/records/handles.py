"""Records found by the name that the outside world gives them: a plan_id, a skill_name, an event's ref."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.tenancy import Caller
from stratagraph.store.model.enums import MemoryType, Sensitivity
from stratagraph.store.postgres.queries import fetch
from stratagraph.store.records.writing import handle_key


@dataclass(frozen=True, slots=True)
class Referred:
    """A record that a capture points to, and where it lies."""

    id: UUID
    scope: int
    sensitivity: Sensitivity


async def find_references(
    connection: AsyncConnection, caller: Caller, *, ids: Collection[UUID], refs: Collection[str]
) -> dict[UUID | str, Referred]:
    """Those of `ids` that exist in the caller's full sight, and the newest episodic record of each of `refs` there."""
    keys = {handle_key(caller.tenant, MemoryType.EPISODIC, ref): ref for ref in refs}
    if not ids and not keys:
        return {}
    rows = await fetch(connection, "find_references", **caller.parameters(), ids=list(ids), keys=list(keys))
    found: dict[UUID | str, Referred] = {}
    for row in rows:
        target = row["id"] if row["handle_key"] is None else keys[bytes(row["handle_key"])]
        found.setdefault(target, Referred(row["id"], row["scope"], Sensitivity(row["sensitivity"])))
    return found
