"""Facts in their slots: locking a slot, reading its facts, and finding facts that cannot be active at the same time.

See docs/data-model.md, Facts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
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
from stratagraph.store.postgres import tables
from stratagraph.store.postgres.bulk import insert_rows
from stratagraph.store.postgres.queries import fetch
from stratagraph.store.records.fact_keys import Slot, disjoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """An active or contested fact whose row is locked."""

    id: UUID
    slot: Slot
    fact_key: bytes
    state: RecordState
    validity: dict[str, Any]
    provenance: dict[str, Any]
    updated_at: datetime


async def lock_slots(connection: AsyncConnection, tenant: Tenant, slots: Mapping[Slot, str]) -> dict[Slot, bool]:
    """Lock slots in sorted order, creating those that do not exist; return for each whether it is single-valued.

    `slots` maps each slot to its predicate; a new slot takes the cardinality that is registered for the predicate.
    """
    if not slots:
        return {}
    registered = await connection.execute(
        select(tables.fact_predicate.c.predicate, tables.fact_predicate.c.single_valued).where(
            tables.fact_predicate.c.tenant == tenant.id, tables.fact_predicate.c.predicate.in_(set(slots.values()))
        )
    )
    single = {row.predicate: row.single_valued for row in registered}
    ordered = sorted(slots)
    await insert_rows(
        connection,
        tables.fact_slot,
        [
            {
                "tenant": tenant.id,
                "scope": slot.scope,
                "sensitivity": slot.sensitivity,
                "slot_key": slot.key,
                "single_valued": single.get(slots[slot], False),
            }
            for slot in ordered
        ],
        suffix="ON CONFLICT (tenant, scope, sensitivity, slot_key) DO NOTHING",
    )
    table = tables.fact_slot
    rows = await connection.execute(
        select(table)
        .where(table.c.tenant == tenant.id, table.c.slot_key.in_([slot.key for slot in ordered]))
        .order_by(table.c.scope, table.c.sensitivity, table.c.slot_key)
        .with_for_update()
    )
    found = {Slot(row.scope, row.sensitivity, bytes(row.slot_key)): row.single_valued for row in rows}
    return {slot: found[slot] for slot in ordered}


async def make_single_valued(connection: AsyncConnection, tenant: Tenant, slot: Slot) -> None:
    """Make a locked slot single-valued."""
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


async def fetch_facts(connection: AsyncConnection, tenant: Tenant, slots: Sequence[Slot]) -> dict[Slot, list[Fact]]:
    """Lock and return the active and contested facts of locked slots. Slots without such facts are left out."""
    if not slots:
        return {}
    table = tables.record
    result = await connection.execute(
        select(
            table.c.id,
            table.c.scope,
            table.c.sensitivity,
            table.c.slot_key,
            table.c.fact_key,
            table.c.state,
            table.c.payload["validity"].label("within"),
            table.c.provenance,
            table.c.sealed,
            table.c.updated_at,
        )
        .where(
            table.c.tenant == tenant.id,
            table.c.scope.in_({slot.scope for slot in slots}),
            table.c.sensitivity.in_({slot.sensitivity for slot in slots}),
            table.c.slot_key.in_([slot.key for slot in slots]),
            table.c.type == 4,
            table.c.state.in_([RecordState.ACTIVE, RecordState.CONTESTED]),
        )
        .order_by(table.c.id)
        .with_for_update()
    )
    rows = result.mappings().all()
    found: dict[Slot, list[Fact]] = {}
    for row, content in zip(rows, await open_contents(tenant.keyring, rows), strict=True):
        slot = Slot(row["scope"], row["sensitivity"], bytes(row["slot_key"]))
        found.setdefault(slot, []).append(
            Fact(
                id=row["id"],
                slot=slot,
                fact_key=bytes(row["fact_key"]),
                state=RecordState(row["state"]),
                validity=row["within"] if content is None else content["payload"]["validity"],
                provenance=row["provenance"] if content is None else content["provenance"],
                updated_at=row["updated_at"],
            )
        )
    return found


def overlapping_facts(facts: Iterable[Fact]) -> tuple[UUID, UUID] | None:
    """Return the ids of two active facts among `facts` whose validities overlap, or None if there are no such two.

    With None, the slot of these facts can be made single-valued.
    """
    active = [fact for fact in facts if fact.state is RecordState.ACTIVE]
    for one, other in combinations(active, 2):
        if not disjoint(one.validity, other.validity):
            return one.id, other.id
    return None


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
    also for a record that is not a fact. Locks the slot and its facts; the check is made in Python, since the
    constraints of the database cannot express that unequal conditions overlap.
    """
    rows = await fetch(connection, "lock_slot_of", tenant=tenant.id, id=id_)
    if not rows:
        return None
    row = rows[0]
    slot = Slot(row["scope"], row["sensitivity"], bytes(row["slot_key"]))
    facts = (await fetch_facts(connection, tenant, [slot])).get(slot, [])
    fact = next((one for one in facts if one.id == id_), None)
    if fact is None:
        return None
    for other in facts:
        is_active = other.id in activating or (other.state is RecordState.ACTIVE and other.id not in deactivating)
        if other.id == id_ or not is_active:
            continue
        overlaps = row["single_valued"] and not disjoint(other.validity, fact.validity)
        if other.fact_key == fact.fact_key or overlaps:
            return other.id
    return None
