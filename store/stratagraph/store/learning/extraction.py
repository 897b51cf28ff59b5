"""The queue of episodes that a language model is to read: claimed under a lease, part by part, each part once.

A row stays when its episode was read, so that it is never queued again, and is deleted with the episode's record.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.learning.episodes import DueEpisode
from stratagraph.store.learning.groups import Group
from stratagraph.store.model.enums import Outcome, Sensitivity
from stratagraph.store.postgres.queries import fetch, run

LEASE_S = 900.0  # seconds after which the episode of a server that died is read by another one


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The right to read one part of an episode.

    `attempts` counts this one, those before it whose process ended without giving the claim back, and one for an
    endpoint that did not answer.
    """

    group: Group
    episode: UUID
    part: int
    attempts: int
    owner: str

    @property
    def key(self) -> tuple[int, UUID]:
        """The tenant and the id of the episode."""
        return self.group.tenant, self.episode


async def queue_episodes(connection: AsyncConnection, group: Group, ids: Collection[UUID], *, at: datetime) -> int:
    """Queue closed episodes of a group to be read; return how many had not been queued before."""
    if not ids:
        return 0
    return await run(connection, "queue_extraction", **_place(group), ids=list(ids), at=at)


async def claim_episode(
    connection: AsyncConnection,
    *,
    owner: str,
    below: Sensitivity | None,
    now: datetime,
    spent: Collection[int] = (),
) -> Claim | None:
    """Lease the part of an episode that has waited longest and is due at `now`; None if none is.

    Only episodes below the level `below` are claimed; None bounds nothing. Read over all tenants except `spent`.
    """
    rows = await fetch(
        connection,
        "claim_extraction",
        owner=owner,
        below=_bound(below),
        now=now,
        spent=sorted(spent),
        lease_s=LEASE_S,
    )
    if not rows:
        return None
    row = rows[0]
    return Claim(
        group=Group(row["tenant"], row["scope"], Sensitivity(row["sensitivity"])),
        episode=row["episode"],
        part=row["part"],
        attempts=row["attempts"],
        owner=owner,
    )


async def fetch_episode(connection: AsyncConnection, tenant: int, episode: UUID) -> DueEpisode | None:
    """Return what learning knows of a closed episode; None if it does not exist any more."""
    rows = await fetch(connection, "fetch_extracted_episode", tenant=tenant, id=episode)
    if not rows:
        return None
    outcome = rows[0]["outcome"]
    return DueEpisode(
        id=episode, closed_at=rows[0]["closed_at"], outcome=Outcome(outcome) if outcome is not None else None
    )


async def count_waiting(connection: AsyncConnection, *, below: Sensitivity | None, now: datetime, most: int) -> int:
    """Return the number of episodes of all tenants that `claim_episode` would lease at `now`, up to `most`."""
    return int((await fetch(connection, "count_extractions", below=_bound(below), now=now, most=most))[0]["n"])


async def finish_part(connection: AsyncConnection, claim: Claim, *, is_last: bool) -> bool:
    """Note that a part has been read; return False if the lease was lost or the episode deleted."""
    rows = await fetch(connection, "finish_extraction_part", **_claim(claim), part=claim.part, is_last=is_last)
    return bool(rows)


async def postpone_episode(connection: AsyncConnection, claim: Claim, *, until: datetime, attempts: int = 0) -> None:
    """Give a claim back, for an attempt at `until` at the earliest; the next claim counts one more than `attempts`."""
    await run(connection, "postpone_extraction", **_claim(claim), until=until, attempts=attempts)


async def may_be_sent(
    connection: AsyncConnection, group: Group, ids: Collection[UUID], *, below: Sensitivity | None
) -> bool:
    """Return whether all records `ids` still exist in the group, plain and below the level `below`."""
    rows = await fetch(connection, "still_sendable", **_place(group), ids=sorted(ids), below=_bound(below))
    return bool(rows[0]["n"] == len(set(ids)))


async def hold_sources(
    connection: AsyncConnection, group: Group, ids: Collection[UUID], *, below: Sensitivity | None
) -> set[UUID]:
    """Keep records from being deleted until the transaction ends; return those that still exist as in `may_be_sent`."""
    rows = await fetch(connection, "hold_sources", **_place(group), ids=sorted(ids), below=_bound(below))
    return {row["id"] for row in rows}


async def find_stated_slots(
    connection: AsyncConnection, group: Group, slots: Collection[bytes], *, author: str
) -> set[bytes]:
    """Return those of the slots of the group in which a current fact rests on a source that is none of `author`'s."""
    rows = await fetch(connection, "find_stated_slots", **_place(group), slots=sorted(slots), author=author)
    return {bytes(row["slot_key"]) for row in rows}


def _bound(below: Sensitivity | None) -> int:
    return len(Sensitivity) if below is None else int(below)


def _place(group: Group) -> dict[str, int]:
    return {"tenant": group.tenant, "scope": group.scope, "sensitivity": int(group.sensitivity)}


def _claim(claim: Claim) -> dict[str, object]:
    return {"tenant": claim.group.tenant, "episode": claim.episode, "owner": claim.owner}
