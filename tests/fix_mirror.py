"""The fixture `mirrored`: a memory in Postgres, its mirror in Neo4j, and a mirror worker in the test's process."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import pytest
from fix_memory import Memory
from sqlalchemy import text

from stratagraph.graph_sync import mapping
from stratagraph.graph_sync.batches import Checkpoint, CheckpointLock, MirrorBatch
from stratagraph.graph_sync.checkpoints import checkpoint_key
from stratagraph.graph_sync.differences import Difference
from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.worker import SyncConfig, SyncResult, SyncWorker
from stratagraph.memory.capture.answers import Captured
from stratagraph.store.feed.changes import ROWS, Change, Kind, append_changes
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.mirror.generations import GenerationNumbers
from stratagraph.store.mirror.source import MirrorSource
from stratagraph.store.model.enums import MemoryType, SourceKind

PLAN = {
    "plan_id": "deploy",
    "version": "1",
    "nodes": [{"id": id_, "op": op} for id_, op in (("a", "build"), ("b", "test"), ("c", "ship"))],
    "edges": [
        {"from": "a", "to": "b", "kind": "control"},
        {"from": "b", "to": "c", "kind": "control"},
        {"from": "a", "to": "c", "kind": "data"},
    ],
}
DUMP_NODES = (
    "MATCH (n) WHERE NOT n:SyncCheckpoint|SyncGeneration|SyncRebuild|MirrorInfo"
    " RETURN collect({labels: labels(n), p: properties(n)}) AS found"
)
DUMP_RELATIONS = (
    "MATCH (a)-[r]->(b) RETURN collect({source: coalesce(a.id, a.name), type: type(r),"
    " target: coalesce(b.id, b.name), p: properties(r)}) AS found"
)
NODE = "MATCH (n:Mirrored {id: $id}) RETURN labels(n) AS labels, properties(n) AS p"


@dataclass
class MirroredMemory:
    """A memory in Postgres, its mirror in Neo4j, and a worker that the test runs."""

    memory: Memory
    mirror: Mirror
    config: SyncConfig = field(default_factory=lambda: SyncConfig(idle_s=0.01, maintenance_s=0.05, back_off_s=0.1))

    def __post_init__(self) -> None:
        self.source = MirrorSource(self.memory.database, names_up_to=self.config.names_up_to)
        self.worker = self.another_worker()

    def another_worker(self, mirror: Mirror | None = None) -> SyncWorker:
        """Make another worker; by default for the same mirror."""
        return SyncWorker(self.memory.database, self.memory.directory, mirror or self.mirror, self.config)

    async def sync(self) -> SyncResult:
        return await self.worker.run_once()

    async def start_afresh(self) -> SyncResult:
        """Replace the worker by a new one, as after a restart, and let it run once."""
        await self.worker.release()
        self.worker = self.another_worker()
        return await self.sync()

    async def tenant(self) -> Tenant:
        found = await self.memory.directory.tenant("acme")
        assert found is not None
        return found

    async def run_sql(self, statement: str, **parameters: Any) -> None:
        async with self.memory.database.engine.begin() as connection:
            await connection.execute(text(statement), parameters)

    async def rewrite(self, id_: UUID, sql: str, **parameters: Any) -> None:
        """Change a record with the SQL assignments `sql`, and append the change to the log, in one transaction."""
        tenant = await self.tenant()
        async with self.memory.database.engine.begin() as connection:
            version = await connection.execute(
                text(f"UPDATE record SET {sql}, row_version = row_version + 1 WHERE id = :id RETURNING row_version"),  # noqa: S608
                {"id": id_, **parameters},
            )
            change = Change(kind=Kind.RECORD, id=id_, version=version.scalar_one())
            await append_changes(connection, tenant, [change])

    async def delete(self, id_: UUID) -> None:
        tenant = await self.tenant()
        async with self.memory.database.engine.begin() as connection:
            version = await connection.execute(
                text("DELETE FROM record WHERE id = :id RETURNING row_version"), {"id": id_}
            )
            change = Change(kind=Kind.RECORD, id=id_, version=version.scalar_one() + 1, op="D")
            await append_changes(connection, tenant, [change])

    async def cypher(self, statement: str, **parameters: Any) -> list[dict[str, Any]]:
        return await self.mirror.read(statement, parameters)

    async def write_cypher(self, statement: str, **parameters: Any) -> None:
        async with self.mirror.driver.session() as session:
            await (await session.run(statement, parameters)).consume()

    async def node(self, id_: UUID) -> tuple[set[str], dict[str, Any]] | None:
        rows = await self.cypher(NODE, id=str(id_))
        assert len(rows) < 2
        return (set(rows[0]["labels"]), rows[0]["p"]) if rows else None

    async def existing_node(self, id_: UUID) -> tuple[set[str], dict[str, Any]]:
        found = await self.node(id_)
        assert found is not None
        return found

    async def repair(self, differences: Sequence[Difference]) -> None:
        """Repair differences, and let the worker apply the repairs."""
        await self.worker.repairer.repair(differences)
        await self.sync()

    async def dump(self) -> list[str]:
        """Return everything in the mirror except its checkpoints, in a form that can be compared."""
        found = [
            row for statement in (DUMP_NODES, DUMP_RELATIONS) for row in (await self.cypher(statement))[0]["found"]
        ]
        for item in found:
            if "labels" in item:
                item["labels"] = sorted(item["labels"])
        return sorted(json.dumps(item, sort_keys=True, default=str) for item in found)

    async def mirror_is_equal(self) -> bool:
        """Return whether the mirror equals Postgres in every property of every row."""
        return (await self.worker.checker.verify(deep=True, within_s=10.0)).equal

    async def generation(self) -> int:
        """Return the newest complete generation."""
        async with self.memory.database.engine.begin() as connection:
            found = await connection.execute(
                text("SELECT coalesce(max(generation), 0) FROM mirror_generation WHERE state = 'active'")
            )
            return int(found.scalar_one())

    async def counts_are_equal(self) -> bool:
        return await self.mirror.counts() == await self.source.counts()

    async def batch(self, kind: Kind, generation: int) -> MirrorBatch:
        """Return the batch of all rows that a worker of `generation` would write."""
        rows, _ = await self.source.scan(kind, None, tenant=None, page=10_000)
        batch = MirrorBatch(tenants={row["tenant"] for row in rows})
        if kind is Kind.RECORD:
            for row in rows:
                batch.add_node(mapping.node(row, generation=generation, names_up_to=self.config.names_up_to))
            return batch
        names = await self.memory.directory.predicate_names({(row["tenant"], row["predicate"]) for row in rows})
        for row in rows:
            predicate = names[row["tenant"], row["predicate"]]
            batch.add_relation(predicate, mapping.relation(row, generation=generation))
        return batch

    async def late_batches(self) -> list[MirrorBatch]:
        """Return the batches that a worker would write now, to be written later by `write_late`."""
        generation = (await self.checkpoint()).generation
        return [await self.batch(kind, generation) for kind in ROWS]

    async def write_late(
        self, batches: Sequence[MirrorBatch], generation: int, checkpoint: Checkpoint | None = None
    ) -> None:
        """Write batches that were read earlier, as a worker does that has lost its lease and not noticed it."""
        for batch in batches:
            lock = CheckpointLock(keys=(checkpoint_key(0),), numbers=GenerationNumbers(whole=generation))
            await self.mirror.apply(batch, lock, checkpoint=checkpoint)

    async def checkpoint(self) -> Checkpoint:
        return (await self.mirror.checkpoints())[checkpoint_key(0)]


@pytest.fixture
async def mirrored(memory: Memory, clean_neo4j: str) -> AsyncIterator[MirroredMemory]:
    async with Mirror(clean_neo4j, user=None, password=None, database="neo4j") as mirror:
        yield MirroredMemory(memory, mirror)


async def capture_every_kind(memory: Memory) -> dict[str, Captured]:
    """Capture every source kind, memory type and state that capture can make."""
    kept = {"turn": await memory.turn("please look at the build", thread="t1")}
    call = {"tool_name": "grep", "args": {"q": "needle"}, "result": "3 hits", "thread_id": "t1", "call_id": "c1"}
    kept["tool"] = await memory.remember(SourceKind.TOOL_OUTPUT, call)
    kept["event"] = await memory.remember(
        SourceKind.EVENT,
        {"event_kind": "commit", "ref": "abc", "summary": "Refactored auth"},
        context={"mentions": [{"name": "Alice", "type": "Person"}]},
    )
    kept["old"] = await memory.observe("Alice", "lives_in", "Bern", revision_policy="replace")
    kept["new"] = await memory.observe("Alice", "lives_in", "Basel", revision_policy="replace")
    await memory.observe("Alice", "born_in", 1990, revision_policy="contest")
    kept["contested"] = await memory.observe("Alice", "born_in", 1991, revision_policy="contest")
    kept["working"] = await memory.remember(SourceKind.WORKING_STATE, {"thread_id": "t1", "state": "planning"})
    outcome = {"thread_id": "t1", "outcome_status": "success", "reason": "tests pass"}
    kept["outcome"] = await memory.remember(SourceKind.OUTCOME, outcome)
    timeline = [{"t": "2026-05-01T10:00:00Z", "event_kind": "start", "ref": "x", "summary": "it began"}]
    kept["episode"] = await memory.remember(SourceKind.EPISODE, {"timeline": timeline, "outcome": "partial"})
    skill = {"skill_name": "fix cache", "triggers": [{"signal": "cache mismatch"}], "recipe": [{"step": "clear it"}]}
    kept["skill"] = await memory.remember(SourceKind.OBSERVATION, skill, proposed_type=MemoryType.COMPETENCE)
    entity = {"canonical_name": "Orion", "primary_type": "Project", "types": ["data set"]}
    kept["entity"] = await memory.remember(SourceKind.OBSERVATION, entity, proposed_type=MemoryType.ENTITY)
    kept["plan"] = await memory.remember(SourceKind.OBSERVATION, PLAN, proposed_type=MemoryType.PLAN_GRAPH)
    return kept
