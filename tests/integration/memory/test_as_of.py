"""Reads as of a past instant return what they returned then (docs/specification.md, History)."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from fix_jobs import server_of
from fix_memory import Memory, trust_of

from stratagraph.memory.capture.policy import Policy
from stratagraph.memory.capture.service import Capture
from stratagraph.memory.engines.service import Engines
from stratagraph.memory.records.lookup import Lookup
from stratagraph.memory.retrieve.answer import Retrieved
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.retrieve.service import Retrieve
from stratagraph.memory.retrieve.weights import Signal
from stratagraph.store.mirror.freshness import Freshness, MirrorFreshness
from stratagraph.store.model.clock import RESOLUTION, SystemClock
from stratagraph.store.model.enums import MemoryType, RecordState, Sensitivity, SourceKind
from stratagraph.store.model.errors import InvalidInput, MirrorUnavailable
from stratagraph.store.model.records import MemoryRecord, Relation
from stratagraph.store.records.episode_timelines import assemble_episodes
from stratagraph.store.records.past import Moment, Past
from stratagraph.store.records.reading import Reader
from stratagraph.store.traversal.links import Explorer
from stratagraph.store.traversal.neighbourhood import GraphReader

PEOPLE, PLACES = ("Alice", "Bob", "Carol"), ("Bern", "Basel", "Chur", "Thun")
DAY = timedelta(days=1)


@pytest.fixture
def memory(memory: Memory) -> Memory:
    """A memory whose clock is ahead of the system clock, from which ids are made."""
    memory.clock.at = SystemClock().now() + timedelta(hours=1)
    return memory


async def ask(memory: Memory, task: str, **more: Any) -> Retrieved:
    trust = more.pop("trust", memory.trust)
    return await memory.retrieve.retrieve(trust, RetrieveRequest(task_descriptor=task, **more))


def names_of(found: Retrieved) -> list[str | None]:
    return [node.record.name for node in found.nodes]


Known = tuple[dict[UUID, MemoryRecord], dict[UUID, set[Relation]]]


async def present(memory: Memory, ids: list[UUID]) -> Known:
    caller = await memory.directory.resolve(memory.trust)
    async with memory.database.reading(caller.bounds) as connection:
        reader = Reader(connection, memory.directory, caller, memory.clock.now())
        found = await reader.records(ids)
        timelines = await assemble_episodes(connection, caller, found.values(), most=100)
        relations = await reader.relations_of(ids, limit=100)
    records = {id_: replace(record, payload=timelines.get(id_, record.payload)) for id_, record in found.items()}
    return records, {id_: set(relations[id_]) for id_ in ids}


async def past(memory: Memory, ids: list[UUID], at: datetime) -> Known:
    caller = await memory.directory.resolve(memory.trust)
    moments = [Moment(id_, at) for id_ in ids]
    async with memory.database.reading(caller.bounds) as connection:
        reader = Past(connection, memory.directory, caller)
        found = await reader.records(moments)
        timelines = await reader.assemble_episodes([(record, at) for record in found.values()], most=100)
        relations = await reader.relations_of(moments, limit=100)
    records = {
        moment.id: replace(record, payload=timelines.get(moment, record.payload)) for moment, record in found.items()
    }
    return records, {moment.id: set(relations[moment]) for moment in moments}


async def write_something(memory: Memory, rng: random.Random) -> list[UUID]:
    """Make one random write; return the ids that it created or changed."""
    who, where = rng.choice(PEOPLE), rng.choice(PLACES)
    match rng.randrange(6):
        case 0:
            kept = await memory.observe(who, "lives_in", where, revision_policy="replace")
        case 1:
            kept = await memory.observe(who, "born_in", where, revision_policy="contest")
        case 2:
            kept = await memory.observe(who, "likes", where)
        case 3:
            state = rng.choice(("planning", "executing", "blocked"))
            kept = await memory.remember(SourceKind.WORKING_STATE, {"thread_id": "work", "state": state})
        case 4:
            kept = await memory.turn(f"{who} went to {where}", thread=rng.choice(("t1", "t2")))
        case _:
            thread = f"short {rng.random()}"
            await memory.turn(f"{who} comes from {where}", thread=thread)
            kept = await memory.remember(SourceKind.OUTCOME, {"thread_id": thread, "outcome_status": "success"})
    return [kept.primary.id, *(record.id for record in kept.created)]


@pytest.mark.parametrize("seed", range(3))
async def test_a_past_instant_reads_as_the_present_did_then(memory: Memory, seed: int) -> None:
    """Records are equal in every field, salience and relations included; later records do not exist."""
    rng = random.Random(seed)
    ids: dict[UUID, None] = {}
    seen: list[tuple[datetime, Known]] = []
    for number in range(25):
        ids.update(dict.fromkeys(await write_something(memory, rng)))
        if number in (5, 15):  # always include a superseding fact and two that contest each other
            await memory.observe("Dora", "lives_in", PLACES[number % 2], revision_policy="replace")
            for where in PLACES[:2]:
                kept = await memory.observe("Dora", "born_in", f"{where} {number}", revision_policy="contest")
                ids[kept.primary.id] = None
            kept = await memory.observe("Dora", "lives_in", f"{number}", revision_policy="replace")
            ids[kept.primary.id] = None
        memory.clock.forward(timedelta(seconds=rng.choice((0.000001, 1, 600, 86_400))))
        seen.append((memory.clock.now(), await present(memory, list(ids))))
    memory.clock.forward(DAY)
    for at, (records, relations) in seen:
        then, related = await past(memory, list(ids), at)
        assert then.keys() == records.keys()
        for id_, was in records.items():
            assert then[id_].salience == pytest.approx(was.salience, abs=1e-12)
            assert replace(then[id_], salience=was.salience) == was
        assert {id_: found for id_, found in related.items() if found} == {
            id_: found for id_, found in relations.items() if found
        }
        one = rng.choice(list(ids))
        asked = await memory.lookup.record(memory.trust, one, as_of=at)
        assert asked == then.get(one)
    states = {record.state for _, (records, _) in seen for record in records.values()}
    assert states == {RecordState.ACTIVE, RecordState.CONTESTED, RecordState.SUPERSEDED}


@pytest.mark.parametrize("seed", range(2))
async def test_a_past_retrieval_returns_the_same_answer_as_it_did_then(memory: Memory, seed: int) -> None:
    """The nodes, their order, scores, hops, edges and reasons are the same."""
    rng = random.Random(seed)
    seen: list[tuple[datetime, str, Retrieved]] = []
    for _ in range(20):
        await write_something(memory, rng)
        memory.clock.forward(timedelta(seconds=rng.choice((1, 600, 86_400))))
        task = f"where is {rng.choice(PEOPLE)} living, from {rng.choice(PLACES)}"
        seen.append((memory.clock.now(), task, await ask(memory, task, max_hops=2, node_limit=60)))
    memory.clock.forward(DAY)
    for at, task, before in seen:
        after = await ask(memory, task, max_hops=2, node_limit=60, as_of=at)
        assert [(n.record.id, n.hop, n.root) for n in after.nodes] == [
            (n.record.id, n.hop, n.root) for n in before.nodes
        ]
        assert [n.score for n in after.nodes] == pytest.approx([n.score for n in before.nodes], rel=1e-6)
        told = [[replace(n.why, signals={}) for n in answer.nodes] for answer in (after, before)]
        assert told[0] == told[1]
        signals = [[n.why.signals for n in answer.nodes] for answer in (after, before)]
        assert signals[0] == [pytest.approx(one, rel=1e-6) for one in signals[1]]
        assert [(n.record.version, n.record.state, n.record.payload) for n in after.nodes] == [
            (n.record.version, n.record.state, n.record.payload) for n in before.nodes
        ]
        assert after.edges == before.edges
        assert (after.roots, after.reached, after.selection) == (before.roots, before.reached, before.selection)


async def test_an_answer_about_an_instant_does_not_change_under_concurrent_writes(memory: Memory) -> None:
    """The answer is the same during concurrent writes and after them."""
    clock = SystemClock()
    capture = Capture(memory.database, memory.directory, clock, Policy())
    live = replace(
        memory,
        capture=capture,
        lookup=Lookup(memory.database, memory.directory, clock, memory.retrieve.log),
        retrieve=Retrieve(memory.database, memory.directory, clock, Engines()),
    )
    answers: list[tuple[datetime, list[Any]]] = []

    async def seen_at(at: datetime) -> list[Any]:
        found = await ask(live, "Alice lives in a town", as_of=at, root_limit=100, node_limit=200, max_hops=0)
        return [(n.record.id, n.record.version, n.record.state, n.record.salience) for n in found.nodes]

    async def write(number: int) -> None:
        for turn in range(12):
            if turn % 3:
                await live.observe("Alice", "lives_in", f"town {number} {turn}", revision_policy="replace")
            else:
                await live.turn(f"Alice lives in town {number} {turn}")

    writers = [asyncio.create_task(write(number)) for number in range(3)]
    while not all(writer.done() for writer in writers):
        at = clock.now()
        answers.append((at, await seen_at(at)))
    await asyncio.gather(*writers)
    assert len(answers) > 3
    assert len({len(answer) for _, answer in answers}) > 2  # the answers did grow during the writes
    for at, answer in answers:
        assert await seen_at(at) == answer


async def test_facts_are_returned_if_they_were_valid_and_current_then(memory: Memory) -> None:
    """Facts that were superseded later, not yet captured, expired later, or not yet valid."""
    await memory.observe("Alice", "lives_in", "Bern", revision_policy="replace")
    day = memory.clock.now()
    within = {"mode": "timeboxed", "start": (day + DAY).isoformat(), "end": (day + 2 * DAY).isoformat()}
    await memory.observe("Alice", "visits", "Lugano", validity=within)
    memory.clock.forward(3 * DAY)
    await memory.observe("Alice", "lives_in", "Basel", revision_policy="replace")

    async def facts(at: datetime) -> set[str | None]:
        found = await ask(memory, "Alice lives visits", as_of=at, memory_types=(MemoryType.SEMANTIC,), max_hops=0)
        return set(names_of(found))

    assert await facts(day) == {"Alice lives in Bern"}
    assert await facts(day + DAY + timedelta(hours=1)) == {"Alice lives in Bern", "Alice visits Lugano"}
    assert await facts(day + 2 * DAY) == {"Alice lives in Bern"}
    assert await facts(memory.clock.now()) == {"Alice lives in Basel"}


async def test_replaced_words_are_found_only_as_of_the_time_before(memory: Memory) -> None:
    state: dict[str, Any] = {"thread_id": "t", "state": "planning"}
    await memory.remember(SourceKind.WORKING_STATE, state | {"context_summary": "repairing the espresso machine"})
    then = memory.clock.now()
    await memory.remember(SourceKind.WORKING_STATE, state | {"context_summary": "painting the fence"})
    old = await ask(memory, "espresso", as_of=then, max_hops=0)
    assert old.nodes[0].why.part(Signal.WORDS) == 1.0
    assert old.nodes[0].record.version == 1
    assert all(node.why.part(Signal.WORDS) == 0.0 for node in (await ask(memory, "espresso", max_hops=0)).nodes)
    fence = await ask(memory, "fence", as_of=then, max_hops=0)
    assert all(node.why.part(Signal.WORDS) == 0.0 for node in fence.nodes)


async def test_the_past_of_a_large_tenant_is_searched_by_rare_words_and_conjunctions(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = {"thread_id": "t", "state": "planning", "context_summary": "common word number17 of the past"}
    changed = await memory.remember(SourceKind.WORKING_STATE, state, scope="project:a")
    for number in range(40):
        await memory.turn(f"common word number{number} again", scope="project:a" if number % 2 else "project:b")
    then = memory.clock.now()
    await memory.remember(SourceKind.WORKING_STATE, state | {"context_summary": "nothing"}, scope="project:a")
    monkeypatch.setattr("stratagraph.store.search.word_search.SMALL_STORE", 10)
    monkeypatch.setattr("stratagraph.store.search.word_search.BUDGET", 20)
    monkeypatch.setattr("stratagraph.store.search.word_search.FEW_RECORDS", 5)
    server = server_of(memory)
    assert (await server.run_once())["changes_counted"] == 43  # 41 records, one of them edited
    rare = await ask(memory, "common word number17 again", root_limit=3, max_hops=0, as_of=then)
    assert names_of(rare)[0] == "user: common word number17 again"
    assert changed.primary.id in rare.roots
    common = await ask(memory, "common word", root_limit=3, max_hops=0, as_of=then)
    assert [node.why.part(Signal.WORDS) > 0 for node in common.nodes] == [True] * 3
    monkeypatch.setattr("stratagraph.store.search.word_search.FEW_RECORDS", 50)
    narrow = trust_of(scopes={"project:a"})
    everything = await ask(memory, "number17", trust=narrow, max_hops=0, as_of=then)
    assert {node.record.id for node in everything.nodes if node.why.part(Signal.WORDS)} >= {changed.primary.id}
    assert all(node.record.scope == "project:a" for node in everything.nodes)


async def test_a_past_episode_has_the_events_and_outcome_of_that_instant(memory: Memory) -> None:
    await memory.turn("first", thread="t")
    one = memory.clock.now()
    await memory.turn("second", thread="t")
    two = memory.clock.now()
    closed = await memory.remember(SourceKind.OUTCOME, {"thread_id": "t", "outcome_status": "success"})
    episode = closed.primary.id
    for at, events, outcome in ((one, 1, None), (two, 2, None), (memory.clock.now(), 2, "success")):
        then = await memory.lookup.record(memory.trust, episode, as_of=at)
        assert then is not None
        assert then.payload is not None
        assert len(then.payload["timeline"]) == events
        assert then.payload.get("outcome") == outcome
        listed = await memory.lookup.past_payloads(memory.trust, [(replace(then, payload=closed.primary.payload), at)])
        assert len(listed[Moment(episode, at)]["timeline"]) == events
    assert await memory.lookup.record(memory.trust, episode, as_of=one - RESOLUTION) is None


async def test_the_past_has_no_redacted_records(memory: Memory) -> None:
    for level in (Sensitivity.LOW, Sensitivity.MEDIUM):
        await memory.turn(f"the merger is {level.label}", sensitivity=level, context={"mentions": [{"name": "Merger"}]})
    low = trust_of(ceiling=Sensitivity.LOW)
    now = await ask(memory, "the merger", trust=low, max_hops=3)
    assert {node.record.sensitivity for node in now.nodes} == {Sensitivity.LOW, Sensitivity.MEDIUM}
    then = await ask(memory, "the merger", trust=low, max_hops=3, as_of=memory.clock.now())
    assert {node.record.sensitivity for node in then.nodes} == {Sensitivity.LOW}
    assert all(not node.record.redacted for node in then.nodes)
    hidden = next(node.record.id for node in now.nodes if node.record.redacted)
    assert await memory.lookup.record(low, hidden) is not None
    assert await memory.lookup.record(low, hidden, as_of=memory.clock.now()) is None
    assert (await memory.lookup.history(low, hidden)).versions == ()


async def test_the_past_of_other_scopes_and_tenants_is_invisible(memory: Memory) -> None:
    kept = await memory.turn("the secret recipe", scope="project:a")
    at = memory.clock.now()
    for stranger in (trust_of(scopes={"project:b"}), trust_of(tenant="globex")):
        assert names_of(await ask(memory, "recipe", trust=stranger, as_of=at)) == []
        assert await memory.lookup.record(stranger, kept.primary.id, as_of=at) is None
        assert (await memory.lookup.history(stranger, kept.primary.id)).versions == ()
        moment = Moment(kept.primary.id, at)
        assert await memory.lookup.past_relations(stranger, [moment]) == {moment: []}


async def test_limits_and_minimum_salience_apply_to_the_past(memory: Memory) -> None:
    for number in range(12):
        await memory.observe("Alice", "likes", f"thing number {number}")
    at = memory.clock.now()
    for number in range(12):
        await memory.observe("Alice", "likes", f"later thing {number}")
    found = await ask(memory, "Alice", root_limit=4, node_limit=5, edge_limit=3, as_of=at)
    assert len(found.nodes) <= 5
    assert len(found.edges) <= 3
    assert {"edges", "roots"} <= set(found.reached)
    whole = await ask(memory, "Alice", root_limit=100, node_limit=1000, edge_limit=5000, max_hops=6, as_of=at)
    assert whole.reached == ()
    assert all(node.record.created_at <= at for node in whole.nodes)
    assert sum(node.record.type is MemoryType.SEMANTIC for node in whole.nodes) == 12
    await memory.turn("the old incident")
    memory.clock.forward(timedelta(hours=3))
    faded = memory.clock.now()
    assert names_of(await ask(memory, "old incident", min_salience=0.5, as_of=faded - timedelta(hours=2.9)))
    assert all(
        node.record.salience >= 0.5 for node in (await ask(memory, "old incident", min_salience=0.5, as_of=faded)).nodes
    )


async def test_a_past_retrieval_is_logged_and_rendered(memory: Memory) -> None:
    kept = await memory.turn("hello there")
    at = memory.clock.now()
    memory.clock.forward(DAY)
    found = await ask(memory, "hello", as_of=at, token_budget=100)
    assert found.rendering is not None
    assert str(kept.primary.id) in found.rendering
    await memory.retrieve.log.flush()
    async with memory.database.engine.begin() as connection:
        row = (await connection.exec_driver_sql("SELECT id, roots, at FROM retrieval")).one()
    assert (row.id, row.roots, row.at) == (found.id, [kept.primary.id], memory.clock.now())


@pytest.mark.usefixtures("log_at_rest")
async def test_the_number_of_statements_of_a_past_retrieval_is_constant(memory: Memory) -> None:
    counts = set()
    for number in range(30):
        await memory.observe(f"Person {number % 5}", "likes", f"thing {number}")
        if number % 10 == 9:
            await memory.retrieve.log.flush()
            before = memory.database.statements
            await ask(memory, "what does Person 1 like", max_hops=2, as_of=memory.clock.now())
            counts.add(memory.database.statements - before)
    assert len(counts) == 1
    assert counts.pop() <= 15


class ForbiddenMirror:
    """A mirror that must not be queried."""

    def graph_reader(self, least: Freshness) -> GraphReader:
        raise MirrorUnavailable("it was queried")

    def explorer(self, least: Freshness, *, deadline_s: float) -> Explorer:
        raise MirrorUnavailable("it was queried")


class CompleteMirror(MirrorFreshness):
    """The freshness of a mirror that is complete and could be queried."""

    async def now(self, tenant: int) -> Freshness:
        return Freshness(whole=True, generation=1, snapshot=1, seconds=0.0)


async def test_the_mirror_is_not_queried_about_the_past(memory: Memory) -> None:
    engines = Engines(mirror=ForbiddenMirror(), freshness=CompleteMirror(memory.database, "neo4j"), preference="neo4j")
    retrieve = Retrieve(memory.database, memory.directory, memory.clock, engines)
    await memory.observe("Alice", "works_at", "Acme")
    now = await retrieve.retrieve(memory.trust, RetrieveRequest(task_descriptor="Alice"))
    assert (now.engine, now.fallback) == ("sql", "it was queried")
    asked = RetrieveRequest(task_descriptor="Alice", as_of=memory.clock.now())
    then = await retrieve.retrieve(memory.trust, asked)
    assert (then.engine, then.fallback) == ("sql", "the mirror shows only the present")
    assert {node.record.id for node in then.nodes} == {node.record.id for node in now.nodes}


async def test_an_instant_in_the_future_or_without_an_offset_is_refused(memory: Memory) -> None:
    kept = await memory.turn("hello")
    for wrong in (memory.clock.now() + RESOLUTION, datetime(2020, 1, 1)):  # noqa: DTZ001 - the test needs a naive time
        for asking in (
            ask(memory, "hello", as_of=wrong),
            memory.lookup.record(memory.trust, kept.primary.id, as_of=wrong),
        ):
            with pytest.raises(InvalidInput) as caught:
                await asking
            assert caught.value.path == ["asOf"]
    long_ago = datetime.fromisoformat("0001-01-01T00:00:00+00:00")
    assert names_of(await ask(memory, "hello", as_of=long_ago)) == []
    assert await memory.lookup.record(memory.trust, kept.primary.id, as_of=long_ago) is None


async def test_history_is_paged_and_refuses_an_invalid_cursor(memory: Memory) -> None:
    state: dict[str, Any] = {"thread_id": "t", "state": "planning"}
    for number in range(7):
        kept = await memory.remember(SourceKind.WORKING_STATE, state | {"context_summary": f"summary {number}"})
    id_, after, pages = kept.primary.id, None, []
    while True:
        page = await memory.lookup.history(memory.trust, id_, first=3, after=after)
        pages.append([version.record.version for version in page.versions])
        after = page.end_cursor
        if not page.has_next:
            break
    assert pages == [[7, 6, 5], [4, 3, 2], [1]]
    assert (await memory.lookup.history(memory.trust, uuid4())).end_cursor is None
    for wrong in ({"first": 0}, {"first": 101}, {"after": "yesterday"}, {"after": ""}, {"after": "é"}):
        with pytest.raises(InvalidInput) as caught:
            await memory.lookup.history(memory.trust, id_, **wrong)
        assert caught.value.path == list(wrong)


async def test_deleting_a_record_deletes_its_history_and_keeps_its_audit_log(memory: Memory) -> None:
    """docs/specification.md, History: a deleted record has no past."""
    kept = await memory.turn("hello")
    at = memory.clock.now()
    async with memory.database.engine.begin() as connection:
        await connection.exec_driver_sql("DELETE FROM record WHERE id = %s", (kept.primary.id,))
        entries = await connection.exec_driver_sql("SELECT count(*) FROM audit WHERE id = %s", (kept.primary.id,))
        assert entries.scalar_one() == 1
    assert await memory.lookup.record(memory.trust, kept.primary.id, as_of=at) is None
    assert (await memory.lookup.history(memory.trust, kept.primary.id)).versions == ()
