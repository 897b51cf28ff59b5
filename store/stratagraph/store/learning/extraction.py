"""The queue of texts that a language model is to read: claimed under a lease, some texts of one episode together.

A row stays when its text was read, so that it is never queued again, and is deleted with the record of the text.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Caller
from stratagraph.store.learning.groups import Group
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.postgres.queries import fetch, run

LEASE_S = 900.0  # seconds after which the texts of a server that died are read by another one
MOST_TEXTS = 40  # of one claim
MOST_EARLIER = 8  # records before them that are sent with them, to understand them
LONGEST_EARLIER = 4_000  # characters of one of these


class ReadingState(IntEnum):
    """How far the reading of a text has come."""

    QUEUED = 1
    DONE = 2
    SET_ASIDE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class TextReading:
    """How far a language model has come with the text of a record.

    `attempts` counts those at the present part of the text, `next_try_at` is when the next one may begin.
    """

    state: ReadingState
    attempts: int
    next_try_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The right to read some texts of one episode, or one part of a long one, in order of their arrival.

    `attempts` counts this one and those that failed before, of the text that was tried most often. `has_died` is
    whether a process ended over one of them.
    """

    group: Group
    episode: UUID
    records: tuple[UUID, ...]
    part: int
    attempts: int
    has_died: bool
    owner: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredText:
    """A record of an episode. One that is not new was not claimed, and only helps to understand the others."""

    record: UUID
    occurred_at: datetime
    payload: Mapping[str, Any]
    is_new: bool


async def queue_texts(
    connection: AsyncConnection, tenant: int, ids: Collection[UUID], *, below: Sensitivity | None, at: datetime
) -> int:
    """Queue the texts of records below the level `below` to be read; return how many had not been queued before."""
    if not ids:
        return 0
    return await run(connection, "queue_texts", tenant=tenant, ids=sorted(ids), below=_bound(below), at=at)


async def claim_texts(
    connection: AsyncConnection,
    *,
    owner: str,
    below: Sensitivity | None,
    now: datetime,
    due: datetime | None = None,
    newest_since: datetime | None = None,
    characters: int,
    spent: Collection[int] = (),
) -> Claim | None:
    """Lease the text that has waited longest, with others of its episode; None if none has waited since `due`.

    With `newest_since`, it is the text that has waited shortest, since `due` at the latest, of those that were queued
    since then. The others may have come later, up to `now`, which is the default of `due`. Together they have about
    `characters`, unless the first one alone has more. Only texts below the level `below` are claimed; None bounds
    nothing. Read over all tenants except `spent`.
    """
    rows = await fetch(
        connection,
        "claim_texts",
        owner=owner,
        below=_bound(below),
        now=now,
        due=now if due is None else due,
        newest=newest_since is not None,
        since=now if newest_since is None else newest_since,
        characters=characters,
        most=MOST_TEXTS - 1,
        spent=sorted(spent),
        lease_s=LEASE_S,
    )
    if not rows:
        return None
    row = rows[0]
    return Claim(
        group=Group(row["tenant"], row["scope"], Sensitivity(row["sensitivity"])),
        episode=row["episode"],
        records=tuple(sorted(one["record"] for one in rows)),
        part=row["part"],
        attempts=max(one["attempts"] for one in rows),
        has_died=any(one["has_died"] for one in rows),
        owner=owner,
    )


async def fetch_texts(connection: AsyncConnection, claim: Claim, *, below: Sensitivity | None) -> list[StoredText]:
    """Return the claimed records that may still be read, after those of their episode that came right before them."""
    rows = await fetch(
        connection,
        "fetch_texts",
        **_place(claim.group),
        episode=claim.episode,
        ids=list(claim.records),
        below=_bound(below),
        most=MOST_EARLIER,
        longest=LONGEST_EARLIER,
    )
    return [
        StoredText(record=row["id"], occurred_at=row["occurred_at"], payload=row["payload"], is_new=row["is_new"])
        for row in rows
    ]


async def count_waiting(connection: AsyncConnection, *, below: Sensitivity | None, now: datetime, most: int) -> int:
    """Return the number of texts of all tenants that `claim_texts` could lease at `now`, up to `most`."""
    return int((await fetch(connection, "count_extractions", below=_bound(below), now=now, most=most))[0]["n"])


async def finish_texts(
    connection: AsyncConnection, claim: Claim, records: Collection[UUID], *, is_last: bool
) -> set[UUID]:
    """Note that claimed texts, or without `is_last` a part of one, have been read.

    Returns those of them whose lease was not lost and whose record was not deleted.
    """
    rows = await fetch(connection, "finish_texts", **_claim(claim, records), part=claim.part, is_last=is_last)
    return {row["record"] for row in rows}


async def release_texts(connection: AsyncConnection, claim: Claim, records: Collection[UUID]) -> None:
    """Give claimed texts back as they were before the claim."""
    if records:
        await run(connection, "release_texts", **_claim(claim, records))


async def return_texts(
    connection: AsyncConnection,
    claim: Claim,
    *,
    until: datetime,
    has_failed: bool = False,
    is_alone: bool = False,
    is_set_aside: bool = False,
) -> None:
    """Give all texts of a claim back, for an attempt at `until` at the earliest, with `is_alone` each by itself.

    The attempt counts if it `has_failed`.
    """
    await run(
        connection,
        "return_texts",
        **_claim(claim, claim.records),
        until=until,
        has_failed=has_failed,
        is_alone=is_alone,
        is_set_aside=is_set_aside,
    )


async def fetch_readings(connection: AsyncConnection, caller: Caller, ids: Collection[UUID]) -> dict[UUID, TextReading]:
    """Return how far the reading of records has come, keyed by record.

    Records that no language model is to read are left out, and those that the caller may not read in full.
    """
    rows = await fetch(connection, "fetch_interpretations", **caller.parameters(), ids=sorted(ids))
    return {
        row["record"]: TextReading(
            state=ReadingState(row["state"]), attempts=row["attempts"], next_try_at=row["next_try_at"]
        )
        for row in rows
    }


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


def _claim(claim: Claim, records: Collection[UUID]) -> dict[str, object]:
    return {"tenant": claim.group.tenant, "ids": sorted(records), "owner": claim.owner}
