"""A mirror that is behind misleads nobody: what the truth forbids by now is not shown, linked or walked through."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

import pytest
from fix_memory import NOON, Memory, trust_of
from sqlalchemy import text

from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.reader import Neo4jGraphReader
from stratagraph.graph_sync.worker import CONSUMER, SyncConfig, SyncWorker
from stratagraph.memory.retrieve.engine import Engines
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.retrieve.service import Retrieve, Retrieved
from stratagraph.store.enums import DeletionPolicy, MemoryType, RecordState, Sensitivity, SourceKind
from stratagraph.store.feed import Feed
from stratagraph.store.ids import new_id
from stratagraph.store.salience import Decay
from stratagraph.store.tenancy import Tenant
from stratagraph.store.trust import Sight, Trust
from stratagraph.store.words import record_terms
from stratagraph.store.writing import (
    NewRecord,
    NewRelation,
    finish,
    insert_records,
    insert_relations,
    relation_changes,
)

pytestmark = pytest.mark.neo4j

GRAPHS = 30
SCOPES = ("", "project:a", "project:b")
LEVELS = [*Sensitivity, *(Sensitivity.PUBLIC,) * 3, *(Sensitivity.LOW,) * 3]
CURRENT = (RecordState.ACTIVE, RecordState.CONTESTED)


@dataclass(slots=True)
class Held:
    """A record as Postgres has it now."""

    scope: str
    sensitivity: Sensitivity
    state: RecordState = RecordState.ACTIVE

    def sight(self, trust: Trust) -> Sight:
        return trust.sight(scope=self.scope, sensitivity=self.sensitivity)


@dataclass(frozen=True, slots=True)
class Truth:
    """A tenant's records and live relations as Postgres has them now."""

    tenant: Tenant
    records: dict[UUID, Held]
    relations: dict[UUID, tuple[UUID, UUID]]

    def allowed(self, trust: Trust, roots: Collection[UUID], hops: int) -> set[UUID]:
        """The oracle: what the present truth lets this caller reach from the roots."""
        found, frontier = set(roots), set(roots)
        for _ in range(hops):
            reached = set()
            for ends in self.relations.values():
                for near, far in (ends, ends[::-1]):
                    if near in frontier and far not in found and self._shows(trust, far):
                        reached.add(far)
            found |= reached
            frontier = {id_ for id_ in reached if self.records[id_].sight(trust) is Sight.FULL}
        return found

    def _shows(self, trust: Trust, id_: UUID) -> bool:
        held = self.records.get(id_)
        return held is not None and held.state in CURRENT and held.sight(trust) is not Sight.NONE


def a_record(luck: random.Random, tenant: Tenant, *, rooted: bool) -> NewRecord:
    name = f"{'beacon' if rooted else 'rock'} {luck.randrange(10**6)}"
    return NewRecord(
        id=new_id(),
        type=MemoryType.EPISODIC,
        scope=luck.choice(SCOPES),
        sensitivity=luck.choice(LEVELS),
        confidence=1.0,
        tags=(),
        name=name,
        text=name,
        payload={"kind": "episodic", "timeline": []},
        provenance={"sources": []},
        occurred_at=NOON,
        decay=Decay(),
        deletion_policy=DeletionPolicy.MANUAL_ONLY,
        terms=record_terms(tenant.index_key, name),
    )


async def write(memory: Memory, luck: random.Random, name: str) -> Truth:
    """A long, sparse graph: many records have just one way to them."""
    tenant = await memory.directory.tenant(name, create=True)
    assert tenant is not None
    records = [a_record(luck, tenant, rooted=number < 3) for number in range(luck.randrange(8, 30))]
    relations = {}
    for number, record in enumerate(records[1:], 1):
        near = records[max(0, number - luck.randrange(1, 4))]
        for _ in range(luck.choice([1, 1, 1, 2])):
            ends = luck.sample([near.id, record.id], 2)
            relations[*ends, "uses"] = NewRelation(
                source=ends[0], target=ends[1], predicate="uses", weight=luck.choice([0.5, 0.75, 1.0])
            )
    async with memory.database.engine.begin() as connection:
        changes = await insert_records(connection, memory.directory, tenant, records, actor="test", at=NOON)
        written = await insert_relations(connection, memory.directory, tenant, list(relations.values()), at=NOON)
        await finish(connection, tenant, changes + relation_changes(written))
    return Truth(
        tenant,
        {record.id: Held(record.scope, record.sensitivity) for record in records},
        {relation.id: (relation.source, relation.target) for relation in written},
    )


async def revoke(memory: Memory, luck: random.Random, truth: Truth) -> None:
    """Records get more sensitive, move, are retracted or go, and relations end, all unknown to the mirror."""
    numbers = await memory.directory.scopes(truth.tenant, SCOPES, create=True)
    async with memory.database.engine.begin() as connection:
        for id_ in luck.sample(list(truth.records), len(truth.records) // 2):
            held, what = truth.records[id_], luck.randrange(5)
            if what == 0:
                held.sensitivity = luck.choice(list(Sensitivity))
            elif what == 1:
                held.scope = luck.choice(SCOPES)
            elif what == 2:
                held.state = luck.choice([RecordState.RETRACTED, RecordState.SUPERSEDED])
            elif what == 3:
                await connection.execute(text("DELETE FROM record WHERE id = :id"), {"id": id_})
                del truth.records[id_]
                continue
            await connection.execute(
                text("UPDATE record SET sensitivity = :sensitivity, scope = :scope, state = :state WHERE id = :id"),
                {
                    "id": id_,
                    "sensitivity": int(held.sensitivity),
                    "scope": numbers[held.scope],
                    "state": int(held.state),
                },
            )
        for id_ in luck.sample(list(truth.relations), len(truth.relations) // 8):
            await connection.execute(text("UPDATE relation SET ended_at = now() WHERE id = :id"), {"id": id_})
            del truth.relations[id_]
    for id_, ends in list(truth.relations.items()):
        if not truth.records.keys() >= set(ends):
            del truth.relations[id_]


def check(truth: Truth, trust: Trust, found: Retrieved, hops: int) -> None:
    """Nothing forbidden: no id, no edge, no bridge."""
    shown = {node.record.id for node in found.nodes}
    assert set(found.roots) <= shown
    for node in found.nodes:
        sight = truth.records[node.record.id].sight(trust)
        assert sight is not Sight.NONE
        assert node.record.redacted is (sight is Sight.REDACTED)
        assert not (node.root and node.record.redacted)
        assert truth.records[node.record.id].state in CURRENT, "retracted by now"
    assert shown <= truth.allowed(trust, found.roots, hops), "only reached over what is hidden by now, or too far"
    for edge in found.edges:
        assert truth.relations.get(edge.id) == (edge.source, edge.target)
        assert {edge.source, edge.target} <= shown
        assert Sight.FULL in (truth.records[edge.source].sight(trust), truth.records[edge.target].sight(trust))
    assert set(found.hubs) <= shown
    assert {node.why.via for node in found.nodes if node.why.via is not None} <= shown
    for node in found.nodes:
        assert node.hop <= hops


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
    feed = Feed(memory.database, CONSUMER)
    engines = Engines(mirror=Neo4jGraphReader(mirror), feed=feed, preference="neo4j")
    retrieve = Retrieve(memory.database, memory.directory, memory.clock, engines)
    return Frozen(memory, retrieve, SyncWorker(memory.database, memory.directory, mirror, SyncConfig()), mirror)


@pytest.fixture
async def frozen(memory: Memory, clean_neo4j: str) -> AsyncIterator[Frozen]:
    async with Mirror(clean_neo4j, user=None, password=None, database="neo4j") as mirror:
        yield frozen_with(memory, mirror)


async def answers(frozen: Frozen, luck: random.Random, truths: Sequence[Truth]) -> tuple[int, int]:
    """Ask in each graph as various callers and check every answer; tells how many records and heads were seen."""
    far = heads = 0
    for truth in truths:
        for scopes in (None, set(), {"project:a"}):
            ceiling, hops = luck.choice(list(Sensitivity)), luck.randrange(1, 7)
            trust = trust_of(tenant=truth.tenant.name, ceiling=ceiling, scopes=scopes)
            found = await frozen.ask(
                trust, root_limit=luck.choice([1, 2]), node_limit=1_000, edge_limit=5_000, max_hops=hops
            )
            if found.roots:
                assert (found.engine, found.fallback) == ("neo4j", None)
            check(truth, trust, found, hops)
            far += sum(node.hop > 1 for node in found.nodes)
            heads += sum(node.record.redacted for node in found.nodes)
    return far, heads


async def test_nothing_forbidden_is_shown_however_far_the_mirror_is_behind(
    frozen: Frozen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stratagraph.store.traversal.FAN_OUT", 4)  # so that there are hubs
    luck = random.Random(20261121)
    truths = [await write(frozen.memory, luck, f"tenant {number}") for number in range(GRAPHS)]
    await frozen.worker.run_once()
    fresh = await answers(frozen, luck, truths)
    assert min(fresh) > 10, "the graphs were too tame to prove anything"
    for truth in truths:
        await revoke(frozen.memory, luck, truth)
    behind = await answers(frozen, luck, truths)
    assert min(behind) > 10, "too much was revoked to prove anything"


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
    assert after.engine == "neo4j"
    assert far not in {node.record.id for node in after.nodes}
    assert after.roots == (near,)


async def test_what_the_mirror_still_hides_is_hidden_until_it_follows(frozen: Frozen) -> None:
    near, secret = await chain(frozen, Sensitivity.LOW, Sensitivity.HYPER)
    low = trust_of(ceiling=Sensitivity.LOW)
    async with frozen.memory.database.engine.begin() as connection:
        await connection.execute(text("UPDATE record SET sensitivity = 1 WHERE id = :id"), {"id": secret})
    assert {node.record.id for node in (await frozen.ask(low, root_limit=1)).nodes} == {near}


async def test_an_unreachable_mirror_is_answered_from_sql_and_said_so(memory: Memory) -> None:
    async with Mirror("bolt://127.0.0.1:1", user=None, password=None, database="neo4j") as nowhere:
        frozen = frozen_with(memory, nowhere)
        kept = await memory.observe("Alice", "works_at", "Acme")
        found = await frozen.retrieve.retrieve(memory.trust, RetrieveRequest(task_descriptor="Alice", root_limit=1))
    assert found.engine == "sql"
    assert found.fallback is not None
    assert "Neo4j cannot be reached" in found.fallback
    assert kept.primary.id in {node.record.id for node in found.nodes}


async def test_a_mirror_that_refuses_to_answer_is_no_error_of_the_caller(memory: Memory, clean_neo4j: str) -> None:
    async with Mirror(clean_neo4j, user=None, password=None, database="nowhere") as elsewhere:
        frozen = frozen_with(memory, elsewhere)
        await memory.observe("Alice", "works_at", "Acme")
        found = await frozen.retrieve.retrieve(memory.trust, RetrieveRequest(task_descriptor="Alice", root_limit=1))
    assert found.engine == "sql"
    assert found.fallback is not None
    assert found.nodes


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
