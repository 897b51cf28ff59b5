"""Random graphs, written to Postgres as captures write them, for tests of both engines.

A `Graph` holds the rows that were written, so it is also the oracle: it computes the records that a walk may reach and,
as the simplest possible engine, the edges at each record.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from fix_memory import NOON, Memory
from sqlalchemy import text

from stratagraph.store.feed.changes import append_changes
from stratagraph.store.keys.callers import Caller, Tenant
from stratagraph.store.model.enums import DeletionPolicy, MemoryType, RecordState, Sensitivity
from stratagraph.store.model.ids import new_id
from stratagraph.store.model.salience import Decay
from stratagraph.store.model.trust import Trust, Visibility
from stratagraph.store.model.words import record_terms
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
TYPES = (MemoryType.EPISODIC, MemoryType.ENTITY, MemoryType.COMPETENCE)  # the types without a unique key
LEVELS = (*Sensitivity, Sensitivity.LOW, Sensitivity.LOW, Sensitivity.PUBLIC)
STATES = (*RecordState, *(RecordState.ACTIVE,) * 8)
CURRENT = (RecordState.ACTIVE, RecordState.CONTESTED)
WEIGHTS = (0.0, 0.25, 0.5, 0.5, 0.5, 1.0, 1 / 3)


@dataclass(slots=True)
class Held:
    """A record as it is in Postgres."""

    scope: str
    sensitivity: Sensitivity
    state: RecordState

    def visibility(self, trust: Trust) -> Visibility:
        return trust.visibility(scope=self.scope, sensitivity=self.sensitivity)


@dataclass(frozen=True, slots=True)
class Link:
    """A live relation as it is in Postgres."""

    source: UUID
    target: UUID
    weight: float


@dataclass(slots=True)
class Graph:
    """A tenant's records and live relations as they are in Postgres. Also a GraphReader."""

    tenant: Tenant
    records: dict[UUID, Held]
    relations: dict[UUID, Link]
    name: str = field(default="oracle", init=False)

    def visibility(self, trust: Trust, id_: UUID) -> Visibility:
        return self.records[id_].visibility(trust)

    def in_full(self, trust: Trust) -> list[UUID]:
        return [id_ for id_ in self.records if self.visibility(trust, id_) is Visibility.FULL]

    def shows(self, trust: Trust, id_: UUID, *, history: bool = False) -> bool:
        """Whether a walk may end at this record."""
        held = self.records.get(id_)
        return held is not None and (history or held.state in CURRENT) and held.visibility(trust) is not Visibility.NONE

    def degree(self, trust: Trust, id_: UUID) -> int:
        """Count the edges at a record that a walk may follow."""
        return sum(
            (link.source == id_ and self.shows(trust, link.target))
            + (link.target == id_ and self.shows(trust, link.source))
            for link in self.relations.values()
        )

    def within(self, trust: Trust, roots: Collection[UUID], hops: int, *, history: bool = False) -> dict[UUID, int]:
        """Return the records within `hops` without any limit, by hop, expanding only fully visible records."""
        found = dict.fromkeys(roots, 0)
        frontier = set(roots)
        for hop in range(1, hops + 1):
            reached = {
                far
                for link in self.relations.values()
                for near, far in ((link.source, link.target), (link.target, link.source))
                if near in frontier and far not in found and self.shows(trust, far, history=history)
            }
            found |= dict.fromkeys(reached, hop)
            frontier = {id_ for id_ in reached if self.visibility(trust, id_) is Visibility.FULL}
        return found

    async def edges_of(self, caller: Caller, frontier: Sequence[UUID], *, fan_out: int, history: bool) -> list[Edge]:
        """Return the edges at the frontier, as GraphReader defines; the acl holds no scope number."""
        edges = []
        for near in frontier:
            outward = [(id_, link.target, link.weight) for id_, link in self.relations.items() if link.source == near]
            inward = [(id_, link.source, link.weight) for id_, link in self.relations.items() if link.target == near]
            for direction in (outward, inward):
                best = sorted(
                    (edge for edge in direction if self.shows(caller.trust, edge[1], history=history)),
                    key=lambda edge: (-edge[2], edge[0].int),
                )
                edges += [
                    Edge(id_, near, far, weight, int(self.records[far].sensitivity))
                    for id_, far, weight in best[:fan_out]
                ]
        return edges


def a_record(luck: random.Random, tenant: Tenant, *, word: str = "thing") -> NewRecord:
    """Make a record of random type, scope, sensitivity and state; its name begins with `word`."""
    name = f"{word} {luck.randrange(10**6)}"
    return NewRecord(
        id=new_id(),
        type=luck.choice(TYPES),
        scope=luck.choice(SCOPES),
        sensitivity=luck.choice(LEVELS),
        confidence=1.0,
        tags=(),
        name=name,
        text=name,
        payload={"kind": "episodic", "timeline": []},
        provenance={"sources": []},
        occurred_at=NOON,
        decay=Decay(),
        deletion_policy=DeletionPolicy.MANUAL_ONLY,
        terms=record_terms(tenant.index_key, name),
        state=luck.choice(STATES),
    )


def everybodys(record: NewRecord) -> NewRecord:
    """Return the record as active, unscoped and public, so that every caller may read it in full."""
    return replace(record, scope="", sensitivity=Sensitivity.PUBLIC, state=RecordState.ACTIVE)


def random_relations(luck: random.Random, ids: Sequence[UUID]) -> list[NewRelation]:
    """Make relations with equal weights, self-loops, parallel predicates, and both directions between two records."""
    return distinct(
        [
            NewRelation(
                source=luck.choice(ids),
                target=luck.choice(ids),
                predicate=luck.choice(PREDICATES),
                weight=luck.choice(WEIGHTS),
            )
            for _ in range(luck.randrange(0, 4 * len(ids)))
        ]
    )


def sparse_relations(luck: random.Random, ids: Sequence[UUID]) -> list[NewRelation]:
    """Make a long, thin graph, in which many records can be reached by one path only."""
    relations = []
    for number, id_ in enumerate(ids[1:], 1):
        near = ids[max(0, number - luck.randrange(1, 4))]
        for _ in range(luck.choice([1, 1, 1, 2])):
            source, target = luck.sample([near, id_], 2)
            relations.append(
                NewRelation(source=source, target=target, predicate="uses", weight=luck.choice([0.5, 0.75, 1.0]))
            )
    return distinct(relations)


def hub_relations(luck: random.Random, ids: Sequence[UUID]) -> list[NewRelation]:
    """Connect the first record with each of the others in both directions, and these in a chain."""
    hub, *others = ids
    return [
        NewRelation(source=source, target=target, predicate=predicate, weight=luck.choice(WEIGHTS))
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


async def a_tenant(memory: Memory, name: str) -> Tenant:
    tenant = await memory.directory.tenant(name, create=True)
    assert tenant is not None
    return tenant


async def write_graph(
    memory: Memory, tenant: Tenant, records: Sequence[NewRecord], relations: Sequence[NewRelation]
) -> Graph:
    async with memory.database.engine.begin() as connection:
        changes = await insert_records(connection, memory.directory, tenant, records, actor="test", at=NOON)
        written = await insert_relations(connection, memory.directory, tenant, relations, at=NOON)
        await append_changes(connection, tenant, changes + relation_changes(written))
    return Graph(
        tenant,
        {record.id: Held(record.scope, record.sensitivity, record.state) for record in records},
        {found.id: Link(found.source, found.target, found.weight) for found in written},
    )


async def revoke(
    memory: Memory,
    luck: random.Random,
    tenant: Tenant,
    records: dict[UUID, Held],
    relations: dict[UUID, Link],
    *,
    one_in: int,
    spare: bool = False,
) -> None:
    """Change one record in `one_in` in Postgres only, not in the mirror: raise its sensitivity, move it, retract it,
    or delete it (with `spare`, leave it instead); and end relations."""
    numbers = await memory.directory.scopes(tenant, SCOPES, create=True)
    async with memory.database.engine.begin() as connection:
        for id_ in luck.sample(list(records), len(records) // one_in):
            held, what = records[id_], luck.randrange(5 if spare else 4)
            if what == 0:
                held.sensitivity = luck.choice(list(Sensitivity))
            elif what == 1:
                held.scope = luck.choice(SCOPES)
            elif what == 2:
                held.state = luck.choice([RecordState.RETRACTED, RecordState.SUPERSEDED])
            elif what == 3:
                await connection.execute(text("DELETE FROM record WHERE id = :id"), {"id": id_})
                del records[id_]
                continue
            await connection.execute(
                text("UPDATE record SET sensitivity = :sensitivity, scope = :scope, state = :state WHERE id = :id"),
                {
                    "id": id_,
                    "sensitivity": int(held.sensitivity),
                    "scope": numbers[held.scope],
                    "state": int(held.state),
                },
            )
        for id_ in luck.sample(list(relations), len(relations) // 8):
            await connection.execute(text("UPDATE relation SET ended_at = now() WHERE id = :id"), {"id": id_})
            del relations[id_]
    for id_, link in list(relations.items()):
        if not records.keys() >= {link.source, link.target}:
            del relations[id_]
