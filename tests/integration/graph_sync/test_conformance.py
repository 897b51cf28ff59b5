"""Both traversal engines return the same records, edges, leaves and reached limits, all visible to the caller."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from datetime import datetime
from itertools import product
from typing import Any
from uuid import UUID

import pytest
from fix_examples import repeated
from fix_graphs import (
    INSTANTS,
    MICROSECOND,
    TYPES,
    Graph,
    create_tenant,
    hub_relations,
    random_record,
    random_relations,
    readable_by_all,
    sparse_relations,
    write_graph,
)
from fix_memory import NOON, Memory, trust_of

from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.reader import Neo4jGraphReader
from stratagraph.graph_sync.worker import SyncConfig, SyncWorker
from stratagraph.store.keys.callers import Caller
from stratagraph.store.mirror.source import MirrorSource
from stratagraph.store.model.enums import MemoryType, Sensitivity
from stratagraph.store.model.trust import Trust, Visibility
from stratagraph.store.model.valid_time import Interval
from stratagraph.store.records.inserting import NewRecord, NewRelation
from stratagraph.store.traversal.hop_types import HopTypes, fetch_types
from stratagraph.store.traversal.neighbourhood import FAN_OUT, Limits, Neighbourhood, SqlGraphReader, neighbourhood

pytestmark = pytest.mark.neo4j

GRAPHS = repeated(10)
CALLERS = 4  # per graph
UNLIMITED = Limits(nodes=1_000, edges=5_000, hops=6)


def random_caller(rng: random.Random, graph: Graph) -> Trust:
    scopes = rng.choice([None, set(), {"project:a"}, {"project:a", "project:b"}, {"project:b", "project:none"}])
    return trust_of(tenant=graph.tenant.name, ceiling=rng.choice(list(Sensitivity)), scopes=scopes)


def check_visibility(graph: Graph, trust: Trust, found: Neighbourhood, roots: Sequence[UUID], limits: Limits) -> None:
    """Check that all records are visible, redacted ones are leaves, and none is reached only through a leaf."""
    for id_ in found.hops:
        assert graph.visibility(trust, id_) is not Visibility.NONE
    assert found.leaves == {id_ for id_ in found.hops if graph.visibility(trust, id_) is Visibility.REDACTED}
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

    async def compare(
        self,
        graph: Graph,
        trust: Trust,
        roots: Sequence[UUID],
        limits: Limits,
        *,
        scores: Mapping[UUID, float] | None = None,
        at: datetime = NOON,
        history: bool = False,
        types: Sequence[Collection[MemoryType]] = (),
    ) -> Neighbourhood:
        """Return the neighbourhood as of `at`; check that both engines and the oracle find the same."""
        caller = await self.memory.directory.resolve(trust)

        async def types_of(ids: Collection[UUID]) -> Mapping[UUID, MemoryType]:
            async with self.memory.database.reading(caller.bounds) as connection:
                return await fetch_types(connection, caller, ids)

        asked: dict[str, Any] = {"scores": scores or {}, "at": at, "history": history}
        asked["hop_types"] = HopTypes(types, types_of) if types else None
        by_sql, by_neo4j, expected = [
            await neighbourhood(engine, caller, roots, limits, **asked) for engine in (self.sql, self.neo4j, graph)
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
        check_visibility(graph, trust, by_sql, roots, limits)
        await self.check_displacement(graph, caller, by_sql, roots, limits, **asked)
        return by_sql

    async def check_displacement(
        self, graph: Graph, caller: Caller, found: Neighbourhood, roots: Sequence[UUID], limits: Limits, **more: Any
    ) -> None:
        """Check that no limit leaves out a record or an edge because of records that the caller sees redacted."""
        readable = graph.of(graph.fully_visible(caller.trust))
        alone = await neighbourhood(readable, caller, roots, limits, **more)
        assert [item for item in found.hops.items() if item[0] not in found.leaves] == list(alone.hops.items())
        assert [id_ for id_, edge in found.edges.items() if edge.far not in found.leaves] == list(alone.edges)


@pytest.fixture
async def engines(memory: Memory, clean_neo4j: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Engines]:
    # The test compares results only, so a busy machine may take long for a read.
    monkeypatch.setattr("stratagraph.graph_sync.reader.READ_TIMEOUT_S", 30.0)
    async with Mirror(clean_neo4j, user=None, password=None, database="neo4j") as mirror:
        yield Engines(SqlGraphReader(memory.database), Neo4jGraphReader(mirror), memory)
        assert await mirror.counts() == await MirrorSource(memory.database, names_up_to=Sensitivity.LOW).counts()


async def sync_mirror(engines: Engines, mirror_uri: str) -> None:
    async with Mirror(mirror_uri, user=None, password=None, database="neo4j") as mirror:
        worker = SyncWorker(engines.memory.database, engines.memory.directory, mirror, SyncConfig())
        result = await worker.run_once()
        await worker.release()
    assert result.dead_letters == 0


async def random_graphs(memory: Memory, rng: random.Random, count: int) -> list[Graph]:
    graphs = []
    for number in range(count):
        tenant = await create_tenant(memory, f"tenant {number}")
        records = [random_record(rng, tenant) for _ in range(rng.randrange(2, 30))]
        relate = sparse_relations if number % 3 == 0 else random_relations
        graphs.append(await write_graph(memory, tenant, records, relate(rng, [record.id for record in records])))
    return graphs


async def test_both_engines_find_the_same_visible_records_in_random_graphs(engines: Engines, clean_neo4j: str) -> None:
    rng = random.Random(20261121)
    graphs = await random_graphs(engines.memory, rng, GRAPHS)
    await sync_mirror(engines, clean_neo4j)
    found_something = cut = leaves = past = 0
    for graph in graphs:
        for _ in range(CALLERS):
            trust = random_caller(rng, graph)
            visible = graph.fully_visible(trust)
            if not visible:
                continue
            roots = rng.sample(visible, min(len(visible), rng.randrange(1, 4)))
            limits = Limits(
                nodes=rng.choice([1, 3, 10, 1_000]), edges=rng.choice([0, 2, 10, 5_000]), hops=rng.randrange(7)
            )
            scores = {id_: rng.choice([0.0, 0.5, 1.0]) for id_ in rng.sample(visible, len(visible) // 2)}
            history = rng.random() < 0.5
            at = rng.choice(INSTANTS)
            found = await engines.compare(graph, trust, roots, limits, scores=scores, at=at, history=history)
            possible = graph.within(trust, roots, limits.hops, history=history)
            if found.reached & {"nodes", "edges"}:
                assert found.hops.keys() <= possible.keys()
            else:
                assert found.hops == possible
            found_something += len(found.edges) > 0
            cut += bool(found.reached)
            leaves += bool(found.leaves)
            past += any(not graph.shows(trust, id_) for id_ in found.hops if id_ not in roots)
    assert min(found_something, cut, leaves, 4 * past) > GRAPHS // 4, (
        "too few graphs have edges, reached limits, leaves or past records"
    )


def reachable(
    graph: Graph,
    trust: Trust,
    roots: Sequence[UUID],
    hops: int,
    types: Mapping[UUID, MemoryType],
    allowed: Sequence[Any],
) -> dict[UUID, int]:
    """Return what is within `hops` without any limit, where each hop reaches records of its types only."""
    found = dict.fromkeys(roots, 0)
    frontier = set(roots)
    for hop in range(1, hops + 1):
        wanted = allowed[hop - 1] if hop <= len(allowed) else ()
        reached = {
            far
            for relation in graph.relations.values()
            for near, far in ((relation.source, relation.target), (relation.target, relation.source))
            if near in frontier
            and far not in found
            and graph.shows(trust, far)
            and (not wanted or types[far] in wanted)
        }
        found |= dict.fromkeys(reached, hop)
        frontier = {id_ for id_ in reached if graph.visibility(trust, id_) is Visibility.FULL}
    return found


async def test_both_engines_reach_just_the_types_of_each_hop(engines: Engines, clean_neo4j: str) -> None:
    rng = random.Random(20261127)
    graphs = await random_graphs(engines.memory, rng, GRAPHS)
    await sync_mirror(engines, clean_neo4j)
    narrowed = leaves = cut = 0
    for graph in graphs:
        rows = await engines.memory.rows("SELECT id, type FROM record WHERE tenant = :tenant", tenant=graph.tenant.id)
        types = {row["id"]: MemoryType(row["type"]) for row in rows}
        for _ in range(CALLERS):
            trust = random_caller(rng, graph)
            visible = graph.fully_visible(trust)
            if not visible:
                continue
            roots = rng.sample(visible, min(len(visible), rng.randrange(1, 4)))
            allowed = [rng.sample(list(TYPES), rng.randrange(3)) for _ in range(rng.randrange(1, 5))]
            whole = await engines.compare(graph, trust, roots, UNLIMITED, types=allowed)
            assert whole.hops == reachable(graph, trust, roots, UNLIMITED.hops, types, allowed)
            for id_, hop in whole.hops.items():
                assert not hop or hop > len(allowed) or not allowed[hop - 1] or types[id_] in allowed[hop - 1]
            few = Limits(nodes=rng.choice([2, 5]), edges=rng.choice([1, 4]), hops=rng.randrange(1, 4))
            limited = await engines.compare(graph, trust, roots, few, types=allowed[: few.hops])
            narrowed += whole.hops != graph.within(trust, roots, UNLIMITED.hops)
            leaves += bool(whole.leaves)
            cut += bool(limited.reached)
    assert min(narrowed, 4 * leaves, cut) > GRAPHS // 4, "too few walks are narrowed, reach leaves, or reach a limit"


async def test_as_the_clock_moves_both_engines_reach_exactly_the_facts_that_hold(
    engines: Engines, clean_neo4j: str
) -> None:
    """Nothing is written between the instants: facts begin and end because time passes."""
    rng = random.Random(20270101)
    graphs = await random_graphs(engines.memory, rng, GRAPHS)
    await sync_mirror(engines, clean_neo4j)
    began = ended = cut = 0
    for number, graph in enumerate(graphs):
        trust = random_caller(rng, graph) if number % 3 else trust_of(tenant=graph.tenant.name)
        visible = graph.fully_visible(trust)
        if not visible:
            continue
        roots = [rng.choice(visible)]
        before: set[UUID] | None = None
        for at in INSTANTS:
            found = await engines.compare(graph, trust, roots, UNLIMITED, at=at)
            assert found.hops == graph.within(trust, roots, UNLIMITED.hops)
            assert all(graph.records[id_].is_current(at) for id_, hop in found.hops.items() if hop)
            if before is not None:
                began, ended = began + bool(found.hops.keys() - before), ended + bool(before - found.hops.keys())
            before = set(found.hops)
            few = await engines.compare(graph, trust, roots, Limits(nodes=3, edges=3, hops=3), at=at)
            cut += bool(few.reached)
    assert min(began, ended, cut) > GRAPHS // 4, "too few walks gain facts, lose facts, or reach a limit"


async def test_facts_that_do_not_hold_take_no_place_at_a_hub(engines: Engines, clean_neo4j: str) -> None:
    """Nine in ten neighbours of a hub have expired, and their relations are the heaviest."""
    rng = random.Random(3)
    tenant = await create_tenant(engines.memory, "depot")
    records = [readable_by_all(random_record(rng, tenant)) for _ in range(1 + FAN_OUT // 2)]
    expired: list[NewRecord] = []
    while len(expired) < 9 * FAN_OUT // 2:
        record = readable_by_all(random_record(rng, tenant))
        if record.fact is not None:
            expired.append(replace(record, fact=replace(record.fact, validity=Interval(None, NOON))))
    hub = records[0].id
    relations = [
        NewRelation(source=record.id, target=hub, predicate="uses", weight=weight)
        for some, weight in ((records[1:], 0.5), (expired, 1.0))
        for record in some
    ]
    graph = await write_graph(engines.memory, tenant, [*records, *expired], relations)
    await sync_mirror(engines, clean_neo4j)
    trust = trust_of(tenant=tenant.name)
    limits = Limits(nodes=len(records), edges=len(records) - 1, hops=1)
    now = await engines.compare(graph, trust, [hub], limits, at=NOON)
    assert now.hops.keys() == {record.id for record in records}
    assert (now.reached, now.hubs) == ({"hops"}, [])
    before = await engines.compare(graph, trust, [hub], limits, at=NOON - MICROSECOND)
    assert before.hops.keys() <= {hub, *(record.id for record in expired)}
    assert before.hubs == [hub]


async def test_both_engines_stop_exactly_at_each_limit(engines: Engines, clean_neo4j: str) -> None:
    rng = random.Random(1)
    graphs = await random_graphs(engines.memory, rng, 24)
    await sync_mirror(engines, clean_neo4j)
    tried = 0
    for graph in graphs:
        trust = random_caller(rng, graph)
        visible = graph.fully_visible(trust)
        if not visible:
            continue
        roots = [rng.choice(visible)]
        whole = await engines.compare(graph, trust, roots, UNLIMITED)
        nodes, edges, hops = len(whole.hops), len(whole.edges), max(whole.hops.values())
        if hops < 2 or whole.reached:
            continue
        tried += 1
        assert await engines.compare(graph, trust, roots, Limits(nodes=nodes, edges=edges, hops=6)) == whole
        for limits, reached in (
            (Limits(nodes=nodes - 1, edges=5_000, hops=6), "nodes"),
            (Limits(nodes=1_000, edges=edges - 1, hops=6), "edges"),
            (Limits(nodes=1_000, edges=5_000, hops=hops - 1), "hops"),
        ):
            found = await engines.compare(graph, trust, roots, limits)
            assert reached in found.reached
            assert found.hops.keys() <= whole.hops.keys()
    assert tried > 3, "too few graphs reach further than one hop"


async def test_at_a_hub_both_engines_follow_the_same_heaviest_edges(engines: Engines, clean_neo4j: str) -> None:
    rng = random.Random(7)
    tenant = await create_tenant(engines.memory, "hub")
    records = [random_record(rng, tenant) for _ in range(FAN_OUT + 60)]
    records[0] = readable_by_all(records[0])  # a walk starts only at records that the caller may read in full
    graph = await write_graph(engines.memory, tenant, records, hub_relations(rng, [record.id for record in records]))
    await sync_mirror(engines, clean_neo4j)
    hub, rim = next(iter(graph.records)), list(graph.records)[-1]
    budgets = Limits(nodes=1_000, edges=5_000, hops=3), Limits(nodes=50, edges=60, hops=3)
    for scopes, history, ceiling in product((None, {"project:a"}), (False, True), Sensitivity):
        trust = trust_of(tenant=graph.tenant.name, ceiling=ceiling, scopes=scopes)
        walks = ([hub], [rim], [rim, hub]) if graph.visibility(trust, rim) is Visibility.FULL else ([hub],)
        for roots, limits in product(walks, budgets):
            found = await engines.compare(graph, trust, roots, limits, history=history)
            if roots == [hub] and ceiling is Sensitivity.HYPER and scopes is None:
                assert hub in found.hubs
                if limits.nodes == 1_000:
                    assert len([edge for edge in found.edges.values() if edge.near == hub]) >= FAN_OUT
