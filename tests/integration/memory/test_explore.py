"""Graph questions answered in SQL: paths, impact, plans by their steps, related entities, neighbours."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from fix_graphs import create_tenant, random_record, readable_by_all, write_graph
from fix_memory import Memory, trust_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from model_explore import (
    check_expansion,
    check_impact,
    check_paths,
    check_related,
    random_caller,
    write,
)
from sqlalchemy import text

from stratagraph.memory.engines.service import AnsweredBy, Engines
from stratagraph.memory.explore.service import Explore
from stratagraph.memory.explore.session import FAN_OUT
from stratagraph.store.model.enums import MemoryType, Sensitivity, SourceKind
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.ids import new_id
from stratagraph.store.model.valid_time import Interval
from stratagraph.store.records.inserting import NewRelation
from stratagraph.store.traversal.links import SqlExplorer, degrees
from stratagraph.store.traversal.neighbourhood import SqlGraphReader

GRAPHS = 40
CALLERS = 4  # per graph


@pytest.fixture
def explore(memory: Memory) -> Explore:
    return Explore(memory.database, memory.directory, memory.clock, Engines())


async def test_answers_in_random_graphs_equal_those_of_the_model(memory: Memory, explore: Explore) -> None:
    rng = random.Random(20261121)
    seen = dict.fromkeys(("paths", "long", "impact", "deep", "related", "neighbours", "between"), 0)
    for number in range(GRAPHS):
        graph = await write(memory, rng, f"tenant {number}")
        for _ in range(CALLERS):
            trust = random_caller(rng, graph)
            start, goal = rng.sample(list(graph.records), 2)
            k, hops = rng.randrange(1, 11), rng.randrange(1, 7)
            loaded = rng.sample(list(graph.records), rng.randrange(4))
            paths = await explore.paths(trust, start, goal, k=k, max_hops=hops)
            impact = await explore.impact(trust, start, hops=hops, first=100)
            related = await explore.related(trust, start, first=100)
            expansion = await explore.expand(trust, start, loaded=loaded, first=100)
            if not graph.full(trust, start):
                assert (paths, impact, related, expansion) == (None, None, None, None)
                continue
            assert impact is not None
            assert related is not None
            assert expansion is not None
            if not graph.full(trust, goal):
                assert paths is None
            else:
                assert paths is not None
                expected = graph.paths(trust, start, goal, hops)
                check_paths(graph, trust, paths, allowed=[ids for ids, _ in expected])
                assert [tuple(record.id for record in path.nodes) for path in paths.paths] == [
                    ids for ids, _ in expected[:k]
                ]
                seen["paths"] += len(paths.paths)
                seen["long"] += sum(len(path.relations) > 2 for path in paths.paths)
            expected_hops = graph.impact(trust, start, hops)
            check_impact(graph, trust, impact, allowed=expected_hops)
            assert {one.record.id: one.hop for one in impact.nodes} == expected_hops
            check_related(graph, trust, related)
            expected_shared = graph.related(trust, start)
            assert {one.entity.id: one.shared for one in related.entities} == {
                id_: shared for id_, (shared, _) in expected_shared.items()
            }
            for entity in related.entities:
                assert entity.weight == pytest.approx(expected_shared[entity.entity.id][1])
            check_expansion(graph, trust, expansion, loaded)
            assert {one.record.id for one in expansion.neighbours} == {
                far for far, _, _ in graph.around(trust, start)
            } - {*loaded}
            assert not expansion.has_more
            seen["impact"] += len(impact.nodes)
            seen["deep"] += sum(one.hop > 1 for one in impact.nodes)
            seen["related"] += len(related.entities)
            seen["neighbours"] += len(expansion.neighbours)
            seen["between"] += len(expansion.between)
    assert min(seen.values()) > 10, f"too few results of some kind: {seen}"


async def test_a_path_is_described_in_one_sentence(memory: Memory, explore: Explore) -> None:
    await memory.observe("Alice", "works_at", "Acme")
    await memory.observe("Bob", "works_at", "Acme")
    alice, bob = [
        (await memory.lookup.entities(memory.trust, name, scope=None, first=1))[0].id for name in ("Alice", "Bob")
    ]
    found = await explore.paths(memory.trust, alice, bob)
    assert found is not None
    assert [path.sentence for path in found.paths] == [
        "Alice ←subject entity— Alice works at Acme —object entity→ Acme"
        " ←object entity— Bob works at Acme —subject entity→ Bob"
    ]
    assert found.paths[0].weight == pytest.approx(0.81)
    assert found.answered_by == AnsweredBy(engine="sql", fallback=None, mirror_lag_seconds=None)
    short = await explore.paths(memory.trust, alice, bob, max_hops=3)
    assert short is not None
    assert (short.paths, short.reached) == ((), ("hops",))


async def test_the_impact_of_a_record_is_the_records_that_rest_on_it_or_refer_to_it(
    memory: Memory, explore: Explore
) -> None:
    first = await memory.observe("the cache", "is", "full")
    second = await memory.observe(
        "the disk", "is", "slow", evidence=[{"source_type": "observation", "source_id": str(first.primary.id)}]
    )
    found = await explore.impact(memory.trust, first.primary.id)
    assert found is not None
    assert [(one.record.id, one.hop) for one in found.nodes] == [(second.primary.id, 1)]
    backwards = await explore.impact(memory.trust, second.primary.id)
    assert backwards is not None
    assert backwards.nodes == ()
    entity = (await memory.lookup.entities(memory.trust, "the cache", scope=None, first=1))[0].id
    of_entity = await explore.impact(memory.trust, entity)
    assert of_entity is not None
    assert [(one.record.id, one.hop) for one in of_entity.nodes] == [(first.primary.id, 1), (second.primary.id, 2)]
    assert [(count.hop, count.type, count.count) for count in of_entity.counts] == [
        (1, MemoryType.SEMANTIC, 1),
        (2, MemoryType.SEMANTIC, 1),
    ]


def plan_payload(name: str, *ops: str, edges: list[tuple[int, int]] | None = None) -> dict[str, Any]:
    joined = edges if edges is not None else [(at, at + 1) for at in range(len(ops) - 1)]
    return {
        "plan_id": name,
        "version": "1",
        "nodes": [{"id": f"s{at}", "op": op} for at, op in enumerate(ops)],
        "edges": [{"from": f"s{a}", "to": f"s{b}", "kind": "data" if a % 2 else "control"} for a, b in joined],
    }


async def capture_plan(memory: Memory, plan: dict[str, Any], **more: Any) -> UUID:
    kept = await memory.remember(SourceKind.OBSERVATION, plan, proposed_type=MemoryType.PLAN_GRAPH, **more)
    return kept.primary.id


async def test_plans_are_found_by_operations_that_their_steps_have_in_order(memory: Memory, explore: Explore) -> None:
    chain = await capture_plan(memory, plan_payload("chain", "build", "test", "ship it"))
    unordered = await capture_plan(memory, plan_payload("unordered", "build", "test", edges=[]))
    twice = await capture_plan(memory, plan_payload("twice", "build", "lint", "build"), sensitivity=Sensitivity.HYPER)

    async def ask(*ops: str, **more: Any) -> list[tuple[UUID, list[str]]]:
        found = await explore.plans(more.pop("trust", memory.trust), ops, **more)
        assert all([step.op for step in plan.steps] == list(ops) for plan in found.plans)
        return [(plan.record.id, [step.id for step in plan.steps]) for plan in found.plans]

    assert await ask("build", "test") == [(chain, ["s0", "s1"])]
    assert await ask("build", "ship it") == [(chain, ["s0", "s2"])]
    assert await ask("test", "build") == []
    assert await ask("ship it", "test", "build") == []
    assert await ask("build", "build") == [(twice, ["s0", "s2"])]
    assert await ask("build") == [(twice, ["s0"]), (unordered, ["s0"]), (chain, ["s0"])]
    assert await ask("build", trust=trust_of(ceiling=Sensitivity.LOW)) == [(unordered, ["s0"]), (chain, ["s0"])]
    assert await ask("buil") == []
    assert await ask("ship") == []
    page = await explore.plans(memory.trust, ["build"], first=2)
    assert (len(page.plans), page.has_more) == (2, True)


async def test_a_record_that_is_not_fully_visible_is_answered_as_if_it_did_not_exist(
    memory: Memory, explore: Explore
) -> None:
    near = (await memory.observe("Alice", "works_at", "Acme", sensitivity=Sensitivity.LOW)).primary.id
    medium = (await memory.observe("Alice", "earns", "much", sensitivity=Sensitivity.MEDIUM)).primary.id
    secret = (await memory.observe("Alice", "fears", "bees", sensitivity=Sensitivity.HYPER)).primary.id
    low = trust_of(ceiling=Sensitivity.LOW)
    for id_ in (medium, secret, new_id()):
        assert await explore.paths(low, near, id_) is None
        assert await explore.paths(low, id_, near) is None
        assert await explore.impact(low, id_) is None
        assert await explore.related(low, id_) is None
        assert await explore.expand(low, id_) is None
    assert await explore.paths(memory.trust, near, secret) is not None


async def test_an_argument_out_of_range_is_refused_with_its_name(memory: Memory, explore: Explore) -> None:
    here, there = new_id(), new_id()
    for question, path in (
        (explore.paths(memory.trust, here, there, k=11), "k"),
        (explore.paths(memory.trust, here, there, k=0), "k"),
        (explore.paths(memory.trust, here, there, max_hops=7), "maxHops"),
        (explore.paths(memory.trust, here, here), "to"),
        (explore.impact(memory.trust, here, hops=0), "hops"),
        (explore.impact(memory.trust, here, first=101), "first"),
        (explore.plans(memory.trust, []), "ops"),
        (explore.plans(memory.trust, ["build"] * 9), "ops"),
        (explore.plans(memory.trust, [" "]), "ops"),
        (explore.plans(memory.trust, ["to", "the"]), "ops"),
        (explore.related(memory.trust, here, first=0), "first"),
        (explore.expand(memory.trust, here, loaded=[new_id() for _ in range(2_001)]), "loadedIds"),
    ):
        with pytest.raises(InvalidInput) as refused:
            await question
        assert refused.value.path == [path]


async def write_star(memory: Memory, rim: int) -> tuple[UUID, list[UUID]]:
    """Write a hub that `rim` public records refer to; return the id of the hub and those of the records."""
    tenant, rng = await create_tenant(memory, "acme"), random.Random(1)
    hub, *others = [
        readable_by_all(random_record(rng, tenant, type_=MemoryType.EPISODIC if number else MemoryType.ENTITY))
        for number in range(rim + 1)
    ]
    relations = [
        NewRelation(source=other.id, target=hub.id, predicate="mentions_entity", weight=0.5) for other in others
    ]
    await write_graph(memory, tenant, [hub, *others], relations)
    return hub.id, [other.id for other in others]


async def test_a_hub_is_counted_in_full_returned_in_pages_and_marked_as_a_hub(memory: Memory, explore: Explore) -> None:
    hub, rim = await write_star(memory, FAN_OUT * 2 + 50)
    impact = await explore.impact(memory.trust, hub, first=10)
    assert impact is not None
    assert (impact.total, len(impact.nodes), impact.hubs) == (len(rim), 10, ())
    loaded: list[UUID] = []
    while True:
        page = await explore.expand(memory.trust, hub, loaded=loaded, first=100)
        assert page is not None
        loaded += [one.record.id for one in page.neighbours]
        if not page.has_more:
            break
    assert sorted(loaded) == sorted(rim)
    assert len(set(loaded)) == len(rim)
    beside = await explore.expand(memory.trust, rim[0])
    assert beside is not None
    assert [(one.record.id, one.hub, one.degree, one.more) for one in beside.neighbours] == [(hub, True, 100, 99)]
    paths = await explore.paths(memory.trust, rim[0], rim[-1], k=2, max_hops=4)
    assert paths is not None
    assert [[record.id for record in path.nodes] for path in paths.paths] == [[rim[0], hub, rim[-1]]]
    assert (paths.reached, paths.hubs) == (("hops", "hubs"), (hub,)), (
        "longer paths lead through the hub, and not all of its relations were followed"
    )


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(590, 760), st.integers(60, 100))
async def test_pages_of_neighbours_go_on_as_long_as_there_may_be_more(
    memory: Memory, explore: Explore, count: int, first: int
) -> None:
    hub, rim = await write_star(memory, count)
    loaded: list[UUID] = []
    has_more = True
    while has_more:
        page = await explore.expand(memory.trust, hub, loaded=loaded, first=first)
        assert page is not None
        assert page.neighbours, "a page that says there is more must be followed by one that has more"
        loaded += [one.record.id for one in page.neighbours]
        has_more = page.has_more
        assert page.reached == ()
    assert sorted(loaded) == sorted(rim)


async def test_pages_of_neighbours_say_what_ends_them_where_there_are_more(
    memory: Memory, explore: Explore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stratagraph.memory.explore.around.MAX_LOADED", 40)
    hub, rim = await write_star(memory, 60)
    page = await explore.expand(memory.trust, hub, loaded=rim[:20], first=20)
    assert page is not None
    assert (page.has_more, page.reached) == (True, ())
    page = await explore.expand(memory.trust, hub, loaded=rim[:30], first=20)
    assert page is not None
    assert (page.has_more, page.reached) == (False, ("loaded",))
    page = await explore.expand(memory.trust, hub, loaded=rim[:40], first=20)
    assert page is not None
    assert (page.has_more, page.reached) == (False, ())  # there are no more


async def test_a_page_without_neighbours_is_the_last_one(
    memory: Memory, explore: Explore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stratagraph.store.traversal.links.SCANNED_OF_ONE", 5)
    monkeypatch.setattr("stratagraph.memory.explore.around.NEIGHBOURS", 5)
    tenant, rng = await create_tenant(memory, "acme"), random.Random(1)
    hub = readable_by_all(random_record(rng, tenant, type_=MemoryType.ENTITY))
    facts = [readable_by_all(random_record(rng, tenant, type_=MemoryType.SEMANTIC)) for _ in range(12)]
    later = Interval(start=memory.clock.now() + timedelta(days=1))
    facts = [replace(one, fact=replace(one.fact, validity=later)) for one in facts if one.fact is not None]
    relations = [
        NewRelation(source=one.id, target=hub.id, predicate="subject_entity", weight=number / 12)
        for number, one in enumerate(facts)
    ]
    await write_graph(memory, tenant, [hub, *facts], relations)
    page = await explore.expand(memory.trust, hub.id)
    assert page is not None
    assert (page.neighbours, page.has_more, page.reached) == ((), False, ("hubs",))


async def test_hidden_and_expired_facts_of_a_hub_are_passed_over_without_reading_them(memory: Memory) -> None:
    tenant, rng = await create_tenant(memory, "acme"), random.Random(1)
    hub = readable_by_all(random_record(rng, tenant, type_=MemoryType.ENTITY))
    facts = [readable_by_all(random_record(rng, tenant, type_=MemoryType.SEMANTIC)) for _ in range(305)]
    now = memory.clock.now()
    for number, fact in enumerate(facts):
        assert fact.fact is not None
        if number < 100:
            facts[number] = replace(fact, sensitivity=Sensitivity.HIGH)
        elif number < 200:
            facts[number] = replace(fact, scope="project:b")
        elif number < 300:
            facts[number] = replace(fact, fact=replace(fact.fact, validity=Interval(end=now - timedelta(days=1))))
    relations = [
        NewRelation(source=fact.id, target=hub.id, predicate="subject_entity", weight=1.0 if number < 300 else 0.5)
        for number, fact in enumerate(facts)
    ]
    await write_graph(memory, tenant, [hub, *facts], relations)
    caller = await memory.directory.resolve(trust_of(ceiling=Sensitivity.LOW, scopes={"project:a"}))
    read = text("SELECT pg_stat_get_xact_tuples_fetched('record'::regclass)")
    async with memory.database.reading(caller.bounds) as connection:
        before = (await connection.execute(read)).scalar_one()
        found = await SqlExplorer(connection).links(caller, [hub.id], at=now, most=10, dependents=True, excluded=())
        rows = (await connection.execute(read)).scalar_one() - before
        (degree,) = (await degrees(connection, caller, [hub.id], at=now)).values()
        edges = await SqlGraphReader(connection=connection).edges_of(
            caller, [hub.id], at=now, fan_out=10, history=False
        )
        all_rows = (await connection.execute(read)).scalar_one() - before
    visible = {fact.id for fact in facts[300:]}
    assert {link.far for link in found.found} == visible
    assert not found.cut
    assert {edge.far for edge in edges if edge.acl % 8 <= Sensitivity.LOW} == visible
    assert degree == len(visible)
    assert rows <= 4 * len(visible), "records are read that the caller cannot see, or that have expired"
    assert all_rows <= 12 * len(visible)


async def test_the_number_of_statements_does_not_grow_with_the_graph(memory: Memory, explore: Explore) -> None:
    async def counted(hub: UUID, rim: list[UUID]) -> list[int]:
        numbers = []
        for ask in (
            lambda: explore.paths(memory.trust, rim[0], rim[1], k=1),
            lambda: explore.impact(memory.trust, hub),
            lambda: explore.related(memory.trust, hub),
            lambda: explore.expand(memory.trust, hub, loaded=rim[:1]),
            lambda: explore.plans(memory.trust, ["build"]),
        ):
            before = memory.database.statements
            await ask()
            numbers.append(memory.database.statements - before)
        return numbers

    few = await counted(*await write_star(memory, 3))
    many = await counted(*await write_star(memory, 60))
    assert all(more <= of_few for more, of_few in zip(many, few, strict=True)), (few, many)
    assert max(few) <= 12, few
