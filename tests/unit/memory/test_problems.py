"""What is wrong with a request is reported together: each field that is wrong, once, and no other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.memory.capture.request import MAX_TAGS, CaptureRequest, checked
from stratagraph.memory.erase.request import Erase
from stratagraph.memory.feedback import request as feedback
from stratagraph.memory.feedback.request import MAX_USED, OutcomeReport, StepOutcome
from stratagraph.memory.lessons import request as lessons
from stratagraph.memory.lessons.request import LearnLesson
from stratagraph.memory.retrieve import request as retrieve
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.revise import request as revise
from stratagraph.memory.revise.request import Fork, Penalize
from stratagraph.store.model.enums import Outcome, SourceKind
from stratagraph.store.model.errors import InvalidInput, StratagraphError
from stratagraph.store.model.problems import MAX_PROBLEMS, Problems

NOW = datetime(2026, 6, 1, tzinfo=UTC)
ID = UUID(int=7)
LONG = "x" * 20_001

# A valid request, the check, and wrong values of its fields with the path of the problem that each is.
Case = tuple[Any, Callable[[Any], object], list[tuple[dict[str, Any], str]]]
CASES: dict[str, Case] = {
    "capture": (
        CaptureRequest(source="s", source_kind=SourceKind.OBSERVATION, content={"subject": "a"}),
        lambda request: checked(request, NOW),
        [
            ({"source": " "}, "source"),
            ({"scope": LONG}, "scope"),
            ({"idempotency_key": ""}, "idempotencyKey"),
            ({"tags": ("x",) * (MAX_TAGS + 1)}, "tags"),
            ({"summary": LONG}, "summary"),
            ({"reason_to_remember": "\0"}, "reasonToRemember"),
            ({"content": ["free text"]}, "content"),
            ({"context": {"a": "\0"}}, "context.a"),
            ({"timestamp": NOW + timedelta(days=1)}, "timestamp"),
        ],
    ),
    "retrieve": (
        RetrieveRequest(task_descriptor="t"),
        retrieve.check,
        [
            ({"task_descriptor": ""}, "taskDescriptor"),
            ({"scopes": ("\0",)}, "scopes.0"),
            ({"root_limit": 0}, "rootLimit"),
            ({"node_limit": 1_001}, "nodeLimit"),
            ({"max_hops": 7}, "maxHops"),
            ({"min_salience": 1.1}, "minSalience"),
            ({"min_strength": -0.1}, "minStrength"),
            ({"token_budget": 0}, "tokenBudget"),
            ({"exclude_thread_ids": ("t",) * 21}, "excludeThreadIds"),
            ({"context": []}, "context"),
        ],
    ),
    "fork": (
        Fork(record_id=ID, rationale="r", payload={}, conditions={}),
        lambda request: revise.check(request, NOW),
        [
            ({"rationale": "  "}, "rationale"),
            ({"idempotency_key": ""}, "idempotencyKey"),
            ({"expected_version": 0}, "expectedVersion"),
            ({"payload": "text"}, "payload"),
            ({"conditions": []}, "conditions"),
            ({"evidence": ({},)}, "evidence.0"),
        ],
    ),
    "penalize": (
        Penalize(record_id=ID, rationale="r", amount=0.1),
        lambda request: revise.check(request, NOW),
        [({"rationale": ""}, "rationale"), ({"amount": -1.0}, "amount")],
    ),
    "report": (
        OutcomeReport(retrieval=ID, outcome=Outcome.SUCCESS, used=(ID,)),
        feedback.check,
        [
            ({"used": (ID,) * (MAX_USED + 1)}, "usedRecordIds"),
            ({"latency_ms": -1.0}, "latencyMs"),
            ({"steps": (StepOutcome(record=UUID(int=8), step="a", outcome=Outcome.SUCCESS),)}, "steps.0.recordId"),
        ],
    ),
    "lesson": (
        LearnLesson(task="t", solution="s"),
        lessons.check,
        [
            ({"task": ""}, "task"),
            ({"solution": ""}, "solution"),
            ({"mistake": LONG}, "mistake"),
            ({"anti_pattern": LONG}, "antiPattern"),
            ({"domains": ("a", "")}, "domains.1"),
            ({"confidence": 2.0}, "confidence"),
        ],
    ),
    "erase": (
        Erase(record_id=ID, rationale="r"),
        Erase.check,
        [({"rationale": ""}, "rationale"), ({"idempotency_key": ""}, "idempotencyKey")],
    ),
}


def raised(check: Callable[[Any], object], request: Any) -> StratagraphError | None:
    try:
        check(request)
    except StratagraphError as error:
        return error
    return None


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@given(st.data())
def test_each_wrong_field_is_one_problem_and_no_other_field_is(case: Case, data: st.DataObject) -> None:
    valid, check, faults = case
    chosen = [fault for fault in faults if data.draw(st.booleans())]
    request = replace(valid, **{name: value for changes, _ in chosen for name, value in changes.items()})
    error = raised(check, request)
    if not chosen:
        assert error is None
        return
    assert error is not None
    assert {".".join(one.path) for one in error.problems} == {path for _, path in chosen}
    assert len(error.problems) == len(chosen)
    assert error.path == list(error.problems[0].path)
    assert error.code == error.problems[0].code
    for one in error.problems:
        assert one.message in error.message or len(error.problems) > 10
        assert one.message.startswith(one.path[0])


@given(st.lists(st.lists(st.sampled_from("ab"), min_size=1, max_size=3), max_size=80))
def test_a_whole_is_no_problem_beside_its_part_and_there_are_at_most_fifty(paths: list[list[str]]) -> None:
    problems, noted = Problems(), list[list[str]]()
    for path in paths:
        with problems:
            raise InvalidInput(".".join(path), path=path)
        if not any(one[: len(path)] == path for one in noted):
            noted.append(path)
    error = raised(lambda _: problems.refuse(), None)
    assert (error is None) is (not paths)
    if error is not None:
        assert [list(one.path) for one in error.problems] == noted[:MAX_PROBLEMS]


def test_no_more_than_fifty_are_reported_of_many() -> None:
    problems = Problems()
    for number in range(1_000):
        with problems:
            raise InvalidInput(f"{number}: wrong", path=[str(number)])
    error = raised(lambda _: problems.refuse(), None)
    assert error is not None
    assert len(error.problems) == MAX_PROBLEMS
    assert "and 40 more" in error.message
