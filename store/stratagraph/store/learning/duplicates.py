"""Records to be compared with others that may say the same, where such others are found, and the pairs found.

Everything is within one group: its records, its terms and its facts, so that nothing hidden from a reader of the group
changes what is found.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import inf
from typing import Any
from uuid import UUID

import orjson
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Caller, Tenant
from stratagraph.store.learning.groups import Group
from stratagraph.store.model.canonical import keyed_hash
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.postgres.queries import fetch, run

CANDIDATES = 20  # records that one record is compared with, by each way in which they are found
STATEMENTS = 100  # facts about one entity that are compared
SHARED_OBJECTS = 20  # entities that facts about one entity name, by which others are found
COMMON = 20  # facts of a group that name an entity, beyond which two subjects are not alike for naming it
SLOT = 200  # facts of a group looked at for one subject or object, or one slot, in any state; entities for one key
LISTED_MOST = 500  # pairs to be decided on of one writer in one group, the likeliest
Pair = tuple[UUID, UUID]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedPair:
    """Two records to be decided on, the one with the lower id first.

    `score` is from 0 to 1; `evidence` maps signals to their weights in bits.
    """

    one: UUID
    other: UUID
    score: float
    evidence: Mapping[str, float]
    at: datetime

    @property
    def key(self) -> tuple[float, UUID, UUID]:
        """The place of the pair in the list."""
        return self.score, self.one, self.other


@dataclass(frozen=True, slots=True, kw_only=True)
class NameKeys:
    """A name, the keys that its entity has, and the keys of others that may have a similar name."""

    text: str
    held: frozenset[str]
    asked: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeylessEntity:
    """A queued entity whose keys are to be noted. `name` is empty where it is sealed."""

    group: Group
    id: UUID
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredStatement:
    """A fact about an entity: keyed hashes of its parts, and the entity that its object is, None for a literal."""

    predicate_key: bytes
    object_entity: UUID | None
    value_key: bytes | None
    condition_key: bytes
    stated_key: bytes
    single_valued: bool


def ordered(one: UUID, other: UUID) -> Pair:
    """Return two ids as a pair, the lower one first."""
    return (one, other) if one < other else (other, one)


async def next_group(connection: AsyncConnection, after: Group | None) -> Group | None:
    """Return the first group after `after` that has records to be compared; None if there is none.

    Needs a transaction that sees all tenants.
    """
    last = (0, 0, -1) if after is None else (after.tenant, after.scope, int(after.sensitivity))
    rows = await fetch(connection, "find_next_duplicate_group", tenant=last[0], scope=last[1], sensitivity=last[2])
    if not rows:
        return None
    return Group(rows[0]["tenant"], rows[0]["scope"], Sensitivity(rows[0]["sensitivity"]))


async def count_due(connection: AsyncConnection, *, most: int) -> int:
    """Return the number of records that are to be compared, at most `most`."""
    return int((await fetch(connection, "count_duplicate_due", most=most))[0]["n"])


async def count_keyless(connection: AsyncConnection, *, most: int) -> int:
    """Return the number of queued entities whose keys are to be noted, at most `most`."""
    return int((await fetch(connection, "count_keyless_entities", most=most))[0]["n"])


async def count_unqueued(database: Database, *, most: int) -> int:
    """Return the number of existing records that were not looked at yet for the queue, at most `most`."""
    progress = await read_progress(database)
    if not progress.is_filling:
        return 0
    async with database.background(Role.FEED) as connection:
        return int((await fetch(connection, "count_records_beyond", **progress.after, most=most))[0]["n"])


async def queue_duplicates(connection: AsyncConnection, keys: Collection[tuple[int, UUID]]) -> int:
    """Queue those of the records, given as (tenant, id), that are active entities or facts; return how many are new.

    The keys of those that are not active any more are deleted.
    """
    given = {"tenants": [tenant for tenant, _ in keys], "ids": [id_ for _, id_ in keys]}
    await run(connection, "delete_inactive_keys", **given)
    return await run(connection, "queue_duplicates", **given)


async def queue_set_aside(connection: AsyncConnection, job: str, *, now: datetime) -> int:
    """Queue the records that `job` has set aside and that are to be tried again at `now`; return how many are new."""
    return await run(connection, "queue_set_aside_duplicates", job=job, now=now)


async def clear_compared(connection: AsyncConnection, job: str, *, now: datetime) -> None:
    """Delete the entries of records that `queue_set_aside` has queued at `now` and that are not queued any more."""
    await run(connection, "clear_compared_set_aside", job=job, now=now)


def key_number(tenant: Tenant, group: Group, key: str) -> int:
    """Return the number by which a key of a name is stored: a keyed hash of it and of the group."""
    named = f"{group.scope}:{int(group.sensitivity)}:{key}".encode()
    return int.from_bytes(keyed_hash(tenant.index_key, "duplicate name", named)[:8], "big", signed=True)


async def lock_keyless(connection: AsyncConnection, *, limit: int) -> list[KeylessEntity]:
    """Lock at most `limit` queued entities whose keys are to be noted, and return them."""
    rows = await fetch(connection, "lock_keyless_entities", limit=limit)
    return [
        KeylessEntity(
            group=Group(row["tenant"], row["scope"], Sensitivity(row["sensitivity"])), id=row["id"], name=row["name"]
        )
        for row in rows
    ]


async def note_keys(connection: AsyncConnection, keys: Mapping[tuple[int, UUID], Collection[int]]) -> None:
    """Store the keys of entities, given as (tenant, id), in place of those that they had."""
    entities = {"tenants": [tenant for tenant, _ in keys], "entities": [id_ for _, id_ in keys]}
    await run(connection, "delete_duplicate_keys", **entities)
    rows = [(tenant, number, id_) for (tenant, id_), numbers in keys.items() for number in numbers]
    await run(
        connection,
        "insert_duplicate_keys",
        tenants=[tenant for tenant, _, _ in rows],
        keys=[number for _, number, _ in rows],
        entities=[id_ for _, _, id_ in rows],
    )
    await run(connection, "note_duplicate_keys", **entities)


async def claim_due(connection: AsyncConnection, group: Group, *, limit: int) -> list[UUID]:
    """Take at most `limit` records of a group out of the queue, those about one entity together; return them."""
    rows = await fetch(connection, "claim_duplicate_due", **_place(group), limit=limit)
    return sorted(row["id"] for row in rows)


async def withdraw_due(connection: AsyncConnection, tenant: int, ids: Collection[UUID]) -> list[UUID]:
    """Take the given records out of the queue, and return those that were in it."""
    rows = await fetch(connection, "withdraw_duplicate_due", tenant=tenant, ids=sorted(ids)) if ids else []
    return sorted(row["id"] for row in rows)


async def find_entities_alike(
    connection: AsyncConnection, tenant: Tenant, group: Group, names: Mapping[UUID, NameKeys | None]
) -> set[Pair]:
    """Return pairs of an entity of `names` and another one of its group, found by their names and their facts.

    `names` has the names by whose keys others are found; None for a name by which they are not, such as a path.
    """
    ids, place = list(names), _place(group)
    rows: list[dict[str, Any]] = await fetch(connection, "find_entities_with_names", **place, ids=ids, most=CANDIDATES)
    spelled = {id_: name for id_, name in names.items() if name is not None}
    asked = [(id_, key_number(tenant, group, key)) for id_, name in spelled.items() for key in sorted(name.asked)]
    if asked:
        rows += await fetch(
            connection,
            "find_named_alike",
            **place,
            ids=list(spelled),
            names=[name.text for name in spelled.values()],
            entities=[id_ for id_, _ in asked],
            keys=[number for _, number in asked],
            slot=SLOT,
            most=CANDIDATES,
        )
    rows += await fetch(
        connection,
        "find_sharing_entities",
        **place,
        ids=ids,
        objects=SHARED_OBJECTS,
        common=COMMON,
        slot=SLOT,
        most=CANDIDATES,
    )
    return {ordered(row["entity"], row["other"]) for row in rows}


async def find_facts_of_one_object(connection: AsyncConnection, group: Group, ids: Collection[UUID]) -> set[Pair]:
    """Return pairs of a fact of `ids` and another one of one subject, object, conditions and validity."""
    rows = await fetch(
        connection, "find_facts_of_one_object", **_place(group), ids=sorted(ids), most=CANDIDATES, slot=SLOT
    )
    return {ordered(row["fact"], row["other"]) for row in rows}


async def fetch_slots(connection: AsyncConnection, group: Group, ids: Collection[UUID]) -> list[list[UUID]]:
    """Return the facts of one subject, predicate, conditions and validity that are in one with a fact of `ids`."""
    rows = await fetch(connection, "fetch_slots_of_facts", **_place(group), ids=sorted(ids), slot=SLOT)
    found: dict[tuple[bytes, bytes, bytes], list[UUID]] = {}
    for row in rows:
        found.setdefault((row["slot_key"], row["condition_key"], row["stated_key"]), []).append(row["id"])
    return list(found.values())


async def fetch_statements(
    connection: AsyncConnection, group: Group, ids: Collection[UUID]
) -> dict[UUID, list[StoredStatement]]:
    """Return what facts of the group say of entities, at most STATEMENTS of each, keyed by entity."""
    rows = await fetch(
        connection, "fetch_entity_statements", **_place(group), ids=sorted(ids), most=STATEMENTS, slot=SLOT
    )
    found: dict[UUID, list[StoredStatement]] = {}
    for row in rows:
        found.setdefault(row.pop("entity"), []).append(StoredStatement(**row))
    return found


async def fetch_objects(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]) -> dict[UUID, UUID | None]:
    """Return the entities that the objects of facts are, keyed by fact; None for a literal."""
    rows = await fetch(connection, "fetch_fact_objects", tenant=tenant.id, ids=sorted(ids))
    return {row["id"]: row["object_entity"] for row in rows}


async def fetch_subjects(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]) -> set[UUID]:
    """Return the entities that facts are about."""
    rows = await fetch(connection, "fetch_fact_subjects", tenant=tenant.id, ids=sorted(ids))
    return {row["subject_entity"] for row in rows}


async def find_rejected(connection: AsyncConnection, tenant: Tenant, pairs: Collection[Pair]) -> set[Pair]:
    """Return those of `pairs` that were rejected."""
    ordered_pairs = sorted(pairs)
    rows = await fetch(
        connection,
        "find_rejected_pairs",
        tenant=tenant.id,
        ones=[one for one, _ in ordered_pairs],
        others=[other for _, other in ordered_pairs],
    )
    return {(row["one"], row["other"]) for row in rows}


async def replace_listed(
    connection: AsyncConnection, group: Group, ids: Collection[UUID], pairs: Sequence[ListedPair]
) -> int:
    """Store `pairs` as those to be decided on of the records `ids`; return the number of rows that changed.

    Pairs of these records that are not among them are deleted, but for rejected ones. A pair that was listed keeps its
    instant. Of the pairs whose newer record one writer has captured, the likeliest LISTED_MOST of the group are kept.
    """
    columns: dict[str, Any] = {
        "ones": [pair.one for pair in pairs],
        "others": [pair.other for pair in pairs],
    }
    deleted = await run(connection, "delete_unlisted_pairs", tenant=group.tenant, ids=sorted(ids), **columns)
    if not pairs:
        return deleted
    newer = sorted({pair.other for pair in pairs})  # ids are in the order of their instants
    creators = await fetch(connection, "find_creators", tenant=group.tenant, ids=newer)
    writer_of = {row["id"]: row["actor"] for row in creators}
    writers = [writer_of[pair.other] for pair in pairs]
    stored = await run(
        connection,
        "insert_listed_pairs",
        **_place(group),
        **columns,
        scores=[pair.score for pair in pairs],
        evidence=[orjson.dumps(dict(pair.evidence)).decode() for pair in pairs],
        writers=writers,
        at=pairs[0].at,
    )
    surplus = await run(
        connection, "delete_surplus_pairs", **_place(group), writers=sorted(set(writers)), most=LISTED_MOST
    )
    return deleted + stored + surplus


async def reject_pair(connection: AsyncConnection, tenant: Tenant, pair: Pair, *, at: datetime) -> bool:
    """Note that two records of one group do not say the same; return False if that was noted before."""
    one, other = pair
    return bool(await run(connection, "reject_pair", tenant=tenant.id, one=one, other=other, at=at))


async def reject_merged(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID], *, at: datetime) -> None:
    """Note that the records that each of `ids` superseded do not say the same, because their merge is undone."""
    await run(connection, "reject_merged", tenant=tenant.id, ids=sorted(ids), at=at)


async def list_pairs(
    connection: AsyncConnection, caller: Caller, *, after: tuple[float, UUID, UUID] | None, limit: int
) -> list[ListedPair]:
    """Return at most `limit` pairs to be decided on after the place `after`, the likeliest first.

    Both records of each are active, and the caller may read both in full.
    """
    score, one, other = after or (inf, UUID(int=0), UUID(int=0))
    rows = await fetch(
        connection,
        "list_pairs",
        **caller.parameters(),
        after_minus_score=-score,
        after_one=one,
        after_other=other,
        limit=limit,
    )
    return [ListedPair(**row) for row in rows]


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far the change log was followed for the queue, and the existing records while these are queued."""

    is_filling: bool
    after_tenant: int | None
    after_id: UUID | None
    nonce: UUID | None

    @property
    def after(self) -> dict[str, Any]:
        """The key of the last record that was queued, as parameters of a statement."""
        return {"after_tenant": self.after_tenant, "after_id": self.after_id}


async def read_progress(database: Database) -> Progress:
    """Return the progress of queueing."""
    async with database.background(Role.FEED) as connection:
        return Progress(**(await fetch(connection, "read_duplicate_progress"))[0])


async def begin_filling(database: Database) -> None:
    """Note that all existing records are to be queued, because the change log does not contain them."""
    async with database.background(Role.FEED) as connection:
        await run(connection, "begin_duplicate_filling")


async def list_existing(connection: AsyncConnection, progress: Progress, *, limit: int) -> list[tuple[int, UUID]]:
    """Return the keys, as (tenant, id), of the next records that were not queued yet, in the order of their keys."""
    rows = await fetch(connection, "list_records_beyond", **progress.after, limit=limit)
    return [(row["tenant"], row["id"]) for row in rows]


async def queue_existing(connection: AsyncConnection, keys: Sequence[tuple[int, UUID]]) -> int:
    """Queue existing records, the next ones in order; without any, note that all are. Returns how many are new."""
    queued = await queue_duplicates(connection, keys) if keys else 0
    tenant, id_ = keys[-1] if keys else (None, None)
    await run(connection, "advance_duplicate_filling", after_tenant=tenant, after_id=id_)
    return queued


async def note_followed(connection: AsyncConnection, nonce: UUID) -> None:
    """Note the snapshot up to which the change log was followed."""
    await run(connection, "note_duplicates_followed", nonce=nonce)


def _place(group: Group) -> dict[str, int]:
    return {"tenant": group.tenant, "scope": group.scope, "sensitivity": int(group.sensitivity)}
