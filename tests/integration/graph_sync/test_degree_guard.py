"""Neo4j has no index of one node's relationships by weight: where it would have to read too many, SQL answers."""

from __future__ import annotations

import pytest
from fix_mirror import MirroredMemory

from stratagraph.graph_sync.worker import CONSUMER
from stratagraph.memory.engines.mirror import Neo4jEngine
from stratagraph.memory.engines.service import Engines
from stratagraph.memory.explore.service import Explore
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.retrieve.service import Retrieve
from stratagraph.store.mirror.freshness import MirrorFreshness
from stratagraph.store.model.enums import MemoryType, Sensitivity

pytestmark = pytest.mark.neo4j

FACTS = 12
REASON = "a record has more relations than Neo4j reads in bounded time"


async def test_a_hub_with_too_many_relations_is_read_in_sql(
    mirrored: MirroredMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = mirrored.memory
    for number in range(FACTS):
        await memory.observe("Zoe", "knows", f"friend {number}")
    await mirrored.sync()
    engines = Engines(
        mirror=Neo4jEngine(mirrored.mirror, plans_up_to=Sensitivity.LOW),
        freshness=MirrorFreshness(memory.database, CONSUMER),
        preference="neo4j",
        deadline_s=30.0,
    )
    explore = Explore(memory.database, memory.directory, memory.clock, engines)
    retrieve = Retrieve(memory.database, memory.directory, memory.clock, engines)
    (zoe,) = await memory.lookup.entities(memory.trust, "Zoe", scope=None, first=1)
    answers = []
    for most, expected in ((FACTS, ("neo4j", None)), (FACTS - 1, ("sql", REASON))):
        monkeypatch.setattr("stratagraph.graph_sync.explore.MOST_READ", most)
        monkeypatch.setattr("stratagraph.graph_sync.reader.MOST_READ", most)
        impact = await explore.impact(memory.trust, zoe.id, hops=1)
        assert impact is not None
        named = RetrieveRequest(task_descriptor="Zoe", root_limit=1, memory_types=(MemoryType.ENTITY,))
        walked = await retrieve.retrieve(memory.trust, named)
        assert (impact.answered_by.engine, impact.answered_by.fallback) == expected
        assert (walked.engine, walked.fallback) == expected
        answers.append(({one.record.id for one in impact.nodes}, {edge.id for edge in walked.edges}))
    assert answers[0] == answers[1]
    assert len(answers[0][0]) == FACTS
    assert engines.breaker.failure is None, "the mirror works; it must be asked the next question"
