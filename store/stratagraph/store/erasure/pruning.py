"""Pruning: which records are due, which of them may be deleted, and deleting them.

See docs/specification.md, Forgetting and erasing. A record's due instant is stored with its salience, so a pass
reads the records that are due, not all that are stored. Some due records may not be pruned yet, and are postponed so
that the next pass does not read them again:

- An episode and its members wait until learning has read the episode (`learned_at`) and the skill of its tools is made
  (`awaits_skill`), but for KEEP_UNLEARNED after its close at most, or as long as the settings say. Until then they
  wait (`check_at`); `schedule_learned` makes them due at once. An event that belongs to no thread is not an episode
  and is not read by learning; it is pruned when it is due.
- An entity waits while a live relation joins it to a current record. When such a record is pruned, the entity is
  checked again in the same pass. No event marks other ends of the last such relation, so it is also checked after about
  as long as it has been overdue (`check_at`): a few times in its life, whatever the size of the store. Due entities
  that refer to each other are locked with the one that is checked, and pruned together.
- A superseded or retracted record is history. It is kept as long as a new record would take to decay.

A record that cannot be pruned, for example because its curve is unknown, is set aside
(`stratagraph.store.jobs.set_aside`), so that it does not hold up others. Concurrent passes skip each other's locked
rows and never wait; a locked record stays due for a later pass.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.erasure.removal import remove_records
from stratagraph.store.feed.changes import Change, Kind, append_changes
from stratagraph.store.jobs.isolation import process_or_set_aside
from stratagraph.store.keys.callers import Caller
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.salience import PRUNE_BELOW
from stratagraph.store.postgres.queries import Row, fetch, run
from stratagraph.store.records.reading import salience_of
from stratagraph.store.records.tombstones import Cause, NewTombstone, prepare_tombstones

JOB = "prune"
ACTOR = "housekeeping"
RATIONALE = f"pruned: salience fell below {PRUNE_BELOW}"
RELATIONS = 10_000  # deleted in one transaction; a record with more is pruned some batches later, after its relations
KEEP_UNLEARNED = timedelta(days=90)  # for which an episode is kept for learning, unless set otherwise
_DAY = timedelta(days=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MAX_CLUSTER = 10_000  # due entities that refer to each other, pruned together
_LONGEST_WAIT = 6  # as a power of two of days: an entity is checked again within 64 days

Key = tuple[int, UUID]  # tenant and record; one pass prunes records of all tenants


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """The numbers of records that one batch pruned, postponed and set aside, and of relations that it deleted.

    `unlearned` of the pruned records belonged to episodes that learning had never read.
    """

    pruned: int = 0
    unlearned: int = 0
    postponed: int = 0
    relations: int = 0
    set_aside: int = 0

    @property
    def is_done(self) -> bool:
        """Whether the batch changed nothing, so that no due record is left that is not locked elsewhere."""
        return not (self.pruned or self.postponed or self.relations or self.set_aside)


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A locked record whose stored due instant has passed.

    `due_at` is the due instant as computed now, which may be later, or None if time alone never makes it due.
    """

    key: Key
    type: MemoryType
    due_at: datetime | None
    error: Exception | None = None  # why the due instant cannot be computed, if so


@dataclass(frozen=True, slots=True)
class Previewed:
    """A record that will be due, and whether it is kept until learning has read its episode."""

    id: UUID
    due_at: datetime
    awaits_learning: bool


async def prune_due(
    connection: AsyncConnection,
    directory: Directory,
    *,
    now: datetime,
    limit: int,
    keep_unlearned: timedelta = KEEP_UNLEARNED,
) -> Pruned:
    """Prune one batch of at most `limit` due records, the longest due first; repeat until the result `is_done`.

    An episode that learning has not read, or whose skill is not made, is kept for `keep_unlearned` after its close.

    A record that may not be pruned yet is postponed, and one whose processing fails is set aside; both become due
    later. Appends to the feed, so it must be the last call of its transaction.
    """
    due = await lock_due(connection, now=now, limit=limit)

    async def prune(part: Sequence[Due]) -> Pruned:
        return await _prune(connection, directory, part, now, keep_unlearned)

    done, failures = await process_or_set_aside(
        connection,
        JOB,
        [one for one in due if one.error is None],
        prune,
        key=lambda one: one.key,
        at=now,
        failed={one: one.error for one in due if one.error is not None},
    )
    await _postpone(connection, {one.key: failure.retry_at for one, failure in failures.items()})
    return Pruned(
        pruned=sum(one.pruned for one in done),
        unlearned=sum(one.unlearned for one in done),
        postponed=sum(one.postponed for one in done),
        relations=sum(one.relations for one in done),
        set_aside=len(failures),
    )


async def _prune(
    connection: AsyncConnection, directory: Directory, due: Sequence[Due], now: datetime, keep_unlearned: timedelta
) -> Pruned:
    postponed: dict[Key, datetime | None] = {
        one.key: one.due_at for one in due if one.due_at is None or one.due_at > now
    }
    to_prune = {one.key: one for one in due if one.key not in postponed}
    episodic = [one.key for one in to_prune.values() if one.type is MemoryType.EPISODIC]
    awaited, unread, busy = await _awaiting_learning(connection, episodic, keep_unlearned)
    waiting = {key: until for key, until in awaited.items() if until > now}
    to_prune = {key: one for key, one in to_prune.items() if key not in busy and key not in waiting}
    await _add_clusters(connection, to_prune, now)
    referenced = await _referenced_entities(connection, to_prune)
    checks = {key: _next_check(to_prune.pop(key).due_at or now, now) for key in referenced}
    await _postpone(connection, postponed)
    await _wait(connection, waiting | checks)
    pruned, relations = await _delete(connection, directory, sorted(to_prune), now)
    return Pruned(
        pruned=len(pruned),
        unlearned=len(unread & pruned),
        postponed=len(postponed) + len(waiting) + len(checks),
        relations=relations,
    )


async def lock_due(connection: AsyncConnection, *, now: datetime, limit: int) -> list[Due]:
    """Lock and return at most `limit` records whose due instant has passed, the longest due first.

    Records that another transaction has locked are skipped.
    """
    return [_due(row) for row in await fetch(connection, "lock_due", now=now, limit=limit)]


def _due(row: Row) -> Due:
    key, memory_type = (row["tenant"], row["id"]), MemoryType(row["type"])
    try:
        return Due(key=key, type=memory_type, due_at=salience_of(row).due_at())
    except Exception as error:  # a curve that this version does not know, or values that it cannot compute with
        return Due(key=key, type=memory_type, due_at=None, error=error)


async def _awaiting_learning(
    connection: AsyncConnection, keys: Sequence[Key], keep: timedelta
) -> tuple[dict[Key, datetime], set[Key], set[Key]]:
    """Return the records whose episode is kept for learning, with the instants up to which it is.

    The second value has the records whose episode learning has not read, the third those whose episode is locked
    elsewhere.
    """
    if not keys:
        return {}, set(), set()
    episodes: dict[Key, list[Key]] = defaultdict(list)
    for row in await fetch(connection, "episodes_of", **_arrays(keys)):
        episodes[row["tenant"], row["id"]].append((row["tenant"], row["episode"]))
    wanted = {episode for of_record in episodes.values() for episode in of_record}
    # Locked, because a record postponed after `schedule_learned` had run on its episode would wait needlessly.
    rows = await fetch(connection, "lock_episodes_learned", **_arrays(sorted(wanted))) if wanted else ()
    kept = {(row["tenant"], row["id"]): row["ends_at"] + keep if row["is_awaited"] else None for row in rows}
    unlearned = {(row["tenant"], row["id"]) for row in rows if row["is_unlearned"]}
    busy = {key for key, of_record in episodes.items() if any(one not in kept for one in of_record)}
    awaited = {
        key: max(waits)
        for key, of_record in episodes.items()
        if key not in busy and (waits := [until for one in of_record if (until := kept[one]) is not None])
    }
    unread = {key for key in awaited if not unlearned.isdisjoint(episodes[key])}
    return awaited, unread, busy


async def _add_clusters(connection: AsyncConnection, to_prune: dict[Key, Due], now: datetime) -> None:
    """Lock and add the due entities that are joined to the entities in `to_prune`, through entities alone."""
    frontier = [key for key, one in to_prune.items() if one.type is MemoryType.ENTITY]
    left = MAX_CLUSTER
    while frontier and left:
        rows = await fetch(
            connection,
            "lock_due_neighbours",
            **_arrays(frontier),
            known_tenants=[tenant for tenant, _ in to_prune],
            known_ids=[id_ for _, id_ in to_prune],
            now=now,
            limit=left,
        )
        found = [one for one in map(_due, rows) if one.error is None and one.due_at is not None and one.due_at <= now]
        to_prune |= {one.key: one for one in found}
        frontier = [one.key for one in found]
        left -= len(found)


async def _referenced_entities(connection: AsyncConnection, to_prune: dict[Key, Due]) -> set[Key]:
    """Return the entities to which a record that stays refers.

    An entity that stays may refer to another, so this repeats until no more are found.
    """
    referenced: set[Key] = set()
    while True:
        remaining = to_prune.keys() - referenced
        entities = [key for key in remaining if to_prune[key].type is MemoryType.ENTITY]
        if not entities:
            return referenced
        rows = await fetch(
            connection,
            "fetch_referenced_entities",
            **_arrays(entities),
            pruned_tenants=[tenant for tenant, _ in remaining],
            pruned_ids=[id_ for _, id_ in remaining],
        )
        if not rows:
            return referenced
        referenced |= {(row["tenant"], row["id"]) for row in rows}


def _next_check(due_at: datetime, now: datetime) -> datetime:
    """Return the next multiple of a power of two of days, about as many as the entity has been overdue.

    Multiples of one length coincide, so entities that refer only to each other are checked, and pruned, together.
    """
    overdue = max(1, (now - due_at) // _DAY)
    days = timedelta(days=1 << min(_LONGEST_WAIT, overdue.bit_length() - 1))
    return _EPOCH + ((now - _EPOCH) // days + 1) * days


async def _postpone(connection: AsyncConnection, until: Mapping[Key, datetime | None]) -> None:
    if until:
        keys = sorted(until)
        await run(connection, "postpone_pruning", **_arrays(keys), due_at=[until[key] for key in keys])


async def _wait(connection: AsyncConnection, until: Mapping[Key, datetime]) -> None:
    if until:
        keys = sorted(until)
        await run(connection, "wait_for_pruning", **_arrays(keys), check_at=[until[key] for key in keys])


async def _delete(
    connection: AsyncConnection, directory: Directory, keys: Sequence[Key], now: datetime
) -> tuple[set[Key], int]:
    """Delete locked records and their relations; return the records, and the number of relations.

    A record stays due if another transaction has locked one of its relations, or if it has too many.
    """
    keys = await _restorable(connection, keys)
    if not keys:
        return set(), 0
    tombstones = await _tombstones(connection, directory, keys)  # while the relations show the records' entities
    episodes = {(row["tenant"], row["id"]) for row in await fetch(connection, "find_pruned_episodes", **_arrays(keys))}
    relations = await fetch(connection, "delete_relations_of", **_arrays(keys), limit=RELATIONS)
    records = await fetch(connection, "unrelated_records", **_arrays(keys))
    far = {(row["tenant"], row[end]) for row in relations for end in ("source", "target")} - set(keys)
    if far:
        await run(connection, "end_waiting", **_arrays(sorted(far)))
    changes: dict[int, list[Change]] = defaultdict(list)
    for row in relations:
        version = row["row_version"] + 1
        ends = (row["source"], row["target"]) if row["was_open"] else None
        changes[row["tenant"]].append(Change(kind=Kind.RELATION, id=row["id"], version=version, op="D", ends=ends))
    ids_of_tenant: dict[int, list[UUID]] = defaultdict(list)
    for row in records:
        ids_of_tenant[row["tenant"]].append(row["id"])
    for number in sorted(ids_of_tenant):
        tenant = await directory.tenant_by_id(number)
        removed = await remove_records(
            connection,
            directory,
            tenant,
            ids_of_tenant[number],
            Cause.PRUNED,
            actor=ACTOR,
            rationale=RATIONALE,
            at=now,
            tombstones=[tombstones[number, id_] for id_ in sorted(ids_of_tenant[number])],
        )
        changes[number] += removed.changes
    # An episode names no entities itself, so that an erasure by entity would not find what is left of a pruned one.
    if pruned := sorted(episodes & {(row["tenant"], row["id"]) for row in records}):
        await run(connection, "forget_rationales", **_arrays(pruned))
        await run(connection, "forget_senders", **_arrays(pruned))
    for number in sorted(changes):
        await append_changes(connection, await directory.tenant_by_id(number), changes[number])
    return {(row["tenant"], row["id"]) for row in records}, len(relations)


async def _tombstones(
    connection: AsyncConnection, directory: Directory, keys: Sequence[Key]
) -> dict[Key, NewTombstone]:
    """Return the fields of the tombstones of locked records.

    Those of a record with more than RELATIONS relations lack the entities of the first ones.
    """
    found: dict[Key, NewTombstone] = {}
    for number in sorted({tenant for tenant, _ in keys}):
        tenant = await directory.tenant_by_id(number)
        ids = [id_ for of_tenant, id_ in keys if of_tenant == number]
        found |= {(number, one.id): one for one in await prepare_tombstones(connection, tenant, ids)}
    return found


async def _restorable(connection: AsyncConnection, keys: Sequence[Key]) -> list[Key]:
    """Return the records whose deletion changes nothing that another transaction has locked.

    A fact that trims others is left out where its slot or a trimmed fact is locked elsewhere; it stays due.
    """
    if not keys:
        return []
    trims = {(row["tenant"], row["id"]): row["n"] for row in await fetch(connection, "count_trims_by", **_arrays(keys))}
    if not trims:
        return list(keys)
    locked: dict[Key, int] = defaultdict(int)
    for row in await fetch(connection, "lock_trimmed", **_arrays(sorted(trims))):
        locked[row["tenant"], row["id"]] += 1
    return [key for key in keys if locked[key] == trims.get(key, 0)]


async def schedule_learned(connection: AsyncConnection, tenant: int, episodes: Sequence[UUID], *, at: datetime) -> None:
    """Make learned episodes and their members due at `at` if they fell due while they were kept for learning."""
    if episodes:
        await run(connection, "schedule_learned", tenant=tenant, ids=list(episodes), at=at, prune_below=PRUNE_BELOW)


async def preview(
    connection: AsyncConnection,
    caller: Caller,
    *,
    until: datetime,
    first: int,
    after: tuple[datetime, UUID] | None,
    keep_unlearned: timedelta = KEEP_UNLEARNED,
) -> list[Previewed]:
    """Return the records that a pass at `until` would prune, oldest due first, `first` at most.

    `after` is the last due instant and id of the previous page, None for the first page. Assumes that nothing changes
    before `until` but that learning reads the episodes that it has not read. Only records that the caller may read in
    full are returned, and only such records count as reasons not to prune an entity.
    """
    rows = await fetch(
        connection,
        "preview_pruning",
        **caller.parameters(),
        until=until,
        kept_since=until - keep_unlearned,
        first=first,
        after_due=after[0] if after else None,
        after_id=after[1] if after else None,
    )
    return [Previewed(row["id"], row["due_at"], row["awaits_learning"]) for row in rows]


def _arrays(keys: Collection[Key]) -> dict[str, list[int] | list[UUID]]:
    return {"tenants": [tenant for tenant, _ in keys], "ids": [id_ for _, id_ in keys]}
