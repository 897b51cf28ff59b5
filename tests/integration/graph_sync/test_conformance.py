"""Both engines walk alike: the same records, edges, leaves and cuts, and never beyond what the caller may see."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import pytest
from fix_memory import NOON, Memory, trust_of

from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.reader import Neo4jGraphReader
from stratagraph.graph_sync.worker import SyncConfig, SyncWorker
from stratagraph.store.enums import DeletionPolicy, MemoryType, RecordState, Sensitivity
from stratagraph.store.ids import new_id
from stratagraph.store.mirror_source import MirrorSource
from stratagraph.store.salience import Decay
from stratagraph.store.tenancy import Reach
from stratagraph.store.traversal import FAN_OUT, Limits, Neighbourhood, SqlGraphReader, neighbourhood
from stratagraph.store.trust import Sight, Trust
from stratagraph.store.words import record_terms
from stratagraph.store.writing import (
    NewRecord,
    NewRelation,
    finish,
    insert_records,
    insert_relations,
    relation_changes,
)

pytestmark = pytest.mark.neo4j

GRAPHS = 36
CALLERS = 4  # per graph
SCOPES = ("", "project:a", "project:b")
PREDICATES = ("uses", "part_of", "reviews")
TYPES = (MemoryType.EPISODIC, MemoryType.ENTITY, MemoryType.COMPETENCE)  # those without keys of their own
LEVELS = [*Sensitivity, Sensitivity.LOW, Sensitivity.LOW, Sensitivity.PUBLIC]
STATES = [*RecordState, *(RecordState.ACTIVE,) * 8]
WEIGHTS = (0.0, 0.25, 0.5, 0.5, 0.5, 1.0, 1 / 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """A tenant with a random graph, as it was written."""

    tenant: str
    records: dict[UUID, NewRecord]
    relations: dict[UUID, NewRelation]

    def sight(self, trust: Trust, id_: UUID) -> Sight:
        record = self.records[id_]
        return trust.sight(scope=record.scope, sensitivity=record.sensitivity)

    def in_full(self, trust: Trust) -> list[UUID]:
        return [id_ for id_ in self.records if self.sight(trust, id_) is Sight.FULL]


def a_record(luck: random.Random, key: bytes) -> NewRecord:
    name = f"thing {luck.randrange(10**6)}"
    return NewRecord(
        id=new_id(),
        type=luck.choice(TYPES),
        scope=luck.choice(SCOPES),
        sensitivity=luck.choice(LEVELS),
        confidence=1.0,
        tags=(),
        name=name,
        text=name,
        payload={},
        provenance={"sources": []},
        occurred_at=NOON,
        decay=Decay(),
        deletion_policy=DeletionPolicy.MANUAL_ONLY,
        terms=record_terms(key, name),
        state=luck.choice(STATES),
    )


def random_relations(luck: random.Random, ids: Sequence[UUID]) -> list[NewRelation]:
    """Ties in weight, self-loops, parallel predicates and both directions between the same two."""
    found = {}
    for _ in range(luck.randrange(0, 4 * len(ids))):
        source, target, predicate = luck.choice(ids), luck.choice(ids), luck.choice(PREDICATES)
        found[source, target, predicate] = NewRelation(
            source=source, target=target, predicate=predicate, weight=luck.choice(WEIGHTS)
        )
    return list(found.values())


def a_hub(luck: random.Random, ids: Sequence[UUID]) -> list[NewRelation]:
    """One record with more edges than are followed, in either direction."""
    hub, others = ids[0], ids[1:]
    edges = [NewRelation(source=hub, target=other, predicate="uses", weight=luck.choice(WEIGHTS)) for other in others]
    return edges + [
        NewRelation(source=other, target=hub, predicate="reviews", weight=luck.choice(WEIGHTS)) for other in others
    ]


async def write_graph(memory: Memory, luck: random.Random, name: str, *, hub: bool) -> Graph:
    tenant = await memory.directory.tenant(name, create=True)
    assert tenant is not None
    records = [a_record(luck, tenant.index_key) for _ in range(FAN_OUT + 40 if hub else luck.randrange(2, 30))]
    if hub:  # in everybody's full sight: nobody walks from a record that he may not read
        records[0] = replace(records[0], scope="", sensitivity=Sensitivity.PUBLIC, state=RecordState.ACTIVE)
    ids = [record.id for record in records]
    relations = a_hub(luck, ids) if hub else random_relations(luck, ids)
    async with memory.database.engine.begin() as connection:
        changes = await insert_records(connection, memory.directory, tenant, records, actor="test", at=NOON)
        written = await insert_relations(connection, memory.directory, tenant, relations, at=NOON)
        await finish(connection, tenant, changes + relation_changes(written))
    return Graph(
        tenant=name,
        records={record.id: record for record in records},
        relations={relation.id: relation for relation in written},
    )


def a_caller(luck: random.Random, graph: Graph) -> Trust:
    scopes = luck.choice([None, set(), {"project:a"}, {"project:a", "project:b"}, {"project:b", "nobody's"}])
    return trust_of(tenant=graph.tenant, ceiling=luck.choice(list(Sensitivity)), scopes=scopes)


def far_ends(graph: Graph, near: UUID) -> set[UUID]:
    return {
        end
        for relation in graph.relations.values()
        if near in (relation.source, relation.target)
        for end in (relation.source, relation.target)
    }


def in_reach(graph: Graph, trust: Trust, roots: Collection[UUID], *, hops: int, history: bool) -> dict[UUID, int]:
    """The oracle: what may be found without any budget, walking only through what is seen in full."""
    found = dict.fromkeys(roots, 0)
    frontier = list(roots)
    for hop in range(1, hops + 1):
        reached = []
        for near in frontier:
            for far in far_ends(graph, near) - found.keys():
                past = graph.records[far].state not in (RecordState.ACTIVE, RecordState.CONTESTED)
                sight = graph.sight(trust, far)
                if sight is Sight.NONE or (past and not history):
                    continue
                found[far] = hop
                if sight is Sight.FULL:
                    reached.append(far)
        frontier = reached
    return found


def check_sight(graph: Graph, trust: Trust, found: Neighbourhood, roots: Sequence[UUID], limits: Limits) -> None:
    """Only what is in sight, redacted records only as leaves, and nothing that only a leaf leads to."""
    for id_ in found.hops:
        assert graph.sight(trust, id_) is not Sight.NONE
    assert found.leaves == {id_ for id_ in found.hops if graph.sight(trust, id_) is Sight.REDACTED}
    for id_, edge in found.edges.items():
        relation = graph.relations[id_]
        assert {edge.near, edge.far} == {relation.source, relation.target}
        assert edge.near not in found.leaves
        assert {edge.near, edge.far} <= found.hops.keys()
        assert edge.weight == relation.weight
    for id_, hop in found.hops.items():
        assert hop <= limits.hops
        if hop:
            assert any(edge.far == id_ and found.hops[edge.near] == hop - 1 for edge in found.edges.values()) or any(
                edge.near == id_ and found.hops[edge.far] == hop - 1 and edge.far not in found.leaves
                for edge in found.edges.values()
            )
    assert [id_ for id_, hop in found.hops.items() if hop == 0] == list(dict.fromkeys(roots))
    assert len(found.hops) <= max(limits.nodes, len(set(roots)))
    assert len(found.edges) <= limits.edges


@dataclass(frozen=True, slots=True)
class Engines:
    sql: SqlGraphReader
    neo4j: Neo4jGraphReader
    memory: Memory

    async def both(
        self, reach: Reach, roots: Sequence[UUID], limits: Limits, *, scores: dict[UUID, float], history: bool = False
    ) -> Neighbourhood:
        """The neighbourhood, after both engines have found the same."""
        by_sql = await neighbourhood(self.sql, reach, roots, limits, scores=scores, history=history)
        by_neo4j = await neighbourhood(self.neo4j, reach, roots, limits, scores=scores, history=history)
        assert list(by_neo4j.hops.items()) == list(by_sql.hops.items())
        assert list(by_neo4j.edges.items()) == list(by_sql.edges.items())
        assert by_neo4j.leaves == by_sql.leaves
        assert by_neo4j.reached == by_sql.reached
        assert by_neo4j.hubs == by_sql.hubs
        return by_sql


@pytest.fixture
async def engines(memory: Memory, clean_neo4j: str) -> AsyncIterator[Engines]:
    async with Mirror(clean_neo4j, user=None, password=None, database="neo4j") as mirror:
        yield Engines(SqlGraphReader(memory.database), Neo4jGraphReader(mirror), memory)
        assert await mirror.counts() == await MirrorSource(memory.database).counts()


async def mirrored(engines: Engines, mirror_uri: str) -> None:
    async with Mirror(mirror_uri, user=None, password=None, database="neo4j") as mirror:
        worker = SyncWorker(engines.memory.database, engines.memory.directory, mirror, SyncConfig())
        result = await worker.run_once()
        await worker.hand_back()
    assert result.parked == 0


async def test_both_engines_find_the_same_in_random_graphs_and_never_beyond_the_callers_sight(
    engines: Engines, clean_neo4j: str
) -> None:
    luck = random.Random(20261121)
    memory = engines.memory
    graphs = [await write_graph(memory, luck, f"tenant {number}", hub=False) for number in range(GRAPHS)]
    await mirrored(engines, clean_neo4j)
    found_something = cut = leaves = 0
    for graph in graphs:
        for _ in range(CALLERS):
            trust = a_caller(luck, graph)
            reach = await memory.directory.reach(trust)
            visible = graph.in_full(trust)
            if not visible:
                continue
            roots = luck.sample(visible, min(len(visible), luck.randrange(1, 4)))
            limits = Limits(
                nodes=luck.choice([1, 3, 10, 1_000]), edges=luck.choice([0, 2, 10, 5_000]), hops=luck.randrange(7)
            )
            scores = {id_: luck.choice([0.0, 0.5, 1.0]) for id_ in luck.sample(visible, len(visible) // 2)}
            history = luck.random() < 0.3
            found = await engines.both(reach, roots, limits, scores=scores, history=history)
            check_sight(graph, trust, found, roots, limits)
            possible = in_reach(graph, trust, roots, hops=limits.hops, history=history)
            if found.reached & {"nodes", "edges"}:
                assert found.hops.keys() <= possible.keys()
            else:
                assert found.hops == possible
            found_something += len(found.edges) > 0
            cut += bool(found.reached)
            leaves += bool(found.leaves)
    assert min(found_something, cut, leaves) > 10, "the graphs were too tame to prove anything"


@pytest.mark.parametrize("scopes", [None, {"project:a"}], ids=["all scopes", "some scopes"])
async def test_at_a_hub_both_engines_follow_the_same_heaviest_edges(
    engines: Engines, clean_neo4j: str, scopes: set[str] | None
) -> None:
    luck = random.Random(7)
    memory = engines.memory
    graph = await write_graph(memory, luck, "hub", hub=True)
    await mirrored(engines, clean_neo4j)
    hub, rim = next(iter(graph.records)), list(graph.records)[-1]
    for ceiling in Sensitivity:
        trust = trust_of(tenant=graph.tenant, ceiling=ceiling, scopes=scopes)
        reach = await memory.directory.reach(trust)
        for roots in ([hub], [rim], [rim, hub]) if graph.sight(trust, rim) is Sight.FULL else ([hub],):
            limits = Limits(nodes=1_000, edges=5_000, hops=3)
            found = await engines.both(reach, roots, limits, scores={})
            assert all(graph.sight(trust, id_) is not Sight.NONE for id_ in found.hops if id_ not in roots)
            assert found.leaves == {
                id_ for id_ in found.hops if graph.sight(trust, id_) is Sight.REDACTED and id_ not in roots
            }
            if roots == [hub] and ceiling is Sensitivity.HYPER and scopes is None:
                assert found.hubs == [hub]
                assert len([edge for edge in found.edges.values() if edge.near == hub]) == 2 * FAN_OUT
