"""After a random history of captures and revisions, both engines answer alike, and without what is not true now."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from fix_memory import EVIDENCE, Memory
from sqlalchemy import text

from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.worker import CONSUMER, SyncConfig, SyncWorker
from stratagraph.memory.engines.mirror import Neo4jEngine
from stratagraph.memory.engines.service import Engines
from stratagraph.memory.explore.answers import Expansion, Impact, Paths, Plans, Related
from stratagraph.memory.explore.service import Explore
from stratagraph.memory.retrieve.answer import Retrieved
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.retrieve.service import Retrieve
from stratagraph.memory.revise.request import Contest, Fork, ResolveContest, Retract, Supersede
from stratagraph.store.mirror.freshness import MirrorFreshness
from stratagraph.store.model.clock import SystemClock
from stratagraph.store.model.enums import MemoryType, RecordState, Sensitivity, SourceKind
from stratagraph.store.model.errors import StratagraphError
from stratagraph.store.model.records import MemoryRecord

pytestmark = pytest.mark.neo4j

DAY = timedelta(days=1)
PEOPLE = ("Ann", "Ben", "Cleo", "Dora")
PLACES = ("Acme", "Bolt", "Bern")
OPS = ("build", "test", "ship")
STEPS = 30  # captures and revisions of one history


@dataclass
class BothEngines:
    """A memory, and its services that answer from the graph in SQL and in Neo4j."""

    memory: Memory
    worker: SyncWorker
    explore: dict[str, Explore]
    retrieve: dict[str, Retrieve]


@pytest.fixture
async def both(memory: Memory, clean_neo4j: str) -> AsyncIterator[BothEngines]:
    memory.clock.at = SystemClock().now().replace(microsecond=0) + timedelta(hours=1)
    async with Mirror(clean_neo4j, user=None, password=None, database="neo4j") as mirror:
        mirrored = Engines(
            mirror=Neo4jEngine(mirror, plans_up_to=Sensitivity.LOW),
            freshness=MirrorFreshness(memory.database, CONSUMER),
            preference="neo4j",
            deadline_s=60.0,
        )
        engines = {"sql": Engines(), "neo4j": mirrored}
        services = (memory.database, memory.directory, memory.clock)
        yield BothEngines(
            memory=memory,
            worker=SyncWorker(memory.database, memory.directory, mirror, SyncConfig()),
            explore={name: Explore(*services, one) for name, one in engines.items()},
            retrieve={name: Retrieve(*services, one) for name, one in engines.items()},
        )


def random_validity(rng: random.Random, memory: Memory) -> dict[str, Any]:
    """Return a validity that has ended, holds, or is to come; or none, as most facts have."""
    start, end = sorted(rng.sample(range(-4, 5), 2))
    now = memory.clock.now()
    bounds = {"start": now + start * DAY, "end": now + end * DAY}
    kept = rng.choice([{}, {}, {"start"}, {"end"}, {"start", "end"}])
    if not kept:
        return {}
    return {"validity": {"mode": "timeboxed"} | {side: bounds[side].isoformat() for side in kept}}


async def one_step(rng: random.Random, memory: Memory, facts: list[UUID]) -> None:
    """Capture a fact or a plan, or revise a fact. A revision that is refused changes nothing."""
    kind = rng.choice(["fact"] * 5 + ["plan", "turn", "retract", "supersede", "contest", "resolve", "fork"])
    if kind == "fact" or not facts:
        policy = rng.choice([{}, {}, {"revision_policy": rng.choice(["replace", "contest"])}])
        done = await memory.observe(
            rng.choice(PEOPLE),
            rng.choice(["works_at", "knows"]),
            rng.choice([*PLACES, *PEOPLE]),
            **policy,
            **random_validity(rng, memory),
        )
        facts.append(done.primary.id)
        return
    if kind == "turn":
        await memory.turn(f"{rng.choice(PEOPLE)} went to {rng.choice(PLACES)}", thread=rng.choice(["a", "b"]))
        return
    if kind == "plan":
        ops = rng.sample(OPS, 3)
        plan = {
            "plan_id": rng.choice(["release", "hotfix"]),
            "version": str(len(facts)),
            "nodes": [{"id": f"s{at}", "op": op} for at, op in enumerate(ops)],
            "edges": [{"from": f"s{at}", "to": f"s{at + 1}", "kind": "control"} for at in range(2)],
        }
        done = await memory.remember(SourceKind.OBSERVATION, plan, proposed_type=MemoryType.PLAN_GRAPH)
        facts.append(done.primary.id)
        return
    memory.clock.forward(timedelta(seconds=1))
    id_, other = rng.choice(facts), rng.choice(facts)
    payload = {"object": rng.choice(PLACES)}
    revisions: dict[str, Any] = {
        "retract": lambda: Retract(record_id=id_, rationale="wrong"),
        "supersede": lambda: Supersede(record_id=id_, payload=payload, evidence=EVIDENCE, rationale="newer"),
        "contest": lambda: Contest(record_id=id_, contesting_id=other, rationale="doubt"),
        "resolve": lambda: ResolveContest(record_id=id_, winner_id=rng.choice([id_, other]), rationale="settled"),
        "fork": lambda: Fork(
            record_id=id_,
            payload=payload,
            conditions={"place": [rng.choice(PLACES)]},
            evidence=EVIDENCE,
            rationale="depends",
        ),
    }
    try:
        revised = await memory.revision.revise(memory.trust, revisions[kind]())
    except StratagraphError:
        return
    facts.extend(record.id for record in revised.records if record.id not in facts)


def records_of(answer: Any) -> list[MemoryRecord]:
    """Return the records that an answer leads to; not the one asked about, which may be past."""
    match answer:
        case Paths():
            return [record for path in answer.paths for record in path.nodes]
        case Impact():
            return [one.record for one in answer.nodes]
        case Related():
            return [one.entity for one in answer.entities]
        case Plans():
            return [one.record for one in answer.plans]
        case Expansion():
            return [one.record for one in answer.neighbours]
        case Retrieved():
            return [node.record for node in answer.nodes]
    raise AssertionError(answer)


def content_of(answer: Any) -> Any:
    """Return an answer without the engine that gave it, and without the id of the retrieval."""
    skipped = {"answered_by", "id", "engine", "fallback", "mirror_lag_seconds"}
    return {name: getattr(answer, name) for name in answer.__slots__ if name not in skipped}


async def check_answers(both: BothEngines, rng: random.Random, known: list[UUID]) -> int:
    """Ask each question of both engines; return the number of records in the answers."""
    trust, seen = both.memory.trust, 0
    start, goal = rng.sample(known, 2)
    loaded = rng.sample(known, min(3, len(known)))
    ops = rng.sample(OPS, 2)
    questions: list[Callable[[Explore], Any]] = [
        lambda explore: explore.paths(trust, start, goal, k=5, max_hops=4),
        lambda explore: explore.impact(trust, start, hops=3, first=100),
        lambda explore: explore.related(trust, start, first=100),
        lambda explore: explore.plans(trust, ops, first=100),
        lambda explore: explore.expand(trust, start, loaded=loaded, first=100),
    ]
    for question in questions:
        seen += check_pair(both, {name: await question(one) for name, one in both.explore.items()})
    request = RetrieveRequest(task_descriptor=f"{rng.choice(PEOPLE)} {rng.choice(PLACES)}", max_hops=3, node_limit=200)
    seen += check_pair(both, {name: await one.retrieve(trust, request) for name, one in both.retrieve.items()})
    return seen


def check_pair(both: BothEngines, answers: dict[str, Any]) -> int:
    by_sql, by_neo4j = answers["sql"], answers["neo4j"]
    if by_sql is None:
        assert by_neo4j is None
        return 0
    engine = by_neo4j.engine if isinstance(by_neo4j, Retrieved) else by_neo4j.answered_by.engine
    assert engine == "neo4j" or not by_neo4j.roots, "the mirror did not answer"
    assert content_of(by_neo4j) == content_of(by_sql)
    now = both.memory.clock.now()
    for record in records_of(by_sql):
        assert record.state in (RecordState.ACTIVE, RecordState.CONTESTED), record
        assert record.holds_at(now), record
    return len(records_of(by_sql))


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(2, 20))])
async def test_both_engines_answer_alike_and_only_what_is_true_at_the_instant(
    both: BothEngines, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stratagraph.graph_sync.reader.READ_TIMEOUT_S", 30.0)  # which a busy machine keeps
    rng = random.Random(seed)
    facts: list[UUID] = []
    for _ in range(STEPS):
        await one_step(rng, both.memory, facts)
    await both.worker.run_once()
    async with both.memory.database.engine.begin() as connection:
        known = list(
            (await connection.execute(text("SELECT id FROM record WHERE type IN (3, 4, 6) ORDER BY id"))).scalars()
        )
    seen = 0
    for days in (0, 2, 2):  # as time passes, other facts hold, without a write
        both.memory.clock.forward(days * DAY)
        seen += await check_answers(both, rng, known)
    assert seen > 10, "too few answers had a record"


async def test_the_hints_at_relations_are_true_wherever_they_stand(memory: Memory) -> None:
    """A hint may be missing, but never says of a record that it is past, hidden or expired where it is not."""
    rng = random.Random(4)
    facts: list[UUID] = []
    for _ in range(4 * STEPS):
        await one_step(rng, memory, facts)
    async with memory.database.engine.begin() as connection:
        rows = (
            await connection.execute(
                text(
                    "SELECT e.*, a.state > 2 AS source_is, b.state > 2 AS target_is,"
                    " e.source_acl / 8 = a.scope AND e.source_acl % 8 <= a.sensitivity AS source_acl_is_true,"
                    " e.target_acl / 8 = b.scope AND e.target_acl % 8 <= b.sensitivity AS target_acl_is_true,"
                    " upper(a.validity) <= e.source_until AS source_until_is_true,"
                    " upper(b.validity) <= e.target_until AS target_until_is_true"
                    " FROM relation e JOIN record a ON (a.tenant, a.id) = (e.tenant, e.source)"
                    " JOIN record b ON (b.tenant, b.id) = (e.tenant, e.target) WHERE e.ended_at IS NULL"
                )
            )
        ).all()
    assert all(row.source_is or not row.source_past for row in rows)
    assert all(row.target_is or not row.target_past for row in rows)
    assert sum(row.source_past + row.target_past for row in rows) > 20
    noted = [row.source_acl_is_true for row in rows] + [row.target_acl_is_true for row in rows]
    assert False not in noted
    assert noted.count(True) > len(rows)
    assert all(row.source_until_is_true for row in rows if row.source_until is not None)
    assert all(row.target_until_is_true for row in rows if row.target_until is not None)
    assert sum(row.source_until is not None for row in rows) > 20
