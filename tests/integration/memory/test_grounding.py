"""Grounded support: facts that only support each other in a circle fall together (docs/specification.md, Revision)."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from fix_examples import examples
from fix_memory import Memory
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from stratagraph.memory.capture import facts as capture_facts
from stratagraph.memory.propagation import reevaluation as propagation
from stratagraph.memory.propagation.queue import reevaluate_due
from stratagraph.memory.revise.request import Contest, Delete, ResolveContest, Retract
from stratagraph.store.model.enums import RecordState

FACTS = 6
ACTIVE, CONTESTED, SUPERSEDED, RETRACTED = RecordState


def resting_on(*ids: UUID) -> list[dict[str, Any]]:
    return [{"source_type": "observation", "source_id": str(id_)} for id_ in ids]


async def states(memory: Memory, ids: list[UUID]) -> list[RecordState | None]:
    """The states of records, after all queued re-evaluations; None for a deleted one."""
    while (await reevaluate_due(memory.database, memory.directory, now=memory.clock.now(), batch=100)).due:
        memory.clock.forward(timedelta(seconds=1))
    async with memory.database.engine.begin() as connection:
        rows = await connection.execute(text("SELECT id, state FROM record WHERE id = ANY(:ids)"), {"ids": ids})
        found = {row.id: RecordState(row.state) for row in rows}
    return [found.get(id_) for id_ in ids]


async def circle_of(memory: Memory, size: int, mark: str = "") -> tuple[UUID, list[UUID]]:
    """A fact, and facts each of which rests on the one before it; the first rests on the fact and on the last one."""
    ground = (await memory.observe(f"ground {mark}", "is", 0)).primary.id
    ids = [ground]
    for number in range(size):
        fact = await memory.observe(f"c{number} {mark}", "is", number, evidence=resting_on(ids[-1]))
        ids.append(fact.primary.id)
    await memory.observe(f"c0 {mark}", "is", 0, evidence=resting_on(ids[-1]))
    return ground, ids[1:]


@pytest.mark.parametrize("observed", [2, 3])
async def test_a_fact_rests_on_the_sources_that_it_still_names_and_those_that_relations_keep(
    memory: Memory, observed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a caller stated is kept by no relation: once the fact does not name it, its other sources decide."""
    monkeypatch.setattr(capture_facts, "MAX_SOURCES", observed)
    fact = (await memory.observe("door", "is", "open")).primary.id
    sources = [(await memory.observe(f"witness {number}", "is", number)).primary.id for number in range(3)]
    for source in sources[:-1]:
        await memory.observe("door", "is", "open", evidence=resting_on(source))
    for source in sources[:-1]:
        await memory.revise(Retract(record_id=source, rationale="wrong"))
    held = await states(memory, [fact])
    await memory.observe("door", "is", "open", evidence=resting_on(sources[-1]))
    assert (held, await states(memory, [fact])) == ([ACTIVE if observed > 2 else CONTESTED], [ACTIVE])
    await memory.revise(Retract(record_id=sources[-1], rationale="wrong"))
    assert await states(memory, [fact]) == [CONTESTED]


@pytest.mark.parametrize("budget", [propagation.BUDGET, 1], ids=["at once", "queued"])
async def test_a_circle_falls_with_its_common_source_and_returns_with_it(
    memory: Memory, budget: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(propagation, "BUDGET", budget)
    ground, circle = await circle_of(memory, 3)
    assert await states(memory, circle) == [ACTIVE] * 3
    rival = (await memory.observe("rival", "is", 1)).primary.id
    await memory.revise(Contest(record_id=ground, contesting_id=rival, rationale="both claimed"))
    assert await states(memory, circle) == [CONTESTED] * 3
    await memory.revise(ResolveContest(record_id=ground, winner_id=ground, rationale="confirmed"))
    assert await states(memory, circle) == [ACTIVE] * 3
    await memory.revise(Retract(record_id=ground, rationale="wrong"))
    assert await states(memory, circle) == [CONTESTED] * 3


async def test_a_circle_with_a_second_source_stands(memory: Memory) -> None:
    ground, circle = await circle_of(memory, 3)
    await memory.observe("c1 ", "is", 1, evidence=[{"kind": "human", "ref": "ticket-7"}])
    await memory.revise(Retract(record_id=ground, rationale="wrong"))
    assert await states(memory, circle) == [ACTIVE] * 3


async def test_the_preview_shows_the_fall_of_a_circle(memory: Memory) -> None:
    ground, circle = await circle_of(memory, 3)
    impacts, _ = await memory.revision.impact(memory.trust, ground)
    assert {one.record.id: (one.becomes, one.sources_left) for one in impacts} == dict.fromkeys(circle, (CONTESTED, 0))
    assert await states(memory, circle) == [ACTIVE] * 3


async def test_a_circle_too_large_for_one_transaction_falls_from_the_queue(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(propagation, "SOURCES", 3)
    ground, circle = await circle_of(memory, 8)
    memory.clock.forward(timedelta(seconds=1))
    done = await memory.revision.revise(memory.trust, Retract(record_id=ground, rationale="wrong"))
    assert done.queued == 1
    assert [entry.record for entry in await memory.revision.waiting(memory.trust)] == [circle[0]]
    assert await states(memory, circle) == [CONTESTED] * 8


@dataclass
class Model:
    """The definition: a fact is active if it is current, undisputed and grounded, by the least fixpoint."""

    sources: dict[int, set[int | None]] = field(default_factory=dict)  # None for a source outside the store
    gone: dict[int, RecordState | None] = field(default_factory=dict)
    disputes: set[frozenset[int]] = field(default_factory=set)

    def active(self, without: int | None = None) -> set[int]:
        disputed = {one for pair in self.disputes for one in pair}
        able = self.sources.keys() - self.gone.keys() - disputed - {without}
        found: set[int] = set()
        while True:
            more = {one for one in able - found if None in self.sources[one] or self.sources[one] & found}
            if not more:
                return found
            found |= more

    def state(self, number: int) -> RecordState | None:
        if number in self.gone:
            return self.gone[number]
        return ACTIVE if number in self.active() else CONTESTED

    def remove(self, number: int, state: RecordState | None) -> None:
        self.gone[number] = state
        self.disputes = {pair for pair in self.disputes if number not in pair}

    def dispute_of(self, number: int) -> frozenset[int] | None:
        return next((pair for pair in self.disputes if number in pair), None)


numbers = st.integers(0, FACTS - 1)
steps = st.lists(
    st.tuples(st.sampled_from(["link", "link", "link", "retract", "delete", "contest", "resolve"]), numbers, numbers),
    min_size=4,
    max_size=16,
)


@pytest.mark.parametrize("budget", [propagation.BUDGET, 1], ids=["at once", "queued"])
@examples(12)
@given(derived=st.lists(st.booleans(), min_size=FACTS, max_size=FACTS), steps=steps)
async def test_states_are_the_least_fixpoint_of_support(
    memory: Memory, budget: int, derived: list[bool], steps: list[tuple[str, int, int]]
) -> None:
    """Random derivations with circles, retracted, deleted, contested and resolved in random order."""
    propagation_budget, propagation.BUDGET = propagation.BUDGET, budget
    try:
        await compare(memory, derived, steps)
    finally:
        propagation.BUDGET = propagation_budget


async def compare(memory: Memory, derived: list[bool], steps: list[tuple[str, int, int]]) -> None:
    mark = str(memory.clock.now())
    model = Model()
    ids: list[UUID] = []
    for number in range(FACTS):
        rests = derived[number] and number > 0
        evidence = resting_on(ids[number - 1]) if rests else [{"kind": "human", "ref": f"call {number}"}]
        ids.append((await memory.observe(f"s{number} {mark}", "is", number, evidence=evidence)).primary.id)
        model.sources[number] = {number - 1 if rests else None}
    for what, one, other in steps:
        if not await apply(memory, model, ids, mark, what, one, other):
            continue
        assert await states(memory, ids) == [model.state(number) for number in range(FACTS)], what
        await compare_preview(memory, model, ids, other)


async def apply(memory: Memory, model: Model, ids: list[UUID], mark: str, what: str, one: int, other: int) -> bool:
    """Do a step in the store and in the model; return whether it applies."""
    if one in model.gone or (what in ("link", "contest") and (one == other or other in model.gone)):
        return False
    match what:
        case "link":
            made = await memory.observe(f"s{one} {mark}", "is", one, evidence=resting_on(ids[other]))
            assert made.primary.id == ids[one]
            model.sources[one].add(other)
        case "retract":
            await memory.revise(Retract(record_id=ids[one], rationale="wrong"))
            model.remove(one, RETRACTED)
        case "delete":
            await memory.revise(Delete(record_id=ids[one], rationale="never said"))
            model.remove(one, None)
        case "contest":
            if model.dispute_of(one) or model.dispute_of(other):
                return False
            request = Contest(record_id=ids[one], contesting_id=ids[other], rationale="both claimed")
            await memory.revise(request)
            model.disputes.add(frozenset({one, other}))
        case _:
            dispute = model.dispute_of(one)
            if dispute is None:
                return False
            await memory.revise(ResolveContest(record_id=ids[one], winner_id=ids[one], rationale="confirmed"))
            active = model.active()
            for loser in dispute - {one}:
                model.remove(loser, SUPERSEDED)
            if not (None in model.sources[one] or model.sources[one] & active):
                model.sources[one].add(None)  # the decision itself
    return True


async def compare_preview(memory: Memory, model: Model, ids: list[UUID], number: int) -> None:
    """A preview of retracting an undisputed fact shows the states that the model then gives."""
    if number in model.gone or model.dispute_of(number):
        return
    impacts, _ = await memory.revision.impact(memory.trust, ids[number])
    after = model.active(without=number)
    for impact in impacts:
        assert (impact.becomes is ACTIVE) == (ids.index(impact.record.id) in after)
