"""A question that names a time is answered by the facts that held then, also by those that hold no longer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from fix_memory import EVIDENCE, Memory, trust_of

from stratagraph.memory.records.listing import RecordFilter
from stratagraph.memory.retrieve.answer import Retrieved
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.retrieve.weights import Signal
from stratagraph.memory.revise.request import Amend, Retract
from stratagraph.store.model.enums import MemoryType, RecordState, Sensitivity
from stratagraph.store.model.trust import Trust

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
JOBS = {2021: "Norwick", 2023: "Penhale", 2025: "Quarr"}  # since February of the year


@pytest.fixture
def memory(memory: Memory) -> Memory:
    memory.clock.at = NOW
    return memory


async def facts(memory: Memory, task: str, **more: Any) -> list[str]:
    """Return the objects of the facts among the roots of an answer, in its order."""
    return [(node.record.payload or {})["object"] for node in (await ask(memory, task, **more)).nodes if is_fact(node)]


async def ask(memory: Memory, task: str, **more: Any) -> Retrieved:
    trust = more.pop("trust", memory.trust)
    return await memory.retrieve.retrieve(trust, RetrieveRequest(task_descriptor=task, max_hops=0, **more))


async def ranks(memory: Memory, task: str, trust: Trust) -> list[tuple[UUID, float]]:
    return [(node.record.id, node.score) for node in (await ask(memory, task, trust=trust)).nodes]


def is_fact(node: Any) -> bool:
    return node.root and node.record.type is MemoryType.SEMANTIC


async def jobs(memory: Memory, name: str = "Tor Holt", *, stated: bool = True, **more: Any) -> list[UUID]:
    """Capture where somebody worked, with the validity stated, or only by the dates of the captures."""
    found = []
    for year, place in JOBS.items():
        at = datetime(year, 2, 1, tzinfo=UTC)
        if stated:
            more["validity"] = {"mode": "timeboxed", "start": at.isoformat()}
        kept = await memory.observe(name, "works_at", place, revision_policy="replace", timestamp=at, **more)
        found.append(kept.primary.id)
    return found


@pytest.mark.parametrize("stated", [True, False], ids=["validity", "dates of captures"])
@pytest.mark.parametrize(
    ("task", "place"),
    [
        ("Where did Tor Holt work in 2022?", "Norwick"),
        ("Where did Tor Holt work in March 2023?", "Penhale"),
        ("where did Tor Holt work on 24.01.2024?", "Penhale"),
        ("Wo arbeitete Tor Holt am 24. Januar 2024?", "Penhale"),
        ("¿Dónde trabajaba Tor Holt en 2022?", "Norwick"),
        ("Where did Tor Holt work two years ago?", "Penhale"),
        ("Where did Tor Holt work last week?", "Quarr"),
        ("Where did Tor Holt work before 2022?", "Norwick"),
        ("Where does Tor Holt work?", "Quarr"),
    ],
)
async def test_the_fact_that_held_then_comes_first(memory: Memory, stated: bool, task: str, place: str) -> None:
    await jobs(memory, "Mia Lund", stated=stated)
    await jobs(memory, stated=stated)
    first = (await ask(memory, task)).nodes[0].record
    assert (first.payload or {}).get("subject") == "Tor Holt"
    assert (first.payload or {}).get("object") == place


async def test_facts_that_are_told_in_any_order_held_as_they_say(memory: Memory) -> None:
    for year in (2025, 2021, 2023):
        at = datetime(year, 2, 1, tzinfo=UTC)
        await memory.observe("Tor Holt", "works_at", JOBS[year], revision_policy="replace", timestamp=at)
    for year, place in ((2022, "Norwick"), (2024, "Penhale"), (2026, "Quarr")):
        assert (await facts(memory, f"Where did Tor Holt work in {year}?"))[0] == place


async def test_a_past_fact_says_why_it_came_and_that_it_is_past(memory: Memory) -> None:
    norwick, *_ = await jobs(memory, stated=False)
    found = await ask(memory, "Where did Tor Holt work in 2022?", token_budget=300)
    first = found.nodes[0]
    assert (first.record.id, first.record.state) == (norwick, RecordState.SUPERSEDED)
    assert first.why is not None
    assert first.why.signals[Signal.TIME] > 0
    assert found.rendering is not None
    assert "superseded" in found.rendering


async def test_a_question_in_the_past_tense_finds_what_has_ended(memory: Memory) -> None:
    await jobs(memory)
    for task in ("Who has worked at Penhale?", "Who worked at Penhale?", "Did Tor Holt ever work at Penhale?"):
        assert "Penhale" in await facts(memory, task)
    assert "Penhale" not in await facts(memory, "Who works at Penhale?")


async def test_what_was_replaced_does_not_come_back_without_a_time(memory: Memory) -> None:
    await jobs(memory, stated=False)
    assert await facts(memory, "Where did Tor Holt work?") == ["Quarr"]


async def test_a_withdrawn_fact_never_held(memory: Memory) -> None:
    norwick, *_ = await jobs(memory)
    await memory.revise(Retract(record_id=norwick, rationale="it was his brother"))
    for task in ("Where did Tor Holt work in 2022?", "Who has worked at Norwick?"):
        assert "Norwick" not in await facts(memory, task)


@pytest.mark.parametrize("policy", ["replace", "fork"])
async def test_a_corrected_fact_never_held(memory: Memory, policy: str) -> None:
    begin = {"mode": "timeboxed", "start": "2026-02-01T00:00:00Z"}
    wrong = await memory.observe("Rosa", "rides_at", "Velodrome", revision_policy=policy, validity=begin)
    right = wrong.primary
    for place in ("Velodrom", "Velodromo"):
        changed = Amend(record_id=right.id, changes={"object": place}, evidence=EVIDENCE, rationale="misspelt")
        right = (await memory.revise(changed)).record
    for at in (datetime(2026, 2, 1, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC), memory.clock.now()):
        held = await memory.lookup.records(memory.trust, RecordFilter(types=[MemoryType.SEMANTIC], valid_at=at))
        assert [record.id for record in held.records] == [right.id]


async def test_hidden_facts_neither_come_nor_move_others(memory: Memory) -> None:
    low = trust_of(actor="low", ceiling=Sensitivity.LOW, scopes={"project:a"})
    await jobs(memory, trust=low, scope="project:a", stated=False)
    asked = [f"Where did Tor Holt work in {year}?" for year in range(2020, 2027)]
    now, before = memory.clock.now(), [await ranks(memory, task, low) for task in asked]
    hidden: dict[str, Any] = {"scope": "project:a", "sensitivity": Sensitivity.HIGH}
    for year in (2020, 2022, 2024):
        at = datetime(year, 8, 1, tzinfo=UTC)
        for text in ("Oxted", "Purley"):
            await memory.observe("Tor Holt", "works_at", text, revision_policy="replace", timestamp=at, **hidden)
            at += timedelta(days=90)
    memory.clock.at = now
    assert [await ranks(memory, task, low) for task in asked] == before


@pytest.mark.parametrize("stated", [True, False], ids=["validity", "dates of captures"])
async def test_valid_at_asks_for_what_held_then(memory: Memory, stated: bool) -> None:
    ids = await jobs(memory, stated=stated)
    for year, place, id_ in zip((2022, 2024, 2026), JOBS.values(), ids, strict=True):
        at = datetime(year, 1, 1, tzinfo=UTC)
        assert await facts(memory, "Where does Tor Holt work?", valid_at=at) == [place]
        for one in ids:
            shown = await memory.lookup.record(memory.trust, one, valid_at=at)
            assert (shown is not None) is (one == id_)
        listed = await memory.lookup.records(memory.trust, RecordFilter(types=[MemoryType.SEMANTIC], valid_at=at))
        assert [record.id for record in listed.records] == [id_]


async def test_valid_at_leaves_what_is_no_fact_alone(memory: Memory) -> None:
    turn = (await memory.turn("Tor Holt likes his work")).primary.id
    at = datetime(2020, 1, 1, tzinfo=UTC)
    assert turn in (await ask(memory, "Where does Tor Holt work?", valid_at=at)).roots
    assert await memory.lookup.record(memory.trust, turn, valid_at=at) is not None
    assert turn in {
        record.id for record in (await memory.lookup.records(memory.trust, RecordFilter(valid_at=at))).records
    }


async def test_neighbours_hold_at_the_instant_too(memory: Memory) -> None:
    await jobs(memory)
    request = RetrieveRequest(task_descriptor="Tor Holt", valid_at=datetime(2022, 1, 1, tzinfo=UTC), max_hops=2)
    found = await memory.retrieve.retrieve(memory.trust, request)
    held = [node.record.payload for node in found.nodes if node.record.type is MemoryType.SEMANTIC]
    assert [(payload or {})["object"] for payload in held] == ["Norwick"]


async def test_both_clocks_may_be_set(memory: Memory) -> None:
    """What was known in May about who worked where in 2022, before a correction in June."""
    await jobs(memory)
    known = memory.clock.now()
    memory.clock.forward(timedelta(days=1))
    bounds = {"start": "2022-01-01T00:00:00Z", "end": "2022-12-01T00:00:00Z"}
    await memory.observe(
        "Tor Holt", "works_at", "Oxted", revision_policy="replace", validity={"mode": "timeboxed", **bounds}
    )
    at = datetime(2022, 6, 1, tzinfo=UTC)
    task = "Where does Tor Holt work?"
    assert await facts(memory, task, valid_at=at) == ["Oxted"]
    assert await facts(memory, task, valid_at=at, as_of=known) == ["Norwick"]
    assert await facts(memory, task, as_of=known) == ["Quarr"]


@pytest.mark.parametrize("at", [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)])
async def test_valid_at_may_be_any_instant(memory: Memory, at: datetime) -> None:
    await jobs(memory)
    assert await facts(memory, "Where does Tor Holt work?", valid_at=at) == (["Quarr"] if at.year > 1 else [])
    assert (
        len((await memory.lookup.records(memory.trust, RecordFilter(types=[MemoryType.SEMANTIC], valid_at=at))).records)
        < 2
    )


async def test_the_validity_of_a_redacted_fact_cannot_be_asked_for(memory: Memory) -> None:
    low = trust_of(actor="low", ceiling=Sensitivity.LOW, scopes={"project:a"})
    depot = await memory.entity("the north depot", scope="project:a", sensitivity=Sensitivity.LOW)
    validity = {"mode": "timeboxed", "start": "2024-01-01T00:00:00Z"}
    hidden = await memory.observe(
        "the north depot",
        "opened_by",
        "Ann",
        scope="project:a",
        sensitivity=Sensitivity.MEDIUM,
        validity=validity,
        context={"references": [{"predicate": "about", "ref": str(depot)}]},
    )
    seen = set()
    for year in (2020, 2026, 2030):
        at = datetime(year, 1, 1, tzinfo=UTC)
        request = RetrieveRequest(task_descriptor="the north depot", valid_at=at, max_hops=2)
        found = await memory.retrieve.retrieve(low, request)
        shown = await memory.lookup.record(low, hidden.primary.id, valid_at=at)
        listed = await memory.lookup.records(low, RecordFilter(valid_at=at))
        seen.add(
            (
                tuple(sorted(node.record.id for node in found.nodes)),
                shown is not None and shown.redacted,
                tuple(record.id for record in listed.records),
            )
        )
    assert len(seen) == 1
    ((nodes, is_shown, _),) = seen
    assert is_shown
    assert hidden.primary.id in nodes
