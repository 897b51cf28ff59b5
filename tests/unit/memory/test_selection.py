"""The choice among competences and plans, and the condition keys that would decide it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import combinations
from typing import Any
from uuid import UUID

import pytest
from fix_examples import examples
from fix_memory import NOON, record_of
from hypothesis import assume, given
from hypothesis import strategies as st

from stratagraph.memory.retrieve.procedures import THRESHOLD, UNKNOWN_RATE, Selection, select
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.salience import Decay, Salience

KEYS, VALUES = ("os", "region", "tier", "team"), ("a", "b", "c", 1, True)
conditions = st.dictionaries(
    st.sampled_from(KEYS), st.sampled_from(VALUES) | st.lists(st.sampled_from(VALUES), min_size=1)
)
performances = st.none() | st.builds(
    lambda good, bad: {"success_count": good, "failure_count": bad}, st.integers(0, 9), st.integers(0, 9)
)


def skill(number: int, *triggers: dict[str, Any], performance: Any = None, **fields: Any) -> MemoryRecord:
    payload = {"kind": "competence", "triggers": [{"signal": "x", "conditions": one} for one in triggers]}
    payload |= {"performance": performance} if performance is not None else {}
    return record_of(MemoryType.COMPETENCE, **{"id": UUID(int=number), "payload": payload, "lifecycle": None, **fields})


@st.composite
def candidates(draw: st.DrawFn) -> list[MemoryRecord]:
    return [
        skill(
            number,
            *draw(st.lists(conditions, max_size=2)),
            performance=draw(performances),
            confidence=draw(st.floats(0, 1)),
            created_at=NOON - timedelta(days=draw(st.integers(0, 400))),
        )
        for number in range(1, 1 + draw(st.integers(1, 4)))
    ]


def chosen(records: list[MemoryRecord], context: dict[str, Any] | None = None) -> Selection:
    found = select(records, context, NOON)
    assert found is not None
    return found


@examples(150)
@given(candidates(), conditions)
def test_a_selection_is_ordered_bounded_and_asks_only_for_what_it_lacks(
    records: list[MemoryRecord], context: dict[str, Any]
) -> None:
    found = chosen(records, context)
    scores = [one.score for one in found.ranked]
    assert scores == sorted(scores, reverse=True)
    assert found.chosen == found.ranked[0].id
    for one in found.ranked:
        assert min(one.applicability, one.success_rate, one.recency) >= 0
        assert max(one.applicability, one.success_rate, one.recency) <= 1
        assert one.score == pytest.approx((one.applicability + one.success_rate + one.recency) / 3)
    expected = scores[0] if len(scores) == 1 else (scores[0] - scores[1]) / scores[0] if scores[0] else 0.0
    assert found.confidence == pytest.approx(expected)
    assert found.needs_more == (found.confidence < THRESHOLD)
    known = {key for record in records for one in (record.payload or {})["triggers"] for key in one["conditions"]}
    assert set(found.ask_for) <= known - context.keys()
    assert found.ask_for == () or found.needs_more
    assert chosen(list(reversed(records)), context) == found


@examples(150)
@given(candidates(), conditions, st.sampled_from(KEYS))
def test_a_key_with_equal_values_for_all_is_never_asked_for(
    records: list[MemoryRecord], context: dict[str, Any], key: str
) -> None:
    assume(len(records) > 1)
    alike = [
        replace(
            record,
            payload={
                **(record.payload or {}),
                "triggers": [{"signal": "x", "conditions": {**one["conditions"], key: "same"}} for one in triggers],
            },
        )
        for record in records
        if (triggers := (record.payload or {})["triggers"] or [{"signal": "x", "conditions": {}}])
    ]
    assert key not in chosen(alike, context).ask_for


def test_the_most_decisive_key_is_asked_for_first() -> None:
    found = chosen(
        [
            skill(1, {"os": "linux", "region": "eu", "team": "x"}),
            skill(2, {"os": "macos", "region": "eu", "team": "x"}),
            skill(3, {"os": "windows", "region": "us", "team": "x", "tier": 2}),
        ]
    )
    assert found.needs_more
    assert found.ask_for == ("os", "region", "tier")


@examples(150)
@given(
    st.lists(st.fixed_dictionaries({}, optional={key: st.sampled_from("abc") for key in KEYS}), min_size=3, max_size=3)
)
def test_the_first_key_asked_for_splits_three_equal_skills_best(wanted: list[dict[str, str]]) -> None:
    """Property: whichever skill is meant, no other key leaves fewer skills that its answer fits, on average."""
    rivals = [skill(number, *([one] if one else []), confidence=0.5) for number, one in enumerate(wanted, 1)]
    asked = chosen(rivals).ask_for

    def left(key: str) -> int:
        """Return the number of pairs of skills that stay indistinguishable by a key, twice those that half do."""
        pairs = [(one.get(key), other.get(key)) for one, other in combinations(wanted, 2)]
        return sum(2 if one == other else 1 if one is None or other is None else 0 for one, other in pairs)

    telling = [key for key in KEYS if left(key) < 6]
    assert {*asked} == {*telling}
    if asked:
        assert left(asked[0]) == min(map(left, telling))
        assert [left(key) for key in asked] == sorted(left(key) for key in asked)
        for place, one in enumerate(wanted):
            if asked[0] in one and sum(other.get(asked[0]) == one[asked[0]] for other in wanted) == 1:
                found = chosen(rivals, {asked[0]: one[asked[0]]})
                fits = {item.id: item.applicability for item in found.ranked}
                assert fits[rivals[place].id] > 0


def test_of_three_contending_skills_the_answer_to_the_first_key_leaves_one() -> None:
    rivals = [
        skill(1, {"os": "linux", "shell": "bash", "region": "eu"}, confidence=0.5),
        skill(2, {"os": "macos", "shell": "zsh", "region": "eu"}, confidence=0.5),
        skill(3, {"os": "windows", "shell": "zsh", "region": "eu"}, confidence=0.5),
    ]
    unsure = chosen(rivals)
    assert (unsure.needs_more, unsure.ask_for) == (True, ("os", "shell"))
    for rival, system in zip(rivals, ("linux", "macos", "windows"), strict=True):
        found = chosen(rivals, {"os": system})
        assert found.chosen == rival.id
        assert found.ranked[0].applicability > found.ranked[1].applicability
        assert found.confidence > unsure.confidence


def test_a_candidate_that_is_far_behind_decides_no_key() -> None:
    far = skill(3, {"team": "y"}, confidence=0.0, performance={"success_count": 0, "failure_count": 9})
    far = replace(far, created_at=NOON - timedelta(days=3_000))
    rivals = [skill(1, {"os": "linux"}), skill(2, {"os": "macos"})]
    assert chosen([*rivals, far]).ask_for == ("os",)


def test_the_answer_to_what_was_asked_for_decides() -> None:
    rivals = [skill(1, {"os": "linux"}), skill(2, {"os": "macos"})]
    unknown = chosen(rivals)
    assert (unknown.confidence, unknown.ask_for) == (0.0, ("os",))
    found = chosen(rivals, {"os": "macos"})
    assert found.chosen == UUID(int=2)
    assert found.confidence > unknown.confidence


def test_a_trigger_is_an_alternative_to_the_others() -> None:
    found = chosen([skill(1, {"os": "linux"}, {"os": "macos", "tier": 2})], {"os": "linux"})
    assert found.ranked[0].applicability == 1
    found = chosen([skill(1, {"os": "linux"}, {"os": "macos", "tier": 2})], {"os": "macos"})
    assert found.ranked[0].applicability == 0.5


@pytest.mark.parametrize("constraints", [{"env": ["prod", "test"]}, [{"type": "must", "key": "env", "value": "prod"}]])
def test_the_constraints_of_a_plan_are_its_conditions(constraints: Any) -> None:
    plan = record_of(MemoryType.PLAN_GRAPH, payload={"kind": "plan_graph", "constraints": constraints}, lifecycle=None)
    assert chosen([plan], {"env": "prod"}).ranked[0].applicability == 1
    assert chosen([plan], {"env": "dev"}).ranked[0].applicability == 0
    assert chosen([plan], {"other": 1}).ranked[0].applicability == plan.confidence
    assert chosen([replace(plan, confidence=0.2)]).ask_for == ("env",)


def test_a_number_is_no_boolean() -> None:
    assert chosen([skill(1, {"tier": 1})], {"tier": True}).ranked[0].applicability == 0
    assert chosen([skill(1, {"tier": 1})], {"tier": 1.0}).ranked[0].applicability == 1


def test_the_rate_is_neutral_without_data_and_recency_halves_in_thirty_days() -> None:
    fresh, old = skill(1), skill(2, created_at=NOON - timedelta(days=30))
    ranked = chosen([fresh, old]).ranked
    assert [one.success_rate for one in ranked] == [UNKNOWN_RATE, UNKNOWN_RATE]
    assert [one.recency for one in ranked] == [1, pytest.approx(0.5)]
    used = replace(
        old,
        lifecycle=Salience(
            s=1, t0=NOON, created_at=old.created_at, decay=Decay(half_life_s=3_600), last_reinforced_at=NOON
        ),
    )
    assert chosen([used]).ranked[0].recency == 1


def test_redacted_records_and_other_types_are_no_candidates() -> None:
    assert select([record_of(MemoryType.SEMANTIC), skill(1).as_redacted()], None, NOON) is None


def plan(number: int, *tools: str, **fields: Any) -> MemoryRecord:
    steps = [{"id": tool, "op": "call", "params": {"tool": tool}} for tool in tools]
    payload = {"kind": "plan_graph", "nodes": steps, "edges": []}
    return record_of(MemoryType.PLAN_GRAPH, **{"id": UUID(int=number), "payload": payload, "lifecycle": None, **fields})


def skill_with(number: int, *tools: str, **fields: Any) -> MemoryRecord:
    made = skill(number, **fields)
    return replace(made, payload={**(made.payload or {}), "recipe": [{"step": tool, "tool": tool} for tool in tools]})


tools = st.lists(st.sampled_from(["find", "book", "pay"]), max_size=3)


@examples(150)
@given(st.lists(st.tuples(st.booleans(), tools, st.floats(0, 1)), min_size=1, max_size=4))
def test_the_choice_is_as_sure_as_without_its_twin_of_the_other_kind(made: list[tuple[bool, list[str], float]]) -> None:
    """Property: a skill and a plan of the same tools do not compete; two skills, and procedures without tools, do."""
    records = [
        (skill_with if is_skill else plan)(number, *used, confidence=confidence)
        for number, (is_skill, used, confidence) in enumerate(made, 1)
    ]
    used_by = {record.id: (record.type, {*used}) for record, (_, used, _) in zip(records, made, strict=True)}
    found = chosen(records)
    type_, used = used_by[found.ranked[0].id]
    twins = {id_ for id_, (other, its) in used_by.items() if other is not type_ and its == used and its}
    alone = chosen([record for record in records if record.id not in twins])
    assert (found.chosen, found.confidence, found.ask_for) == (alone.chosen, alone.confidence, alone.ask_for)
    assert {item.id for item in found.ranked} == {record.id for record in records}
