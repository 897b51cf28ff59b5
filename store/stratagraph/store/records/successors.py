"""The records that facts name as their successors and predecessors, as far as a caller may know of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.enums import MemoryType, Sensitivity
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.postgres.queries import fetch

_NAMED = ("supersedes", "superseded_by")  # in the payload's revision


def knows_all_successors(caller: Caller) -> bool:
    """Return whether the caller may see every record, so that `without_hidden_successors` reads nothing."""
    return caller.scopes is None and caller.ceiling is Sensitivity.HYPER


async def without_hidden_successors(
    connection: AsyncConnection, caller: Caller, records: Sequence[MemoryRecord]
) -> list[MemoryRecord]:
    """Return the records without the ids, in the payloads of facts, of records that the caller may not see at all.

    A fact may have been superseded by a more sensitive one, as after a merge. A record that was deleted is left out
    too, since it may have been hidden. Runs one statement if facts name such records, and none for a caller who may
    see everything.
    """
    if knows_all_successors(caller):
        return list(records)
    named = {record.id: _named(record) for record in records}
    unknown = {id_ for ids in named.values() for id_ in ids.values()} - named.keys()
    visible = set(named)
    if unknown:
        rows = await fetch(connection, "find_visible", **caller.parameters(), ids=list(unknown))
        visible |= {row["id"] for row in rows}
    return [
        _without(record, [key for key, id_ in named[record.id].items() if id_ not in visible]) for record in records
    ]


def _named(record: MemoryRecord) -> dict[str, UUID]:
    """Return the records that a fact names in its revision, by key.

    Texts that are not ids are skipped, because they do not name stored records.
    """
    if record.type is not MemoryType.SEMANTIC or record.payload is None:
        return {}
    found = {}
    for key in _NAMED:
        try:
            found[key] = UUID(record.payload.get("revision", {}).get(key))
        except (TypeError, ValueError, AttributeError):
            continue
    return found


def _without(record: MemoryRecord, keys: Sequence[str]) -> MemoryRecord:
    if not keys:
        return record
    payload = record.payload or {}
    revision = {key: value for key, value in payload["revision"].items() if key not in keys}
    return replace(record, payload={**payload, "revision": revision})
