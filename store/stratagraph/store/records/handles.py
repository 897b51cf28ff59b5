"""Handles: names that callers give to records (a plan_id, a skill_name, an event's ref), stored as keyed hashes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Caller, Tenant
from stratagraph.store.model.canonical import keyed_hash
from stratagraph.store.model.enums import MemoryType, Sensitivity
from stratagraph.store.postgres.queries import fetch


@dataclass(frozen=True, slots=True)
class ReferencedRecord:
    """A record that a capture refers to, with its scope and sensitivity."""

    id: UUID
    scope: int
    sensitivity: Sensitivity


def handle_key(tenant: Tenant, memory_type: MemoryType, handle: str) -> bytes:
    """Return the keyed hash that is stored in place of a record's handle, so that no plain column has the name."""
    return keyed_hash(tenant.index_key, f"handle:{memory_type.label}", handle.encode())


async def find_references(
    connection: AsyncConnection, caller: Caller, *, ids: Collection[UUID], refs: Collection[str]
) -> dict[UUID | str, ReferencedRecord]:
    """Return the records with the given ids, and the newest episodic record of each ref, keyed by id or ref.

    Those that do not exist or that the caller may not read in full are left out.
    """
    keys = {handle_key(caller.tenant, MemoryType.EPISODIC, ref): ref for ref in refs}
    if not ids and not keys:
        return {}
    rows = await fetch(connection, "find_references", **caller.parameters(), ids=list(ids), keys=list(keys))
    found: dict[UUID | str, ReferencedRecord] = {}
    for row in rows:
        target = row["id"] if row["handle_key"] is None else keys[bytes(row["handle_key"])]
        found.setdefault(target, ReferencedRecord(row["id"], row["scope"], Sensitivity(row["sensitivity"])))
    return found
