"""The scrub of a mirror, which compares it with Postgres bucket by bucket: its position and its findings.

Both are stored in Postgres, so that the next leader continues where the last one stopped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from stratagraph.store.feed.changes import Kind
from stratagraph.store.mirror.source import FIRST_ID
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.postgres.queries import fetch, run


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrubPosition:
    """The position of a scrub: the next bucket begins after this key. Tenant 0 means that the scrub begins."""

    kind: Kind
    tenant: int
    id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrubReport:
    """The differences found by the last complete scrub, if any, and so far by the running one.

    `last_drift` and `drift` are numbers of rows, keyed by kind of drift, such as `missing`.
    """

    last_checked_at: datetime | None
    last_drift: Mapping[str, int] | None
    began_at: datetime | None
    drift: Mapping[str, int]


class Scrubs:
    """Stores the position and the findings of one mirror's scrub."""

    def __init__(self, database: Database, mirror: str) -> None:
        self._database = database
        self._mirror = mirror

    async def position(self) -> ScrubPosition:
        """Return the position of the running scrub. Raises IndexError if the mirror has never had a leader."""
        async with self._database.background(Role.FEED) as connection:
            row = (await fetch(connection, "read_scrub", mirror=self._mirror))[0]
        return ScrubPosition(
            kind=Kind(row["checked_kind"]), tenant=row["checked_tenant"], id=row["checked_id"] or FIRST_ID
        )

    async def report(self) -> ScrubReport | None:
        """Return what the last and the running scrub have found; None if the mirror has never had a leader."""
        async with self._database.background(Role.FEED) as connection:
            rows = await fetch(connection, "read_scrub", mirror=self._mirror)
        if not rows:
            return None
        row = rows[0]
        return ScrubReport(
            last_checked_at=row["last_checked_at"],
            last_drift=row["last_drift"],
            began_at=row["check_began_at"],
            drift=row["drift"],
        )

    async def advance(self, kind: Kind, tenant: int, after: UUID) -> None:
        """Move the running scrub to the given key, after which its next bucket begins."""
        async with self._database.background(Role.FEED) as connection:
            await run(connection, "advance_scrub", mirror=self._mirror, kind=int(kind), tenant=tenant, id=after)

    async def add_drift(self, drift: Mapping[str, int]) -> None:
        """Add the differences of one more bucket, counted by kind of drift, to those of the running scrub."""
        if not drift:
            return
        async with self._database.background(Role.FEED) as connection:
            await run(
                connection, "add_drift", mirror=self._mirror, names=list(drift), counts=[drift[name] for name in drift]
            )

    async def finish(self) -> None:
        """Store the result of the running scrub and begin the next one."""
        async with self._database.background(Role.FEED) as connection:
            await run(connection, "finish_scrub", mirror=self._mirror)
