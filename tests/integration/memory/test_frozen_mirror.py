"""A mirror that is behind shows nothing that Postgres no longer allows: no record, relation or path."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import pytest
from fix_examples import repeated
from fix_graphs import (
    Graph,
    create_tenant,
    random_record,
    random_relations,
    readable_by_all,
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
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.trust import Trust, Visibility
from stratagraph.store.traversal import neighbourhood as traversal
from stratagraph.store.traversal.neighbourhood import Limits

pytestmark = pytest.mark.neo4j

GRAPHS = repeated(10)


async def write(memory: Memory, rng: random.Random, name: str) -> Graph:
    """Write a random graph; half of them are long and thin, so that many records can be reached by one path only."""
    tenant = await create_tenant(memory, name)
    records = [
        replace(random_record(rng, tenant, word="rock"), state=RecordState.ACTIVE) for _ in range(rng.randrange(8, 30))
    ]
    records[:3] = [
        readable_by_all(random_record(rng, tenant, word="beacon", type_=MemoryType.EPISODIC)) for _ in range(3)
    ]
    relate = rng.choice([sparse_relations, random_relations])
    return await write_graph(memory, tenant, records, relate(rng, [record.id for record in records]))


def check(graph: Graph, trust: Trust, found: Retrieved, limits: Limits) -> None:
    """Check that nothing hidden is returned, connects other records, or can be inferred from a count or limit."""
    shown = {node.record.id for node in found.nodes}
    assert set(found.roots) <= shown
    for node in found.nodes:
        visibility = graph.visibility(trust, node.record.id)
        assert visibility is not Visibility.NONE
        assert node.record.redacted is (visibility is Visibility.REDACTED)
        assert not (node.root and node.record.redacted)
        assert graph.shows(trust, node.record.id), "it is retracted now"
        assert node.hop <= limits.hops
    allowed = graph.within(trust, found.roots, limits.hops).keys()
    assert shown <= allowed, "it is reached only through a record hidden now, or too far away"
    for edge in found.edges:
        relation = graph.relations[edge.id]
        assert (edge.source, edge.target) == (relation.source, relation.target)
        assert {edge.source, edge.target} <= shown
        assert Visibility.FULL in (graph.visibility(trust, edge.source), graph.visibility(trust, edge.target))
    assert {node.why.via for node in found.nodes if node.why.via is not None} <= shown
    if "nodes" in found.reached:
        assert len(shown) == limits.nodes < len(allowed), "hidden records were counted towards the limit"
    if "edges" in found.reached:
        live = [relation for relation in graph.relations.values() if {relation.source, relation.target} <= allowed]
        assert len(found.edges) == limits.edges < len(live), "hidden records were counted towards the limit"
    if "hops" in found.reached:
        assert any(node.hop == limits.hops and not node.record.redacted for node in found.nodes)
    for hub in found.hubs:
        assert hub in shown
        assert graph.degree(trust, hub) >= traversal.FAN_OUT, "it is a hub only because of hidden records"


@dataclass
class Frozen:
    """A memory that prefers its mirror, and the only worker that writes it."""

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
        deadline_s=30.0,  # the tests compare answers only, so a busy machine may take long
    )
    retrieve = Retrieve(memory.database, memory.directory, memory.clock, engines)
    return Frozen(memory, retrieve, SyncWorker(memory.database, memory.directory, mirror, SyncConfig()), mirror)


@pytest.fixture
async def frozen(memory: Memory, clean_neo4j: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Frozen]:
    monkeypatch.setattr("stratagraph.graph_sync.reader.READ_TIMEOUT_S", 30.0)
    monkeypatch.setattr("stratagraph.store.mirror.freshness.CACHE_S", 0.0)
    async with Mirror(clean_neo4j, user=None, password=None, database="neo4j") as mirror:
        yield frozen_with(memory, mirror)


async def answers(frozen: Frozen, rng: random.Random, graphs: Sequence[Graph]) -> Counter[str]:
    """Retrieve from each graph as various callers, check every answer, and count the cases."""
    seen = Counter[str]()
    for graph in graphs:
        for scopes in (None, set(), {"project:a"}):
            limits = Limits(nodes=rng.choice([4, 8, 1_000]), edges=rng.choice([6, 12, 5_000]), hops=rng.randrange(1, 7))
            trust = trust_of(tenant=graph.tenant.name, ceiling=rng.choice(list(Sensitivity)), scopes=scopes)
            found = await frozen.ask(
                trust,
                root_limit=rng.choice([1, 2]),
                node_limit=limits.nodes,
                edge_limit=limits.edges,
                max_hops=limits.hops,
            )
            check(graph, trust, found, limits)
            if found.roots:
                assert (found.engine, found.fallback) in (("neo4j", None), ("sql", "the mirror is behind"))
                seen[found.engine] += 1
            seen["far"] += sum(node.hop > 1 for node in found.nodes)
            seen["redacted"] += sum(node.record.redacted for node in found.nodes)
            seen["cut"] += len(found.reached)
            seen["hubs"] += len(found.hubs)
    return seen


async def test_a_mirror_that_is_behind_shows_and_counts_nothing_revoked(
    frozen: Frozen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stratagraph.store.traversal.neighbourhood.FAN_OUT", 4)  # so that there are hubs
    rng = random.Random(20261121)
    graphs = [await write(frozen.memory, rng, f"tenant {number}") for number in range(GRAPHS)]
    await frozen.worker.run_once()
    fresh = await answers(frozen, rng, graphs)
    assert fresh["sql"] == 0, "a mirror that is not behind must answer"
    assert min(fresh[what] for what in ("far", "redacted", "cut", "hubs")) > GRAPHS // 3, (
        f"too few cases of some kind: {fresh}"
    )
    for graph in graphs:
        await revoke(frozen.memory, rng, graph.tenant, graph.records, graph.relations, one_in=2, spare=True)
    behind = await answers(frozen, rng, graphs)
    assert min(behind[what] for what in ("neo4j", "sql", "far", "cut")) > GRAPHS // 3, (
        f"too few cases of some kind after the revocations: {behind}"
    )


async def chain(frozen: Frozen, *levels: Sensitivity) -> list[UUID]:
    """Capture events that each refer to the previous one; the word `beacon` finds the first. Return their ids."""
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
async def test_a_record_changed_since_the_mirror_was_written_connects_no_other_records(
    frozen: Frozen, revocation: str
) -> None:
    near, middle, far = await chain(frozen, *(Sensitivity.LOW,) * 3)
    low = trust_of(ceiling=Sensitivity.LOW)
    before = await frozen.ask(low, root_limit=1, max_hops=2)
    assert {node.record.id for node in before.nodes} == {near, middle, far}
    async with frozen.memory.database.engine.begin() as connection:
        await connection.execute(text(revocation), {"id": middle})
    after = await frozen.ask(low, root_limit=1, max_hops=2)
    assert (after.engine, after.fallback) == ("sql", "the mirror is behind")
    assert far not in {node.record.id for node in after.nodes}
    assert after.roots == (near,)


async def test_a_record_made_visible_is_returned_only_after_the_mirror_has_the_change(frozen: Frozen) -> None:
    near, secret = await chain(frozen, Sensitivity.LOW, Sensitivity.HYPER)
    low = trust_of(ceiling=Sensitivity.LOW)
    async with frozen.memory.database.engine.begin() as connection:
        await connection.execute(text("UPDATE record SET sensitivity = 1 WHERE id = :id"), {"id": secret})
    assert {node.record.id for node in (await frozen.ask(low, root_limit=1)).nodes} == {near}


async def test_sql_answers_until_the_mirror_has_reached_the_asked_sequence(frozen: Frozen) -> None:
    memory = frozen.memory
    await memory.observe("Alice", "works_at", "Acme")
    await frozen.worker.run_once()
    kept = await memory.observe("Alice", "lives_in", "Bern")

    async def ask(sequence: str | None) -> Retrieved:
        request = RetrieveRequest(
            task_descriptor="Alice", root_limit=1, memory_types=(MemoryType.ENTITY,), at_least_sequence=sequence
        )
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

    later = await memory.observe("Alice", "speaks", "Breton")
    for several in (f"{kept.sequence}.{later.sequence}", f"{later.sequence}.{kept.sequence}"):
        assert (await ask(several)).fallback == "the mirror has not reached the asked sequence yet"
    await frozen.worker.run_once()
    assert (await ask(several)).engine == "neo4j"
    for wrong in (f"{kept.sequence}.", ".", ".".join([kept.sequence] * 33)):
        with pytest.raises(InvalidInput) as refused:
            await ask(wrong)
        assert refused.value.path == ["atLeastSequence"]
