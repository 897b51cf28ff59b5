"""Forgetting: which records fall due, what may go of them, and how it goes (SPEC §2).

Records carry the instant from which they may be pruned, so a pass reads what is due, not what is stored. Some of that
may not go yet, and is put off so that the next pass does not read it again:

- An episode, and the records that are members of one, wait until learning has read the episode (`learned_at`). They
  lose their due instant and get it back from `mark_learned`, however long that takes. An event that belongs to no
  thread is no episode and nothing that learning would read: it goes when it is due.
- An entity waits while a live relation joins it to a current record. Nobody says when the last of those ends, so it is
  looked at again after about as long as it has been overdue: a few times in its life, whatever the store holds.
- A superseded or retracted record is history. It is kept as long as a new record would take to fade.

Two that prune at once take what the other does not hold, and wait for nobody: what is locked is left for later.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.erasure.removal import remove_records
from stratagraph.store.feed.consumer import Change, Kind
from stratagraph.store.keys.tenancy import Caller, Directory
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.salience import PRUNE_BELOW
from stratagraph.store.postgres import tables
from stratagraph.store.postgres.queries import fetch, run
from stratagraph.store.records.reading import salience_of
from stratagraph.store.records.tombstones import Cause
from stratagraph.store.records.writing import finish

ACTOR = "housekeeping"
RATIONALE = f"pruned: salience fell below {PRUNE_BELOW}"
RELATIONS = 10_000  # deleted in one transaction; a record with more goes once its relations have, some batches later
_DAY = timedelta(days=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST = 6  # powers of two of days: an entity is looked at again within 64 days

Key = tuple[int, UUID]  # tenant and record: a pass crosses tenants


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """What one batch did to the records that were due: some went, some may go later. `relations` went with them."""

    pruned: int = 0
    put_off: int = 0
    relations: int = 0

    @property
    def is_done(self) -> bool:
        """Nothing more can be done just now."""
        return not (self.pruned or self.put_off or self.relations)


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A record locked because its due instant has come. `due_at` is computed anew and may say otherwise."""

    key: Key
    type: MemoryType
    due_at: datetime | None


async def prune_due(connection: AsyncConnection, directory: Directory, *, now: datetime, limit: int) -> Pruned:
    """Prune one batch of at most `limit` records that are due, the longest due first. The last statements of a
    transaction: tombstones, audit and feed are written with it. Repeat until `is_done`.
    """
    due = await lock_due(connection, now=now, limit=limit)
    put_off: dict[Key, datetime | None] = {one.key: one.due_at for one in due if one.due_at is None or one.due_at > now}
    going = {one.key: one for one in due if one.key not in put_off}
    unread, busy = await _unlearned(connection, [one.key for one in going.values() if one.type is MemoryType.EPISODIC])
    put_off |= dict.fromkeys(unread, None)
    going = {key: one for key, one in going.items() if key not in unread | busy}
    for key in await _held(connection, going):
        put_off[key] = _looked_at_again(going.pop(key).due_at or now, now)
    await _put_off(connection, put_off)
    pruned, relations = await _remove(connection, directory, sorted(going), now)
    return Pruned(pruned=pruned, put_off=len(put_off), relations=relations)


async def lock_due(connection: AsyncConnection, *, now: datetime, limit: int) -> list[Due]:
    """Records whose due instant has come, the longest due first; what others hold is left to them."""
    return [
        Due(key=(row["tenant"], row["id"]), type=MemoryType(row["type"]), due_at=salience_of(row).due_at())
        for row in await fetch(connection, "lock_due", now=now, limit=limit)
    ]


async def _unlearned(connection: AsyncConnection, keys: Sequence[Key]) -> tuple[set[Key], set[Key]]:
    """Those whose episode learning has not read, and those whose episode somebody holds just now."""
    if not keys:
        return set(), set()
    episodes: dict[Key, list[Key]] = defaultdict(list)
    for row in await fetch(connection, "episodes_of", **_arrays(keys)):
        episodes[row["tenant"], row["id"]].append((row["tenant"], row["episode"]))
    wanted = {episode for of_record in episodes.values() for episode in of_record}
    # Locked, so that learning does not say in between that it has read one, to nobody who waits.
    rows = await fetch(connection, "lock_episodes_learned", **_arrays(sorted(wanted))) if wanted else ()
    learned = {(row["tenant"], row["id"]): row["is_learned"] for row in rows}
    unread = {key for key, of_record in episodes.items() if any(learned.get(one) is False for one in of_record)}
    busy = {key for key, of_record in episodes.items() if any(one not in learned for one in of_record)}
    return unread - busy, busy


async def _held(connection: AsyncConnection, going: dict[Key, Due]) -> set[Key]:
    """Entities that something which stays refers to. One that stays may hold another, so until no more are found."""
    held: set[Key] = set()
    while True:
        staying = going.keys() - held
        entities = [key for key in staying if going[key].type is MemoryType.ENTITY]
        if not entities:
            return held
        rows = await fetch(
            connection,
            "held_entities",
            **_arrays(entities),
            going_tenants=[tenant for tenant, _ in staying],
            going_ids=[id_ for _, id_ in staying],
        )
        if not rows:
            return held
        held |= {(row["tenant"], row["id"]) for row in rows}


def _looked_at_again(due_at: datetime, now: datetime) -> datetime:
    """The next multiple of about as many days as the entity has been overdue, a power of two. Multiples, so that
    entities which only refer to each other are looked at together, and go together."""
    overdue = max(1, (now - due_at) // _DAY)
    days = timedelta(days=1 << min(_LONGEST, overdue.bit_length() - 1))
    return _EPOCH + ((now - _EPOCH) // days + 1) * days


async def _put_off(connection: AsyncConnection, until: dict[Key, datetime | None]) -> None:
    if until:
        keys = sorted(until)
        await run(connection, "postpone_pruning", **_arrays(keys), due_at=[until[key] for key in keys])


async def _remove(
    connection: AsyncConnection, directory: Directory, keys: Sequence[Key], now: datetime
) -> tuple[int, int]:
    """Delete locked records and their relations; returns how many of each. A record with relations that others hold,
    or with too many, stays due."""
    if not keys:
        return 0, 0
    relations = await fetch(connection, "delete_relations_of", **_arrays(keys), limit=RELATIONS)
    records = await fetch(connection, "unrelated_records", **_arrays(keys))
    changes: dict[int, list[Change]] = defaultdict(list)
    for row in relations:
        version = row["row_version"] + 1
        changes[row["tenant"]].append(Change(kind=Kind.RELATION, id=row["id"], version=version, op="D"))
    gone: dict[int, list[UUID]] = defaultdict(list)
    for row in records:
        gone[row["tenant"]].append(row["id"])
    for number in sorted(gone):
        tenant = await directory.tenant_by_id(number)
        removed = await remove_records(
            connection, tenant, gone[number], Cause.PRUNED, actor=ACTOR, rationale=RATIONALE, at=now
        )
        changes[number] += removed.changes
    for number in sorted(changes):
        await finish(connection, await directory.tenant_by_id(number), changes[number])
    return len(records), len(relations)


async def mark_learned(connection: AsyncConnection, tenant: int, episodes: Collection[UUID], *, at: datetime) -> int:
    """Learning has read these closed episodes: what of them fell due meanwhile may go. Returns how many it newly was.

    An open episode stays as it is.
    """
    table = tables.episode
    rows = await connection.execute(
        update(table)
        .where(
            table.c.tenant == tenant,
            table.c.id.in_(list(episodes)),
            table.c.closed_at.is_not(None),
            table.c.learned_at.is_(None),
        )
        .values(learned_at=at)
        .returning(table.c.id)
    )
    learned = list(rows.scalars())
    if learned:
        await run(connection, "schedule_learned", tenant=tenant, ids=learned, at=at, prune_below=PRUNE_BELOW)
    return len(learned)


async def preview(
    connection: AsyncConnection, caller: Caller, *, until: datetime, first: int, after: tuple[datetime, UUID] | None
) -> list[tuple[UUID, datetime]]:
    """What a pass at `until` would prune if nothing happened before it, with the due instants, oldest due first.

    Only records in full sight, at most `first` of them, and only what is in full sight can hold them back.
    """
    rows = await fetch(
        connection,
        "preview_pruning",
        **caller.parameters(),
        until=until,
        first=first,
        after_due=after[0] if after else None,
        after_id=after[1] if after else None,
    )
    return [(row["id"], row["due_at"]) for row in rows]


def _arrays(keys: Collection[Key]) -> dict[str, list[int] | list[UUID]]:
    return {"tenants": [tenant for tenant, _ in keys], "ids": [id_ for _, id_ in keys]}
