"""Captures from sources whose records were erased: refused, or restored for an administrator (docs/erasing.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stratagraph.memory.capture.draft import Draft
from stratagraph.memory.capture.request import ImportedItem
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.model.errors import SourceErased
from stratagraph.store.postgres.database import Connection
from stratagraph.store.records.candidates import RequestKey
from stratagraph.store.records.erased_sources import (
    Source,
    find_erased_sources,
    ref_hash,
    restore_sources,
    thread_hash,
)


async def refuse_erased(
    connection: Connection,
    tenant: Tenant,
    drafts: Sequence[Draft],
    keys: Sequence[RequestKey],
    scopes: Mapping[str, int],
    *,
    restore: bool,
) -> None:
    """Raise SourceErased for drafts from sources that were erased; with `restore`, forget that these were erased.

    Of a capture that is no import's, only the idempotency key counts: its ref and thread are its caller's, and may be
    used again. `keys` are those of all requests, by position; `scopes` has the numbers of the drafts' scopes. The
    look-up must follow that of the used keys: an erasure that commits between the two is then seen by the second.
    """
    imported = [draft.request.imported for draft in drafts if draft.request.imported is not None]
    refs = {ref: ref_hash(tenant, ref) for item in imported for ref in item.refs}
    threads = {thread: thread_hash(tenant, thread) for item in imported for thread in item.threads}

    def sources_of(draft: Draft) -> set[Source]:
        item = draft.request.imported or ImportedItem(fingerprint="")
        hashes = {keys[draft.position].key_hash, *(refs[ref] for ref in item.refs), *(threads[t] for t in item.threads)}
        scope, sensitivity = scopes[draft.scope], int(draft.sensitivity)
        return {Source(one, scope, sensitivity) for one in hashes if one is not None}

    sources = {draft.position: sources_of(draft) for draft in drafts}
    erased = await find_erased_sources(connection, tenant, {one for found in sources.values() for one in found})
    if not erased:
        return
    if restore:
        await restore_sources(connection, tenant, erased)
        return
    positions = [position for position, found in sources.items() if not erased.isdisjoint(found)]
    raise SourceErased(
        positions,
        "idempotencyKey: what was captured from this source was erased, so it is not captured again. For a capture,"
        " use another key; for an import, an administrator may use --restore-erased.",
        path=[f"#{positions[0]}", "idempotencyKey"],
    )
