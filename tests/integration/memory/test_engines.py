"""The engine that answers, the delay that a failing mirror causes, and that an incomplete mirror never answers."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import pytest
from fix_graphs import Graph, create_tenant, random_record, readable_by_all, sparse_relations, write_graph
from fix_memory import NOON, Memory, trust_of, until
from fix_neo4j import BoltProxy
from sqlalchemy import text
from structlog.testing import capture_logs

from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.reader import Neo4jGraphReader
from stratagraph.graph_sync.worker import CONSUMER, SyncConfig, SyncWorker, mirror_feed
from stratagraph.memory.engines.mirror import MirrorEngine, Neo4jEngine
from stratagraph.memory.engines.service import DEADLINE_S, AnsweredBy, Engines, Preference
from stratagraph.memory.explore.service import Explore
from stratagraph.memory.retrieve.answer import Retrieved
from stratagraph.memory.retrieve.expand import Walk
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.retrieve.service import Retrieve
from stratagraph.store.mirror.freshness import Freshness, MirrorFreshness
from stratagraph.store.model.enums import MemoryType, Sensitivity
from stratagraph.store.traversal.neighbourhood import Limits

pytestmark = pytest.mark.neo4j

ASKED = RetrieveRequest(task_descriptor="beacon", max_hops=3)
PATIENT_S = 30.0  # a deadline that a busy machine keeps, for tests of other things than deadlines


@dataclass
class ProxiedMirror:
    """A memory with a graph, its mirror through a proxy (`mirror`) and directly (`direct`), and the mirror's worker."""

    memory: Memory
    proxy: BoltProxy
    mirror: Mirror
    direct: Mirror
    worker: SyncWorker
    graph: Graph

    def engines(self, preference: Preference, *, deadline_s: float = PATIENT_S) -> Engines:
        return Engines(
            mirror=Neo4jEngine(self.mirror, plans_up_to=Sensitivity.LOW),
            feed=mirror_feed(self.memory.database),
            freshness=MirrorFreshness(self.memory.database, CONSUMER),
            preference=preference,
            deadline_s=deadline_s,
        )

    async def ask(self, engines: Engines, request: RetrieveRequest = ASKED) -> Retrieved:
        retrieve = Retrieve(self.memory.database, self.memory.directory, self.memory.clock, engines)
        try:
            return await retrieve.retrieve(trust_of(tenant=self.graph.tenant.name), request)
        finally:
            await retrieve.log.close()  # so that its statements are counted with those of the answer

    async def run_cypher(self, statement: str) -> None:
        async with self.direct.driver.session() as session:
            await (await session.run(statement)).consume()

    async def run_sql(self, statement: str) -> None:
        async with self.memory.database.engine.begin() as connection:
            await connection.execute(text(statement))


@asynccontextmanager
async def proxied_mirror(memory: Memory, bolt: str) -> AsyncIterator[ProxiedMirror]:
    rng = random.Random(5)
    tenant = await create_tenant(memory, "acme")
    records = [readable_by_all(random_record(rng, tenant, word="beacon" if n < 3 else "rock")) for n in range(40)]
    graph = await write_graph(memory, tenant, records, sparse_relations(rng, [record.id for record in records]))
    async with (
        BoltProxy(bolt) as proxy,
        Mirror(proxy.uri, user=None, password=None, database="neo4j") as mirror,
        Mirror(bolt, user=None, password=None, database="neo4j") as direct,
    ):
        worker = SyncWorker(memory.database, memory.directory, direct, SyncConfig())
        await worker.run_once()
        yield ProxiedMirror(memory, proxy, mirror, direct, worker, graph)
        await worker.release()


@pytest.fixture
async def proxied(memory: Memory, clean_neo4j: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ProxiedMirror]:
    monkeypatch.setattr("stratagraph.store.mirror.freshness.CACHE_S", 0.0)
    async with proxied_mirror(memory, clean_neo4j) as proxied:
        yield proxied


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stratagraph.graph_sync.reader.READ_TIMEOUT_S", PATIENT_S)


def ids(found: Retrieved) -> list[object]:
    return [(node.record.id, node.hop) for node in found.nodes]


@pytest.mark.usefixtures("patient")
async def test_both_engines_find_the_same_and_an_answer_names_its_engine_and_the_mirrors_lag(
    proxied: ProxiedMirror,
) -> None:
    by_sql, by_neo4j = await proxied.ask(proxied.engines("sql")), await proxied.ask(proxied.engines("neo4j"))
    assert (by_sql.engine, by_sql.fallback, by_sql.mirror_lag_seconds) == ("sql", None, 0.0)
    assert (by_neo4j.engine, by_neo4j.fallback, by_neo4j.mirror_lag_seconds) == ("neo4j", None, 0.0)
    assert ids(by_sql) == ids(by_neo4j)
    assert by_sql.reached == by_neo4j.reached
    assert {edge.id for edge in by_sql.edges} == {edge.id for edge in by_neo4j.edges}
    await proxied.memory.observe("Alice", "works_at", "Acme")
    await mirror_feed(proxied.memory.database).take_snapshot()

    async def lags() -> bool:
        behind = await proxied.ask(proxied.engines("neo4j"))
        assert behind.engine == "neo4j"
        return bool(behind.mirror_lag_seconds)

    await until(lags)


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(
    "damage",
    [
        "MATCH (n) DETACH DELETE n",
        "MATCH (c:SyncCheckpoint) DELETE c",
        "MATCH (c:SyncCheckpoint {k: 'neo4j:7'}) SET c.snapshot = c.snapshot - 1",
        "MATCH (c:SyncCheckpoint {k: 'neo4j:7'}) REMOVE c.snapshot",
        "MATCH (c:SyncCheckpoint {k: 'neo4j:7'}) SET c.gen = c.gen - 1",
    ],
)
async def test_a_mirror_that_was_emptied_or_is_an_old_copy_is_not_used(proxied: ProxiedMirror, damage: str) -> None:
    engines = proxied.engines("neo4j")
    expected = await proxied.ask(engines)
    assert expected.engine == "neo4j"
    await proxied.run_cypher(damage)
    found = await proxied.ask(engines)
    assert (found.engine, found.fallback) == (
        "sql",
        "the mirror was emptied or is an old copy; its worker repairs it, and queries read PostgreSQL until then",
    )
    assert ids(found) == ids(expected)


@pytest.mark.usefixtures("patient")
async def test_a_mirror_that_is_being_filled_is_not_used(proxied: ProxiedMirror) -> None:
    await proxied.run_sql("UPDATE mirror_generation SET state = 'building'")
    found = await proxied.ask(proxied.engines("neo4j"))
    assert (found.engine, found.fallback) == ("sql", "the mirror is being filled")
    assert found.nodes


async def test_sql_answers_and_names_the_reason_where_no_mirror_was_ever_written(
    memory: Memory, clean_neo4j: str
) -> None:
    await memory.observe("Alice", "works_at", "Acme")
    async with Mirror(clean_neo4j, user=None, password=None, database="neo4j") as mirror:
        freshness = MirrorFreshness(memory.database, CONSUMER)
        engines = Engines(
            mirror=Neo4jEngine(mirror, plans_up_to=Sensitivity.LOW), freshness=freshness, preference="neo4j"
        )
        retrieve = Retrieve(memory.database, memory.directory, memory.clock, engines)
        found = await retrieve.retrieve(memory.trust, RetrieveRequest(task_descriptor="Alice"))
    assert (found.engine, found.fallback) == ("sql", "nothing is known of the mirror yet")
    assert (found.mirror_lag_seconds, bool(found.nodes)) == (None, True)


@pytest.mark.usefixtures("patient")
async def test_a_mirror_that_is_down_is_tried_once_logged_once_and_used_again_when_it_is_back(
    proxied: ProxiedMirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with proxied.engines("neo4j") as engines:
        expected = await proxied.ask(engines)
        await proxied.proxy.shut()
        with capture_logs() as logs:
            first = await proxied.ask(engines)
            connections = proxied.proxy.connections
            later = await asyncio.gather(*(proxied.ask(engines) for _ in range(10)))
        assert first.engine == "sql"
        assert first.fallback is not None
        assert "Neo4j cannot be reached" in first.fallback
        for found in (first, *later):
            assert ids(found) == ids(expected)
        assert {found.fallback for found in later} == {f"the mirror failed a moment ago: {first.fallback}"}
        assert proxied.proxy.connections == connections, "the later requests must not try to connect"
        assert [log["event"] for log in logs if "mirror" in log["event"]] == ["mirror does not answer"]
        proxied.proxy.open = True
        monkeypatch.setattr("stratagraph.memory.engines.service.REST_S", 0.05)
        engines.breaker.trial_due_at = 0.0  # the pause before the next trial is over

        async def is_used_again() -> bool:
            return (await proxied.ask(engines)).engine == "neo4j"

        await until(is_used_again)


async def test_a_stalled_mirror_delays_one_answer_by_the_deadline_and_the_next_not_at_all(
    proxied: ProxiedMirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert DEADLINE_S <= 2.0
    engines = proxied.engines("neo4j", deadline_s=DEADLINE_S)
    clock = asyncio.get_running_loop().time
    proxied.proxy.stall()
    began = clock()
    found = await proxied.ask(engines)
    waited_s = clock() - began
    assert found.engine == "sql"
    assert found.fallback is not None
    assert found.fallback.startswith("the mirror took longer than")
    assert waited_s >= DEADLINE_S
    asked: list[object] = []
    monkeypatch.setattr(Neo4jGraphReader, "expecting", lambda *_: asked.append(1))
    again = await proxied.ask(engines)
    assert again.engine == "sql"
    assert again.fallback is not None
    assert again.fallback.startswith("the mirror failed a moment ago")
    assert not asked
    proxied.proxy.resume()


async def test_auto_answers_from_sql_and_never_connects_to_the_mirror(proxied: ProxiedMirror) -> None:
    proxied.proxy.stall()
    async with proxied.engines("auto") as engines:
        for hops in range(1, 7):
            request = RetrieveRequest(task_descriptor="beacon", max_hops=hops, node_limit=1_000, edge_limit=5_000)
            found = await proxied.ask(engines, request)
            assert (found.engine, found.fallback, found.mirror_lag_seconds) == ("sql", None, 0.0)
    assert proxied.proxy.connections == 0
    proxied.proxy.resume()


@pytest.mark.usefixtures("patient")
async def test_retrieval_and_graph_questions_share_one_circuit_breaker(proxied: ProxiedMirror) -> None:
    engines = proxied.engines("neo4j")
    explore = Explore(proxied.memory.database, proxied.memory.directory, proxied.memory.clock, engines)
    trust, id_ = trust_of(tenant=proxied.graph.tenant.name), next(iter(proxied.graph.records))
    before = await explore.impact(trust, id_)
    assert before is not None
    assert before.answered_by.engine == "neo4j"
    await proxied.proxy.shut()
    failed = await proxied.ask(engines)
    connections = proxied.proxy.connections
    after = await explore.impact(trust, id_)
    assert after is not None
    assert after.answered_by.fallback == f"the mirror failed a moment ago: {failed.fallback}"
    assert (after.total, after.counts) == (before.total, before.counts)
    assert proxied.proxy.connections == connections


async def test_no_caller_waits_for_a_hanging_trial_and_closing_the_engines_ends_it(proxied: ProxiedMirror) -> None:
    async with asyncio.timeout(20):
        async with proxied.engines("neo4j") as engines:
            await proxied.proxy.shut()
            assert (await proxied.ask(engines)).engine == "sql"
            proxied.proxy.open = True
            proxied.proxy.stall()
            connections = proxied.proxy.connections
            engines.breaker.trial_due_at = 0.0  # the pause before the next trial is over
            found = await proxied.ask(engines)
            assert found.fallback is not None
            assert found.fallback.startswith("the mirror failed a moment ago")

            async def is_trying() -> bool:
                return proxied.proxy.connections > connections

            await until(is_trying)
            assert (await proxied.ask(engines)).engine == "sql"
    proxied.proxy.resume()


@pytest.mark.usefixtures("patient")
async def test_a_preferred_mirror_is_waited_for_until_it_has_the_asked_sequence(
    proxied: ProxiedMirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stratagraph.memory.engines.service.SEQUENCE_WITHIN_S", 30.0)
    kept = await proxied.memory.turn("beacon of hope")
    asked = RetrieveRequest(task_descriptor="beacon", max_hops=1, at_least_sequence=kept.sequence)
    waiting = asyncio.create_task(proxied.ask(proxied.engines("neo4j"), asked))
    await proxied.worker.run_once()
    assert (await waiting).engine == "neo4j"


@pytest.mark.usefixtures("patient")
async def test_an_edge_added_by_hand_is_ignored_and_with_an_invalid_id_sql_answers(proxied: ProxiedMirror) -> None:
    engines = proxied.engines("neo4j")
    expected = await proxied.ask(engines)
    await proxied.run_cypher("MATCH (a:Memory), (b:Memory) WHERE a.name CONTAINS 'beacon' CREATE (a)-[:MINE]->(b)")
    ignored = await proxied.ask(engines)
    assert (ignored.engine, ids(ignored)) == ("neo4j", ids(expected))
    await proxied.run_cypher("MATCH ()-[r:MINE]->() SET r.id = 'no id', r.w = 1.0")
    answered = await proxied.ask(engines)
    assert (answered.engine, ids(answered)) == ("sql", ids(expected))


@pytest.mark.usefixtures("patient", "log_at_rest")
async def test_the_number_of_statements_does_not_grow_with_what_the_mirror_finds(proxied: ProxiedMirror) -> None:
    engines = proxied.engines("neo4j")
    caller = await proxied.memory.directory.resolve(trust_of(tenant=proxied.graph.tenant.name))
    assert (await proxied.ask(engines)).engine == "neo4j"
    counts = []
    for node_limit in (2, 5, 30):
        before = proxied.memory.database.statements
        found = await proxied.ask(engines, RetrieveRequest(task_descriptor="beacon", max_hops=3, node_limit=node_limit))
        assert found.engine == "neo4j"
        counts.append(proxied.memory.database.statements - before)
    assert max(counts) <= counts[0]
    walk = Walk(caller, [next(iter(proxied.graph.records))], Limits(nodes=50, edges=50, hops=3), {}, NOON)

    async def in_mirror(mirror: MirrorEngine, freshness: Freshness, by: AnsweredBy) -> AnsweredBy:
        await walk.by(mirror.graph_reader(freshness))
        return by

    async def in_sql(by: AnsweredBy) -> AnsweredBy:
        return by

    before = proxied.memory.database.statements
    assert (await engines.ask(caller, in_mirror=in_mirror, in_sql=in_sql)).engine == "neo4j"
    assert proxied.memory.database.statements - before <= 2, "only the query for the mirror's freshness may run"


@pytest.mark.usefixtures("patient")
async def test_the_types_of_each_hop_are_the_same_from_the_mirror_and_in_sql(proxied: ProxiedMirror) -> None:
    narrowed = 0
    for types in ([MemoryType.SEMANTIC], [MemoryType.ENTITY, MemoryType.EPISODIC], [MemoryType.COMPETENCE]):
        for hop_types in ((tuple(types),), ((), tuple(types)), (tuple(types), tuple(types), ())):
            request = RetrieveRequest(task_descriptor="beacon", max_hops=3, root_limit=2, hop_types=hop_types)
            mirrored, in_sql = [
                await proxied.ask(proxied.engines(preference), request) for preference in ("neo4j", "sql")
            ]
            assert (mirrored.engine, in_sql.engine) == ("neo4j", "sql")
            assert [(one.record.id, one.hop) for one in mirrored.nodes] == [(n.record.id, n.hop) for n in in_sql.nodes]
            for node in mirrored.nodes:
                wanted = hop_types[node.hop - 1] if 0 < node.hop <= len(hop_types) else ()
                assert not wanted or node.record.type in wanted
            whole = await proxied.ask(proxied.engines("sql"), replace(request, hop_types=()))
            narrowed += len(mirrored.nodes) < len(whole.nodes)
    assert narrowed
