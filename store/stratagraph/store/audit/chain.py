"""The hash chain of a record's audit entries: each entry's hash covers the hash of the one before it."""

from __future__ import annotations

import hashlib
from datetime import datetime
from uuid import UUID

from stratagraph.store.model.clock import rfc3339

GENESIS = bytes(32)  # the hash before the first entry of every record


def link(
    previous: bytes,
    *,
    tenant: int,
    record: UUID,
    seq: int,
    event: tuple[str, str, datetime, float | None, bytes | None],
) -> bytes:
    """Return the hash of an audit entry: SHA-256 over the hash of the previous entry and all fields of this one.

    `event` is (action, actor, time, salience, hash of the note). `previous` is GENESIS for the first entry.
    """
    action, actor, at, salience, note_hash = event
    value = "" if salience is None else repr(float(salience))
    fields = "\x1f".join((str(tenant), record.hex, str(seq), action, actor, rfc3339(at), value))
    return hashlib.sha256(previous + (note_hash or b"") + fields.encode()).digest()
