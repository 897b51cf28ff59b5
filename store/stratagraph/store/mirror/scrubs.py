"""The scrub of a mirror, which compares it with Postgres page by page: its position and its findings.

Both are stored in Postgres, so that the next leader continues where the last one stopped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum

from stratagraph.store.feed.snapshots import SHARDS
from stratagraph.store.mirror.source import ScanPosition
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.postgres.queries import fetch, run

# Differences of one round after whose repair the mirror answers at once. After more, a complete round must find nothing
# first: where much was changed by hand, more is likely.
SMALL_DAMAGE = 20


class ScrubPhase(IntEnum):
    """What a scrub compares, in this order. Nodes and relationships are looked up in Postgres, rows in the mirror.

    Foreign nodes and relationships come first, so that what is lost with them is found to be missing in the same round.
    """

    SCHEMA = 0
    NODES = 1
    RELATIONSHIPS = 2
    RECORDS = 3
    RELATIONS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrubPosition:
    """The position of a scrub: the next page of `phase` begins after `after`, or None: with the phase's first.

    For nodes and relationships, `after.tenant` is the first internal id of the page.
    """

    phase: ScrubPhase
    after: ScanPosition | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrubReport:
    """The differences found by the last complete scrub, if any, and so far by the running one.

    `last_drift` and `drift` are numbers of differences, keyed by kind of drift, such as `missing`. `last_rows` and
    `rows` count the rows, nodes and relationships compared.
    """

    last_began_at: datetime | None
    last_checked_at: datetime | None
    last_rows: int | None
    last_drift: Mapping[str, int] | None
    began_at: datetime | None
    rows: int
    drift: Mapping[str, int]

    @property
    def took_s(self) -> float | None:
        """How many seconds the last complete scrub took; None before the first."""
        if self.last_checked_at is None or self.last_began_at is None:
            return None
        return (self.last_checked_at - self.last_began_at).total_seconds()


class Scrubs:
    """Stores the position and the findings of one mirror's scrub."""

    def __init__(self, database: Database, mirror: str) -> None:
        self._database = database
        self._mirror = mirror

    async def position(self) -> ScrubPosition:
        """Return the position of the running scrub. Raises IndexError if the mirror has never had a leader."""
        async with self._database.background(Role.FEED) as connection:
            row = (await fetch(connection, "read_scrub", mirror=self._mirror))[0]
        after = ScanPosition(tenant=row["checked_tenant"], id=row["checked_id"]) if row["checked_id"] else None
        return ScrubPosition(phase=ScrubPhase(row["checked_kind"]), after=after)

    async def report(self) -> ScrubReport | None:
        """Return what the last and the running scrub have found; None if the mirror has never had a leader."""
        async with self._database.background(Role.FEED) as connection:
            rows = await fetch(connection, "read_scrub", mirror=self._mirror)
        if not rows:
            return None
        row = rows[0]
        return ScrubReport(
            last_began_at=row["last_check_began_at"],
            last_checked_at=row["last_checked_at"],
            last_rows=row["last_check_rows"],
            last_drift=row["last_drift"],
            began_at=row["check_began_at"],
            rows=row["check_rows"],
            drift=row["drift"],
        )

    async def begin(self) -> None:
        """Store that the scrub begins now, unless it has begun: its first page may have to be repeated."""
        async with self._database.background(Role.FEED) as connection:
            await run(connection, "begin_scrub", mirror=self._mirror)

    async def advance(self, position: ScrubPosition, *, rows: int) -> None:
        """Move the running scrub to `position`, after a page of `rows` rows."""
        after = position.after
        async with self._database.background(Role.FEED) as connection:
            await run(
                connection,
                "advance_scrub",
                mirror=self._mirror,
                phase=int(position.phase),
                tenant=after.tenant if after is not None else 0,
                id=after.id if after is not None else None,
                rows=rows,
            )

    async def add_drift(self, drift: Mapping[str, int]) -> None:
        """Add the differences of one more page, counted by kind of drift, to those of the running scrub."""
        if not drift:
            return
        async with self._database.background(Role.FEED) as connection:
            await run(
                connection, "add_drift", mirror=self._mirror, names=list(drift), counts=[drift[name] for name in drift]
            )

    async def finish(self, *, rows: int) -> None:
        """Store the result of the running scrub, whose last page had `rows` rows; the next one begins anew."""
        async with self._database.background(Role.FEED) as connection:
            await run(connection, "finish_scrub", mirror=self._mirror, rows=rows)

    async def note_damage(self, count: int, *, beyond_scrub: bool = False) -> None:
        """Note that `count` differences were found, so that the mirror does not answer until they are repaired.

        Above SMALL_DAMAGE in one round, and for differences that somebody else than the scrub found (`beyond_scrub`),
        it does not answer until a complete scrub finds nothing.
        """
        async with self._database.background(Role.FEED) as connection:
            most = -1 if beyond_scrub else SMALL_DAMAGE
            await run(connection, "note_damage", mirror=self._mirror, count=count, most=most)

    async def note_repairs(self) -> None:
        """Note that the repairs of all that was found are in the change log."""
        async with self._database.background(Role.FEED) as connection:
            await run(connection, "note_repairs", mirror=self._mirror)

    async def note_no_damage(self, *, began_at: datetime) -> None:
        """Note that a comparison of everything, which began at `began_at`, found no difference."""
        async with self._database.background(Role.FEED) as connection:
            await run(connection, "note_no_damage", mirror=self._mirror, began_at=began_at)

    async def is_damaged(self) -> bool:
        """Return whether it is known that the mirror differs from Postgres, beyond the changes it has not applied."""
        async with self._database.background(Role.FEED) as connection:
            rows = await fetch(connection, "mirror_is_damaged", consumer=self._mirror, shards=list(range(SHARDS)))
        return bool(rows[0]["damaged"])
