"""Spans of instrumented agents, kept from their receipt until no further one of their trace is expected.

A span is stored once, however often it is sent. It is sealed where anything of the tenant is: how sensitive it is
shows only once it is imported.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import orjson
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Caller, Tenant
from stratagraph.store.keys.sealing.contents import SPAN
from stratagraph.store.keys.sealing.vault import Sealed
from stratagraph.store.model.canonical import keyed_hash
from stratagraph.store.model.enums import Access, Sensitivity
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.bulk import insert_rows
from stratagraph.store.postgres.queries import fetch, run
from stratagraph.store.postgres.schema import tables

TraceKey = tuple[int, bytes]  # tenant and trace


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingTrace:
    """A trace that waits, the caller who sent it, and its place among those of the caller, from 1."""

    key: TraceKey
    caller: tuple[int, str]  # tenant and actor
    turn: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSpan:
    """A span to be stored: its ids, the id of its conversation if it names one, and its JSON."""

    trace: str
    id: str
    conversation: str | None
    content: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedSpans:
    """Spans that are read together, as JSON, with the trust of who sent them and the scope of the records to be.

    With `more_new`, further ones that are new did not fit, and are to be read next.
    """

    ids: tuple[UUID, ...]
    contents: tuple[bytes, ...]
    trust: Trust
    scope: int
    newest_at: datetime
    more_new: bool


async def insert_received_spans(
    connection: AsyncConnection, caller: Caller, scope: int, spans: Sequence[NewSpan], *, at: datetime
) -> int:
    """Store spans of a caller, which become records of `scope`; return how many were not stored before.

    They are read in the order in which they are given.
    """
    tenant, trust = caller.tenant, caller.trust
    owner = f"{trust.identity}\x00{scope}\x00"
    sealer = await tenant.keyring.sealer(connection) if tenant.keyring.seal_from is not None else None

    def hashed(kind: str, value: str) -> bytes:
        return keyed_hash(tenant.index_key, kind, f"{owner}{value}".encode())

    rows = {}
    for place, span in enumerate(spans):
        id_ = UUID(bytes=hashed("span", f"{span.trace}\x00{span.id}")[:16])
        written = orjson.dumps(span.content)
        content = zlib.compress(written, 1)  # each call of a model repeats the messages before it
        rows[id_] = {
            "tenant": tenant.id,
            "id": id_,
            "actor": trust.identity,
            "caller_name": trust.actor,
            "caller_key": trust.key_identity,
            "caller_scopes": None if trust.scopes is None else sorted(trust.scopes),
            "caller_ceiling": int(caller.ceiling),
            "caller_access": int(trust.access),
            "scope": scope,
            "trace": hashed("trace", span.trace),
            "conversation": None if span.conversation is None else hashed("conversation", span.conversation),
            "content": content if sealer is None else None,
            "sealed": None if sealer is None else sealer.seal(id_, SPAN, content),
            "size": len(written),
            "received_at": at - timedelta(microseconds=len(spans) - place),
            "is_new": True,
        }
    stored = await insert_rows(
        connection, tables.received_span, list(rows.values()), suffix="ON CONFLICT DO NOTHING RETURNING id"
    )
    return len(stored)


async def due_traces(
    connection: AsyncConnection, *, quiet_since: datetime, at_latest: datetime, limit: int
) -> list[WaitingTrace]:
    """Return at most `limit` traces with new spans: of each caller in turn, the longest waiting first.

    They are those of which no new span came after `quiet_since`, or of which one came before `at_latest`.
    """
    rows = await fetch(connection, "find_due_traces", quiet_since=quiet_since, at_latest=at_latest, limit=limit)
    return [_waiting(row) for row in rows]


def _waiting(row: Mapping[str, Any]) -> WaitingTrace:
    tenant = row["tenant"]
    return WaitingTrace(key=(tenant, bytes(row["trace"])), caller=(tenant, row["actor"]), turn=row["turn"])


async def spans_wait(connection: AsyncConnection) -> bool:
    """Return whether any span was not yet read by an import."""
    return bool((await fetch(connection, "spans_wait"))[0]["some"])


async def finished_traces(connection: AsyncConnection, *, before: datetime, limit: int) -> list[WaitingTrace]:
    """Return at most `limit` traces of which no span came after `before`: of each caller in turn."""
    rows = await fetch(connection, "find_finished_traces", before=before, limit=limit)
    return [_waiting(row) for row in rows]


async def fetch_received_spans(
    connection: AsyncConnection, tenant: Tenant, trace: bytes, *, most_spans: int, most_bytes: int
) -> ReceivedSpans | None:
    """Return the spans of a trace with those of its conversations, None if there are none.

    There are at most `most_spans` of `most_bytes` that are new, the oldest of them, and as many that were read before,
    the newest of them; of each at least one. Raises StratagraphError if one does not open.
    """
    rows = await fetch(
        connection, "fetch_conversation_spans", tenant=tenant.id, trace=trace, bytes=most_bytes, spans=most_spans
    )
    if not rows:
        return None
    first = rows[0]
    return ReceivedSpans(
        ids=tuple(row["id"] for row in rows),
        contents=tuple(await open_spans(tenant, rows)),
        trust=Trust(
            tenant=tenant.name,
            actor=first["caller_name"],
            access=Access(first["caller_access"]),
            ceiling=Sensitivity(first["caller_ceiling"]),
            scopes=None if first["caller_scopes"] is None else frozenset(first["caller_scopes"]),
            key_identity=first["caller_key"],
        ),
        scope=first["scope"],
        newest_at=rows[-1]["received_at"],
        more_new=first["more_new"],
    )


async def open_spans(tenant: Tenant, rows: Sequence[Mapping[str, Any]]) -> list[bytes]:
    """Return the JSON of spans, decrypted, in order. Each row has `id`, `content` and `sealed`."""
    blobs = [Sealed(id=row["id"], purpose=SPAN, blob=bytes(row["sealed"])) for row in rows if row["sealed"] is not None]
    opened = iter(await tenant.keyring.open(blobs)) if blobs else iter(())
    packed = [next(opened) if row["sealed"] is not None else bytes(row["content"]) for row in rows]
    return [zlib.decompress(one) for one in packed]


async def mark_spans_read(connection: AsyncConnection, tenant: Tenant, spans: ReceivedSpans) -> None:
    """Mark spans as read by an import."""
    await run(connection, "mark_spans_read", tenant=tenant.id, ids=list(spans.ids))


async def delete_read_spans(connection: AsyncConnection, key: TraceKey, *, before: datetime) -> int:
    """Delete the spans of a trace that came up to `before`, once all are read; return their number."""
    return await run(connection, "delete_read_spans", tenant=key[0], trace=key[1], before=before)
