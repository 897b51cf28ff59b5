"""How long ago a mirror was followed and maintained, according to Postgres, in which its workers record it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stratagraph.store.feed.snapshots import SHARDS
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.postgres.queries import fetch


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorStatus:
    """The state of one mirror.

    `followed_s` is the number of seconds since a worker completed a pass over the feed, and `maintained_s` since the
    leader completed a pass of maintenance or a page of a rebuild; each None if that has never happened, or if all
    workers have signed off. `checked_s` is the number of seconds since a scrub was completed, `check_took_s` how long
    it took, and `drift` what it found, as numbers of differences by kind; each None before the first. `live_workers`
    counts the workers whose heartbeat is fresh. `is_building` says that the mirror is being filled, and `is_damaged`
    that it is known to differ from Postgres and not repaired yet, so that it must not answer.
    """

    followed_s: float | None
    maintained_s: float | None
    checked_s: float | None
    check_took_s: float | None
    drift: Mapping[str, int] | None
    live_workers: int
    is_building: bool
    is_damaged: bool


async def read_mirror_status(database: Database, mirror: str) -> MirrorStatus:
    """Return the state of a mirror. Raises StoreUnavailable."""
    async with database.background(Role.FEED) as connection:
        row = (
            await fetch(connection, "read_mirror_status", mirror=mirror, consumer=mirror, shards=list(range(SHARDS)))
        )[0]
    return MirrorStatus(
        followed_s=row["followed_s"],
        maintained_s=row["maintained_s"],
        checked_s=row["checked_s"],
        check_took_s=row["check_took_s"],
        drift=row["drift"],
        live_workers=row["live_workers"],
        is_building=bool(row["is_building"]),
        is_damaged=row["is_damaged"],
    )
