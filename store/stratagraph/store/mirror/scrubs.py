"""The running check of a mirror: how far its round has come, and what it has found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from stratagraph.store.feed.consumer import Kind
from stratagraph.store.mirror.source import FIRST_ID
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.postgres.queries import fetch, run


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundPlace:
    """After which key the next bucket begins; tenant 0 is the beginning."""

    kind: Kind
    tenant: int
    id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundReport:
    """The last whole round, if there was one, and the running one: differences by class."""

    last_checked_at: datetime | None
    last_drift: Mapping[str, int] | None
    began_at: datetime | None
    drift: Mapping[str, int]


class Rounds:
    """Kept in the store, so that the next keeper goes on where the last one was."""

    def __init__(self, database: Database, mirror: str) -> None:
        self._database = database
        self._mirror = mirror

    async def place(self) -> RoundPlace:
        row = await self._row()
        return RoundPlace(
            kind=Kind(row["checked_kind"]), tenant=row["checked_tenant"], id=row["checked_id"] or FIRST_ID
        )

    async def report(self) -> RoundReport | None:
        """None where nobody has ever kept this mirror."""
        async with self._database.background(Role.FEED) as connection:
            rows = await fetch(connection, "read_scrub", mirror=self._mirror)
        if not rows:
            return None
        row = rows[0]
        return RoundReport(
            last_checked_at=row["last_checked_at"],
            last_drift=row["last_drift"],
            began_at=row["check_began_at"],
            drift=row["drift"],
        )

    async def go(self, kind: Kind, tenant: int, after: UUID) -> None:
        async with self._database.background(Role.FEED) as connection:
            await run(connection, "advance_scrub", mirror=self._mirror, kind=int(kind), tenant=tenant, id=after)

    async def add(self, drift: Mapping[str, int]) -> None:
        """Differences of one more bucket."""
        if not drift:
            return
        async with self._database.background(Role.FEED) as connection:
            await run(
                connection, "add_drift", mirror=self._mirror, names=list(drift), counts=[drift[name] for name in drift]
            )

    async def end(self) -> None:
        """The round is whole; the next one begins."""
        async with self._database.background(Role.FEED) as connection:
            await run(connection, "finish_scrub", mirror=self._mirror)

    async def _row(self) -> dict[str, Any]:
        async with self._database.background(Role.FEED) as connection:
            return dict((await fetch(connection, "read_scrub", mirror=self._mirror))[0])
