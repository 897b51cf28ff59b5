"""Versions of plans and skills, locked by the plan's or the skill's name."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Tenant
from stratagraph.store.keys.sealing.contents import open_contents
from stratagraph.store.model.enums import MemoryType, RecordState
from stratagraph.store.postgres.queries import fetch, run
from stratagraph.store.records.episodes import Thread

KNOWN_VERSIONS = 1_000  # current and superseded ones each, that are read for one request, the newest
LOCKS = 512  # per tenant, shared out by hash, so that a large request holds a bounded number of them
_TYPES = [int(MemoryType.COMPETENCE), int(MemoryType.PLAN_GRAPH)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One stored version of a plan or a skill that is not retracted.

    `payload` and `provenance` are decrypted. Of a superseded one, `payload` has at most the key `version`, and
    `provenance` is empty.
    """

    id: UUID
    state: RecordState
    updated_at: datetime
    payload: Mapping[str, Any]
    provenance: Mapping[str, Any]

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
    where = {"tenant": tenant.id, "keys": [one.key for one in procedures], "types": _TYPES}
    await fetch(connection, "lock_procedure_versions", **where)
    # Read by a statement of its own, which sees what was committed while the locks were waited for.
    rows = await fetch(connection, "fetch_procedure_versions", **where, most=KNOWN_VERSIONS, superseded=superseded)
    found: dict[Thread, list[Version]] = {}
    for row, content in zip(rows, await open_contents(tenant.keyring, rows), strict=True):
        one = Thread(row["scope"], row["sensitivity"], bytes(row["handle_key"]))
        stored = row if content is None else content
        state = RecordState(row["state"])
        if state is RecordState.SUPERSEDED:
            stored = {"payload": _version_alone(stored["payload"]), "provenance": {}}
        found.setdefault(one, []).append(
            Version(
                id=row["id"],
                state=state,
                updated_at=row["updated_at"],
                payload=stored["payload"],
                provenance=stored["provenance"],
            )
        )
    return {one: found[one] for one in procedures if one in found}


def _version_alone(payload: Mapping[str, Any]) -> dict[str, Any]:
    return {"version": payload["version"]} if "version" in payload else {}


def _lock_number(tenant: Tenant, procedure: Thread) -> int:
    """Return the number of the advisory lock of a plan or skill, one of LOCKS per tenant.

    It is negative, and so none of another kind.
    """
    name = f"{procedure.scope}:{procedure.sensitivity}:".encode() + procedure.key
    bucket = int.from_bytes(blake2b(name, digest_size=8).digest(), "big") % LOCKS
    return -1 - ((tenant.id & 0xFFFFFFFF) * LOCKS + bucket)
