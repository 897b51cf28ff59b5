"""Graph questions of another time than now equal the answers of the model of that time."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

import pytest
from fix_graphs import INSTANTS, StoredRecord
from fix_memory import NOON, Memory, trust_of
from model_explore import (
    Graph,
    check_expansion,
    check_impact,
    check_paths,
    check_related,
    random_caller,
    write,
)

from stratagraph.memory.engines.service import Engines
from stratagraph.memory.explore.service import Explore
from stratagraph.memory.explore.times import Time
from stratagraph.memory.revise.request import Retract
from stratagraph.store.model.enums import MemoryType, RecordState, SourceKind
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.ids import new_id
from stratagraph.store.model.trust import Trust

THEN = NOON + timedelta(hours=1)


@pytest.fixture
def explore(memory: Memory) -> Explore:
    return Explore(memory.database, memory.directory, memory.clock, Engines(preference="neo4j"))


async def change(memory: Memory, rng: random.Random, graph: Graph) -> None:
    """Retract records, and end and add relations, a day after the graph was written."""
    memory.clock.at = NOON + timedelta(days=1)
    admin = trust_of(tenant=graph.tenant.name)
    for id_, stored in list(graph.records.items()):
        record = await memory.lookup.record(admin, id_)
        is_fact = record is not None and record.type is MemoryType.SEMANTIC
        if is_fact and stored.state is RecordState.ACTIVE and rng.random() < 0.3:
            await memory.revise(Retract(record_id=id_, rationale="wrong"), admin)
    ended = [id_ for id_ in graph.relations if rng.random() < 0.3]
    later = memory.clock.now()
    await memory.rows("UPDATE relation SET ended_at = :at WHERE id = ANY(:ids)", at=later, ids=ended)
    for _ in range(5):
        source, target = rng.sample(list(graph.records), 2)
        await memory.rows(
            "INSERT INTO relation (tenant, id, source, target, predicate, weight, created_at, row_version)"
            " SELECT :tenant, :id, :source, :target, max(p.id), 1, :at, 1 FROM predicate p WHERE p.tenant = :tenant"
            " ON CONFLICT DO NOTHING",
            tenant=graph.tenant.id,
            id=new_id(),
            source=source,
            target=target,
            at=later,
        )


async def compare(explore: Explore, rng: random.Random, graph: Graph, trust: Trust, time: Time) -> tuple[int, int, int]:
    """Ask all questions about two random records; return how much was found."""
    full = [id_ for id_ in graph.records if graph.full(trust, id_)]
    start, goal = rng.sample(full if len(full) > 1 and rng.random() < 0.9 else list(graph.records), 2)
    loaded = rng.sample(list(graph.records), rng.randrange(3))
    paths = await explore.paths(trust, start, goal, k=10, max_hops=4, time=time)
    impact = await explore.impact(trust, start, hops=3, first=100, time=time)
    related = await explore.related(trust, start, first=100, time=time)
    expansion = await explore.expand(trust, start, loaded=loaded, first=100, time=time)
    if not graph.full(trust, start):
        assert (paths, impact, related, expansion) == (None, None, None, None)
        return 0, 0, 0
    assert impact is not None
    assert related is not None
    assert expansion is not None
    assert impact.answered_by.fallback == "the mirror shows only the present"
    if paths is not None:
        possible = graph.paths(trust, start, goal, 4)
        check_paths(graph, trust, paths, allowed=[ids for ids, _ in possible])
        assert len(paths.paths) == min(10, len(possible))
    allowed = graph.impact(trust, start, 3)
    check_impact(graph, trust, impact, allowed=allowed)
    assert {one.record.id: one.hop for one in impact.nodes} == allowed
    check_related(graph, trust, related)
    assert {one.entity.id: one.shared for one in related.entities} == {
        far: shared for far, (shared, _) in graph.related(trust, start).items()
    }
    check_expansion(graph, trust, expansion, loaded)
    around = {far for far, _, _ in graph.around(trust, start)}
    assert {one.record.id for one in expansion.neighbours} == around - {*loaded}
    return len(paths.paths) if paths is not None else 0, len(allowed), len(around)


async def test_answers_as_of_a_past_instant_equal_those_of_the_model_then(memory: Memory, explore: Explore) -> None:
    rng, found = random.Random("past"), [0, 0, 0]
    for number in range(14):
        memory.clock.at = NOON
        graph = await write(memory, rng, f"tenant {number}")
        await change(memory, rng, graph)
        for _ in range(4):
            valid_at = rng.choice([None, *INSTANTS])
            graph.at = valid_at or THEN
            trust = random_caller(rng, graph)
            counts = await compare(explore, rng, graph, trust, Time(as_of=THEN, valid_at=valid_at))
            found = [one + other for one, other in zip(found, counts, strict=True)]
    assert min(found) > 15


async def as_held(memory: Memory, graph: Graph, at: datetime) -> Graph:
    """Return the graph whose current records are those that held at an instant, as `record(validAt:)` tells."""
    admin = trust_of(tenant=graph.tenant.name)
    records: dict[UUID, StoredRecord] = {}
    for id_, stored in graph.records.items():
        held = await memory.lookup.record(admin, id_, valid_at=at) is not None
        is_current = held and (graph.types[id_] is MemoryType.SEMANTIC or stored.state <= RecordState.CONTESTED)
        state = RecordState.ACTIVE if is_current else RecordState.RETRACTED
        records[id_] = replace(stored, state=state, validity=None)
    return replace(graph, records=records)


async def test_answers_about_what_held_equal_those_of_the_model(memory: Memory, explore: Explore) -> None:
    rng, found = random.Random("held"), [0, 0, 0]
    for number in range(10):
        graph = await write(memory, rng, f"tenant {number}")
        for _ in range(3):
            at = rng.choice(INSTANTS)
            held = await as_held(memory, graph, at)
            trust = random_caller(rng, graph)
            counts = await compare(explore, rng, held, trust, Time(valid_at=at))
            found = [one + other for one, other in zip(found, counts, strict=True)]
    assert min(found) > 8


async def test_plans_are_found_as_of_an_instant(memory: Memory, explore: Explore) -> None:
    nodes = [{"id": "a", "op": "build"}, {"id": "b", "op": "ship"}]
    edges = [{"from": "a", "to": "b", "kind": "control"}]
    content = {"plan_id": "release", "version": "1", "nodes": nodes, "edges": edges}
    made = await memory.remember(SourceKind.OBSERVATION, content, proposed_type=MemoryType.PLAN_GRAPH)
    known = memory.clock.now()
    await memory.revise(Retract(record_id=made.primary.id, rationale="wrong"))
    assert (await explore.plans(memory.trust, ["build", "ship"])).plans == ()
    then = await explore.plans(memory.trust, ["build", "ship"], time=Time(as_of=known))
    assert [plan.record.id for plan in then.plans] == [made.primary.id]
    assert then.plans[0].record.state is RecordState.ACTIVE
    with pytest.raises(InvalidInput, match=r"asOf: .* lies in the future"):
        await explore.plans(memory.trust, ["build"], time=Time(as_of=memory.clock.now() + timedelta(days=1)))


async def test_pages_of_neighbours_have_each_once(memory: Memory, explore: Explore) -> None:
    rng = random.Random("neighbours")
    for number in range(6):
        graph = await write(memory, rng, f"tenant {number}")
        trust = random_caller(rng, graph)
        start = rng.choice(list(graph.records))
        found: list[UUID] = []
        after = None
        while True:
            page = await explore.expand(trust, start, first=2, after=after)
            if page is None:
                assert not graph.full(trust, start)
                break
            found += [one.record.id for one in page.neighbours]
            after = page.page_info.end_cursor
            if not page.page_info.has_next:
                assert len(found) == len(set(found))
                assert set(found) == {far for far, _, _ in graph.around(trust, start)}
                break
    with pytest.raises(InvalidInput, match="after: "):
        await explore.expand(memory.trust, new_id(), after="AAAA")
