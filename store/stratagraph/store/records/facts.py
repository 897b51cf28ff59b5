"""Facts in their slots: locking a slot, and finding the facts that equal or contradict a new one.

A slot may hold very many facts, so a slot is never read as a whole: equal facts are found by their key, contradictory
ones by the overlap of their validity. See docs/data-model.md, Facts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations
from typing import Any
from uuid import UUID

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Tenant
from stratagraph.store.keys.sealing.contents import open_contents
from stratagraph.store.model.enums import RecordState
from stratagraph.store.model.errors import LimitExceeded
from stratagraph.store.model.valid_time import Interval
from stratagraph.store.postgres.bulk import insert_rows
from stratagraph.store.postgres.queries import fetch, run
from stratagraph.store.postgres.schema import tables
from stratagraph.store.records.fact_keys import Slot, condition_key, contradictory, slot_arrays
from stratagraph.store.records.predicates import registered

MAX_CONTRADICTED = 1_000  # stored facts that one new fact may contradict
MAX_SLOT = 10_000  # facts, in any state, of a slot that becomes single-valued


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """An active or contested fact whose row is locked. `interval` is its effective validity."""

    id: UUID
    slot: Slot
    fact_key: bytes
    state: RecordState
    interval: Interval
    stated: Interval
    conditions: dict[str, Any]
    evidence_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class FactQuery:
    """A new or stored fact to compare with the current facts of its slot.

    Without an `interval`, only equal facts are sought. `single_valued` tells whether the slot is.
    """

    slot: Slot
    fact_key: bytes
    conditions: Mapping[str, Any]
    interval: Interval | None
    single_valued: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The current facts that equal a fact, and those that contradict it; both in id order."""

    equal: tuple[Fact, ...] = ()
    contradicted: tuple[Fact, ...] = ()


async def lock_slots(connection: AsyncConnection, tenant: Tenant, slots: Mapping[Slot, str | None]) -> dict[Slot, bool]:
    """Lock slots in sorted order, creating those that do not exist; return for each whether it is single-valued.

    `slots` maps each slot to its predicate; a new slot takes the cardinality that is registered for the predicate.
    A slot without a predicate is that of an ambiguous subject, which is never single-valued.
    """
    if not slots:
        return {}
    found = await lock_known_slots(connection, tenant, slots)
    missing = sorted(slots.keys() - found.keys())
    if not missing:
        return found
    single = await registered(connection, tenant, {name for slot in missing if (name := slots[slot]) is not None})
    rows = []
    for slot in missing:
        predicate = slots[slot]
        rows.append(
            {
                "tenant": tenant.id,
                "scope": slot.scope,
                "sensitivity": slot.sensitivity,
                "slot_key": slot.key,
                "single_valued": predicate is not None and single[predicate].single_valued,
            }
        )
    await insert_rows(
        connection,
        tables.fact_slot,
        rows,
        suffix="ON CONFLICT (tenant, scope, sensitivity, slot_key) DO NOTHING",
    )
    return await lock_known_slots(connection, tenant, slots)


async def lock_known_slots(connection: AsyncConnection, tenant: Tenant, slots: Collection[Slot]) -> dict[Slot, bool]:
    """Lock those of `slots` that exist, in sorted order; return for each whether it is single-valued."""
    rows = await fetch(connection, "lock_slots", tenant=tenant.id, **slot_arrays(slots))
    return {Slot(row["scope"], row["sensitivity"], row["slot_key"]): row["single_valued"] for row in rows}


async def lock_slots_of(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]) -> dict[Slot, bool]:
    """Lock the slots of the facts among `ids`; return for each slot whether it is single-valued."""
    if not ids:
        return {}
    rows = await fetch(connection, "lock_slots_of", tenant=tenant.id, ids=list(ids))
    return {Slot(row["scope"], row["sensitivity"], bytes(row["slot_key"])): row["single_valued"] for row in rows}


async def slots_of(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]) -> dict[UUID, Slot]:
    """Return the slots of facts, keyed by id; records of other types are left out."""
    table = tables.record
    rows = await connection.execute(
        select(table.c.id, table.c.scope, table.c.sensitivity, table.c.slot_key).where(
            table.c.tenant == tenant.id, table.c.id.in_(list(ids)), table.c.slot_key.is_not(None)
        )
    )
    return {row.id: Slot(row.scope, row.sensitivity, bytes(row.slot_key)) for row in rows}


async def make_single_valued(connection: AsyncConnection, tenant: Tenant, slot: Slot) -> None:
    """Make a locked slot single-valued. Raises LimitExceeded for a slot of more than MAX_SLOT facts.

    The rows of all its facts change with it, through their foreign key.
    """
    place = {"scope": slot.scope, "sensitivity": slot.sensitivity, "slot": slot.key}
    rows = await fetch(connection, "count_slot_rows", tenant=tenant.id, **place, limit=MAX_SLOT + 1)
    if rows[0]["n"] > MAX_SLOT:
        raise _slot_too_large()
    table = tables.fact_slot
    await connection.execute(
        update(table)
        .where(
            table.c.tenant == tenant.id,
            table.c.scope == slot.scope,
            table.c.sensitivity == slot.sensitivity,
            table.c.slot_key == slot.key,
        )
        .values(single_valued=True)
    )


async def overlapping_facts(
    connection: AsyncConnection, tenant: Tenant, slot: Slot, *, leaving: Collection[UUID] = ()
) -> tuple[UUID, UUID] | None:
    """Return the ids of two active facts of a locked slot that contradict each other, or None if there are no such two.

    With None, the slot can be made single-valued. Facts in `leaving` count as inactive. Raises LimitExceeded if the
    slot has more than MAX_CONTRADICTED active facts.
    """
    place = {"scope": slot.scope, "sensitivity": slot.sensitivity, "slot": slot.key}
    rows = await fetch(connection, "find_slot_members", tenant=tenant.id, **place, limit=MAX_CONTRADICTED + 1)
    if len(rows) > MAX_CONTRADICTED:
        raise _slot_too_large()
    facts = await lock_current_facts(connection, tenant, {row["id"] for row in rows} - set(leaving))
    for one, other in combinations(facts.values(), 2):
        if one.interval.overlaps(other.interval) and contradictory(one.conditions, other.conditions):
            return one.id, other.id
    return None


def _slot_too_large() -> LimitExceeded:
    return LimitExceeded(
        f"content.revision_policy: this subject and predicate have more than {MAX_CONTRADICTED:,} active facts, or more"
        f" than {MAX_SLOT:,} in all, and cannot be given one value at a time; leave revision_policy out, or use another"
        " predicate",
        path=["content", "revision_policy"],
    )


async def lock_current_facts(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]) -> dict[UUID, Fact]:
    """Lock those of `ids` that are active or contested facts, and return them in id order."""
    if not ids:
        return {}
    unconditional = condition_key(tenant, {})
    rows = await fetch(connection, "lock_current_facts", tenant=tenant.id, ids=sorted(ids), unconditional=unconditional)
    contents = await open_contents(tenant.keyring, rows)
    return {
        row["id"]: Fact(
            id=row["id"],
            slot=Slot(row["scope"], row["sensitivity"], bytes(row["slot_key"])),
            fact_key=bytes(row["fact_key"]),
            state=RecordState(row["state"]),
            interval=Interval(row["starts_at"], row["ends_at"]),
            stated=Interval(row["stated_start"], row["stated_end"]),
            conditions=(row["conditions"] if content is None else content["payload"]["validity"].get("conditions"))
            or {},
            evidence_at=row["evidence_at"],
            updated_at=row["updated_at"],
        )
        for row, content in zip(rows, contents, strict=True)
    }


async def compare_facts(
    connection: AsyncConnection, tenant: Tenant, queries: Sequence[FactQuery], *, limit: int | None = MAX_CONTRADICTED
) -> list[Compared]:
    """Lock and return the facts that equal or contradict each of `queries`, in the order of `queries`.

    The slots must be locked. Two statements, which read only the rows that they return. Raises LimitExceeded if one
    fact contradicts more than `limit` stored ones; None is no limit.
    """
    if not queries:
        return []
    rows = await fetch(
        connection,
        "find_slot_facts",
        tenant=tenant.id,
        positions=list(range(len(queries))),
        scopes=[one.slot.scope for one in queries],
        sensitivities=[one.slot.sensitivity for one in queries],
        slots=[one.slot.key for one in queries],
        facts=[one.fact_key for one in queries],
        intervals=[None if one.interval is None else str(one.interval) for one in queries],
        conditional=[bool(one.conditions) for one in queries],
        single=[one.single_valued for one in queries],
        unconditional=condition_key(tenant, {}),
        limit=None if limit is None else limit + 1,
    )
    facts = await lock_current_facts(connection, tenant, {row["id"] for row in rows})
    found: list[list[Fact]] = [[] for _ in queries]
    for id_, position in sorted({(row["id"], row["position"]) for row in rows}):
        if id_ in facts:
            found[position].append(facts[id_])
    return [_compared(query, candidates, limit) for query, candidates in zip(queries, found, strict=True)]


def _compared(query: FactQuery, candidates: Sequence[Fact], limit: int | None) -> Compared:
    equal = tuple(fact for fact in candidates if fact.fact_key == query.fact_key)
    contradicted = tuple(
        fact
        for fact in candidates
        if query.interval is not None
        and fact.fact_key != query.fact_key
        and fact.interval.overlaps(query.interval)
        and contradictory(fact.conditions, query.conditions)
    )
    if limit is not None and len(candidates) - len(equal) > limit:
        raise LimitExceeded(
            f"content.validity: more than {limit:,} stored facts of this subject and predicate hold in this time; state"
            " a shorter time, or use another predicate",
            path=["content", "validity"],
        )
    return Compared(equal=equal, contradicted=contradicted)


async def find_conflicting_fact(
    connection: AsyncConnection,
    tenant: Tenant,
    id_: UUID,
    *,
    deactivating: Collection[UUID] = (),
    activating: Collection[UUID] = (),
) -> UUID | None:
    """Return the id of an active fact that prevents the fact `id_` from being active, or None if there is none.

    Facts in `deactivating` count as inactive and facts in `activating` as active, whatever their state. Returns None
    also for a record that is not a fact. Locks the slot and the facts that it compares.
    """
    slots = await lock_slots_of(connection, tenant, [id_])
    fact = (await lock_current_facts(connection, tenant, [id_])).get(id_) if slots else None
    if fact is None:
        return None
    query = FactQuery(
        slot=fact.slot,
        fact_key=fact.fact_key,
        conditions=fact.conditions,
        interval=fact.interval if slots[fact.slot] else None,
        single_valued=slots[fact.slot],
    )
    compared = (await compare_facts(connection, tenant, [query], limit=None))[0]
    for other in (*compared.equal, *compared.contradicted):
        is_active = other.id in activating or (other.state is RecordState.ACTIVE and other.id not in deactivating)
        if other.id != id_ and is_active:
            return other.id
    return None


async def note_evidence(connection: AsyncConnection, tenant: Tenant, id_: UUID, at: datetime) -> None:
    """Keep `at` as the time of the latest evidence of the fact, unless it has later evidence."""
    await run(connection, "note_evidence", tenant=tenant.id, id=id_, at=at)
