"""Captures that an import stored earlier, found by their idempotency keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from stratagraph.memory.capture.request import ImportedItem
from stratagraph.store.keys.callers import Caller
from stratagraph.store.postgres.database import Connection
from stratagraph.store.records.candidates import RequestKey, find_used_keys


@dataclass(frozen=True, slots=True)
class EarlierCapture:
    """A stored capture. `record` is what it became; `is_same` is whether it was of the same item."""

    record: UUID
    is_same: bool


async def find_earlier_captures(
    connection: Connection, caller: Caller, items: Mapping[str, ImportedItem]
) -> dict[str, EarlierCapture]:
    """Return the captures that the caller stored under the idempotency keys of `items`, by key; others are left out."""
    keys = {
        key: RequestKey.of(caller.tenant, key, {"imported": item.fingerprint}, is_import=True)
        for key, item in items.items()
    }
    hashes = [key.key_hash for key in keys.values() if key.key_hash is not None]
    used = await find_used_keys(connection, caller, hashes)
    found = {}
    for key, hashed in keys.items():
        known = used.get(hashed.key_hash) if hashed.key_hash is not None else None
        if known is not None:
            found[key] = EarlierCapture(known.committed.record, known.request_hash == hashed.request_hash)
    return found
