"""The working record of a thread, of which there is at most one. It is locked and updated in place."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Tenant
from stratagraph.store.keys.sealing.contents import open_contents
from stratagraph.store.model.salience import Salience
from stratagraph.store.postgres.queries import fetch
from stratagraph.store.records.episodes import Thread
from stratagraph.store.records.reading import salience_of


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingRecord:
    """The locked working record of a thread: its id, the time of its last update, decrypted payload and salience."""

    id: UUID
    updated_at: datetime
    payload: Mapping[str, Any]
    salience: Salience


async def lock_working(
    connection: AsyncConnection, tenant: Tenant, threads: Collection[Thread]
) -> dict[Thread, WorkingRecord]:
    """Lock and return the current working record of each thread.

    The `key` of each thread is the handle key here. Threads without a working record are missing from the result.
    """
    if not threads:
        return {}
    keys = [thread.key for thread in threads]
    rows = [
        row
        for row in await fetch(connection, "lock_working", tenant=tenant.id, keys=keys)
        if Thread(row["scope"], row["sensitivity"], bytes(row["handle_key"])) in set(threads)
    ]
    return {
        Thread(row["scope"], row["sensitivity"], bytes(row["handle_key"])): WorkingRecord(
            id=row["id"],
            updated_at=row["updated_at"],
            payload=row["payload"] if content is None else content["payload"],
            salience=salience_of(row),
        )
        for row, content in zip(rows, await open_contents(tenant.keyring, rows), strict=True)
    }
