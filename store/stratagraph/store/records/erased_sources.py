"""Sources of erased records: keyed hashes by which a capture of the same source is recognised, whoever sends it.

They are those of idempotency keys, of the refs that events were captured with, and of threads. Only a capture in the
scope and at the sensitivity of the erased record is recognised, so that nobody learns of a record that is hidden from
them (docs/erasing.md).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Tenant
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.postgres.queries import fetch, run
from stratagraph.store.records.episodes import thread_key
from stratagraph.store.records.handles import handle_key


@dataclass(frozen=True, slots=True)
class Source:
    """The keyed hash of a source, with the scope and sensitivity at which it is captured."""

    key_hash: bytes
    scope: int
    sensitivity: int


def ref_hash(tenant: Tenant, ref: str) -> bytes:
    """Return the keyed hash of an event's ref."""
    return handle_key(tenant, MemoryType.EPISODIC, ref)


def thread_hash(tenant: Tenant, thread: str) -> bytes:
    """Return the keyed hash of a thread."""
    return thread_key(tenant, thread)


async def find_erased_sources(
    connection: AsyncConnection, tenant: Tenant, sources: Collection[Source]
) -> frozenset[Source]:
    """Return those of `sources` that were erased."""
    if not sources:
        return frozenset()
    hashes = list({source.key_hash for source in sources})
    rows = await fetch(connection, "find_erased_sources", tenant=tenant.id, hashes=hashes)
    erased = {Source(bytes(row["key_hash"]), row["scope"], row["sensitivity"]) for row in rows}
    return frozenset(erased.intersection(sources))


async def restore_sources(connection: AsyncConnection, tenant: Tenant, sources: Collection[Source]) -> None:
    """Forget that `sources` were erased, so that they can be captured again."""
    if not sources:
        return
    ordered = sorted(sources, key=lambda source: (source.key_hash, source.scope, source.sensitivity))
    await run(
        connection,
        "delete_erased_sources",
        tenant=tenant.id,
        hashes=[source.key_hash for source in ordered],
        scopes=[source.scope for source in ordered],
        levels=[source.sensitivity for source in ordered],
    )
