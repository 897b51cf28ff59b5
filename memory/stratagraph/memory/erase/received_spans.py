"""Spans that an erasure must delete, because their import would write again what is erased."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any
from uuid import UUID

from stratagraph.memory.erase.name_matching import name_matcher, strings_in
from stratagraph.memory.imports.formats.otel_messages import json_of
from stratagraph.store.erasure.received_spans import delete_waiting_spans, waiting_spans
from stratagraph.store.erasure.rewriting import contents_of
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.postgres.database import Connection

LONG_ENOUGH = 12  # characters of a text by which a span is taken to tell what an erased record tells


async def delete_spans_of_erased(
    connection: Connection, tenant: Tenant, ids: Collection[UUID], names: Collection[str]
) -> None:
    """Delete the spans that have a name, or a text of which one of the records `ids` consists.

    The other spans of their conversations stay. Spans are kept for minutes, so most often there are none.
    """
    erased = [content["text"] or "" for _, content in (await contents_of(connection, tenant, ids)).values()]
    contains_name = name_matcher(names)
    found = [
        id_
        async for id_, span in waiting_spans(connection, tenant)
        if any(
            contains_name(text) or (len(text) >= LONG_ENOUGH and any(text in one for one in erased))
            for text in _texts(span)
        )
    ]
    if found:
        await delete_waiting_spans(connection, tenant, found)


def _texts(span: Any) -> Iterator[str]:
    """Yield all strings of a span, also of those in JSON within a string."""
    for text in strings_in(span):
        inner = json_of(text) if text[:1] in ("{", "[") else text
        if inner is text:
            yield text
        else:
            yield from _texts(inner)
