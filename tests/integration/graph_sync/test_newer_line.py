"""The newest Neo4j line also works from end to end: write, supersede, replay, traverse."""

from __future__ import annotations

import pytest
from fix_memory import Memory, trust_of
from fix_neo4j import GivenServer, wipe

from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.reader import Neo4jGraphReader
from stratagraph.graph_sync.worker import SyncConfig, SyncWorker
from stratagraph.service.local_neo4j import LocalServer
from stratagraph.store.mirror.source import MirrorSource
from stratagraph.store.model.enums import MemoryType, Sensitivity, SourceKind
from stratagraph.store.traversal.neighbourhood import Limits, SqlGraphReader, neighbourhood

pytestmark = [pytest.mark.neo4j, pytest.mark.soak]

PLAN = {
    "plan_id": "deploy",
    "version": "1",
    "nodes": [{"id": "a", "op": "build"}, {"id": "b", "op": "ship"}],
    "edges": [{"from": "a", "to": "b", "kind": "control"}, {"from": "a", "to": "b", "kind": "data"}],
}


async def test_the_newest_neo4j_line_mirrors_and_traverses_the_same_graph(
    memory: Memory, newer_neo4j_server: LocalServer | GivenServer
) -> None:
    wipe(newer_neo4j_server.bolt)
    fact = await memory.observe("Alice", "works_at", "Acme", revision_policy="replace")
    await memory.observe("Alice", "works_at", "Globex", revision_policy="replace")
    await memory.observe("Alice", "earns", 100, sensitivity=Sensitivity.MEDIUM)
    await memory.turn("please ask Alice", thread="t", scope="project:a")
    await memory.remember(SourceKind.OBSERVATION, PLAN, proposed_type=MemoryType.PLAN_GRAPH)
    async with Mirror(newer_neo4j_server.bolt, user=None, password=None, database="neo4j") as mirror:
        worker = SyncWorker(memory.database, memory.directory, mirror, SyncConfig())
        assert (await worker.run_once()).rebuilt
        await memory.turn("and tell me", thread="t", scope="project:a")
        assert (await worker.run_once()).applied > 0
        await worker.release()
        assert await mirror.counts() == await MirrorSource(memory.database, names_up_to=Sensitivity.LOW).counts()
        past = await mirror.read("MATCH (n:Past) RETURN n.id AS id", {})
        assert past == [{"id": str(fact.primary.id)}]
        steps = await mirror.read(
            "MATCH (:PlanGraph)-[:HAS_STEP]->(a:PlanStep)-[r:PRECEDES|FEEDS]->(b)-[:USES_TOOL]->(t:Tool)"
            " RETURN a.op AS source, type(r) AS type, t.name AS tool ORDER BY type",
            {},
        )
        assert steps == [
            {"source": "build", "type": "FEEDS", "tool": "ship"},
            {"source": "build", "type": "PRECEDES", "tool": "ship"},
        ]
        entity = (await memory.lookup.entities(memory.trust, "Alice", scope=None, first=1))[0]
        for trust in (memory.trust, trust_of(ceiling=Sensitivity.LOW), trust_of(scopes={"project:b"})):
            caller = await memory.directory.resolve(trust)
            walked = [
                await neighbourhood(
                    engine,
                    caller,
                    [entity.id],
                    Limits(nodes=50, edges=50, hops=3),
                    scores={},
                    at=memory.clock.now(),
                )
                for engine in (SqlGraphReader(database=memory.database), Neo4jGraphReader(mirror))
            ]
            assert walked[0] == walked[1]
            assert walked[0].edges
