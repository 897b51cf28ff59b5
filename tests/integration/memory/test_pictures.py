"""What a front end shows: slots, threads, disputes, versions, handles, entities of a name, and pages of relations."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from fix_graphs import create_tenant, random_record, readable_by_all, write_graph
from fix_memory import EVIDENCE, Memory, trust_of

from stratagraph.memory.records.pictures import DisputePage, Handle, ShownPage
from stratagraph.memory.revise.request import Contest, Retract
from stratagraph.store.model.enums import MemoryType, RecordState, Sensitivity, SourceKind
from stratagraph.store.model.errors import InvalidInput, RecordNotFound
from stratagraph.store.model.ids import new_id
from stratagraph.store.model.records import MemoryRecord, Relation
from stratagraph.store.model.trust import Trust
from stratagraph.store.records.inserting import NewRelation

LOW = trust_of(actor="low", ceiling=Sensitivity.LOW, scopes={"project:a"})
Page = Callable[[str | None], Awaitable[ShownPage]]


def begin_now(memory: Memory) -> None:
    """Begin at the time of the machine, as in a service: the ids of records are of its clock."""
    memory.clock.at = datetime.now(UTC).replace(microsecond=0)


async def all_of(page: Page) -> list[MemoryRecord]:
    """Return the records of all pages."""
    found: list[MemoryRecord] = []
    after = None
    while True:
        one = await page(after)
        found += one.records
        after = one.end_cursor
        if not one.has_next:
            return found
        assert after is not None


async def test_a_slot_shows_all_that_it_held_in_the_order_of_validity(memory: Memory) -> None:
    begin_now(memory)
    pictures, ids = memory.lookup.pictures, []
    for year in (2023, 2021, 2025, 2022):
        at = datetime(year, 1, 1, tzinfo=UTC)
        kept = await memory.observe(
            "Tor Holt", "works_at", f"Place {year}", revision_policy="replace", timestamp=at, scope="project:a"
        )
        ids.append((year, kept.primary.id))
    known = memory.clock.now()
    await memory.observe("Tor Holt", "lives_in", "Norwick", scope="project:a")
    wrong = (
        await memory.observe("Tor Holt", "works_at", "Nowhere", revision_policy="replace", scope="project:a")
    ).primary
    await memory.revise(Retract(record_id=wrong.id, rationale="wrong"))
    for where in ({"scope": "project:a", "sensitivity": Sensitivity.HIGH}, {"scope": "project:b"}):
        await memory.observe("Tor Holt", "works_at", "Hidden", **where)
    in_order = [id_ for _, id_ in sorted(ids)]
    for trust in (memory.trust, LOW):
        shown = await pictures.slot_history(trust, in_order[0])
        assert [record.id for record in shown.records] == [*in_order, wrong.id]
        assert shown.records[-1].state is RecordState.RETRACTED
        for id_ in (*in_order, wrong.id):
            assert (await pictures.slot_history(trust, id_)).records == shown.records
        then = await pictures.slot_history(trust, in_order[0], as_of=known)
        assert [record.id for record in then.records] == in_order
        last = await pictures.slot_history(trust, in_order[0], first=2)
        assert {record.id for record in last.records} == {wrong.id, ids[-1][1]}
    turn = (await memory.turn("no fact")).primary.id
    with pytest.raises(InvalidInput, match="is a record of type episodic, not a fact") as refused:
        await pictures.slot_history(memory.trust, turn)
    assert refused.value.path == ["id"]
    nobody = trust_of(actor="nobody", ceiling=Sensitivity.PUBLIC, scopes=set())
    assert (await pictures.slot_history(nobody, turn)).records == ()
    assert (await pictures.slot_history(nobody, in_order[0])).records == ()


async def talk(memory: Memory, rng: random.Random, number: int) -> None:
    """Add events to two threads, in several scopes and sensitivities, and close some episodes."""
    for _ in range(number):
        thread = rng.choice(["standup", "review"])
        where: dict[str, Any] = {
            "scope": rng.choice(["project:a", "project:b"]),
            "sensitivity": rng.choice([Sensitivity.LOW, Sensitivity.HIGH]),
        }
        memory.clock.forward(timedelta(minutes=rng.randrange(4)))
        if rng.random() < 0.15:
            content = {"thread_id": thread, "outcome_status": "success"}
            with suppress(RecordNotFound):  # no episode of this thread is open
                await memory.remember(SourceKind.OUTCOME, content, **where)
        else:
            await memory.turn(f"turn {rng.random()}", thread=thread, **where)
    goal = {"thread_id": "standup", "state": "executing"}
    await memory.remember(SourceKind.WORKING_STATE, goal, scope="project:a", sensitivity=Sensitivity.LOW)


async def model_of_thread(memory: Memory, thread: str, trust: Trust, before: datetime) -> tuple[list[UUID], list[UUID]]:
    """Return the episodes and the events of a thread that the caller may read in full, in the order of pages."""
    rows = await memory.rows("SELECT id, opened_at FROM episode WHERE opened_at <= :before", before=before)
    episodes = []
    for row in rows:
        record = await memory.lookup.record(trust, row["id"])
        whole = await memory.record(row["id"])
        named = {source["ref"] for source in (whole.provenance or {})["sources"]}
        if record is not None and not record.redacted and f"thread:{thread}" in named:
            episodes.append(row)
    episodes.sort(key=lambda row: (row["opened_at"], row["id"].int), reverse=True)
    events = []
    for row in episodes:
        of_one = await memory.rows(
            "SELECT record FROM episode_event WHERE episode = :id ORDER BY position DESC", id=row["id"]
        )
        for one in of_one:
            record = await memory.lookup.record(trust, one["record"])
            if record is not None and not record.redacted and record.created_at <= before:
                events.append(record.id)
    return [row["id"] for row in episodes], events


async def test_a_thread_shows_its_events_episodes_and_working_state_page_by_page(memory: Memory) -> None:
    begin_now(memory)
    rng, pictures = random.Random("thread"), memory.lookup.pictures
    await talk(memory, rng, 25)
    then = memory.clock.now()
    memory.clock.forward(timedelta(hours=1))
    await talk(memory, rng, 25)
    for trust, as_of in ((memory.trust, None), (LOW, None), (LOW, then), (memory.trust, then)):
        for thread in ("standup", "review"):
            episodes, events = await model_of_thread(memory, thread, trust, as_of or memory.clock.now())
            assert len(events) > 1
            for first in (1, 4, 100):

                async def turns(after: str | None, thread: str = thread, first: int = first) -> ShownPage:
                    return await pictures.turns(trust, thread, first=first, after=after, as_of=as_of)  # noqa: B023

                async def listed(after: str | None, thread: str = thread, first: int = first) -> ShownPage:
                    return await pictures.episodes(trust, thread, first=first, after=after, as_of=as_of)  # noqa: B023

                assert [record.id for record in await all_of(turns)] == events
                assert [record.id for record in await all_of(listed)] == episodes
            found = await pictures.thread(trust, thread, as_of=as_of)
            assert found is not None
            assert (found.working is not None) is (thread == "standup")
    assert await pictures.thread(memory.trust, "unknown") is None
    assert await pictures.thread(trust_of(actor="x", ceiling=Sensitivity.PUBLIC), "review") is None
    cursor = (await pictures.turns(memory.trust, "review", first=1, after=None, as_of=None)).end_cursor
    with pytest.raises(InvalidInput, match="another filter"):
        await pictures.turns(memory.trust, "standup", first=1, after=cursor, as_of=None)


async def disputed(memory: Memory, trust: Trust, first: int) -> list[frozenset[UUID]]:
    found: list[frozenset[UUID]] = []
    after = None
    while True:
        page: DisputePage = await memory.lookup.pictures.disputes(trust, first=first, after=after)
        assert len(page.disputes) <= first
        found += [frozenset(record.id for record in one.parties) for one in page.disputes]
        after = page.end_cursor
        if not page.has_next:
            return found


async def disputes_of_model(memory: Memory, trust: Trust) -> set[frozenset[UUID]]:
    """Join contested records over the relations between records of which the caller may read one in full."""
    rows = await memory.rows(
        "SELECT e.source, e.target FROM relation e JOIN predicate p ON p.tenant = e.tenant AND p.id = e.predicate"
        " WHERE p.name = 'contested_by' AND e.ended_at IS NULL"
    )
    seen: dict[UUID, MemoryRecord] = {}
    for row in await memory.rows("SELECT id FROM record"):
        record = await memory.lookup.record(trust, row["id"])
        if record is not None:
            seen[record.id] = record
    near: dict[UUID, set[UUID]] = defaultdict(set)
    for row in rows:
        near[row["source"]].add(row["target"])
        near[row["target"]].add(row["source"])

    def leads(id_: UUID) -> bool:
        record = seen[id_]
        return (
            not record.redacted
            and record.type is not MemoryType.EPISODIC
            and record.state
            in (
                RecordState.ACTIVE,
                RecordState.CONTESTED,
            )
        )

    found = set()
    for id_, record in seen.items():
        if record.redacted or record.state is not RecordState.CONTESTED:
            continue
        parties, waiting = {id_}, [id_]
        while waiting:
            for other in near[waiting.pop()]:
                if other in seen and other not in parties:
                    parties.add(other)
                    waiting += [other] if leads(other) else []
        found.add(frozenset(parties))
    return found


async def test_disputes_have_their_visible_parties_together_each_once(memory: Memory) -> None:
    begin_now(memory)
    rng, facts = random.Random("disputes"), []
    for number in range(24):
        sensitivity = rng.choice([Sensitivity.LOW, Sensitivity.LOW, Sensitivity.MEDIUM, Sensitivity.HIGH])
        kept = await memory.observe(f"thing {number}", "weighs", number, scope="project:a", sensitivity=sensitivity)
        facts.append(kept.primary.id)
    for _ in range(16):
        one, other = rng.sample(facts, 2)
        if rng.random() < 0.3:
            await memory.revise(Contest(record_id=one, rationale="doubtful", evidence=EVIDENCE))
        else:
            await memory.revise(Contest(record_id=one, contesting_id=other, rationale="they differ"))
    middle = trust_of(actor="middle", ceiling=Sensitivity.MEDIUM)
    for trust in (memory.trust, middle, LOW):
        expected = await disputes_of_model(memory, trust)
        assert len(expected) > 1
        for first in (1, 3, 100):
            found = await disputed(memory, trust, first)
            assert len(found) == len(set(found))
            assert set(found) == expected
    page = await memory.lookup.pictures.disputes(memory.trust, first=100, after=None)
    newest = [max(one.id for one in dispute.parties if one.state is RecordState.CONTESTED) for dispute in page.disputes]
    assert newest == sorted(newest, reverse=True)
    assert all(dispute.since is not None for dispute in page.disputes)


async def test_hidden_contests_join_no_disputes(memory: Memory) -> None:
    begin_now(memory)
    where: dict[str, Any] = {"scope": "project:a", "sensitivity": Sensitivity.LOW}
    first, second = [(await memory.observe(f"thing {number}", "weighs", 1, **where)).primary.id for number in (1, 2)]
    for id_ in (first, second):
        await memory.revise(Contest(record_id=id_, rationale="doubtful", evidence=EVIDENCE))
    before = await disputed(memory, LOW, 10)
    assert len(before) == 2
    hidden = (await memory.observe("thing 3", "weighs", 1, scope="project:a", sensitivity=Sensitivity.HYPER)).primary.id
    for id_ in (first, second):
        await memory.revise(Contest(record_id=id_, contesting_id=hidden, rationale="they differ"))
    assert await disputed(memory, LOW, 10) == before
    assert len(await disputed(memory, memory.trust, 10)) == 1


async def plan(memory: Memory, plan_id: str, version: str, **more: Any) -> UUID:
    nodes = [{"id": f"s{number}", "op": f"op {number}"} for number in range(int(version))]
    content = {"plan_id": plan_id, "version": version, "nodes": nodes, "edges": []}
    kept = await memory.remember(SourceKind.OBSERVATION, content, proposed_type=MemoryType.PLAN_GRAPH, **more)
    return kept.primary.id


async def test_plans_and_names_lead_to_their_records(memory: Memory) -> None:
    begin_now(memory)
    pictures, trust = memory.lookup.pictures, memory.trust
    versions = [await plan(memory, "release", label) for label in ("1", "2", "3")]
    known = memory.clock.now()
    hidden = await plan(memory, "release", "4", scope="project:b")
    shown = await pictures.plan_versions(trust, "release")
    assert [record.id for record in shown.records] == [hidden, *reversed(versions)]
    assert [record.id for record in (await pictures.plan_versions(LOW, "release")).records] == versions[::-1]
    assert [one.id for one in (await pictures.plan_versions(trust, "release", as_of=known)).records] == versions[::-1]
    assert (await pictures.plan_versions(trust, "unknown")).records == ()

    async def found(type_: MemoryType, name: str, version: str | None = None, who: Trust = trust) -> list[UUID]:
        handle = Handle(type=type_, name=name, version=version)
        return [record.id for record in (await pictures.by_handle(who, handle)).records]

    assert await found(MemoryType.PLAN_GRAPH, "release", "2") == [versions[1]]
    assert await found(MemoryType.PLAN_GRAPH, "release", "4", LOW) == []
    assert await found(MemoryType.PLAN_GRAPH, "release", who=LOW) == [versions[-1]]
    turn = (await memory.remember(SourceKind.EVENT, {"text": "built", "ref": "build-7"})).primary.id
    assert await found(MemoryType.EPISODIC, "build-7") == [turn]
    state = await memory.remember(SourceKind.WORKING_STATE, {"thread_id": "t", "state": "executing"})
    assert await found(MemoryType.WORKING, "t") == [state.primary.id]
    assert await found(MemoryType.WORKING, "other") == []
    assert await found(MemoryType.COMPETENCE, "release") == []


async def test_entities_of_a_name_are_paged(memory: Memory) -> None:
    begin_now(memory)
    pictures, scopes = memory.lookup.pictures, [f"project:{number}" for number in range(7)]
    made = [await memory.entity("Ann Marsh", scope=scope) for scope in scopes]
    known = memory.clock.now()
    later = await memory.entity("ann  marsh", scope="project:later")
    await memory.revise(Retract(record_id=made[2], rationale="wrong"))
    current = [id_ for id_ in made if id_ != made[2]]
    for as_of, expected in ((None, [*current, later]), (known, current)):
        for first in (1, 3, 100):
            found = await all_of(
                lambda after, first=first, as_of=as_of: pictures.entities(  # type: ignore[misc]
                    memory.trust, "ANN MARSH", scope=None, first=first, after=after, as_of=as_of
                )
            )
            assert [record.id for record in found] == expected
    one = await pictures.entities(memory.trust, "Ann Marsh", scope=scopes[3], first=1, after=None, as_of=None)
    assert ([record.id for record in one.records], one.has_next) == ([made[3]], False)
    narrow = trust_of(actor="narrow", scopes={scopes[3]})
    seen = await pictures.entities(narrow, "Ann Marsh", scope=None, first=5, after=None, as_of=None)
    assert ([record.id for record in seen.records], seen.has_next) == ([made[3]], False)


async def test_relations_beyond_a_hundred_are_paged(memory: Memory) -> None:
    tenant, rng = await create_tenant(memory, "acme"), random.Random("relations")
    hub = readable_by_all(random_record(rng, tenant, type_=MemoryType.ENTITY))
    others = [random_record(rng, tenant, type_=MemoryType.ENTITY) for _ in range(230)]
    relations = [
        NewRelation(
            source=hub.id if number % 2 else other.id,
            target=other.id if number % 2 else hub.id,
            predicate="knows",
            weight=rng.choice([0.25, 0.5, 1 / 3]),
        )
        for number, other in enumerate(others)
    ]
    await write_graph(memory, tenant, [hub, *others], relations)
    for trust in (memory.trust, trust_of(actor="middle", ceiling=Sensitivity.MEDIUM), LOW):
        seen = {other.id for other in others if await memory.lookup.record(trust, other.id) is not None}
        found: list[Relation] = []
        after = None
        while True:
            (page,) = (await memory.lookup.relation_pages(trust, [hub.id], first=17, after=after)).values()
            found += page.relations
            after = page.end_cursor
            if not page.has_next:
                break
        assert len(found) == len(seen)
        assert {one.target if one.source == hub.id else one.source for one in found} == seen
        assert [(-one.weight, one.id) for one in found] == sorted((-one.weight, one.id) for one in found)
        direct = (await memory.lookup.relations(trust, [hub.id]))[hub.id]
        assert len(direct) == min(100, len(found))
    with pytest.raises(InvalidInput):
        await memory.lookup.relation_pages(memory.trust, [new_id()], first=101, after=None)


async def test_fading_counts_only_when_asked(memory: Memory) -> None:
    for number in range(5):
        await memory.turn(f"turn {number}")
    until = memory.clock.now() + timedelta(days=300)
    first = await memory.forgetting.preview(memory.trust, until, first=2, counts=False)
    assert (len(first.items), first.total, first.has_next) == (2, None, True)
    assert await memory.forgetting.count(memory.trust, until) == 5
    assert (await memory.forgetting.preview(memory.trust, until, first=2)).total == 5
