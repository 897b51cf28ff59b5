"""Versions of plans and skills, locked by the plan's or the skill's name."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Tenant
from stratagraph.store.keys.sealing.contents import open_contents
from stratagraph.store.model.canonical import keyed_hash
from stratagraph.store.model.enums import MemoryType, RecordState
from stratagraph.store.postgres.queries import Row, fetch, run
from stratagraph.store.records.episodes import Thread

FIRST_VERSION = "1"  # of a skill that names none
KNOWN_VERSIONS = 1_000  # current and superseded ones each, that are read for one request, the newest
LOCKS = 512  # per tenant, shared out by hash, so that a large request holds a bounded number of them
PROCEDURES = (MemoryType.COMPETENCE, MemoryType.PLAN_GRAPH)


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One stored version of a plan or a skill that is not retracted.

    `key` is the keyed hash of its version. `payload`, `provenance` and `learned_state` are decrypted; the last is
    what was observed of a learned one. Of a superseded one, `payload` has at most the key `version`, and the others are
    empty; a sealed one is decrypted only if it is the newest version of
    its name and none is current, and otherwise `payload` is empty, too.
    """

    id: UUID
    key: bytes
    state: RecordState
    updated_at: datetime
    payload: Mapping[str, Any]
    provenance: Mapping[str, Any]
    learned_state: Mapping[str, Any] | None

    @property
    def is_current(self) -> bool:
        return self.state is not RecordState.SUPERSEDED


async def lock_procedures(
    connection: AsyncConnection, tenant: Tenant, procedures: Collection[Thread], *, superseded: int = KNOWN_VERSIONS
) -> dict[Thread, list[Version]]:
    """Lock plans and skills against new versions, and return the versions of each, newest first.

    Of the current versions of all names, the newest KNOWN_VERSIONS are returned, and of the superseded ones the newest
    `superseded`.

    The `key` of each is the handle key here. The names are locked as well as the records, because the first version
    of a plan has no record yet. Names without a version are missing from the result.
    """
    if not procedures:
        return {}
    locks = sorted({_lock_number(tenant, one) for one in procedures})
    await run(connection, "lock_procedures", locks=locks)
    where = {"tenant": tenant.id, "keys": [one.key for one in procedures], "types": [int(one) for one in PROCEDURES]}
    await fetch(connection, "lock_procedure_versions", **where)
    # Read by a statement of its own, which sees what was committed while the locks were waited for.
    rows = await fetch(connection, "fetch_procedure_versions", **where, most=KNOWN_VERSIONS, superseded=superseded)
    needed = _to_be_opened(rows)
    contents = dict(zip((row["id"] for row in needed), await open_contents(tenant.keyring, needed), strict=True))
    found: dict[Thread, list[Version]] = {}
    for row in rows:
        found.setdefault(_procedure(row), []).append(_version(tenant, row, contents.get(row["id"])))
    return {one: found[one] for one in procedures if one in found}


def version_key(tenant: Tenant, handle: bytes, version: str | None) -> bytes:
    """Return the keyed hash of a version of the skill or plan with this handle key; None is the first version.

    It depends on the handle, so that equal versions of different names do not have equal hashes.
    """
    return keyed_hash(tenant.index_key, "version", handle + (version or FIRST_VERSION).encode())


def _procedure(row: Row) -> Thread:
    return Thread(row["scope"], row["sensitivity"], bytes(row["handle_key"]))


def _to_be_opened(rows: Sequence[Row]) -> list[Row]:
    """Return the rows whose content is needed: of superseded versions, the newest where none of its name is current.

    Superseded versions that have no key, since an earlier release stored them, are needed as well.
    """
    current = {_procedure(row) for row in rows if row["state"] != RecordState.SUPERSEDED}
    newest = {_procedure(row): row["id"] for row in reversed(rows)}
    return [
        row
        for row in rows
        if row["state"] != RecordState.SUPERSEDED
        or row["version_key"] is None
        or (_procedure(row) not in current and newest[_procedure(row)] == row["id"])
    ]


def _version(tenant: Tenant, row: Row, content: Mapping[str, Any] | None) -> Version:
    """Return the version of a row; `content` is its decrypted content, None if it is not sealed or was not needed."""
    state = RecordState(row["state"])
    stored = row if content is None else content
    payload, provenance, learned_state = stored["payload"] or {}, stored["provenance"], stored["learned_state"]
    key = row["version_key"] or version_key(tenant, row["handle_key"], payload.get("version"))
    if state is RecordState.SUPERSEDED:
        payload, provenance = {"version": payload["version"]} if "version" in payload else {}, {}
        learned_state = None
    return Version(
        id=row["id"],
        key=bytes(key),
        state=state,
        updated_at=row["updated_at"],
        payload=payload,
        provenance=provenance,
        learned_state=learned_state,
    )


def _lock_number(tenant: Tenant, procedure: Thread) -> int:
    """Return the number of the advisory lock of a plan or skill, one of LOCKS per tenant.

    It is negative, and so none of another kind.
    """
    name = f"{procedure.scope}:{procedure.sensitivity}:".encode() + procedure.key
    bucket = int.from_bytes(blake2b(name, digest_size=8).digest(), "big") % LOCKS
    return -1 - ((tenant.id & 0xFFFFFFFF) * LOCKS + bucket)
