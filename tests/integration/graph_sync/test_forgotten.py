"""A pruned record and its relations are deleted from the mirror, and nothing else is."""

from __future__ import annotations

from datetime import timedelta

import pytest
from fix_jobs import server_of
from fix_memory import Memory

from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.worker import SyncConfig, SyncWorker
from stratagraph.store.mirror.source import MirrorSource
from stratagraph.store.model.enums import Sensitivity, SourceKind

pytestmark = pytest.mark.neo4j


async def test_a_pruned_record_and_its_relations_are_deleted_from_the_mirror(memory: Memory, clean_neo4j: str) -> None:
    mentions = {"mentions": [{"name": "Alice", "type": "Person"}]}
    event = {"event_kind": "commit", "ref": "abc", "summary": "Refactored auth"}
    faded = (await memory.remember(SourceKind.EVENT, event, context=mentions)).primary.id
    fact = await memory.observe("Alice", "lives_in", "Bern")
    async with Mirror(clean_neo4j, user=None, password=None, database="neo4j") as mirror:
        worker = SyncWorker(memory.database, memory.directory, mirror, SyncConfig())
        await worker.run_once()
        related = "MATCH (n:Memory {id: $id})-[r]-() RETURN count(r) AS relations"
        assert (await mirror.read(related, {"id": str(faded)}))[0]["relations"] > 0
        memory.clock.forward(timedelta(hours=11))
        server = server_of(memory)
        assert (await server.run_once())["records_pruned"] == 1
        result = await worker.run_once()
        assert (result.rebuilt, result.dead_letters) == (False, 0)
        left = await mirror.read(
            "MATCH (n:Mirrored {id: $id}) RETURN labels(n) AS labels, n.name AS name", {"id": str(faded)}
        )
        assert left == [
            {"labels": ["Mirrored", "Tomb"], "name": None}
        ]  # a tombstone, so that a late change cannot revive it
        assert await mirror.read("MATCH (:Mirrored {id: $id})-[r]-() RETURN r.id AS id", {"id": str(faded)}) == []
        assert (await mirror.read(related, {"id": str(fact.primary.id)}))[0]["relations"] > 0
        assert await mirror.counts() == await MirrorSource(memory.database, names_up_to=Sensitivity.LOW).counts()
        await worker.release()
