"""Both engines give the same answers to graph questions, also while the mirror is behind, unreachable or edited."""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from fix_examples import repeated
from fix_graphs import INSTANTS, revoke
from fix_memory import Memory, trust_of
from model_explore import (
    STORY,
    Graph,
    check_expansion,
    check_impact,
    check_paths,
    check_related,
    random_caller,
    write,
)
from sqlalchemy import text

from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.worker import CONSUMER, SyncConfig, SyncWorker
from stratagraph.memory.engines.mirror import Neo4jEngine
from stratagraph.memory.engines.service import DEADLINE_S, Engines
from stratagraph.memory.explore.answers import Expansion, Impact, Paths, Plans, Related
from stratagraph.memory.explore.service import Explore
from stratagraph.store.mirror.freshness import MirrorFreshness
from stratagraph.store.model.enums import MemoryType, Sensitivity, SourceKind
from stratagraph.store.model.trust import Trust

pytestmark = pytest.mark.neo4j

GRAPHS = repeated(24)
CALLERS = 4  # per graph


@dataclass
class BothEngines:
    """A memory that answers from SQL and from Neo4j, and the only worker that writes its mirror."""

    memory: Memory
    sql: Explore
    neo4j: Explore
    worker: SyncWorker
    mirror: Mirror

    async def ask(self, question: Callable[[Explore], Any]) -> Any:
        """Return the answer from Neo4j; check that SQL gives the same."""
        by_sql, by_neo4j = await question(self.sql), await question(self.neo4j)
        if by_sql is None:
            assert by_neo4j is None
            return None
        assert (by_sql.answered_by.engine, by_neo4j.answered_by.engine) == ("sql", "neo4j"), (
            by_neo4j.answered_by.fallback
        )
        assert by_neo4j.answered_by.fallback is None
        assert content_of(by_neo4j) == content_of(by_sql)
        return by_neo4j


def content_of(answer: Paths | Impact | Plans | Related | Expansion) -> Any:
    """Return an answer without the engine that gave it."""
    match answer:
        case Paths():
            paths = [([record.id for record in path.nodes], path.relations, path.weight) for path in answer.paths]
            return paths, [path.sentence for path in answer.paths], answer.reached, answer.hubs
        case Impact():
            affected = [(one.record.id, one.hop, one.strength, one.via_id) for one in answer.nodes]
            return affected, answer.counts, answer.total, answer.reached, answer.hubs
        case Plans():
            plans = [(plan.record.id, plan.steps) for plan in answer.plans]
            return plans, answer.has_more, answer.reached
        case Related():
            shared = [(one.entity.id, one.shared, one.weight, one.memory_ids) for one in answer.entities]
            return shared, answer.has_more, answer.reached, answer.hubs
        case Expansion():
            shown = [(one.record.id, one.weight, one.degree, one.more, one.hub) for one in answer.neighbours]
            return shown, answer.relations, answer.between, answer.has_more


def explore_with(
    memory: Memory, mirror: Mirror | None, freshness: MirrorFreshness | None, *, deadline_s: float = 60.0
) -> Explore:
    engines = Engines(
        mirror=Neo4jEngine(mirror, plans_up_to=Sensitivity.LOW) if mirror is not None else None,
        freshness=freshness,
        preference="neo4j",
        deadline_s=deadline_s,
    )
    return Explore(memory.database, memory.directory, memory.clock, engines)


@pytest.fixture
async def both_engines(memory: Memory, clean_neo4j: str) -> AsyncIterator[BothEngines]:
    async with Mirror(clean_neo4j, user=None, password=None, database="neo4j") as mirror:
        yield BothEngines(
            memory=memory,
            sql=explore_with(memory, None, None),
            neo4j=explore_with(memory, mirror, MirrorFreshness(memory.database, CONSUMER)),
            worker=SyncWorker(memory.database, memory.directory, mirror, SyncConfig()),
            mirror=mirror,
        )


def random_questions(rng: random.Random, graph: Graph, trust: Trust) -> list[tuple[str, Callable[[Explore], Any], Any]]:
    """Return one question of each kind: its name, the call, and the call that computes what its answer may hold."""
    start, goal = rng.sample(list(graph.records), 2)
    k, hops, first = rng.randrange(1, 11), rng.randrange(1, 7), rng.choice([1, 3, 100])
    loaded = rng.sample(list(graph.records), min(len(graph.records), rng.randrange(4)))
    return [
        (
            "paths",
            lambda explore: explore.paths(trust, start, goal, k=k, max_hops=hops),
            lambda: [ids for ids, _ in graph.paths(trust, start, goal, hops)],
        ),
        (
            "impact",
            lambda explore: explore.impact(trust, start, hops=hops, first=first),
            lambda: graph.impact(trust, start, hops),
        ),
        ("related", lambda explore: explore.related(trust, start, first=first), lambda: None),
        ("expand", lambda explore: explore.expand(trust, start, loaded=loaded, first=first), lambda: loaded),
    ]


def check_answer(graph: Graph, trust: Trust, answer: Any, known: Any, *, cut: bool) -> int:
    """Check that Postgres allows all that the answer shows: ids, counts, connections. Return the number of results."""
    match answer:
        case Paths():
            check_paths(graph, trust, answer, allowed=known, cut=cut)
            assert {*answer.hubs} <= {id_ for id_ in graph.records if graph.walkable(trust, id_)}
            return len(answer.paths)
        case Impact():
            check_impact(graph, trust, answer, allowed=known)
            return len(answer.nodes)
        case Related():
            check_related(graph, trust, answer)
            return len(answer.entities)
        case Expansion():
            check_expansion(graph, trust, answer, known)
            return len(answer.neighbours)
    return 0


@pytest.mark.parametrize("narrow", [False, True], ids=["wide", "with hubs"])
async def test_both_engines_give_the_same_answers_and_a_mirror_that_is_behind_shows_nothing_revoked(
    both_engines: BothEngines, monkeypatch: pytest.MonkeyPatch, narrow: bool
) -> None:
    if narrow:
        for limit in ("session.FAN_OUT", "session.LEAST_FAN_OUT", "around.MEMORIES", "around.NEIGHBOURS"):
            monkeypatch.setattr(f"stratagraph.memory.explore.{limit}", 2)
        for limit in ("paths.EXPANDED", "impact.EXPANDED", "impact.FROM_ONE"):
            monkeypatch.setattr(f"stratagraph.memory.explore.{limit}", 3)
    rng = random.Random(20261121)
    graphs = [await write(both_engines.memory, rng, f"tenant {number}") for number in range(GRAPHS)]
    await both_engines.worker.run_once()
    fresh = dict.fromkeys(("paths", "impact", "related", "expand"), 0)
    behind = dict(fresh)
    cut: set[str] = set()
    callers = {number: [random_caller(rng, graph) for _ in range(CALLERS)] for number, graph in enumerate(graphs)}
    for number, graph in enumerate(graphs):
        for trust in callers[number]:
            for kind, ask, known in random_questions(rng, graph, trust):
                both_engines.memory.clock.at = graph.at = rng.choice(INSTANTS)
                answer = await both_engines.ask(ask)
                fresh[kind] += check_answer(graph, trust, answer, known(), cut=narrow)
                cut.update(getattr(answer, "reached", ()))
    for number, graph in enumerate(graphs):
        await revoke(both_engines.memory, rng, graph.tenant, graph.records, graph.relations, one_in=3)
        for trust in callers[number]:
            for kind, ask, known in random_questions(rng, graph, trust) if len(graph.records) > 1 else ():
                both_engines.memory.clock.at = graph.at = rng.choice(INSTANTS)
                answer = await ask(both_engines.neo4j)
                behind[kind] += check_answer(graph, trust, answer, known(), cut=narrow)
                if answer is not None:
                    assert answer.answered_by.engine == "neo4j", answer.answered_by.fallback
    assert not narrow or cut >= {"hubs", "nodes", "hops"}
    assert min(fresh.values()) > GRAPHS // 4, f"too few answers of some kind have results: {fresh}"
    assert min(behind.values()) > GRAPHS // 6, (
        f"too few answers of some kind have results after the revocations: {behind}"
    )


def random_plan(rng: random.Random, number: int) -> dict[str, Any]:
    size = rng.randrange(1, 7)
    return {
        "plan_id": f"plan {number}",
        "version": "1",
        "nodes": [{"id": f"s{at}", "op": rng.choice(["build", "test", "ship it", "lint"])} for at in range(size)],
        "edges": [
            {"from": f"s{near}", "to": f"s{far}", "kind": rng.choice(["data", "control"])}
            for far in range(size)
            for near in range(far)
            if rng.random() < 0.4
        ],
    }


async def test_both_engines_find_the_same_plans_also_where_the_mirror_holds_no_step_names(
    both_engines: BothEngines,
) -> None:
    rng = random.Random(7)
    for number in range(40):
        await both_engines.memory.remember(
            SourceKind.OBSERVATION,
            random_plan(rng, number),
            proposed_type=MemoryType.PLAN_GRAPH,
            sensitivity=rng.choice(list(Sensitivity)),
            scope=rng.choice(["", "project:a"]),
        )
    await both_engines.worker.run_once()
    found = 0
    for _ in range(60):
        scopes = rng.choice([None, set(), {"project:a"}])
        trust = trust_of(ceiling=rng.choice(list(Sensitivity)), scopes=scopes)
        ops = [rng.choice(["build", "test", "ship it", "lint", "ship"]) for _ in range(rng.randrange(1, 4))]
        answer: Plans = await both_engines.ask(lambda explore: explore.plans(trust, ops, first=rng.choice([100])))  # noqa: B023
        found += len(answer.plans)
    assert found > 30, "too few questions found a plan"


@pytest.fixture
async def pair(both_engines: BothEngines) -> tuple[UUID, UUID]:
    """The ids of two mirrored entities that one fact connects."""
    await both_engines.memory.observe("Alice", "works_at", "Acme")
    await both_engines.worker.run_once()
    return await entity(both_engines.memory, "Alice"), await entity(both_engines.memory, "Acme")


async def entity(memory: Memory, name: str) -> UUID:
    return (await memory.lookup.entities(memory.trust, name, scope=None, first=1))[0].id


async def test_sql_answers_and_names_the_reason_while_the_mirror_is_unfilled_emptied_or_unreachable(
    both_engines: BothEngines, pair: tuple[UUID, UUID]
) -> None:
    memory = both_engines.memory

    async def ask(explore: Explore) -> Paths:
        found = await explore.paths(memory.trust, *pair)
        assert found is not None
        assert [len(path.relations) for path in found.paths] == [2]
        return found

    assert (await ask(both_engines.neo4j)).answered_by.engine == "neo4j"
    async with both_engines.mirror.driver.session() as session:
        await (await session.run("MATCH (n) DETACH DELETE n")).consume()
    emptied = await ask(both_engines.neo4j)
    assert (emptied.answered_by.engine, emptied.answered_by.fallback) == (
        "sql",
        "the mirror was emptied or is an old copy; its worker repairs it, and queries read PostgreSQL until then",
    )
    assert emptied.answered_by.mirror_lag_seconds is not None
    async with Mirror("bolt://127.0.0.1:1", user=None, password=None, database="neo4j") as unreachable:
        from_sql = await ask(explore_with(memory, unreachable, MirrorFreshness(memory.database, CONSUMER)))
        assert from_sql.answered_by.engine == "sql"
        assert "Neo4j cannot be reached" in str(from_sql.answered_by.fallback)
    unknown = await ask(explore_with(memory, both_engines.mirror, MirrorFreshness(memory.database, "no consumer")))
    assert (unknown.answered_by.engine, unknown.answered_by.fallback) == ("sql", "nothing is known of the mirror yet")


async def test_a_mirror_that_accepts_connections_and_never_answers_delays_one_question_by_the_deadline(
    both_engines: BothEngines, pair: tuple[UUID, UUID]
) -> None:
    """The mirror accepts connections and sends nothing, as a server may whose machine has failed."""
    memory, finished = both_engines.memory, asyncio.Event()

    async def wait_silently(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await finished.wait()
        writer.close()

    server = await asyncio.start_server(wait_silently, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, Mirror(f"bolt://127.0.0.1:{port}", user=None, password=None, database="neo4j") as silent_mirror:
        freshness = MirrorFreshness(memory.database, CONSUMER)
        explore = explore_with(memory, silent_mirror, freshness, deadline_s=DEADLINE_S)
        clock = asyncio.get_running_loop().time
        began = clock()
        first = await explore.paths(memory.trust, *pair)
        between = clock()
        second = await explore.paths(memory.trust, *pair)
        ended = clock()
        finished.set()
    assert first is not None
    assert second is not None
    assert (first.answered_by.engine, second.answered_by.engine) == ("sql", "sql")
    reason = "the mirror took longer than 2 s, so PostgreSQL was read"
    assert first.answered_by.fallback == reason
    assert second.answered_by.fallback == f"the mirror failed a moment ago: {reason}"
    assert between - began >= DEADLINE_S
    assert ended - between < DEADLINE_S, "the mirror is not asked again at once"
    assert [path.sentence for path in first.paths] == [path.sentence for path in second.paths]


async def test_a_fact_retracted_since_the_mirror_was_written_connects_no_records(
    both_engines: BothEngines, pair: tuple[UUID, UUID]
) -> None:
    low = trust_of(ceiling=Sensitivity.LOW)
    before = await both_engines.neo4j.paths(low, *pair)
    assert before is not None
    assert len(before.paths) == 1
    async with both_engines.memory.database.engine.begin() as connection:
        await connection.execute(text("UPDATE record SET state = 4 WHERE type = 4"))
    paths = await both_engines.neo4j.paths(low, *pair)
    impact = await both_engines.neo4j.impact(low, pair[0])
    related = await both_engines.neo4j.related(low, pair[0])
    expansion = await both_engines.neo4j.expand(low, pair[0])
    assert paths is not None
    assert impact is not None
    assert related is not None
    assert expansion is not None
    assert {one.answered_by.engine for one in (paths, impact, related, expansion)} == {"neo4j"}
    assert (paths.paths, paths.hubs) == ((), ())
    assert (impact.total, impact.counts) == (0, ())
    assert related.entities == ()
    assert (expansion.neighbours, expansion.relations, expansion.has_more) == ((), (), False)


async def test_edits_of_the_mirror_by_hand_never_appear_in_answers(
    both_engines: BothEngines, pair: tuple[UUID, UUID]
) -> None:
    memory = both_engines.memory
    carol = (await memory.observe("Carol", "likes", "tea")).primary.id
    await both_engines.worker.run_once()

    async def tamper(statement: str) -> None:
        async with both_engines.mirror.driver.session() as session:
            await (await session.run(statement, id=str(carol), alice=str(pair[0]))).consume()

    expected = [await ask(both_engines.sql) for ask in graph_questions(memory.trust, *pair)]
    await tamper("MATCH ()-[r]->() WHERE r.w IS NOT NULL SET r.w = 0.001")
    await tamper("MATCH (a {id: $id}), (b {id: $alice}) CREATE (a)-[:KNOWS]->(b)")
    await tamper(
        "MATCH (a {id: $id}), (b {id: $alice}) MATCH ()-[r:OBJECT_ENTITY]->() WITH a, b, r LIMIT 1"
        " CREATE (a)-[x:USES]->(b) SET x = properties(r)"
    )
    for ask, wanted in zip(graph_questions(memory.trust, *pair), expected, strict=True):
        answer = await ask(both_engines.neo4j)
        assert answer.answered_by.engine == "neo4j", answer.answered_by.fallback
        assert content_of(answer) == content_of(wanted)
    await tamper("MATCH (a {id: $id}), (b {id: $alice}) CREATE (a)-[:USES {id: 7, w: 1.0}]->(b)")
    answer = await both_engines.neo4j.expand(memory.trust, pair[0])
    assert answer is not None
    assert answer.answered_by.fallback == (
        "the mirror holds values that its worker did not write; it will repair them, and PostgreSQL was read"
    )
    assert content_of(answer) == content_of(expected[-1])


def graph_questions(trust: Trust, start: UUID, goal: UUID) -> list[Callable[[Explore], Any]]:
    return [
        lambda explore: explore.paths(trust, start, goal),
        lambda explore: explore.impact(trust, start),
        lambda explore: explore.related(trust, start),
        lambda explore: explore.expand(trust, start),
    ]


async def test_questions_to_the_mirror_run_a_constant_number_of_sql_statements(
    both_engines: BothEngines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stratagraph.store.mirror.freshness.CACHE_S", 3600)

    async def counted() -> Sequence[int]:
        alice, acme = await entity(both_engines.memory, "Alice"), await entity(both_engines.memory, "Acme")
        numbers = []
        for ask in (
            lambda: both_engines.neo4j.paths(both_engines.memory.trust, alice, acme, k=1),
            lambda: both_engines.neo4j.impact(both_engines.memory.trust, acme),
            lambda: both_engines.neo4j.related(both_engines.memory.trust, acme),
            lambda: both_engines.neo4j.expand(both_engines.memory.trust, acme),
        ):
            before = both_engines.memory.database.statements
            answer: Any = await ask()
            assert answer.answered_by.engine == "neo4j", answer.answered_by.fallback
            numbers.append(both_engines.memory.database.statements - before)
        return numbers

    await both_engines.memory.observe("Alice", "works_at", "Acme")
    await both_engines.memory.observe("Bob", "works_at", "Acme")
    await both_engines.worker.run_once()
    await counted()  # fills the cache of the mirror's freshness, which both counts then use
    few = await counted()
    for number in range(30):
        await both_engines.memory.observe(f"person {number}", "works_at", "Acme")
    await both_engines.worker.run_once()
    await counted()
    assert await counted() == few


PAGE = (Path(__file__).resolve().parents[3] / "docs" / "graph-questions.md").read_text()


async def test_the_documented_cypher_queries_return_what_the_service_answers(both_engines: BothEngines) -> None:
    """Run the queries for Neo4j Browser from docs/graph-questions.md."""
    memory = both_engines.memory
    ids: list[UUID] = []
    for kind, proposed, content in STORY:
        filled_in = json.loads(json.dumps(content).replace("FACT", str(ids[0]) if ids else ""))
        more = {"proposed_type": proposed} if proposed is not None else {}
        ids.append((await memory.remember(kind, filled_in, **more)).primary.id)
    await both_engines.worker.run_once()
    alice, bern, acme = [await entity(memory, name) for name in ("Alice", "Bern", "Acme")]
    tenant = await memory.directory.tenant("acme")
    assert tenant is not None
    parameters = {
        "ten": tenant.id,
        "id": str(acme),
        "from": str(alice),
        "to": str(bern),
        "ops": ["build", "ship"],
        "loaded": [str(ids[0])],
    }
    cypher = dict(re.findall(r"```cypher\n// (\w+)\n(.*?)```", PAGE, flags=re.DOTALL))
    rows = {name: await both_engines.mirror.read(text, parameters) for name, text in cypher.items()}
    paths = await both_engines.neo4j.paths(memory.trust, alice, bern, k=1)
    impact = await both_engines.neo4j.impact(memory.trust, acme, hops=1)
    plans = await both_engines.neo4j.plans(memory.trust, ["build", "ship"])
    related = await both_engines.neo4j.related(memory.trust, acme)
    expansion = await both_engines.neo4j.expand(memory.trust, acme, loaded=ids[:1])
    assert paths is not None
    assert impact is not None
    assert related is not None
    assert expansion is not None
    assert rows == {
        "connected": [{"names": [record.name for record in path.nodes]} for path in paths.paths],
        "touched": [{"type": count.type.label, "records": count.count} for count in impact.counts],
        "done": [{"name": plan.record.name} for plan in plans.plans],
        "company": [
            {"name": one.entity.name, "shared": one.shared, "weight": pytest.approx(one.weight)}
            for one in sorted(related.entities, key=lambda one: (-one.weight, str(one.entity.name)))
        ],
        "next": [
            {"name": one.record.name, "weight": one.weight, "degree": one.degree}
            for one in sorted(expansion.neighbours, key=lambda one: (-one.weight, str(one.record.name)))
        ],
    }
    assert all(rows.values())
