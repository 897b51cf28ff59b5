"""Lookups of a record, pages of records, entities and plans."""

from __future__ import annotations

from uuid import uuid4

import pytest
from fix_memory import Memory, trust_of

from stratagraph.memory.records.listing import RecordFilter
from stratagraph.store.model.enums import MemoryType, Sensitivity, SourceKind
from stratagraph.store.model.errors import InvalidInput

PLAN = {
    "plan_id": "deploy",
    "version": "1",
    "intent": "ship it",
    "nodes": [{"id": id_, "op": f"op-{id_}"} for id_ in ("a", "b", "c", "d")],
    "edges": [
        {"from": "a", "to": "b", "kind": "control"},
        {"from": "b", "to": "d", "kind": "data"},
        {"from": "a", "to": "c", "kind": "control"},
    ],
}


async def plan(memory: Memory, **changes: object) -> str:
    kept = await memory.remember(SourceKind.OBSERVATION, PLAN | changes, proposed_type=MemoryType.PLAN_GRAPH)
    return str(kept.primary.id)


async def test_a_plan_is_returned_with_ranks_and_its_critical_path(memory: Memory) -> None:
    await plan(memory)
    found = await memory.lookup.plan(memory.trust, "deploy", None)
    assert found is not None
    assert [(step.id, step.rank) for step in found.steps] == [("a", 0), ("b", 1), ("c", 1), ("d", 2)]
    assert found.critical_path == ("a", "b", "d")


async def test_a_plan_is_found_by_record_id_by_name_and_by_version(memory: Memory) -> None:
    first = await plan(memory)
    await plan(memory, version="2")
    by_id = await memory.lookup.plan(memory.trust, first, None)
    newest = await memory.lookup.plan(memory.trust, "deploy", None)
    older = await memory.lookup.plan(memory.trust, "deploy", "1")
    assert by_id is not None
    assert newest is not None
    assert older is not None
    assert (by_id.payload["version"], newest.payload["version"], older.payload["version"]) == ("1", "2", "1")
    assert await memory.lookup.plan(memory.trust, "deploy", "3") is None
    assert await memory.lookup.plan(memory.trust, str(uuid4()), None) is None


async def test_pages_list_every_record_once_newest_first(memory: Memory) -> None:
    kept = [(await memory.turn(f"message {number}")).primary.id for number in range(7)]
    seen, after = [], None
    while True:
        page = await memory.lookup.records(memory.trust, first=3, after=after)
        seen += [record.id for record in page.records]
        if not page.has_next:
            break
        after = page.end_cursor
    assert seen == kept[::-1]


async def test_pages_are_filtered_by_type_scope_and_tag(memory: Memory) -> None:
    await memory.observe("Alice", "is", "tall", tags=("x",))
    await memory.turn("hello", scope="project:a", tags=("x", "y"))
    only_facts = await memory.lookup.records(memory.trust, RecordFilter(types=[MemoryType.SEMANTIC]))
    assert [record.type for record in only_facts.records] == [MemoryType.SEMANTIC]
    assert [
        r.scope for r in (await memory.lookup.records(memory.trust, RecordFilter(scopes=["project:a"]))).records
    ] == ["project:a"]
    assert len((await memory.lookup.records(memory.trust, RecordFilter(all_tags=["x"]))).records) == 2
    assert len((await memory.lookup.records(memory.trust, RecordFilter(all_tags=["y"]))).records) == 1


async def test_a_page_contains_only_records_visible_to_the_caller(memory: Memory) -> None:
    for level in (Sensitivity.LOW, Sensitivity.MEDIUM, Sensitivity.HIGH, Sensitivity.HYPER):
        await memory.turn(f"a {level.label} message", sensitivity=level)
    page = await memory.lookup.records(trust_of(ceiling=Sensitivity.LOW), first=10)
    assert [(record.sensitivity, record.redacted) for record in page.records] == [
        (Sensitivity.MEDIUM, True),
        (Sensitivity.LOW, False),
    ]


async def test_a_hidden_record_is_answered_like_an_unknown_one(memory: Memory) -> None:
    secret = await memory.turn("secret", sensitivity=Sensitivity.HYPER)
    low = trust_of(ceiling=Sensitivity.LOW)
    assert await memory.lookup.record(low, secret.primary.id) is None
    assert await memory.lookup.record(low, uuid4()) is None
    assert await memory.lookup.audit(low, [secret.primary.id]) == {}
    assert await memory.lookup.relations(low, [secret.primary.id]) == {secret.primary.id: []}


async def test_an_episode_contains_only_events_visible_to_the_caller(memory: Memory) -> None:
    await memory.turn("open words", thread="t")
    episode = (await memory.turn("more open words", thread="t")).edges
    id_ = next(edge.target for edge in episode if edge.predicate == "part_of")
    async with memory.database.engine.begin() as connection:
        await connection.exec_driver_sql("UPDATE record SET sensitivity = 3 WHERE text LIKE 'user: more%%'")
    whole = await memory.lookup.record(memory.trust, id_)
    low = await memory.lookup.record(trust_of(ceiling=Sensitivity.LOW), id_)
    assert whole is not None
    assert low is not None
    assert whole.payload is not None
    assert low.payload is not None
    assert [event["summary"] for event in whole.payload["timeline"]] == ["open words", "more open words"]
    assert [event["summary"] for event in low.payload["timeline"]] == ["open words"]


@pytest.mark.parametrize(("first", "after"), [(0, None), (101, None), (10, "nonsense!")])
async def test_an_invalid_page_size_or_cursor_is_refused(memory: Memory, first: int, after: str | None) -> None:
    with pytest.raises(InvalidInput):
        await memory.lookup.records(memory.trust, first=first, after=after)
