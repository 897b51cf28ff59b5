"""Both engines walk alike: the same records, edges, leaves and cuts, and never beyond what the caller may see."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from itertools import product
from uuid import UUID

import pytest
from fix_graphs import (
    Graph,
    a_record,
    a_tenant,
    everybodys,
    hub_relations,
    random_relations,
    sparse_relations,
    write_graph,
)
from fix_memory import Memory, trust_of

from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.reader import Neo4jGraphReader
from stratagraph.graph_sync.worker import SyncConfig, SyncWorker
from stratagraph.store.mirror.source import MirrorSource
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.model.trust import Trust, Visibility
from stratagraph.store.traversal.neighbourhood import FAN_OUT, Limits, Neighbourhood, SqlGraphReader, neighbourhood

pytestmark = pytest.mark.neo4j

GRAPHS = 36
CALLERS = 4  # per graph
UNLIMITED = Limits(nodes=1_000, edges=5_000, hops=6)


def a_caller(luck: random.Random, graph: Graph) -> Trust:
    scopes = luck.choice([None, set(), {"project:a"}, {"project:a", "project:b"}, {"project:b", "nobody's"}])
    return trust_of(tenant=graph.tenant.name, ceiling=luck.choice(list(Sensitivity)), scopes=scopes)


def check_sight(graph: Graph, trust: Trust, found: Neighbourhood, roots: Sequence[UUID], limits: Limits) -> None:
    """Only what is in sight, redacted records only as leaves, and nothing that only a leaf leads to."""
    for id_ in found.hops:
        assert graph.visibility(trust, id_) is not Visibility.NONE
    assert found.leaves == {id_ for id_ in found.hops if graph.visibility(trust, id_) is Visibility.REDACTED}
    for id_, edge in found.edges.items():
        link = graph.relations[id_]
        assert {edge.near, edge.far} == {link.source, link.target}
        assert edge.near not in found.leaves
        assert {edge.near, edge.far} <= found.hops.keys()
        assert edge.weight == link.weight
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
        self,
        graph: Graph,
        trust: Trust,
        roots: Sequence[UUID],
        limits: Limits,
        *,
        scores: Mapping[UUID, float] | None = None,
        history: bool = False,
    ) -> Neighbourhood:
        """The neighbourhood, after both engines have found the same, and the same as the oracle."""
        caller = await self.memory.directory.resolve(trust)
        by_sql, by_neo4j, expected = [
            await neighbourhood(engine, caller, roots, limits, scores=scores or {}, history=history)
            for engine in (self.sql, self.neo4j, graph)
        ]
        assert list(by_neo4j.edges.items()) == list(by_sql.edges.items())
        for found in (by_sql, by_neo4j):
            assert list(found.hops.items()) == list(expected.hops.items())
            assert [astuple(edge)[:4] for edge in found.edges.values()] == [
                astuple(edge)[:4] for edge in expected.edges.values()
            ]
            assert found.leaves == expected.leaves
            assert found.reached == expected.reached
            assert found.hubs == expected.hubs
        check_sight(graph, trust, by_sql, roots, limits)
        return by_sql


@pytest.fixture
async def engines(memory: Memory, clean_neo4j: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Engines]:
    # What counts here is what the engines find, however long a busy machine takes for it.
    monkeypatch.setattr("stratagraph.graph_sync.reader.READ_TIMEOUT_S", 30.0)
    async with Mirror(clean_neo4j, user=None, password=None, database="neo4j") as mirror:
        yield Engines(SqlGraphReader(memory.database), Neo4jGraphReader(mirror), memory)
        assert await mirror.counts() == await MirrorSource(memory.database, names_up_to=Sensitivity.LOW).counts()


async def mirrored(engines: Engines, mirror_uri: str) -> None:
    async with Mirror(mirror_uri, user=None, password=None, database="neo4j") as mirror:
        worker = SyncWorker(engines.memory.database, engines.memory.directory, mirror, SyncConfig())
        result = await worker.run_once()
        await worker.release()
    assert result.dead_letters == 0


async def random_graphs(memory: Memory, luck: random.Random, count: int) -> list[Graph]:
    graphs = []
    for number in range(count):
        tenant = await a_tenant(memory, f"tenant {number}")
        records = [a_record(luck, tenant) for _ in range(luck.randrange(2, 30))]
        relate = sparse_relations if number % 3 == 0 else random_relations
        graphs.append(await write_graph(memory, tenant, records, relate(luck, [record.id for record in records])))
    return graphs


async def test_both_engines_find_the_same_in_random_graphs_and_never_beyond_the_callers_sight(
    engines: Engines, clean_neo4j: str
) -> None:
    luck = random.Random(20261121)
    graphs = await random_graphs(engines.memory, luck, GRAPHS)
    await mirrored(engines, clean_neo4j)
    found_something = cut = leaves = past = 0
    for graph in graphs:
        for _ in range(CALLERS):
            trust = a_caller(luck, graph)
            visible = graph.in_full(trust)
            if not visible:
                continue
            roots = luck.sample(visible, min(len(visible), luck.randrange(1, 4)))
            limits = Limits(
                nodes=luck.choice([1, 3, 10, 1_000]), edges=luck.choice([0, 2, 10, 5_000]), hops=luck.randrange(7)
            )
            scores = {id_: luck.choice([0.0, 0.5, 1.0]) for id_ in luck.sample(visible, len(visible) // 2)}
            history = luck.random() < 0.5
            found = await engines.both(graph, trust, roots, limits, scores=scores, history=history)
            possible = graph.within(trust, roots, limits.hops, history=history)
            if found.reached & {"nodes", "edges"}:
                assert found.hops.keys() <= possible.keys()
            else:
                assert found.hops == possible
            found_something += len(found.edges) > 0
            cut += bool(found.reached)
            leaves += bool(found.leaves)
            past += any(not graph.shows(trust, id_) for id_ in found.hops if id_ not in roots)
    assert min(found_something, cut, leaves, 4 * past) > 10, "the graphs were too tame to prove anything"


async def test_both_engines_are_cut_off_by_a_limit_just_where_it_lies(engines: Engines, clean_neo4j: str) -> None:
    luck = random.Random(1)
    graphs = await random_graphs(engines.memory, luck, 24)
    await mirrored(engines, clean_neo4j)
    tried = 0
    for graph in graphs:
        trust = a_caller(luck, graph)
        visible = graph.in_full(trust)
        if not visible:
            continue
        roots = [luck.choice(visible)]
        whole = await engines.both(graph, trust, roots, UNLIMITED)
        nodes, edges, hops = len(whole.hops), len(whole.edges), max(whole.hops.values())
        if hops < 2 or whole.reached:
            continue
        tried += 1
        assert await engines.both(graph, trust, roots, Limits(nodes=nodes, edges=edges, hops=6)) == whole
        for limits, reached in (
            (Limits(nodes=nodes - 1, edges=5_000, hops=6), "nodes"),
            (Limits(nodes=1_000, edges=edges - 1, hops=6), "edges"),
            (Limits(nodes=1_000, edges=5_000, hops=hops - 1), "hops"),
        ):
            found = await engines.both(graph, trust, roots, limits)
            assert reached in found.reached
            assert found.hops.keys() <= whole.hops.keys()
    assert tried > 3, "the graphs were too tame to prove anything"


async def test_at_a_hub_both_engines_follow_the_same_heaviest_edges(engines: Engines, clean_neo4j: str) -> None:
    luck = random.Random(7)
    tenant = await a_tenant(engines.memory, "hub")
    records = [a_record(luck, tenant) for _ in range(FAN_OUT + 60)]
    records[0] = everybodys(records[0])  # nobody walks from a record that he may not read
    graph = await write_graph(engines.memory, tenant, records, hub_relations(luck, [record.id for record in records]))
    await mirrored(engines, clean_neo4j)
    hub, rim = next(iter(graph.records)), list(graph.records)[-1]
    budgets = Limits(nodes=1_000, edges=5_000, hops=3), Limits(nodes=50, edges=60, hops=3)
    for scopes, history, ceiling in product((None, {"project:a"}), (False, True), Sensitivity):
        trust = trust_of(tenant=graph.tenant.name, ceiling=ceiling, scopes=scopes)
        walks = ([hub], [rim], [rim, hub]) if graph.visibility(trust, rim) is Visibility.FULL else ([hub],)
        for roots, limits in product(walks, budgets):
            found = await engines.both(graph, trust, roots, limits, history=history)
            if roots == [hub] and ceiling is Sensitivity.HYPER and scopes is None:
                assert hub in found.hubs
                if limits.nodes == 1_000:
                    assert len([edge for edge in found.edges.values() if edge.near == hub]) >= FAN_OUT
