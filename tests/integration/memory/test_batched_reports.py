"""Several reports in one transaction credit what they credit one by one, in their order; or nothing at all."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from fix_memory import Memory, memory_of, trust_of
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.feedback.request import MAX_REPORTS, OutcomeReport, StepOutcome
from stratagraph.memory.lessons.request import LearnLesson
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.master import LocalMasterKey
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.model.enums import MemoryType, Outcome, SourceKind
from stratagraph.store.model.errors import IdempotencyMismatch, InvalidInput, RecordNotFound, StratagraphError
from stratagraph.store.model.ids import new_id
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Database

PLAN = {
    "plan_id": "p",
    "version": "1",
    "intent": "deploy the parrot",
    "nodes": [{"id": "a", "op": "build"}, {"id": "b", "op": "ship"}],
    "edges": [{"from": "a", "to": "b", "kind": "control"}],
}
SKILL = {"skill_name": "feed the parrot", "triggers": [{"signal": "hungry parrot"}], "recipe": [{"step": "seeds"}]}
TASKS = ("what does the parrot like?", "deploy the parrot", "feed the hungry parrot")
# A report: on which of the retrievals, with which outcome, which of its nodes were used, and whether it is wrong.
REPORT = st.tuples(
    st.integers(0, 4),
    st.sampled_from(Outcome),
    st.sets(st.integers(0, 4), max_size=3),
    st.booleans(),
    st.sampled_from([False] * 9 + [True]),
)


async def begin(memory: Memory, trust: Trust) -> list[list[UUID]]:
    """Fill a tenant and ask it; return for each retrieval its id, and those of its nodes."""
    likes = [{"subject": "parrot", "predicate": "likes", "object": nut} for nut in ("hazelnuts", "walnuts", "peanuts")]
    captures = [(fact, None) for fact in likes] + [(PLAN, MemoryType.PLAN_GRAPH), (SKILL, MemoryType.COMPETENCE)]
    for content, type_ in captures:
        request = CaptureRequest(
            source="test", source_kind=SourceKind.OBSERVATION, content=dict(content), proposed_type=type_
        )
        await memory.capture.capture(trust, [request])
    await memory.lessons.learn(trust, LearnLesson(task="feed the parrot", solution="seeds first"))
    memory.clock.forward(timedelta(days=20))
    answers = []
    for number in range(5):
        asked = RetrieveRequest(task_descriptor=TASKS[number % len(TASKS)], max_hops=0)
        found = await memory.retrieve.retrieve(trust, asked)
        answers.append([found.id, *sorted(node.record.id for node in found.nodes)])
    return answers


def report_of(given: tuple[int, Outcome, set[int], bool, bool], answers: Sequence[list[UUID]]) -> OutcomeReport:
    number, outcome, used, has_latency, is_wrong = given
    retrieval, *nodes = answers[number]
    ids = tuple(nodes[place % len(nodes)] for place in sorted(used))
    return OutcomeReport(
        retrieval=retrieval,
        outcome=outcome,
        used=(*ids, new_id()) if is_wrong else ids,
        latency_ms=12.5 if has_latency else None,
    )


async def state_of(memory: Memory, trust: Trust) -> Any:
    """Return what reports change, by the name of each record."""
    root = await memory.directory.resolve(trust)
    tenant = {"tenant": root.tenant.id}
    rows = await memory.rows(
        "SELECT r.id, s.s, coalesce(u.retrievals, 0) AS told, coalesce(u.helpful, 0) AS helpful, r.confidence"
        " FROM record r JOIN salience s USING (tenant, id) LEFT JOIN lesson_use u USING (tenant, id)"
        " WHERE tenant = :tenant",
        **tenant,
    )
    found = {}
    for row in rows:
        record = await memory.record(row["id"], trust)
        payload = {name: value for name, value in (record.payload or {}).items() if name in ("metrics", "performance")}
        for counts in payload.values():
            counts.pop("last_executed_at", None)
            counts.pop("last_used_at", None)
        audit = [
            (one.action, (one.rationale or "")[:20])
            for one in (await memory.lookup.audit(trust, [row["id"]]))[row["id"]]
        ]
        found[record.name] = (round(row["s"], 9), row["told"], row["helpful"], row["confidence"], payload, audit)
    use = await memory.rows(
        "SELECT successes, failures, partials, returned, used FROM retrieval_use WHERE tenant = :tenant", **tenant
    )
    return found, [dict(one) for one in use]


async def check(memory: Memory, given: Sequence[tuple[int, Outcome, set[int], bool, bool]]) -> bool:
    given = list({one[0]: one for one in given}.values())  # each retrieval once
    singles, batch = (trust_of(tenant=f"{name}-{uuid4().hex[:12]}") for name in ("single", "batch"))
    began, answers = memory.clock.now(), {}
    for trust in (singles, batch):
        memory.clock.at = began
        answers[trust] = await begin(memory, trust)
    accepted, refused = [], None
    for one in given:
        try:
            await memory.feedback.report(singles, report_of(one, answers[singles]))
            accepted.append(one)
        except StratagraphError as error:
            refused = error
            break
    reports = [report_of(one, answers[batch]) for one in given]
    if refused is not None:
        before = await state_of(memory, batch)
        with pytest.raises(type(refused)) as raised:
            await memory.feedback.report_all(batch, reports)
        assert raised.value.path == ["items", str(len(accepted)), *(refused.path or [])]
        assert await state_of(memory, batch) == before
    if accepted:
        first, again = [await memory.feedback.report_all(batch, reports[: len(accepted)]) for _ in range(2)]
        assert [one.replayed for one in (*first, *again)] == [False] * len(first) + [True] * len(again)
        assert [(set(one.reinforced), set(one.penalized)) for one in first] == [
            (set(one.reinforced), set(one.penalized)) for one in again
        ]
        assert await state_of(memory, batch) == await state_of(memory, singles)
    return refused is None


def test_a_batch_of_reports_credits_what_they_credit_one_by_one(database_url: str) -> None:
    with asyncio.Runner() as runner:
        database = Database(database_url)
        runner.run(database.__aenter__())
        memory = memory_of(database, Directory(database, Vault(database, LocalMasterKey(bytes(32)))))
        ends: list[bool] = []

        @settings(
            max_examples=15,
            deadline=None,
            phases=[phase for phase in Phase if phase is not Phase.explain],
            suppress_health_check=list(HealthCheck),
        )
        @given(st.lists(REPORT, min_size=1, max_size=5))
        def run(reports: list[tuple[int, Outcome, set[int], bool, bool]]) -> None:
            ends.append(runner.run(check(memory, reports)))

        try:
            run()
        finally:
            runner.run(database.__aexit__(None, None, None))
        assert True in ends


async def test_a_wrong_report_refuses_the_batch_by_its_path(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stratagraph.memory.feedback.waiting.WAIT_S", 0.0)
    answers = await begin(memory, memory.trust)
    fine = report_of((0, Outcome.SUCCESS, {0}, False, False), answers)
    plan = report_of((1, Outcome.SUCCESS, set(), False, False), answers)
    step = StepOutcome(record=answers[1][1], step="a", outcome=Outcome.SUCCESS)
    missing = OutcomeReport(retrieval=new_id(), outcome=Outcome.SUCCESS, used=())
    stepped = OutcomeReport(retrieval=plan.retrieval, outcome=Outcome.SUCCESS, used=(), steps=(step,))
    for reports, error, path in (
        ([], InvalidInput, ["items"]),
        ([fine] * (MAX_REPORTS + 1), InvalidInput, ["items"]),
        ([fine, fine], InvalidInput, ["items", "1", "retrievalId"]),
        ([fine, missing], RecordNotFound, ["items", "1", "retrievalId"]),
        ([fine, stepped], InvalidInput, ["items", "1", "steps", "0", "recordId"]),
    ):
        with pytest.raises(error) as raised:
            await memory.feedback.report_all(memory.trust, reports)
        assert raised.value.path == path
    await memory.feedback.report(memory.trust, fine)
    other = report_of((0, Outcome.FAILURE, {0}, False, False), answers)
    with pytest.raises(IdempotencyMismatch) as mismatch:
        await memory.feedback.report_all(memory.trust, [plan, other])
    assert mismatch.value.path == ["items", "1", "retrievalId"]
    done = await memory.feedback.report_all(memory.trust, [plan, fine])
    assert [one.replayed for one in done] == [False, True]


async def test_batches_of_the_same_reports_in_other_orders_end_all(memory: Memory) -> None:
    answers = await begin(memory, memory.trust)
    reports = [report_of((number, Outcome.SUCCESS, {0, 1}, False, False), answers) for number in range(5)]
    orders = [reports, reports[::-1], reports[2:] + reports[:2]]
    done = await asyncio.gather(*(memory.feedback.report_all(memory.trust, order) for order in orders))
    assert sum(not one.replayed for batch in done for one in batch) == len(reports)
