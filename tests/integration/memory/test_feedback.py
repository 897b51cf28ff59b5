"""Reports on retrievals: what they change, once, and for whom."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from fix_memory import Memory, memory_of, trust_of

from stratagraph.memory.erase.request import Erase
from stratagraph.memory.feedback.request import OutcomeReport, StepOutcome
from stratagraph.memory.feedback.salience import FAILED, FLOOR, UNUSED
from stratagraph.memory.feedback.service import Credited
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.revise.request import Delete, Pin, Retract
from stratagraph.store.model.enums import Access, MemoryType, Outcome, Sensitivity, SourceKind
from stratagraph.store.model.errors import (
    Forbidden,
    IdempotencyMismatch,
    InvalidInput,
    RecordNotFound,
)
from stratagraph.store.model.ids import new_id
from stratagraph.store.model.trust import Trust
from stratagraph.store.search.outcomes import RetrievalUse, fetch_use, sum_use
from stratagraph.store.search.retrievals import RETENTION

PLAN = {
    "kind": "plan_graph",
    "plan_id": "p",
    "version": "1",
    "intent": "deploy the parrot",
    "nodes": [{"id": "a", "op": "build"}, {"id": "b", "op": "ship"}],
    "edges": [{"from": "a", "to": "b", "kind": "control"}],
}
SKILL = {
    "kind": "competence",
    "skill_name": "feed the parrot",
    "triggers": [{"signal": "hungry parrot"}],
    "recipe": [{"step": "seeds"}],
}


async def facts(memory: Memory, *objects: str) -> list[UUID]:
    return [(await memory.observe("parrot", "likes", one)).primary.id for one in objects]


async def ask(memory: Memory, trust: Trust | None = None, **more: Any) -> UUID:
    request = RetrieveRequest(task_descriptor="parrot likes", max_hops=0, **more)
    return (await memory.retrieve.retrieve(trust or memory.trust, request)).id


async def report(
    memory: Memory,
    retrieval: UUID,
    *used: UUID,
    outcome: Outcome = Outcome.SUCCESS,
    trust: Trust | None = None,
    **more: Any,
) -> Credited:
    made = OutcomeReport(retrieval=retrieval, outcome=outcome, used=used, **more)
    return await memory.feedback.report(trust or memory.trust, made)


async def salience(memory: Memory, id_: UUID) -> float:
    return (await memory.record(id_)).salience


async def audit(memory: Memory, id_: UUID) -> list[str]:
    return [entry.action for entry in (await memory.lookup.audit(memory.trust, [id_])).get(id_, [])]


async def captured(memory: Memory, payload: dict[str, Any], type_: MemoryType) -> UUID:
    return (await memory.remember(SourceKind.OBSERVATION, payload, proposed_type=type_)).primary.id


async def test_a_success_raises_what_was_used_and_lowers_the_rest(memory: Memory) -> None:
    used, other = await facts(memory, "seeds", "nuts")
    memory.clock.forward(timedelta(days=30))
    before = {id_: await salience(memory, id_) for id_ in (used, other)}
    asked = await ask(memory, memory_types=(MemoryType.SEMANTIC,))
    done = await report(memory, asked, used)
    assert (done.reinforced, done.penalized, done.skipped) == ((used,), (other,), ())
    assert await salience(memory, used) == pytest.approx(before[used] + 0.1, abs=1e-6)
    assert await salience(memory, other) == pytest.approx(before[other] - UNUSED, abs=1e-6)
    assert (await audit(memory, used))[-1] == "reinforce"
    assert (await audit(memory, other))[-1] == "decay"
    assert (await memory.record(used)).version == 1


async def test_a_failure_lowers_what_was_used_and_leaves_the_rest(memory: Memory) -> None:
    used, other = await facts(memory, "seeds", "nuts")
    asked = await ask(memory)
    done = await report(memory, asked, used, outcome=Outcome.FAILURE)
    assert (done.reinforced, done.penalized, done.skipped) == ((), (used,), ())
    assert await salience(memory, used) == pytest.approx(1 - FAILED, abs=1e-4)
    assert await salience(memory, other) == pytest.approx(1, abs=1e-4)


async def test_no_number_of_reports_lowers_a_record_below_the_floor(memory: Memory) -> None:
    used, other = await facts(memory, "seeds", "nuts")
    for _ in range(12):
        await report(memory, await ask(memory), used, outcome=Outcome.FAILURE)
    assert await salience(memory, used) == pytest.approx(FLOOR, abs=1e-3)
    assert (await report(memory, await ask(memory), used, outcome=Outcome.FAILURE)).penalized == ()
    assert await salience(memory, other) == pytest.approx(1, abs=1e-3)


async def test_a_pinned_record_is_not_penalized(memory: Memory) -> None:
    used, other = await facts(memory, "seeds", "nuts")
    await memory.revision.revise(memory.trust, Pin(record_id=other, rationale="keep", pinned=True))
    done = await report(memory, await ask(memory), used)
    assert other not in done.penalized
    assert await salience(memory, other) == pytest.approx(1, abs=1e-4)


async def test_the_same_report_again_changes_nothing_and_answers_the_same(memory: Memory) -> None:
    used, other = await facts(memory, "seeds", "nuts")
    asked = await ask(memory)
    first = await report(memory, asked, used, other)
    state = [await memory.record(id_) for id_ in (used, other)]
    again = await report(memory, asked, other, used, used)  # in another order, and one twice
    assert again.replayed
    assert (set(again.reinforced), again.penalized, again.skipped, again.sequence) == (
        set(first.reinforced),
        first.penalized,
        first.skipped,
        first.sequence,
    )
    assert [await memory.record(id_) for id_ in (used, other)] == state
    with pytest.raises(IdempotencyMismatch, match="reported once"):
        await report(memory, asked, used)
    with pytest.raises(IdempotencyMismatch):
        await report(memory, asked, used, other, outcome=Outcome.FAILURE)
    assert [await memory.record(id_) for id_ in (used, other)] == state


async def test_equal_reports_at_the_same_time_count_once(memory: Memory) -> None:
    (used,) = await facts(memory, "seeds")
    memory.clock.forward(timedelta(days=60))
    before = await salience(memory, used)
    asked = await ask(memory)
    done = await asyncio.gather(*(report(memory, asked, used) for _ in range(6)))
    assert sorted(one.replayed for one in done) == [False, *[True] * 5]
    assert {(one.reinforced, one.sequence) for one in done} == {((used,), done[0].sequence)}
    assert await salience(memory, used) == pytest.approx(before + 0.1, abs=1e-4)


async def test_reports_on_the_same_records_at_the_same_time_all_count(memory: Memory) -> None:
    used, other = await facts(memory, "seeds", "nuts")
    asked = [await ask(memory) for _ in range(8)]
    await asyncio.gather(
        *(
            report(memory, one, *((used,) if place % 2 else (other,)), outcome=Outcome.FAILURE)
            for place, one in enumerate(asked)
        )
    )
    for id_ in (used, other):
        assert await salience(memory, id_) == pytest.approx(1 - 4 * FAILED, abs=1e-3)


async def test_only_what_the_retrieval_returned_counts_and_only_for_who_asked(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stratagraph.memory.feedback.waiting.WAIT_S", 0.1)
    (used,) = await facts(memory, "seeds")
    asked = await ask(memory)
    (later,) = await facts(memory, "nuts")
    for stranger in (later, new_id()):
        with pytest.raises(InvalidInput, match="did not return") as refused:
            await report(memory, asked, used, stranger)
        assert refused.value.path == ["usedRecordIds"]
    for trust in (trust_of(actor="colleague"), trust_of(tenant="other")):
        with pytest.raises(RecordNotFound):
            await report(memory, asked, used, trust=trust)
    with pytest.raises(Forbidden):
        await report(memory, asked, used, trust=trust_of(access=Access.READ))
    assert await salience(memory, used) == pytest.approx(1, abs=1e-4)


async def test_records_that_are_gone_superseded_or_hidden_are_skipped(memory: Memory) -> None:
    kept, deleted, withdrawn = await facts(memory, "seeds", "nuts", "rain")
    hidden = [
        (await memory.observe("parrot", "likes", level.name, sensitivity=level)).primary.id
        for level in (Sensitivity.MEDIUM, Sensitivity.HIGH)
    ]
    before = [await memory.record(id_) for id_ in hidden]
    asked = await ask(memory)
    trust = trust_of(ceiling=Sensitivity.LOW)  # the same actor with another credential
    await memory.revision.revise(memory.trust, Delete(record_id=deleted, rationale="wrong"))
    await memory.revision.revise(memory.trust, Retract(record_id=withdrawn, rationale="wrong"))
    done = await report(memory, asked, kept, deleted, withdrawn, *hidden, trust=trust)
    assert (done.reinforced, set(done.skipped)) == ((kept,), {deleted, withdrawn, *hidden})
    assert await salience(memory, withdrawn) == 0
    assert [await memory.record(id_) for id_ in hidden] == before
    again = await report(memory, asked, kept, deleted, withdrawn, *hidden, trust=trust)
    assert (again.reinforced, again.skipped) == (done.reinforced, done.skipped)


async def test_a_scoped_credential_does_not_change_unscoped_records(memory: Memory) -> None:
    (shared,) = await facts(memory, "seeds")
    trust = trust_of(scopes={"project:a"})
    own = (await memory.observe("parrot", "likes", "nuts", trust=trust)).primary.id
    done = await report(memory, await ask(memory, trust), own, shared, trust=trust)
    assert (done.reinforced, done.skipped) == ((own,), (shared,))


async def test_an_outcome_can_be_reported_until_the_log_forgets_the_retrieval(memory: Memory) -> None:
    used, _ = await facts(memory, "seeds", "nuts")
    early, late = await ask(memory), await ask(memory)
    memory.clock.forward(RETENTION - timedelta(seconds=1))
    await report(memory, early, used)
    memory.clock.forward(timedelta(seconds=1))
    with pytest.raises(InvalidInput, match="7 days") as refused:
        await report(memory, late, used)
    assert refused.value.path == ["retrievalId"]
    assert (await report(memory, early, used)).replayed  # the answer to a report that was taken does not change


async def test_a_report_waits_for_a_retrieval_that_another_process_has_not_logged_yet(memory: Memory) -> None:
    (used,) = await facts(memory, "seeds")
    other = memory_of(memory.database, memory.directory)  # with a log of its own, as another process has
    other.clock.at = memory.clock.at
    asked = await ask(memory)
    assert memory.retrieve.log.waiting == 1
    waiting = asyncio.create_task(report(other, asked, used))
    done = await waiting  # the background task of the first one writes the entry
    assert done.reinforced == (used,)


async def test_a_report_on_an_unknown_retrieval_ends(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stratagraph.memory.feedback.waiting.WAIT_S", 0.3)
    with pytest.raises(RecordNotFound, match="try again shortly") as young:
        await report(memory, new_id())
    assert young.value.retryable
    with pytest.raises(RecordNotFound, match="Check the id") as unknown:
        await report(memory, UUID(int=1))
    assert not unknown.value.retryable
    assert "again" not in unknown.value.message
    old = UUID("01890000-0000-7000-8000-000000000000")  # made in 2023
    with pytest.raises(InvalidInput, match="was answered at 2023"):
        await report(memory, old)


async def test_a_procedure_and_a_plan_count_their_executions(memory: Memory) -> None:
    skill = await captured(memory, SKILL, MemoryType.COMPETENCE)
    plan = await captured(memory, PLAN, MemoryType.PLAN_GRAPH)
    versions = {id_: (await memory.record(id_)).version for id_ in (skill, plan)}
    steps = [(Outcome.SUCCESS, 100.0), (Outcome.FAILURE, 300.0), (Outcome.PARTIAL, None), (Outcome.SUCCESS, 200.0)]
    for outcome, latency in steps:
        asked = await ask(memory)
        await report(
            memory,
            asked,
            skill,
            plan,
            outcome=outcome,
            latency_ms=latency,
            steps=(StepOutcome(record=plan, step="b", outcome=outcome),),
        )
    performance = ((await memory.record(skill)).payload or {})["performance"]
    assert performance["success_count"] == 2
    assert performance["failure_count"] == 1
    assert performance["success_rate"] == pytest.approx(2 / 3)
    assert performance["avg_latency_ms"] == pytest.approx(200)
    stored = (await memory.record(plan)).payload or {}
    metrics = stored["metrics"]
    assert metrics["execution_count"] == 4
    assert metrics["failure_rate"] == pytest.approx(1 / 4)
    assert metrics["avg_latency_ms"] == pytest.approx(200)
    assert stored["nodes"][1]["metrics"] == {"execution_count": 4, "failure_count": 1}
    assert "metrics" not in stored["nodes"][0]
    assert {id_: (await memory.record(id_)).version for id_ in (skill, plan)} == versions


async def test_a_lesson_counts_its_retrievals_and_those_that_helped(memory: Memory) -> None:
    lesson = await captured(memory, {**SKILL, "lesson": {"trigger": "hungry", "retrievals": 3}}, MemoryType.COMPETENCE)
    (fact,) = await facts(memory, "seeds")
    await report(memory, await ask(memory), lesson)
    await report(memory, await ask(memory), fact)
    stored = ((await memory.record(lesson)).payload or {})["lesson"]
    assert (stored["retrievals"], stored["helpful_retrievals"]) == (5, 1)


async def test_steps_must_be_those_of_a_used_plan(memory: Memory) -> None:
    plan = await captured(memory, PLAN, MemoryType.PLAN_GRAPH)
    (fact,) = await facts(memory, "seeds")
    asked = await ask(memory)
    for used, step, path in (
        ((plan,), StepOutcome(record=plan, step="nope", outcome=Outcome.SUCCESS), ["steps", "0", "stepId"]),
        ((plan, fact), StepOutcome(record=fact, step="a", outcome=Outcome.SUCCESS), ["steps", "0", "recordId"]),
        ((fact,), StepOutcome(record=plan, step="a", outcome=Outcome.SUCCESS), ["steps", "0", "recordId"]),
    ):
        with pytest.raises(InvalidInput) as refused:
            await report(memory, asked, *used, steps=(step,))
        assert refused.value.path == path
    with pytest.raises(InvalidInput, match="latencyMs"):
        await report(memory, asked, plan, latency_ms=-1.0)
    assert "metrics" not in ((await memory.record(plan)).payload or {})


async def test_the_use_of_returned_records_is_counted(memory: Memory) -> None:
    used, *_ = await facts(memory, "seeds", "nuts", "rain")
    async with memory.database.reading((await memory.directory.resolve(memory.trust)).bounds) as connection:
        tenant = (await memory.directory.resolve(memory.trust)).tenant.id
        assert (await fetch_use(connection, tenant)).usefulness is None
    asked = [await ask(memory, memory_types=(MemoryType.SEMANTIC,)) for _ in range(2)]
    await report(memory, asked[0], used)
    await report(memory, asked[0], used)
    await report(memory, asked[1], outcome=Outcome.FAILURE)
    expected = RetrievalUse(successes=1, failures=1, partials=0, returned=6, used=1)
    async with memory.database.reading((await memory.directory.resolve(memory.trust)).bounds) as connection:
        assert await fetch_use(connection, tenant) == expected
    assert await sum_use(memory.database) == expected
    assert expected.usefulness == pytest.approx(1 / 6)


async def test_an_erased_record_leaves_the_reports(memory: Memory) -> None:
    used, other = await facts(memory, "seeds", "nuts")
    asked = await ask(memory)
    await report(memory, asked, used)
    for id_ in (used, other):
        await memory.erasure.erase(memory.trust, Erase(record_id=id_, rationale="asked to"))
    async with memory.database.engine.connect() as connection:
        rows = await connection.exec_driver_sql("SELECT nodes, credited, penalized FROM retrieval")
        (row,) = rows.all()
    assert {used, other}.isdisjoint({*row.nodes, *row.credited, *row.penalized})
    assert (await report(memory, asked, used)).skipped == (used,)


async def test_the_number_of_statements_does_not_depend_on_the_records(memory: Memory) -> None:
    counts = []
    for number in (2, 4, 12):  # the first one reads what a process reads once
        ids = await facts(memory, *(f"seed {number} {place}" for place in range(number)))
        asked = await ask(memory, memory_types=(MemoryType.SEMANTIC,), root_limit=50, node_limit=50)
        await memory.retrieve.log.flush()
        before = memory.database.statements
        await report(memory, asked, *ids[: number // 2])
        counts.append(memory.database.statements - before)
    assert counts[2] <= counts[1] <= 12
