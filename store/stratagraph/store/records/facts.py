"""Facts: their computed keys, their slots, and what may be true at the same time (design decisions 5–7)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations
from typing import Any
from uuid import UUID

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.sealing.contents import opened
from stratagraph.store.keys.tenancy import Tenant
from stratagraph.store.model.canonical import canonical_json, keyed_hash
from stratagraph.store.model.enums import RecordState, Sensitivity
from stratagraph.store.postgres import tables
from stratagraph.store.postgres.bulk import insert_rows
from stratagraph.store.postgres.queries import fetch


@dataclass(frozen=True, slots=True, kw_only=True)
class FactKeys:
    """What identifies a fact. `validity` is a tstzrange in text form."""

    fact: bytes
    slot: bytes
    condition: bytes
    validity: str
    single_valued: bool = False


@dataclass(frozen=True, slots=True, order=True)
class Slot:
    """One (subject, predicate) within a scope and a sensitivity."""

    scope: int
    sensitivity: int
    key: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A current fact of a slot, locked."""

    id: UUID
    slot: Slot
    fact_key: bytes
    state: RecordState
    validity: dict[str, Any]
    provenance: dict[str, Any]
    updated_at: datetime


def fact_keys(tenant: Tenant, payload: Mapping[str, Any], *, single_valued: bool = False) -> FactKeys:
    """Raises InvalidInput where the object has no canonical JSON form."""
    key, validity = tenant.index_key, payload["validity"]
    said = {name: payload[name] for name in ("subject", "predicate", "object", "validity")}
    conditions = validity.get("conditions") or {}
    return FactKeys(
        fact=keyed_hash(key, "fact", canonical_json(said, path=["content"])),
        slot=slot_key(tenant, payload["subject"], payload["predicate"]),
        condition=keyed_hash(key, "condition", canonical_json(conditions, path=["content", "conditions"])),
        validity=f"[{validity.get('start', '')},{validity.get('end', '')})",
        single_valued=single_valued,
    )


def slot_key(tenant: Tenant, subject: str, predicate: str) -> bytes:
    said = canonical_json({"subject": subject, "predicate": predicate}, path=["content"])
    return keyed_hash(tenant.index_key, "slot", said)


def disjoint(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two validities can never hold together: a shared condition without a common value, or separate times."""
    ours, theirs = one.get("conditions") or {}, other.get("conditions") or {}
    for name in ours.keys() & theirs.keys():
        values, others = _values(ours[name]), _values(theirs[name])
        if not any(value in others for value in values):
            return True
    return _before(one.get("end"), other.get("start")) or _before(other.get("end"), one.get("start"))


def _values(value: Any) -> list[bytes]:
    """As canonical JSON, which tells `true` from `1` where Python does not."""
    return [canonical_json(item, path=["conditions"]) for item in (value if isinstance(value, list) else [value])]


def _before(end: str | None, start: str | None) -> bool:
    if end is None or start is None:
        return False
    return datetime.fromisoformat(end) <= datetime.fromisoformat(start)


async def lock_slots(connection: AsyncConnection, tenant: Tenant, slots: Mapping[Slot, str]) -> dict[Slot, bool]:
    """Lock the slots of the facts about to be written, in sorted order; tells which are single-valued.

    `slots` gives each slot's predicate, whose registered cardinality a new slot starts with.
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
    """The active and contested facts of locked slots."""
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
    for row, content in zip(rows, await opened(tenant.keyring, rows), strict=True):
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


def slot_of(scope: int, sensitivity: Sensitivity, keys: FactKeys) -> Slot:
    return Slot(scope, int(sensitivity), keys.slot)


def crowded(facts: Iterable[Fact]) -> tuple[UUID, UUID] | None:
    """Two active facts that hold at the same time, if there are any: a slot with such has more than one value."""
    active = [fact for fact in facts if fact.state is RecordState.ACTIVE]
    for one, other in combinations(active, 2):
        if not disjoint(one.validity, other.validity):
            return one.id, other.id
    return None


async def in_the_way(
    connection: AsyncConnection,
    tenant: Tenant,
    id_: UUID,
    *,
    leaving: Collection[UUID] = (),
    joining: Collection[UUID] = (),
) -> UUID | None:
    """The active fact, if any, beside which the fact `id_` cannot be active; `leaving` and `joining` are about to
    cease to be, and to be.

    Decided under the slot's lock, since the database's own constraints cannot tell that unequal conditions overlap.
    What is not a fact is in nobody's way.
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
        is_active = other.id in joining or (other.state is RecordState.ACTIVE and other.id not in leaving)
        if other.id == id_ or not is_active:
            continue
        overlaps = row["single_valued"] and not disjoint(other.validity, fact.validity)
        if other.fact_key == fact.fact_key or overlaps:
            return other.id
    return None
