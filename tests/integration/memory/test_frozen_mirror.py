"""A mirror that is behind misleads nobody: what the truth forbids by now is not shown, linked or walked through."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import pytest
from fix_graphs import (
    Graph,
    a_record,
    a_tenant,
    everybodys,
    random_relations,
    revoke,
    sparse_relations,
    write_graph,
)
from fix_memory import Memory, trust_of
from sqlalchemy import text

from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.worker import CONSUMER, SyncConfig, SyncWorker, mirror_feed
from stratagraph.memory.engines.mirror import Neo4jEngine
from stratagraph.memory.engines.service import Engines
from stratagraph.memory.retrieve.answer import Retrieved
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.retrieve.service import Retrieve
from stratagraph.store.mirror.freshness import MirrorFreshness
from stratagraph.store.model.enums import MemoryType, RecordState, Sensitivity, SourceKind
from stratagraph.store.model.trust import Trust, Visibility
from stratagraph.store.traversal import neighbourhood as traversal
from stratagraph.store.traversal.neighbourhood import Limits

pytestmark = pytest.mark.neo4j

GRAPHS = 30


async def write(memory: Memory, luck: random.Random, name: str) -> Graph:
    """Every other one long and thin, so that many records have just one way to them."""
    tenant = await a_tenant(memory, name)
    records = [
        replace(a_record(luck, tenant, word="rock"), type=MemoryType.EPISODIC, state=RecordState.ACTIVE)
        for _ in range(luck.randrange(8, 30))
    ]
    records[:3] = [
        everybodys(replace(a_record(luck, tenant, word="beacon"), type=MemoryType.EPISODIC)) for _ in range(3)
    ]
    relate = luck.choice([sparse_relations, random_relations])
    return await write_graph(memory, tenant, records, relate(luck, [record.id for record in records]))


def check(graph: Graph, trust: Trust, found: Retrieved, limits: Limits) -> None:
    """Nothing forbidden: no id, no edge, no bridge, and nothing that lets one be counted."""
    shown = {node.record.id for node in found.nodes}
    assert set(found.roots) <= shown
    for node in found.nodes:
        sight = graph.visibility(trust, node.record.id)
        assert sight is not Visibility.NONE
        assert node.record.redacted is (sight is Visibility.REDACTED)
        assert not (node.root and node.record.redacted)
        assert graph.shows(trust, node.record.id), "retracted by now"
        assert node.hop <= limits.hops
    allowed = graph.within(trust, found.roots, limits.hops).keys()
    assert shown <= allowed, "only reached over what is hidden by now, or too far"
    for edge in found.edges:
        link = graph.relations[edge.id]
        assert (edge.source, edge.target) == (link.source, link.target)
        assert {edge.source, edge.target} <= shown
        assert Visibility.FULL in (graph.visibility(trust, edge.source), graph.visibility(trust, edge.target))
    assert {node.why.via for node in found.nodes if node.why.via is not None} <= shown
    if "nodes" in found.reached:
        assert len(shown) == limits.nodes < len(allowed), "what is hidden took places, or counts as left out"
    if "edges" in found.reached:
        live = [link for link in graph.relations.values() if {link.source, link.target} <= allowed]
        assert len(found.edges) == limits.edges < len(live), "what is hidden took places, or counts as left out"
    if "hops" in found.reached:
        assert any(node.hop == limits.hops and not node.record.redacted for node in found.nodes)
    for hub in found.hubs:
        assert hub in shown
        assert graph.degree(trust, hub) >= traversal.FAN_OUT, "a hub only by what is hidden"


@dataclass
class Frozen:
    """A memory that prefers its mirror, and the worker that is the only one to move it."""

    memory: Memory
    retrieve: Retrieve
    worker: SyncWorker
    mirror: Mirror

    async def ask(self, trust: Trust, **more: object) -> Retrieved:
        request = RetrieveRequest(task_descriptor="beacon", **more)  # type: ignore[arg-type]
        return await self.retrieve.retrieve(trust, request)


def frozen_with(memory: Memory, mirror: Mirror) -> Frozen:
    engines = Engines(
        mirror=Neo4jEngine(mirror, plans_up_to=Sensitivity.LOW),
        feed=mirror_feed(memory.database),
        freshness=MirrorFreshness(memory.database, CONSUMER),
        preference="neo4j",
        deadline_s=30.0,  # what counts here is what the mirror answers, however long a busy machine takes for it
    )
    retrieve = Retrieve(memory.database, memory.directory, memory.clock, engines)
    return Frozen(memory, retrieve, SyncWorker(memory.database, memory.directory, mirror, SyncConfig()), mirror)


@pytest.fixture
async def frozen(memory: Memory, clean_neo4j: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Frozen]:
    monkeypatch.setattr("stratagraph.graph_sync.reader.READ_TIMEOUT_S", 30.0)
    monkeypatch.setattr("stratagraph.store.mirror.freshness.CACHE_S", 0.0)
    async with Mirror(clean_neo4j, user=None, password=None, database="neo4j") as mirror:
        yield frozen_with(memory, mirror)


async def answers(frozen: Frozen, luck: random.Random, graphs: Sequence[Graph]) -> Counter[str]:
    """Ask in each graph as various callers and check every answer; counts what was seen."""
    seen = Counter[str]()
    for graph in graphs:
        for scopes in (None, set(), {"project:a"}):
            limits = Limits(
                nodes=luck.choice([4, 8, 1_000]), edges=luck.choice([6, 12, 5_000]), hops=luck.randrange(1, 7)
            )
            trust = trust_of(tenant=graph.tenant.name, ceiling=luck.choice(list(Sensitivity)), scopes=scopes)
            found = await frozen.ask(
                trust,
                root_limit=luck.choice([1, 2]),
                node_limit=limits.nodes,
                edge_limit=limits.edges,
                max_hops=limits.hops,
            )
            check(graph, trust, found, limits)
            if found.roots:
                assert (found.engine, found.fallback) in (("neo4j", None), ("sql", "the mirror is behind"))
                seen[found.engine] += 1
            seen["far"] += sum(node.hop > 1 for node in found.nodes)
            seen["heads"] += sum(node.record.redacted for node in found.nodes)
            seen["cut"] += len(found.reached)
            seen["hubs"] += len(found.hubs)
    return seen


async def test_nothing_forbidden_is_shown_or_counted_however_far_the_mirror_is_behind(
    frozen: Frozen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stratagraph.store.traversal.neighbourhood.FAN_OUT", 4)  # so that there are hubs
    luck = random.Random(20261121)
    graphs = [await write(frozen.memory, luck, f"tenant {number}") for number in range(GRAPHS)]
    await frozen.worker.run_once()
    fresh = await answers(frozen, luck, graphs)
    assert fresh["sql"] == 0, "a mirror that is not behind answers"
    assert min(fresh[what] for what in ("far", "heads", "cut", "hubs")) > 10, f"too tame to prove anything: {fresh}"
    for graph in graphs:
        await revoke(frozen.memory, luck, graph.tenant, graph.records, graph.relations, one_in=2, spare=True)
    behind = await answers(frozen, luck, graphs)
    assert min(behind[what] for what in ("neo4j", "sql", "far", "cut")) > 10, f"too little is left: {behind}"


async def chain(frozen: Frozen, *levels: Sensitivity) -> list[UUID]:
    """Events that each refer to the one before; the first is found by the word `beacon`."""
    ids = []
    for number, level in enumerate(levels):
        kept = await frozen.memory.remember(
            SourceKind.EVENT,
            {"event_kind": "x", "ref": f"e{number}", "summary": f"{'rock' if number else 'beacon'} {number}"},
            sensitivity=level,
            context={"references": [f"e{number - 1}"]} if number else None,
        )
        ids.append(kept.primary.id)
    await frozen.worker.run_once()
    return ids


@pytest.mark.parametrize(
    "revocation",
    [
        "UPDATE record SET sensitivity = 3 WHERE id = :id",
        "UPDATE record SET sensitivity = 2 WHERE id = :id",
        "UPDATE record SET state = 4 WHERE id = :id",
        "UPDATE record SET state = 3 WHERE id = :id",
        "DELETE FROM record WHERE id = :id",
        "UPDATE relation SET ended_at = now() WHERE target = :id",
    ],
)
async def test_what_was_a_bridge_when_the_mirror_was_written_is_none_now(frozen: Frozen, revocation: str) -> None:
    near, bridge, far = await chain(frozen, *(Sensitivity.LOW,) * 3)
    low = trust_of(ceiling=Sensitivity.LOW)
    before = await frozen.ask(low, root_limit=1, max_hops=2)
    assert {node.record.id for node in before.nodes} == {near, bridge, far}
    async with frozen.memory.database.engine.begin() as connection:
        await connection.execute(text(revocation), {"id": bridge})
    after = await frozen.ask(low, root_limit=1, max_hops=2)
    assert (after.engine, after.fallback) == ("sql", "the mirror is behind")
    assert far not in {node.record.id for node in after.nodes}
    assert after.roots == (near,)


async def test_what_the_mirror_still_hides_is_hidden_until_it_follows(frozen: Frozen) -> None:
    near, secret = await chain(frozen, Sensitivity.LOW, Sensitivity.HYPER)
    low = trust_of(ceiling=Sensitivity.LOW)
    async with frozen.memory.database.engine.begin() as connection:
        await connection.execute(text("UPDATE record SET sensitivity = 1 WHERE id = :id"), {"id": secret})
    assert {node.record.id for node in (await frozen.ask(low, root_limit=1)).nodes} == {near}


async def test_a_sequence_that_the_mirror_has_not_reached_is_answered_from_sql_until_it_has(frozen: Frozen) -> None:
    memory = frozen.memory
    await memory.observe("Alice", "works_at", "Acme")
    await frozen.worker.run_once()
    kept = await memory.observe("Alice", "lives_in", "Bern")

    async def ask(sequence: str | None) -> Retrieved:
        request = RetrieveRequest(task_descriptor="Alice", root_limit=1, at_least_sequence=sequence)
        return await frozen.retrieve.retrieve(memory.trust, request)

    early = await ask(kept.sequence)
    assert (early.engine, early.fallback) == ("sql", "the mirror has not reached the asked sequence yet")
    assert kept.primary.id in {node.record.id for node in early.nodes}
    behind = await ask(None)
    assert behind.engine == "neo4j"
    assert kept.primary.id not in {node.record.id for node in behind.nodes}
    await frozen.worker.run_once()
    caught_up = await ask(kept.sequence)
    assert (caught_up.engine, caught_up.fallback) == ("neo4j", None)
    assert kept.primary.id in {node.record.id for node in caught_up.nodes}
