"""Neither writes during a prune nor a crash that leaves schema half made harm the mirror."""

from __future__ import annotations

from typing import Any

import pytest
from fix_mirror import House

from stratagraph.graph_sync.batches import CheckpointLock
from stratagraph.graph_sync.checkpoints import checkpoint_key
from stratagraph.graph_sync.statements import statement
from stratagraph.store.feed.changes import Kind
from stratagraph.store.mirror.generations import GenerationNumbers

pytestmark = pytest.mark.neo4j


async def test_pruning_keeps_relations_whose_ends_are_not_written_yet(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A follower writes a relation before another, of other shards, has written the records that it joins."""
    await house.memory.observe("Alice", "knows", "Bob")
    await house.sync()
    written: list[str] = []
    commit_alone = house.mirror._commit_alone

    async def relations_first(text: str, **parameters: Any) -> None:
        if text == statement("prune_nodes") and not written:
            kept = await house.memory.observe("Carol", "knows", "Dave")
            batch = await house.batch(Kind.RELATION, 2)
            await house.mirror.apply(
                batch, CheckpointLock(keys=(checkpoint_key(0),), numbers=GenerationNumbers(whole=2))
            )
            written.extend(str(edge.id) for edge in kept.edges)
        await commit_alone(text, **parameters)

    monkeypatch.setattr(house.mirror, "_commit_alone", relations_first)
    assert await house.worker.maintenance.begin_rebuild(None, reason="a test") == 2
    await house.worker.maintenance.run_once()
    assert written
    rows = await house.cypher("MATCH ()-[r]->() WHERE r.id IN $ids RETURN r.id AS id", ids=written)
    assert sorted(row["id"] for row in rows) == sorted(written)
    await house.sync()
    assert await house.mirror_is_equal()


async def test_a_constraint_that_a_crash_left_half_made_is_made_again(house: House) -> None:
    """Neo4j makes a constraint's index first. Where it is killed then, the index stays, under the constraint's name."""
    await house.write_cypher("DROP CONSTRAINT rel_tomb_key IF EXISTS")
    await house.write_cypher("CREATE INDEX rel_tomb_key FOR (t:RelTomb) ON (t.ten, t.id)")
    await house.mirror.prepare()
    rows = await house.cypher("SHOW CONSTRAINTS YIELD name RETURN collect(name) AS names")
    assert "rel_tomb_key" in rows[0]["names"]
