"""Failed captures that an erasure must delete, because a retry would write again what is erased."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from stratagraph.memory.capture.caption import caption
from stratagraph.memory.capture.classify import classify, is_outcome
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.erase.context import ErasureContext
from stratagraph.memory.erase.name_matching import name_matcher, strings_in
from stratagraph.store.erasure.failed_captures import failed_captures
from stratagraph.store.erasure.rewriting import contents_of
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.model.enums import MemoryType, SourceKind
from stratagraph.store.model.errors import StratagraphError
from stratagraph.store.postgres.database import Connection
from stratagraph.store.records.locking import LockedRecord


async def find_failed_captures(
    context: ErasureContext,
    connection: Connection,
    tenant: Tenant,
    ids: Collection[UUID],
    rows: Mapping[UUID, LockedRecord],
    names: Collection[str],
) -> set[UUID]:
    """Return the failed captures that would become a record like one of `ids`, or whose input contains a name.

    "Like" is of the same scope, type and text.
    """
    captures = await failed_captures(connection, tenant)
    if not captures:
        return set()
    scopes = await context.directory.scope_names({row.scope for id_, row in rows.items() if id_ in ids})
    erased = {
        (scopes[rows[id_].scope], kind, content["text"])
        for id_, (kind, content) in (await contents_of(connection, tenant, ids)).items()
    }
    contains_name = name_matcher(names)
    return {
        one.id
        for one in captures
        if (one.scope, *would_become(one.input, context.clock.now())) in erased
        or any(contains_name(text) for text in strings_in(one.input))
    }


def would_become(sent: Mapping[str, Any], now: datetime) -> tuple[MemoryType, str] | tuple[()]:
    """Return the type and text of the record that the stored input of a failed capture would become.

    The tuple is empty for an outcome, which becomes no record, and for input that would be refused.
    """
    proposed = sent.get("proposed_type")
    try:
        request = CaptureRequest(
            source=sent["source"],
            source_kind=SourceKind(sent["source_kind"]),
            content=sent["content"],
            proposed_type=MemoryType.parse(proposed, path=["proposed_type"]) if proposed else None,
            summary=sent.get("summary"),
        )
        draft = classify(request, 0, now)
        if is_outcome(draft):
            return ()
        caption(draft)
    except (StratagraphError, KeyError, ValueError):
        return ()
    return draft.type, draft.text
