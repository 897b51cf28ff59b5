"""Facts by their keys: reading them without their content, giving them other keys, and the flags of their slots.

Used by merges of entities, by their reversal, and by linking. See docs/data-model.md, Facts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Caller, Tenant
from stratagraph.store.keys.sealing.contents import open_contents
from stratagraph.store.model.enums import RecordState
from stratagraph.store.postgres.bulk import insert_rows
from stratagraph.store.postgres.queries import Row, fetch, run
from stratagraph.store.postgres.schema import tables
from stratagraph.store.records.fact_keys import FactIdentity, Slot, slot_arrays


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedFact:
    """A fact with its keys, its effective validity and its salience, without its content.

    `begins` and `ends` are None where the validity is unbounded.
    """

    id: UUID
    slot: Slot
    fact_key: bytes
    identity: FactIdentity
    state: RecordState
    single_valued: bool
    begins: datetime | None
    ends: datetime | None
    created_at: datetime
    updated_at: datetime
    row_version: int
    s: float
    t0: datetime
    last_reinforced_at: datetime | None

    @property
    def is_current(self) -> bool:
        return self.state in (RecordState.ACTIVE, RecordState.CONTESTED)

    def overlaps(self, other: KeyedFact) -> bool:
        """Return whether the two facts hold at a common instant."""
        return not (
            (self.ends is not None and other.begins is not None and self.ends <= other.begins)
            or (other.ends is not None and self.begins is not None and other.ends <= self.begins)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKeys:
    """The identity that a fact gets, and the slot and the key computed from it."""

    identity: FactIdentity
    slot: Slot
    fact_key: bytes

    @classmethod
    def of(cls, tenant: Tenant, fact: KeyedFact, identity: FactIdentity) -> NewKeys:
        slot = Slot(fact.slot.scope, fact.slot.sensitivity, identity.slot_key(tenant))
        return cls(identity=identity, slot=slot, fact_key=identity.fact_key(tenant))


@dataclass(frozen=True, slots=True, kw_only=True)
class FactContent:
    """The parts of a fact's content by which equal and contradicting facts are settled."""

    provenance: dict[str, Any]
    validity: dict[str, Any]
    occurred_at: datetime


async def find_facts_naming(connection: AsyncConnection, tenant: Tenant, entities: Collection[UUID]) -> list[UUID]:
    """Return the ids of all facts, current or not, that name one of the entities."""
    rows = await fetch(connection, "find_facts_naming", tenant=tenant.id, entities=list(entities))
    return [row["id"] for row in rows]


async def count_facts_naming(
    connection: AsyncConnection, caller: Caller, entities: Collection[UUID], *, most: int
) -> int:
    """Return the number of facts, current or not, that name one of the entities and that the caller may read in full.

    Counts to `most` only.
    """
    rows = await fetch(connection, "count_facts_naming", **caller.parameters(), entities=list(entities), most=most)
    found: int = rows[0]["facts"]
    return found


async def is_named(connection: AsyncConnection, caller: Caller, entity: UUID) -> bool:
    """Return whether a current fact that the caller may read in full names the locked entity."""
    rows = await fetch(connection, "find_fact_naming", **caller.parameters(), entity=entity)
    return bool(rows[0]["named"])


async def count_facts_about(connection: AsyncConnection, caller: Caller, entities: Collection[UUID]) -> dict[UUID, int]:
    """Return the number of current facts naming each entity that the caller may read; entities without are left out."""
    rows = await fetch(connection, "count_facts_about", **caller.parameters(), entities=list(entities))
    return {row["entity"]: row["facts"] for row in rows}


async def fetch_keyed_facts(
    connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]
) -> dict[UUID, KeyedFact]:
    """Return the facts among `ids`, keyed by id, the oldest first."""
    if not ids:
        return {}
    rows = await fetch(connection, "fetch_keyed_facts", tenant=tenant.id, ids=list(ids))
    return {row["id"]: _fact(row) for row in rows}


async def fetch_fact_contents(
    connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]
) -> dict[UUID, FactContent]:
    """Return the content of locked facts, keyed by id; sealed content is decrypted."""
    if not ids:
        return {}
    rows = await fetch(connection, "fetch_fact_contents", tenant=tenant.id, ids=list(ids))
    found = {}
    for row, content in zip(rows, await open_contents(tenant.keyring, rows), strict=True):
        values = row if content is None else content
        found[row["id"]] = FactContent(
            provenance=values["provenance"], validity=values["payload"]["validity"], occurred_at=row["occurred_at"]
        )
    return found


async def find_rivals(
    connection: AsyncConnection,
    tenant: Tenant,
    slots: Mapping[Slot, bool],
    keys: Collection[bytes],
    *,
    most: int | None,
) -> list[UUID]:
    """Return the ids of current facts in locked slots with which facts that get new keys may collide, at most `most`.

    `slots` maps each slot to whether it is single-valued; of such a slot all current facts are returned, of another one
    those with a key in `keys`.
    """
    if not slots:
        return []
    rows = await fetch(
        connection,
        "find_rivals",
        tenant=tenant.id,
        **slot_arrays(slots),
        singles=list(slots.values()),
        facts=list(keys),
        most=most,
    )
    return [row["id"] for row in rows]


async def lock_given_slots(connection: AsyncConnection, tenant: Tenant, slots: Mapping[Slot, bool]) -> dict[Slot, bool]:
    """Lock slots in sorted order, creating those that do not exist; return for each whether it is single-valued.

    `slots` has for each slot whether it is single-valued if it must be created.
    """
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
                "single_valued": slots[slot],
            }
            for slot in ordered
        ],
        suffix="ON CONFLICT (tenant, scope, sensitivity, slot_key) DO NOTHING",
    )
    rows = await fetch(connection, "lock_given_slots", tenant=tenant.id, **slot_arrays(ordered)) if ordered else ()
    return {Slot(row["scope"], row["sensitivity"], bytes(row["slot_key"])): row["single_valued"] for row in rows}


async def set_single_valued(
    connection: AsyncConnection, tenant: Tenant, slots: Sequence[Slot], *, single_valued: bool
) -> None:
    """Set whether locked slots are single-valued."""
    if slots:
        await run(connection, "set_single_valued", tenant=tenant.id, **slot_arrays(slots), single_valued=single_valued)


async def write_fact_keys(
    connection: AsyncConnection, tenant: Tenant, keys: Mapping[UUID, NewKeys], slots: Mapping[Slot, bool]
) -> None:
    """Write new keys of locked facts; `slots` has for each of their slots whether it is single-valued.

    Facts that would be equal to an active fact, or contradict one in a single-valued slot, must not be active any more.
    """
    if not keys:
        return
    identities = [new.identity for new in keys.values()]
    await run(
        connection,
        "write_fact_keys",
        tenant=tenant.id,
        ids=list(keys),
        slots=[new.slot.key for new in keys.values()],
        facts=[new.fact_key for new in keys.values()],
        singles=[slots[new.slot] for new in keys.values()],
        subject_entities=[identity.subject_entity for identity in identities],
        subject_keys=[identity.subject_key for identity in identities],
        ambiguous=[identity.subject_is_ambiguous for identity in identities],
        object_entities=[identity.object_entity for identity in identities],
        value_keys=[identity.value_key for identity in identities],
    )


async def unite_evidence_times(
    connection: AsyncConnection, tenant: Tenant, id_: UUID, ids: Collection[UUID], *, at: datetime
) -> None:
    """Give a fact the time of the latest evidence of the facts `ids`, or `at` if that is later."""
    await run(connection, "unite_evidence_times", tenant=tenant.id, id=id_, ids=list(ids), at=at)


async def set_evidence_times(connection: AsyncConnection, tenant: Tenant, times: Mapping[UUID, datetime]) -> None:
    """Set the times of the latest evidence of locked facts."""
    if times:
        await run(connection, "set_evidence_times", tenant=tenant.id, ids=list(times), times=list(times.values()))


def _fact(row: Row) -> KeyedFact:
    return KeyedFact(
        id=row["id"],
        slot=Slot(row["scope"], row["sensitivity"], bytes(row["slot_key"])),
        fact_key=bytes(row["fact_key"]),
        identity=FactIdentity(
            subject_entity=row["subject_entity"],
            subject_key=_bytes(row["subject_key"]),
            subject_is_ambiguous=row["subject_is_ambiguous"],
            predicate_key=bytes(row["predicate_key"]),
            object_entity=row["object_entity"],
            value_key=_bytes(row["value_key"]),
            condition_key=bytes(row["condition_key"]),
            stated_key=bytes(row["stated_key"]),
        ),
        state=RecordState(row["state"]),
        single_valued=row["single_valued"],
        begins=row["begins"],
        ends=row["ends"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        row_version=row["row_version"],
        s=row["s"],
        t0=row["t0"],
        last_reinforced_at=row["last_reinforced_at"],
    )


def _bytes(value: Any) -> bytes | None:
    return None if value is None else bytes(value)
