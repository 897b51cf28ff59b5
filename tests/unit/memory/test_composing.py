"""Plans composed of parts of skills and plans."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any
from uuid import UUID

from fix_examples import examples
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.memory.learning.procedures.guidance import in_words
from stratagraph.memory.plans.composing import (
    Part,
    derived_id,
    parts_for,
    parts_named,
    parts_of,
    plan_of,
    tools_by_step,
)
from stratagraph.memory.plans.drawing import draw_plan
from stratagraph.store.model.clock import SystemClock
from stratagraph.store.model.enums import MemoryType, RecordState, Sensitivity
from stratagraph.store.model.payloads.plan_graph import PlanGraphPayload
from stratagraph.store.model.records import MemoryRecord

NOW = SystemClock().now()


def record(number: int, type_: MemoryType, payload: dict[str, Any], **more: Any) -> MemoryRecord:
    return MemoryRecord(
        id=UUID(int=number),
        tenant="acme",
        type=type_,
        scope="shop",
        sensitivity=Sensitivity.LOW,
        state=RecordState.ACTIVE,
        confidence=0.8,
        salience=1.0,
        tags=(),
        created_at=NOW,
        occurred_at=NOW,
        updated_at=NOW,
        version=1,
        payload=payload,
        learned_tools=(),
        **more,
    )


def said(name: str) -> dict[str, Any]:
    return {"properties": {name: {"type": "string", "source": "said"}}}


def taken(source: str) -> dict[str, Any]:
    return {"properties": {"id": {"type": "string", "source": source}}}


def skill(number: int, *steps: tuple[str, dict[str, Any]]) -> MemoryRecord:
    recipe = [{"step": tool, "tool": tool, "args_schema": schema} for tool, schema in steps]
    return record(number, MemoryType.COMPETENCE, {"kind": "competence", "recipe": recipe})


def plan(number: int, tools: list[str], edges: list[tuple[int, int, str]]) -> MemoryRecord:
    nodes = [{"id": f"n{at}", "op": tool, "params": {"tool": tool}} for at, tool in enumerate(tools)]
    links = [{"from": f"n{a}", "to": f"n{b}", "kind": kind} for a, b, kind in edges]
    payload = {"kind": "plan_graph", "plan_id": f"p{number}", "version": "1", "nodes": nodes, "edges": links}
    return record(number, MemoryType.PLAN_GRAPH, payload)


def test_steps_are_joined_where_the_result_of_one_part_is_an_argument_of_another() -> None:
    find = skill(1, ("find", said("name")))
    book = skill(2, ("book", taken("find: user")))
    parts = parts_for(["find", "book"], [book, find])
    made = plan_of(parts)
    assert {node["op"] for node in made["nodes"]} == {"find", "book"}
    (edge,) = made["edges"]
    ops = {node["id"]: node["op"] for node in made["nodes"]}
    assert (ops[edge["from"]], ops[edge["to"]], edge["kind"]) == ("find", "book", "data")
    assert made["inputs_schema"]["properties"] == {"name": {"type": "string"}}


def test_steps_that_feed_a_chosen_one_are_taken_along_and_others_are_not() -> None:
    whole = skill(1, ("note", {}), ("find", said("name")), ("book", taken("find: user")), ("pay", {}))
    (part,) = parts_for(["book"], [whole])
    assert [tools_by_step(whole)[at] for at in part.steps] == ["find", "book"]


def test_a_link_leads_over_steps_that_are_left_out() -> None:
    known = plan(1, ["a", "b", "c"], [(0, 1, "data"), (1, 2, "data")])
    made = plan_of([Part(known, (0, 2))])
    (edge,) = made["edges"]
    assert edge["kind"] == "control"


def test_a_tool_that_no_procedure_has_makes_no_plan() -> None:
    assert parts_for(["find", "fly"], [skill(1, ("find", {}))]) == []


def test_names_of_arguments_are_told_in_words() -> None:
    assert in_words("orderId") == "order id"
    assert in_words("???") == "???"


@st.composite
def known_procedures(draw: st.DrawFn) -> list[MemoryRecord]:
    tools = st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=5, unique=True)
    found = []
    for number in range(1, draw(st.integers(2, 6))):
        names = draw(tools)
        if draw(st.booleans()):
            sources = [draw(st.sampled_from(["said", *(f"{tool}: id" for tool in "abcdefg")])) for _ in names]
            found.append(skill(number, *((tool, taken(source)) for tool, source in zip(names, sources, strict=True))))
        else:
            pairs = [(a, b) for b in range(len(names)) for a in range(b)]
            chosen = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
            found.append(plan(number, names, [(a, b, draw(st.sampled_from(["data", "control"]))) for a, b in chosen]))
    return found


@given(known_procedures(), st.sets(st.sampled_from("abcdefg"), min_size=1, max_size=5))
@examples(200)
def test_a_composed_plan_is_a_valid_plan_with_the_tools_and_is_made_again_by_its_id(
    known: list[MemoryRecord], tools: set[str]
) -> None:
    parts = parts_for(sorted(tools), known)
    has = {tool for one in known for tool in tools_by_step(one)}
    assert bool(parts) == (tools <= has)
    if not parts:
        return
    made = plan_of(parts)
    PlanGraphPayload.model_validate({key: value for key, value in made.items() if value is not None})  # a DAG
    ops = [node["op"] for node in made["nodes"]]
    assert tools <= {*ops}
    assert len(ops) == len({*ops})
    named = parts_named(made["plan_id"])
    assert named is not None
    again = parts_of(named, {one.id: one for one in known})
    assert again is not None
    assert plan_of(again) == made
    first = parts[0].record
    assert len(draw_plan(first, made).steps) == len(ops)
    assert parts_of(named, {}) is None
    assert derived_id(UUID(int=5), first.id) != derived_id(UUID(int=6), first.id)


@given(st.text(max_size=80) | st.binary(max_size=60).map(lambda found: "composed:" + found.hex()))
@examples(200)
def test_an_id_that_was_made_up_names_no_parts_or_some_that_are_looked_up(text: str) -> None:
    for name in (text, f"composed:{text}"):
        found = parts_named(name)
        assert found is None or all(isinstance(id_, UUID) for id_, _ in found)


def named(*parts: tuple[int, list[int]]) -> str:
    written = b"".join(
        UUID(int=id_).bytes + bytes([len(places)]) + b"".join(at.to_bytes(2, "big") for at in places)
        for id_, places in parts
    )
    return "composed:" + base64.urlsafe_b64encode(written).decode()


def test_an_id_names_each_part_once_and_its_steps_in_order_and_not_too_many() -> None:
    assert parts_named(named((1, [0, 2]), (2, [1]))) == [(UUID(int=1), (0, 2)), (UUID(int=2), (1,))]
    for wrong in (named((1, [])), named((1, [0, 0])), named((1, [2, 1])), named((1, [0]), (1, [1])), named()):
        assert parts_named(wrong) is None
    assert parts_named(named((1, [*range(64)]))) is not None
    assert parts_named(named((1, [*range(65)]))) is None


def test_what_was_not_learned_or_was_retracted_is_no_part() -> None:
    known = skill(1, ("find", {}))
    wanted = [(known.id, (0,))]
    assert parts_of(wanted, {known.id: known}) is not None
    for other in (replace(known, learned_tools=None), replace(known, state=RecordState.RETRACTED), known.as_redacted()):
        assert parts_of(wanted, {known.id: other}) is None
