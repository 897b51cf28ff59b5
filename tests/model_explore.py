"""Small random graphs, and a model that computes the correct answers to graph questions on them."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import Any
from uuid import UUID

from fix_graphs import (
    WEIGHTS,
    StoredRecord,
    StoredRelation,
    create_tenant,
    distinct,
    random_record,
    write_graph,
)
from fix_memory import NOON, Memory, trust_of

from stratagraph.memory.explore.answers import Expansion, Impact, Paths, Related
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.model.enums import MemoryType, Sensitivity, SourceKind
from stratagraph.store.model.predicates import DERIVATIONS
from stratagraph.store.model.trust import Trust, Visibility
from stratagraph.store.records.inserting import NewRelation

PREDICATES = ("uses", "part_of", "derived_semantic", "mentions_entity", "reviews")
LEVELS = (*Sensitivity, *(Sensitivity.PUBLIC,) * 5, *(Sensitivity.LOW,) * 5)
DIGITS = 12  # the product of the same weights in another order differs in later digits


@dataclass(slots=True, kw_only=True)
class Graph:
    """A tenant with a random graph, as it is in Postgres; questions are answered as of `at`."""

    tenant: Tenant
    records: dict[UUID, StoredRecord]
    types: dict[UUID, MemoryType]
    relations: dict[UUID, StoredRelation]
    predicates: dict[UUID, str]
    at: datetime = NOON

    def full(self, trust: Trust, id_: UUID) -> bool:
        stored = self.records.get(id_)
        return stored is not None and stored.visibility(trust) is Visibility.FULL

    def walkable(self, trust: Trust, id_: UUID) -> bool:
        return self.full(trust, id_) and self.records[id_].is_current(self.at)

    def around(self, trust: Trust, id_: UUID) -> Iterator[tuple[UUID, UUID, StoredRelation]]:
        """Yield the neighbours of a record that the caller may walk to, each with the relation."""
        for relation_id, relation in self.relations.items():
            for near, far in ((relation.source, relation.target), (relation.target, relation.source)):
                if near == id_ and far != id_ and self.walkable(trust, far):
                    yield far, relation_id, relation

    def weights(self, trust: Trust, id_: UUID) -> dict[UUID, float]:
        """Return the largest weight of a relation to each neighbour."""
        found: dict[UUID, float] = {}
        for far, _, relation in self.around(trust, id_):
            found[far] = max(found.get(far, 0.0), relation.weight)
        return found

    def paths(self, trust: Trust, start: UUID, goal: UUID, max_hops: int) -> list[tuple[tuple[UUID, ...], float]]:
        """Return all paths without loops, best first."""
        if not (self.walkable(trust, start) and self.walkable(trust, goal)):
            return []
        found: list[tuple[tuple[UUID, ...], float]] = []
        frontier: list[tuple[tuple[UUID, ...], float]] = [((start,), 1.0)]
        weights = {id_: self.weights(trust, id_) for id_ in self.records}
        for _ in range(max_hops):
            longer = []
            for ids, product in frontier:
                for far, weight in weights[ids[-1]].items():
                    if far == goal:
                        found.append(((*ids, far), product * weight))
                    elif far not in ids:
                        longer.append(((*ids, far), product * weight))
            frontier = longer
        return sorted(found, key=lambda one: (len(one[0]), -round(one[1], DIGITS), [id_.int for id_ in one[0]]))

    def dependents(self, trust: Trust, id_: UUID) -> set[UUID]:
        return {
            far
            for far, id_of, relation in self.around(trust, id_)
            if (far == relation.source) is (self.predicates[id_of] not in DERIVATIONS)
        }

    def impact(self, trust: Trust, root: UUID, hops: int) -> dict[UUID, int]:
        found, frontier = {root: 0}, {root}
        for hop in range(1, hops + 1):
            frontier = {far for near in frontier for far in self.dependents(trust, near)} - found.keys()
            found.update(dict.fromkeys(frontier, hop))
        del found[root]
        return found

    def related(self, trust: Trust, root: UUID) -> dict[UUID, tuple[int, float]]:
        """Return for each entity the number of records it shares with `root`, and the strength of that connection."""
        found: dict[UUID, list[float]] = {}
        for memory, weight in self.weights(trust, root).items():
            if self.types[memory] is not MemoryType.ENTITY:
                for far, other in self.weights(trust, memory).items():
                    if far != root and self.types[far] is MemoryType.ENTITY:
                        found.setdefault(far, []).append(weight * other)
        return {far: (len(shared), sum(shared)) for far, shared in found.items()}

    def degree(self, trust: Trust, id_: UUID) -> int:
        return len({relation for _, relation, _ in self.around(trust, id_)})


async def write(memory: Memory, rng: random.Random, name: str) -> Graph:
    """Write a graph with equal weights, self-loops, parallel predicates, and both directions between two records."""
    tenant = await create_tenant(memory, name)
    records = [replace(random_record(rng, tenant), sensitivity=rng.choice(LEVELS)) for _ in range(rng.randrange(6, 18))]
    ids = [record.id for record in records]
    relations = [
        NewRelation(
            source=rng.choice(ids),
            target=rng.choice(ids),
            predicate=rng.choice(PREDICATES),
            weight=rng.choice(WEIGHTS),
        )
        for _ in range(rng.randrange(len(ids), 3 * len(ids)))
    ]
    relations = distinct(relations)
    written = await write_graph(memory, tenant, records, relations)
    predicates = {relation.id: relation.predicate for relation in relations}
    return Graph(
        tenant=tenant,
        records=written.records,
        types={record.id: record.type for record in records},
        relations=written.relations,
        predicates=predicates,
    )


def random_caller(rng: random.Random, graph: Graph) -> Trust:
    scopes = rng.choice([None, None, set(), {"project:a"}, {"project:a", "project:b"}, {"project:b", "nobody's"}])
    ceiling = rng.choice([Sensitivity.LOW, *list(Sensitivity)])
    return trust_of(tenant=graph.tenant.name, ceiling=ceiling, scopes=scopes)


def check_paths(
    graph: Graph, trust: Trust, found: Paths, *, allowed: Collection[tuple[UUID, ...]], cut: bool = False
) -> None:
    """Check that each path exists and that they are in order; with `cut`, some relations may not have been read."""
    order = [
        (len(path.nodes), -round(path.weight, DIGITS), [record.id.int for record in path.nodes]) for path in found.paths
    ]
    assert order == sorted(order)
    for path in found.paths:
        ids = tuple(record.id for record in path.nodes)
        assert ids in allowed
        weight = 1.0
        for (near, far), relation in zip(pairwise(ids), path.relations, strict=True):
            stored = graph.relations[relation.id]
            assert {near, far} == {stored.source, stored.target}
            assert relation.weight == stored.weight
            assert cut or stored.weight == graph.weights(trust, near)[far]
            weight *= relation.weight
        assert round(weight, DIGITS) == round(path.weight, DIGITS)
        assert all(str(record.name) in path.sentence for record in path.nodes)


def check_impact(graph: Graph, trust: Trust, found: Impact, *, allowed: dict[UUID, int]) -> None:
    """Check that each node found is allowed, and that the counts are correct."""
    for one in found.nodes:
        assert allowed[one.record.id] <= one.hop
        assert not one.record.redacted
    counted: dict[int, int] = {}
    for count in found.counts:
        counted[count.hop] = counted.get(count.hop, 0) + count.count
    assert sum(counted.values()) == found.total <= len(allowed)
    assert {*found.hubs} <= {found.record.id, *allowed}


def check_related(graph: Graph, trust: Trust, found: Related) -> None:
    allowed = graph.related(trust, found.record.id)
    weights = [one.weight for one in found.entities]
    assert weights == sorted(weights, reverse=True)
    for one in found.entities:
        shared, weight = allowed[one.entity.id]
        assert one.shared <= shared
        assert one.weight <= weight + 1e-9
        assert all(graph.walkable(trust, id_) for id_ in one.memory_ids)


def check_expansion(graph: Graph, trust: Trust, found: Expansion, loaded: Collection[UUID]) -> None:
    root = found.record.id
    shown = {one.record.id for one in found.neighbours}
    assert shown <= {far for far, _, _ in graph.around(trust, root)} - {*loaded}
    for relation in found.relations:
        stored = graph.relations[relation.id]
        assert root in (stored.source, stored.target)
        assert shown & {stored.source, stored.target}
    for relation in found.between:
        stored = graph.relations[relation.id]
        assert root not in (stored.source, stored.target)
        assert {stored.source, stored.target} <= shown | {*loaded}
        assert all(graph.walkable(trust, end) for end in (stored.source, stored.target))
    for one in found.neighbours:
        assert one.degree == graph.degree(trust, one.record.id)
        back = found.relations if graph.walkable(trust, root) else ()
        drawn = [
            relation for relation in (*back, *found.between) if one.record.id in (relation.source, relation.target)
        ]
        assert one.more == one.degree - len(drawn)


# The records of the examples in docs/graph-questions.md; FACT stands for the id of the first.
STORY: tuple[tuple[SourceKind, MemoryType | None, dict[str, Any]], ...] = (
    (SourceKind.OBSERVATION, None, {"subject": "Alice", "predicate": "works_at", "object": "Acme"}),
    (SourceKind.OBSERVATION, None, {"subject": "Bob", "predicate": "works_at", "object": "Acme"}),
    (SourceKind.OBSERVATION, None, {"subject": "Acme", "predicate": "located_in", "object": "Bern"}),
    (
        SourceKind.OBSERVATION,
        None,
        {
            "subject": "Alice",
            "predicate": "needs",
            "object": "a badge",
            "evidence": [{"source_type": "observation", "source_id": "FACT"}],
        },
    ),
    (
        SourceKind.OBSERVATION,
        MemoryType.PLAN_GRAPH,
        {
            "plan_id": "release",
            "version": "1",
            "nodes": [{"id": "a", "op": "build"}, {"id": "b", "op": "test"}, {"id": "c", "op": "ship"}],
            "edges": [{"from": "a", "to": "b", "kind": "control"}, {"from": "b", "to": "c", "kind": "data"}],
        },
    ),
    (
        SourceKind.OBSERVATION,
        MemoryType.PLAN_GRAPH,
        {
            "plan_id": "hotfix",
            "version": "1",
            "nodes": [{"id": "a", "op": "ship"}, {"id": "b", "op": "test"}],
            "edges": [{"from": "a", "to": "b", "kind": "control"}],
        },
    ),
)
