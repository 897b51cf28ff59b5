"""Writes during a prune lose nothing, and a constraint that a crash left incomplete is created again."""

from __future__ import annotations

from typing import Any

import pytest
from fix_mirror import MirroredMemory

from stratagraph.graph_sync.batches import CheckpointLock
from stratagraph.graph_sync.checkpoints import checkpoint_key
from stratagraph.graph_sync.statements import statement
from stratagraph.store.feed.changes import Kind
from stratagraph.store.mirror.generations import GenerationNumbers

pytestmark = pytest.mark.neo4j


async def test_pruning_keeps_relations_whose_records_are_not_written_yet(
    mirrored: MirroredMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One worker writes a relation before the worker of another shard has written the records at its ends."""
    await mirrored.memory.observe("Alice", "knows", "Bob")
    await mirrored.sync()
    written: list[str] = []
    commit_alone = mirrored.mirror._commit_alone

    async def relations_first(text: str, **parameters: Any) -> None:
        if text == statement("prune_nodes") and not written:
            kept = await mirrored.memory.observe("Carol", "knows", "Dave")
            batch = await mirrored.batch(Kind.RELATION, 2)
            await mirrored.mirror.apply(
                batch, CheckpointLock(keys=(checkpoint_key(0),), numbers=GenerationNumbers(whole=2))
            )
            written.extend(str(edge.id) for edge in kept.edges)
        await commit_alone(text, **parameters)

    monkeypatch.setattr(mirrored.mirror, "_commit_alone", relations_first)
    assert await mirrored.worker.maintenance.begin_rebuild(None, reason="a test") == 2
    await mirrored.worker.maintenance.run_once()
    assert written
    rows = await mirrored.cypher("MATCH ()-[r]->() WHERE r.id IN $ids RETURN r.id AS id", ids=written)
    assert sorted(row["id"] for row in rows) == sorted(written)
    await mirrored.sync()
    assert await mirrored.mirror_is_equal()


async def test_a_constraint_that_a_crash_left_incomplete_is_created_again(mirrored: MirroredMemory) -> None:
    """Neo4j creates the constraint's index first. If it is killed then, the index remains under that name."""
    await mirrored.write_cypher("DROP CONSTRAINT rel_tomb_key IF EXISTS")
    await mirrored.write_cypher("CREATE INDEX rel_tomb_key FOR (t:RelTomb) ON (t.ten, t.id)")
    await mirrored.mirror.prepare()
    rows = await mirrored.cypher("SHOW CONSTRAINTS YIELD name RETURN collect(name) AS names")
    assert "rel_tomb_key" in rows[0]["names"]
