"""Random graphs, written to Postgres as captures write them, for tests of both engines.

A `Graph` holds the rows that were written, so it is also the oracle: it computes the records that a traversal may reach
and, as the simplest possible engine, the edges at each record.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from fix_memory import NOON, Memory
from sqlalchemy import text

from stratagraph.store.feed.changes import append_changes
from stratagraph.store.keys.callers import Caller, Tenant
from stratagraph.store.model.enums import DeletionPolicy, MemoryType, RecordState, Sensitivity
from stratagraph.store.model.ids import new_id
from stratagraph.store.model.salience import Decay
from stratagraph.store.model.trust import Trust, Visibility
from stratagraph.store.model.valid_time import Interval
from stratagraph.store.model.words import record_terms
from stratagraph.store.records.fact_keys import FactEntities, fact_keys, slot_of
from stratagraph.store.records.facts import lock_slots
from stratagraph.store.records.inserting import (
    NewRecord,
    NewRelation,
    insert_records,
    insert_relations,
    relation_changes,
)
from stratagraph.store.traversal.neighbourhood import Edge

SCOPES = ("", "project:a", "project:b")
PREDICATES = ("uses", "part_of", "reviews")
# The types without a unique key, and facts, each with a subject of its own.
TYPES = (MemoryType.EPISODIC, MemoryType.ENTITY, MemoryType.COMPETENCE, MemoryType.SEMANTIC, MemoryType.SEMANTIC)
LEVELS = (*Sensitivity, Sensitivity.LOW, Sensitivity.LOW, Sensitivity.PUBLIC)
STATES = (*RecordState, *(RecordState.ACTIVE,) * 8)
CURRENT = (RecordState.ACTIVE, RecordState.CONTESTED)
WEIGHTS = (0.0, 0.25, 0.5, 0.5, 0.5, 1.0, 1 / 3)
DAY, MICROSECOND = timedelta(days=1), timedelta(microseconds=1)
# When facts hold: always, no longer, now, not yet. The bounds include NOON itself and the instants beside it.
INTERVALS = (
    *[Interval()] * 8,
    *(Interval(None, NOON - DAY), Interval(NOON - 2 * DAY, NOON), Interval(None, NOON)),
    *(Interval(NOON), Interval(NOON - DAY, NOON + DAY), Interval(NOON - DAY, NOON + MICROSECOND)),
    *(Interval(None, NOON + 2 * DAY), Interval(NOON + MICROSECOND)),
    *(Interval(NOON + DAY, NOON + 2 * DAY), Interval(NOON + 2 * DAY)),
)
INSTANTS = tuple(sorted({at for one in INTERVALS for at in (one.start, one.end) if at is not None}))


@dataclass(slots=True)
class StoredRecord:
    """A record as it is in Postgres."""

    scope: str
    sensitivity: Sensitivity
    state: RecordState
    validity: Interval | None

    def expire(self) -> None:
        """Make a fact end at NOON, unless it begins then or later."""
        if self.validity is not None and self.validity.low < NOON:
            self.validity = Interval(self.validity.start, min(self.validity.high, NOON))

    def is_current(self, at: datetime) -> bool:
        """Return whether the record is active or contested and, if a fact, holds at the instant."""
        return self.state in CURRENT and (self.validity is None or self.validity.holds_at(at))

    def visibility(self, trust: Trust) -> Visibility:
        return trust.visibility(scope=self.scope, sensitivity=self.sensitivity)


@dataclass(frozen=True, slots=True)
class StoredRelation:
    """A live relation as it is in Postgres."""

    source: UUID
    target: UUID
    weight: float


@dataclass(slots=True)
class Graph:
    """A tenant's records and live relations as they are in Postgres. Also a GraphReader."""

    tenant: Tenant
    records: dict[UUID, StoredRecord]
    relations: dict[UUID, StoredRelation]
    at: datetime = NOON  # the instant as of which `shows`, `degree` and `within` answer
    name: str = field(default="oracle", init=False)

    def visibility(self, trust: Trust, id_: UUID) -> Visibility:
        return self.records[id_].visibility(trust)

    def fully_visible(self, trust: Trust) -> list[UUID]:
        return [id_ for id_ in self.records if self.visibility(trust, id_) is Visibility.FULL]

    def of(self, ids: Collection[UUID]) -> Graph:
        """Return the graph of these records alone."""
        kept = set(ids)
        relations = {id_: one for id_, one in self.relations.items() if {one.source, one.target} <= kept}
        return Graph(self.tenant, {id_: self.records[id_] for id_ in kept}, relations, self.at)

    def shows(self, trust: Trust, id_: UUID, *, history: bool = False) -> bool:
        """Return whether a traversal may return this record."""
        stored = self.records.get(id_)
        return (
            stored is not None
            and (history or stored.is_current(self.at))
            and stored.visibility(trust) is not Visibility.NONE
        )

    def degree(self, trust: Trust, id_: UUID) -> int:
        """Count the edges at a record that a traversal may follow."""
        return sum(
            (relation.source == id_ and self.shows(trust, relation.target))
            + (relation.target == id_ and self.shows(trust, relation.source))
            for relation in self.relations.values()
        )

    def within(self, trust: Trust, roots: Collection[UUID], hops: int, *, history: bool = False) -> dict[UUID, int]:
        """Return the records within `hops` without any limit, by hop, expanding only fully visible records."""
        found = dict.fromkeys(roots, 0)
        frontier = set(roots)
        for hop in range(1, hops + 1):
            reached = {
                far
                for relation in self.relations.values()
                for near, far in ((relation.source, relation.target), (relation.target, relation.source))
                if near in frontier and far not in found and self.shows(trust, far, history=history)
            }
            found |= dict.fromkeys(reached, hop)
            frontier = {id_ for id_ in reached if self.visibility(trust, id_) is Visibility.FULL}
        return found

    async def edges_of(
        self, caller: Caller, frontier: Sequence[UUID], *, at: datetime, fan_out: int, history: bool
    ) -> list[Edge]:
        """Return the edges at the frontier, as GraphReader defines; the acl holds no scope number."""
        self.at = at
        edges = []
        for near in frontier:
            outward = [
                (id_, relation.target, relation.weight)
                for id_, relation in self.relations.items()
                if relation.source == near
            ]
            inward = [
                (id_, relation.source, relation.weight)
                for id_, relation in self.relations.items()
                if relation.target == near
            ]
            for direction in (outward, inward):
                best = sorted(  # those to redacted records last
                    (edge for edge in direction if self.shows(caller.trust, edge[1], history=history)),
                    key=lambda edge: (self.records[edge[1]].sensitivity > caller.ceiling, -edge[2], edge[0].int),
                )
                edges += [
                    Edge(id_, near, far, weight, int(self.records[far].sensitivity))
                    for id_, far, weight in best[:fan_out]
                ]
        return edges


def random_record(
    rng: random.Random, tenant: Tenant, *, word: str = "thing", type_: MemoryType | None = None
) -> NewRecord:
    """Make a record of random scope, sensitivity, state, validity and, unless given, type; `word` begins its name."""
    name = f"{word} {rng.randrange(10**6)}"
    id_, type_ = new_id(), type_ or rng.choice(TYPES)
    payload: dict[str, Any] = {"kind": "episodic", "timeline": []}
    fact = None
    if type_ is MemoryType.SEMANTIC:
        payload = {"kind": "semantic", "subject": f"{name} {id_}", "predicate": "is", "object": name}
        payload |= {"validity": {"mode": "global"}}
        keys = fact_keys(tenant, payload, FactEntities())
        fact = replace(keys, validity=rng.choice(INTERVALS))  # as if other facts had trimmed it
    return NewRecord(
        id=id_,
        type=type_,
        scope=rng.choice(SCOPES),
        sensitivity=rng.choice(LEVELS),
        confidence=1.0,
        tags=(),
        name=name,
        text=name,
        payload=payload,
        provenance={"sources": []},
        occurred_at=NOON,
        decay=Decay(),
        deletion_policy=DeletionPolicy.MANUAL_ONLY,
        terms=record_terms(tenant.index_key, name),
        state=rng.choice(STATES),
        fact=fact,
    )


def readable_by_all(record: NewRecord) -> NewRecord:
    """Return the record as active, unscoped, public and always valid, so that every caller may read it in full."""
    fact = replace(record.fact, validity=record.fact.stated) if record.fact is not None else None
    return replace(record, scope="", sensitivity=Sensitivity.PUBLIC, state=RecordState.ACTIVE, fact=fact)


def random_relations(rng: random.Random, ids: Sequence[UUID]) -> list[NewRelation]:
    """Make relations with equal weights, self-loops, parallel predicates, and both directions between two records."""
    return distinct(
        [
            NewRelation(
                source=rng.choice(ids),
                target=rng.choice(ids),
                predicate=rng.choice(PREDICATES),
                weight=rng.choice(WEIGHTS),
            )
            for _ in range(rng.randrange(0, 4 * len(ids)))
        ]
    )


def sparse_relations(rng: random.Random, ids: Sequence[UUID]) -> list[NewRelation]:
    """Make a long, thin graph, in which many records can be reached by one path only."""
    relations = []
    for number, id_ in enumerate(ids[1:], 1):
        near = ids[max(0, number - rng.randrange(1, 4))]
        for _ in range(rng.choice([1, 1, 1, 2])):
            source, target = rng.sample([near, id_], 2)
            relations.append(
                NewRelation(source=source, target=target, predicate="uses", weight=rng.choice([0.5, 0.75, 1.0]))
            )
    return distinct(relations)


def hub_relations(rng: random.Random, ids: Sequence[UUID]) -> list[NewRelation]:
    """Connect the first record with each of the others in both directions, and these in a chain."""
    hub, *others = ids
    return [
        NewRelation(source=source, target=target, predicate=predicate, weight=rng.choice(WEIGHTS))
        for number, other in enumerate(others)
        for source, target, predicate in (
            (hub, other, "uses"),
            (other, hub, "reviews"),
            (others[number - 1], other, "part_of"),
        )
    ]


def distinct(relations: Sequence[NewRelation]) -> list[NewRelation]:
    """Keep one relation of each (source, predicate, target), of which only one may be live."""
    return list({(found.source, found.predicate, found.target): found for found in relations}.values())


async def create_tenant(memory: Memory, name: str) -> Tenant:
    tenant = await memory.directory.tenant(name, create=True)
    assert tenant is not None
    return tenant


async def write_graph(
    memory: Memory, tenant: Tenant, records: Sequence[NewRecord], relations: Sequence[NewRelation]
) -> Graph:
    scopes = await memory.directory.scopes(tenant, {record.scope for record in records}, create=True)
    slots = {
        slot_of(scopes[record.scope], record.sensitivity, record.fact): "is"
        for record in records
        if record.fact is not None
    }
    async with memory.database.engine.begin() as connection:
        await lock_slots(connection, tenant, slots)
        changes = await insert_records(connection, memory.directory, tenant, records, actor="test", at=NOON)
        written = await insert_relations(connection, memory.directory, tenant, relations, at=NOON)
        await append_changes(connection, tenant, changes + relation_changes(written))
    return Graph(
        tenant,
        {
            record.id: StoredRecord(
                record.scope,
                record.sensitivity,
                record.state,
                record.fact.validity if record.fact is not None else None,
            )
            for record in records
        },
        {found.id: StoredRelation(found.source, found.target, found.weight) for found in written},
    )


async def revoke(
    memory: Memory,
    rng: random.Random,
    tenant: Tenant,
    records: dict[UUID, StoredRecord],
    relations: dict[UUID, StoredRelation],
    *,
    one_in: int,
    spare: bool = False,
) -> None:
    """Change one record in `one_in` in Postgres only, not in the mirror; and end relations.

    Its sensitivity is raised, or it is moved, retracted, ended (a fact), or deleted (with `spare`, left instead).
    """
    numbers = await memory.directory.scopes(tenant, SCOPES, create=True)
    async with memory.database.engine.begin() as connection:
        for id_ in rng.sample(list(records), len(records) // one_in):
            stored, change = records[id_], rng.randrange(5 if spare else 4)
            if change == 0:
                stored.sensitivity = rng.choice(list(Sensitivity))
            elif change == 1:
                stored.scope = rng.choice(SCOPES)
            elif change == 2:
                stored.state = rng.choice([stored.state, RecordState.RETRACTED, RecordState.SUPERSEDED])
                stored.expire()
            elif change == 3:
                await connection.execute(text("DELETE FROM record WHERE id = :id"), {"id": id_})
                del records[id_]
                continue
            changed = {"id": id_, "sensitivity": int(stored.sensitivity), "scope": numbers[stored.scope]}
            await connection.execute(
                text(
                    "INSERT INTO fact_slot SELECT tenant, CAST(:scope AS integer), CAST(:sensitivity AS smallint),"
                    " slot_key, single_valued FROM record WHERE id = :id AND type = 4 ON CONFLICT DO NOTHING"
                ),
                changed,
            )
            await connection.execute(
                text(
                    "UPDATE record SET sensitivity = :sensitivity, scope = :scope, state = :state,"
                    " validity = CAST(CAST(:validity AS text) AS tstzrange) WHERE id = :id"
                ),
                {
                    **changed,
                    "state": int(stored.state),
                    "validity": str(stored.validity) if stored.validity is not None else None,
                },
            )
        for id_ in rng.sample(list(relations), len(relations) // 8):
            await connection.execute(text("UPDATE relation SET ended_at = now() WHERE id = :id"), {"id": id_})
            del relations[id_]
    for id_, relation in list(relations.items()):
        if not records.keys() >= {relation.source, relation.target}:
            del relations[id_]
