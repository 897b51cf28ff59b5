"""Which tools tasks need, learned in a store: composed plans, what is erased and undone, and what stays hidden."""

from __future__ import annotations

import base64
import random
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from fix_erasing import Store
from fix_learning import learn, runs_of
from fix_memory import Memory, trust_of
from sqlalchemy import text

from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.feedback.request import OutcomeReport, StepOutcome
from stratagraph.memory.learning import service
from stratagraph.memory.learning.needs.model import MAX_TOOLS, ToolModel
from stratagraph.memory.retrieve.answer import Retrieved
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.revise.request import Retract
from stratagraph.store.learning import examples
from stratagraph.store.model.enums import MemoryType, Outcome, Sensitivity, SourceKind
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.trust import Trust

PROCEDURES = (MemoryType.COMPETENCE, MemoryType.PLAN_GRAPH)
TASKS = {
    "cancel_order": "please cancel my order number {}, I ordered it by mistake",
    "return_item": "I want to return the delivered kettle {} and get a refund",
    "change_address": "ship parcel {} to another street address in Denver",
}


async def lived(
    memory: Memory,
    thread: str,
    asked: str,
    tools: Sequence[str],
    outcome: str = "success",
    trust: Trust | None = None,
    **more: Any,
) -> list[UUID]:
    """Capture an episode in which the user asked for something, and these tools were called; return its records."""
    said: list[tuple[SourceKind, dict[str, Any]]] = [
        (SourceKind.AGENT_TURN, {"thread_id": thread, "role": "user", "text": asked})
    ]
    for number, tool in enumerate(tools):
        call = {"thread_id": thread, "tool_name": tool, "args": {"order_id": f"W{thread}"}, "result": "ok"}
        said.append((SourceKind.TOOL_OUTPUT, call | {"call_id": f"c{number}"}))
    said.append((SourceKind.OUTCOME, {"thread_id": thread, "outcome_status": outcome}))
    found = []
    for kind, content in said:
        memory.clock.forward(timedelta(seconds=1))
        request = CaptureRequest(source="test", source_kind=kind, content=content, **more)
        found.append((await memory.capture.capture(trust or memory.trust, [request]))[0].primary.id)
    return found


async def teach(memory: Memory, *, times: int = 4, begin: int = 0, **more: Any) -> None:
    """Let each task have been done `times` times, each with one tool."""
    for number in range(begin, begin + times):
        for tool, asked in TASKS.items():
            await lived(memory, f"{tool}{number}", asked.format(number), [tool], **more)


async def ask(memory: Memory, task: str, trust: Trust | None = None, **more: Any) -> Retrieved:
    request = RetrieveRequest(task_descriptor=task, memory_types=PROCEDURES, root_limit=3, **more)
    return await memory.retrieve.retrieve(trust or memory.trust, request)


def roots_of(answer: Retrieved) -> list[MemoryRecord]:
    return [node.record for node in answer.nodes if node.root]


def tools_of(record: MemoryRecord) -> set[str]:
    payload = record.payload or {}
    return {step.get("tool") or step["op"] for step in [*payload.get("recipe", ()), *payload.get("nodes", ())]}


async def models(memory: Memory) -> dict[tuple[int, int], ToolModel]:
    rows = await memory.rows("SELECT scope, sensitivity, model FROM learned_model ORDER BY scope, sensitivity")
    return {(row["scope"], row["sensitivity"]): ToolModel.of_bytes(bytes(row["model"])) for row in rows}


def arrays_of(found: dict[tuple[int, int], ToolModel]) -> dict[tuple[int, int], dict[str, Any]]:
    return {group: dict(model._arrays) for group, model in found.items()}


def assert_same_models(one: dict[tuple[int, int], ToolModel], other: dict[tuple[int, int], ToolModel]) -> None:
    """The models are made of the same examples and say the same."""
    left, right = arrays_of(one), arrays_of(other)
    assert left.keys() == right.keys()
    for group, arrays in left.items():
        for name, values in arrays.items():
            assert values.shape == right[group][name].shape
            if values.dtype == np.float32:
                assert np.allclose(values, right[group][name], atol=1e-5), name
            else:
                assert (values == right[group][name]).all(), name


async def test_a_task_of_two_known_ones_is_answered_by_a_plan_composed_of_their_skills(memory: Memory) -> None:
    await teach(memory)
    await learn(memory)
    answer = await ask(memory, "cancel my order 77, ordered by mistake, and return the delivered kettle for a refund")
    plan = roots_of(answer)[0]
    payload = plan.payload or {}
    assert tools_of(plan) == {"cancel_order", "return_item"}
    assert (payload["composed"], plan.type, plan.redacted) == (True, MemoryType.PLAN_GRAPH, False)
    parts = {UUID(id_) for id_ in payload["derived_from"]}
    named = {(node.record.payload or {}).get("skill_name") for node in answer.nodes if node.record.id in parts}
    assert named == {"skill:cancel_order", "skill:return_item"}
    leading = {(edge.source, edge.target, edge.predicate) for edge in answer.edges}
    assert {(plan.id, part, "derived_from") for part in parts} <= leading
    assert 0 < plan.confidence < min(node.record.confidence for node in answer.nodes if node.record.id in parts)
    assert answer.selection is not None
    assert answer.selection.chosen is not None
    assert await memory.rows("SELECT FROM record WHERE id = :id", id=plan.id) == [], "it is stored nowhere"
    for id_ in (payload["plan_id"], str(plan.id)):
        drawn = await memory.lookup.plan(memory.trust, id_)
        assert drawn is not None
        assert {step.op for step in drawn.steps} == {"cancel_order", "return_item"}
        assert (drawn.record.id, drawn.payload["composed"]) == (plan.id, True)
    assert await memory.lookup.plan(trust_of(actor="another"), str(plan.id)) is None, "another caller's answer"


async def test_a_known_procedure_that_fits_comes_first_and_nothing_is_composed(memory: Memory) -> None:
    await teach(memory)
    for number in range(3):
        asked = f"cancel my order {number} and return the delivered kettle for a refund"
        await lived(memory, f"both{number}", asked, ["cancel_order", "return_item"])
    await learn(memory)
    answer = await ask(memory, "cancel my order 9 and return the kettle for a refund")
    first = roots_of(answer)[0]
    assert (first.payload or {})["skill_name"] == "skill:cancel_order+return_item"
    assert answer.composed is None


async def test_a_long_task_in_other_words_is_answered_and_a_foreign_one_is_not(memory: Memory) -> None:
    await teach(memory)
    await learn(memory)
    story = "Your name is Ada Byron and you live in a quiet village by the sea with two cats and a piano. " * 4
    answer = await ask(
        memory, f"{story} You are polite and patient. You decided that the delivered kettle should go back."
    )
    assert tools_of(roots_of(answer)[0]) == {"return_item"}
    assert (await ask(memory, "bake sourdough bread at home")).roots == ()


async def test_a_plan_is_composed_only_of_what_the_caller_may_read(memory: Memory) -> None:
    await teach(memory, scope="shop", sensitivity=Sensitivity.LOW)
    for number in range(4):
        await lived(memory, f"s{number}", f"wire money to account {number}", ["wire"], scope="vault")
    await learn(memory)
    task = "cancel my order 5, and wire money to account 9"
    everything = await ask(memory, task)
    assert any(tools_of(one) >= {"cancel_order", "wire"} for one in roots_of(everything))
    narrow = trust_of(scopes={"shop"})
    answer = await ask(memory, task, narrow)
    assert all("wire" not in tools_of(one) for one in roots_of(answer))
    (plan_id,) = {(one.payload or {})["plan_id"] for one in roots_of(everything) if (one.payload or {}).get("composed")}
    assert await memory.lookup.plan(memory.trust, plan_id) is not None
    assert await memory.lookup.plan(narrow, plan_id) is None, "a part of it is hidden"


async def test_hidden_episodes_move_no_answer(memory: Memory) -> None:
    await teach(memory, scope="shop", sensitivity=Sensitivity.LOW)
    await learn(memory)
    narrow = trust_of(scopes={"shop"}, ceiling=Sensitivity.LOW)
    tasks = ["cancel order 3", "return a kettle and cancel order 4", "another street address"]

    async def told() -> list[list[tuple[Any, ...]]]:
        answers = [await ask(memory, task, narrow) for task in tasks]
        return [[(one.record.id, one.strength, one.record.confidence) for one in answer.nodes] for answer in answers]

    before = await told()
    assert all(before)
    for number in range(6):
        await lived(memory, f"h{number}", f"cancel order {number}", ["change_address"], scope="elsewhere")
        asked = f"return a kettle {number}"
        await lived(memory, f"k{number}", asked, ["burn"], scope="shop", sensitivity=Sensitivity.HIGH)
    await learn(memory)
    assert len(await models(memory)) == 3
    assert await told() == before


async def test_what_is_reported_of_a_composed_plan_counts_for_its_parts(memory: Memory) -> None:
    await teach(memory)
    await learn(memory)
    task = "cancel my order 77, ordered by mistake, and return the delivered kettle for a refund"
    confidence = []
    for outcome in (Outcome.FAILURE, Outcome.FAILURE, Outcome.SUCCESS):
        answer = await ask(memory, task)
        plan = roots_of(answer)[0]
        parts = {UUID(id_) for id_ in (plan.payload or {})["derived_from"]}
        confidence.append(plan.confidence)
        step = StepOutcome(record=plan.id, step="1", outcome=Outcome.FAILURE)
        with_steps = OutcomeReport(retrieval=answer.id, outcome=outcome, used=(plan.id,), steps=(step,))
        with pytest.raises(InvalidInput, match="composed plan"):
            await memory.feedback.report(memory.trust, with_steps)
        report = OutcomeReport(retrieval=answer.id, outcome=outcome, used=(plan.id,))
        done = await memory.feedback.report(memory.trust, report)
        assert done.skipped == ()
        credited = set(done.reinforced if outcome is Outcome.SUCCESS else done.penalized)
        assert parts <= credited
        replayed = await memory.feedback.report(memory.trust, report)
        assert replayed.replayed
    assert confidence[0] > confidence[1] > confidence[2], "failures lower it"
    assert roots_of(await ask(memory, task))[0].confidence > confidence[2], "and a success raises it"


async def test_a_retracted_procedure_is_neither_made_again_nor_composed_and_the_report_says_so(memory: Memory) -> None:
    await teach(memory)
    both = ["cancel_order", "return_item"]
    for number in range(2):
        await lived(memory, f"both{number}", f"cancel order {number} and return the kettle", both)
    await learn(memory)
    task = "cancel order 9 and return the kettle"
    (bad,) = [one for one in roots_of(await ask(memory, task)) if tools_of(one) == set(both)]
    await memory.revision.revise(memory.trust, Retract(record_id=bad.id, rationale="it cancels what was delivered"))
    for number in range(1, 4):
        await lived(memory, f"again{number}", f"cancel order {number} and return the kettle", both)
        run = await learn(memory)
        assert run is not None
        (group,) = (await runs_of(memory).page(memory.trust, first=1)).runs[0].groups
        skips = {stage.name: stage.report.skips for stage in group.stages}["competence"]
        assert skips == {"episodes of procedures that a caller has retracted": 2 + number}, "with the earlier ones"
    assert all(tools_of(one) != set(both) for one in roots_of(await ask(memory, task)))
    named = "SELECT FROM record WHERE type = 5 AND name LIKE '%cancel_order+return_item%' AND state = 1"
    assert await memory.rows(named) == []


async def test_after_undoing_a_run_that_made_it_a_procedure_may_be_made_again(memory: Memory) -> None:
    await teach(memory, times=2)
    before = await models(memory)
    run = await learn(memory)
    assert run is not None
    assert (await models(memory)).keys() != before.keys()
    await runs_of(memory).undo(memory.trust, run, rationale="too eager")
    assert await models(memory) == before == {}
    await runs_of(memory).learn_again(memory.trust, run)
    await learn(memory)
    assert tools_of(roots_of(await ask(memory, "cancel my order 8"))[0]) == {"cancel_order"}


@pytest.mark.parametrize("seed", range(3))
async def test_models_are_those_of_the_episodes_that_are_left_however_they_came(store: Store, seed: int) -> None:
    """Erased episodes and undone runs leave nothing, and neither batches nor order matter."""
    memory, chosen = store.memory, random.Random(seed)
    told = [
        (f"{tool}{number}", asked.format(number), chosen.sample([*TASKS], chosen.randint(1, 2)))
        for number in range(3)
        for tool, asked in TASKS.items()
    ]
    kept, gone = told[::2], told[1::2]
    for thread, asked, tools in kept:
        await lived(memory, thread, asked, tools, scope="one")
        await lived(memory, f"alone {thread}", asked, tools, scope="two")
    await learn(memory)
    captured = [await lived(memory, thread, asked, tools, scope="one") for thread, asked, tools in gone]
    undone, erased = captured[: len(captured) // 2], captured[len(captured) // 2 :]
    run = await learn(memory)
    assert run is not None
    scopes = {row["name"]: row["id"] for row in await memory.rows("SELECT id, name FROM scope")}

    def of_scope(found: dict[tuple[int, int], ToolModel], name: str) -> dict[tuple[int, int], ToolModel]:
        return {(0, level): model for (scope, level), model in found.items() if scope == scopes[name]}

    assert of_scope(await models(memory), "one")[0, 1].examples == len(told)
    for records in erased:
        await store.erase(record_id=records[0])  # the turn, which takes the words of its episode along
    counting = "SELECT count(DISTINCT episode) AS n FROM learned_example WHERE scope = :s"
    left = await memory.rows(counting, s=scopes["one"])
    assert left[0]["n"] == len(kept) + len(undone)
    await runs_of(memory).undo(memory.trust, run, rationale="too eager")
    found = await models(memory)
    one, two = of_scope(found, "one"), of_scope(found, "two")
    # The instants of the episodes differ, but not their order.
    assert_same_models(one, two)


async def test_a_model_does_not_depend_on_the_batches(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    for size, scope in ((1, "one"), (50, "two")):
        monkeypatch.setattr(service, "BATCH", size)
        await teach(memory, scope=scope)
        await learn(memory)
    found = await models(memory)
    first, second = ({(0, 0): model} for model in found.values())
    assert_same_models(first, second)


async def test_only_the_newest_examples_are_kept(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examples, "EXAMPLES", 4)
    monkeypatch.setattr(examples, "KEPT_EXAMPLES", 6)
    await teach(memory)
    await learn(memory)
    assert [row["n"] for row in await memory.rows("SELECT count(*) AS n FROM learned_example")] == [6]
    (model,) = (await models(memory)).values()
    assert model.examples == 4


async def test_erasing_a_scope_leaves_no_example_and_no_model(store: Store) -> None:
    memory = store.memory
    await teach(memory, scope="gone")
    await teach(memory, scope="stays", begin=10)
    await learn(memory)
    assert len(await models(memory)) == 2
    await store.erase(scope="gone")
    assert len(await models(memory)) == 1
    left = await memory.rows("SELECT count(DISTINCT scope) AS n FROM learned_example")
    assert left[0]["n"] == 1


async def test_a_question_reads_a_model_once_until_it_changes(memory: Memory) -> None:
    await teach(memory)
    await learn(memory)
    await ask(memory, "cancel order 1")
    async with memory.database.writing((await memory.directory.resolve(memory.trust)).bounds) as connection:
        await connection.execute(text("UPDATE learned_model SET model = ''"))  # the version is the same
    assert (await ask(memory, "cancel order 2")).roots


@pytest.mark.parametrize(("root_limit", "node_limit", "max_hops"), [(1, 1, 1), (1, 25, 0), (3, 2, 1)])
async def test_a_composed_plan_is_reported_on_where_its_parts_are_beyond_the_limits(
    memory: Memory, root_limit: int, node_limit: int, max_hops: int
) -> None:
    await teach(memory)
    await learn(memory)
    request = RetrieveRequest(
        task_descriptor="cancel my order 77, ordered by mistake, and return the delivered kettle for a refund",
        memory_types=PROCEDURES,
        root_limit=root_limit,
        node_limit=node_limit,
        max_hops=max_hops,
    )
    answer = await memory.retrieve.retrieve(memory.trust, request)
    plan = roots_of(answer)[0]
    assert (plan.payload or {})["composed"]
    done = await memory.feedback.report(
        memory.trust, OutcomeReport(retrieval=answer.id, outcome=Outcome.FAILURE, used=(plan.id,))
    )
    assert {UUID(id_) for id_ in (plan.payload or {})["derived_from"]} <= set(done.penalized)


async def test_a_captured_skill_of_any_form_is_no_part_and_breaks_no_answer(memory: Memory) -> None:
    await teach(memory)
    await learn(memory)
    step = {"step": "cancel", "tool": "cancel_order", "args_schema": {"properties": ["x"]}}
    content = {"skill_name": "skill:cancel_order", "triggers": [], "recipe": [step], "nodes": [{"op": 1}]}
    kept = await memory.remember(
        SourceKind.OBSERVATION, {**content, "version": "9"}, proposed_type=MemoryType.COMPETENCE
    )
    answer = await ask(memory, "cancel my order 77, ordered by mistake, and return the delivered kettle for a refund")
    assert answer.roots
    assert answer.composed is None, "the captured skill has taken the place of the learned one"
    written = base64.urlsafe_b64encode(kept.primary.id.bytes + bytes([1]) + (0).to_bytes(2, "big")).decode()
    assert await memory.lookup.plan(memory.trust, f"composed:{written}") is None


async def test_erasing_a_part_takes_it_out_of_the_log_of_answers(store: Store) -> None:
    memory = store.memory
    await teach(memory)
    await learn(memory)
    answer = await ask(memory, "cancel my order 77, ordered by mistake, and return the delivered kettle for a refund")
    assert answer.composed is not None
    await memory.retrieve.log.flush()
    await store.erase(record_id=answer.parts[0])
    logged = "SELECT composed_id, composed, composed_parts FROM retrieval WHERE id = :id"
    (row,) = await memory.rows(logged, id=answer.id)
    assert (row["composed_id"], row["composed"], row["composed_parts"]) == (None, None, None)


async def test_retracting_a_skill_of_a_caller_refuses_nothing(memory: Memory) -> None:
    await teach(memory)
    await learn(memory)
    content = {
        "skill_name": "skill:cancel_order+return_item",
        "triggers": [],
        "recipe": [{"step": "other", "tool": "other"}],
    }
    kept = await memory.remember(SourceKind.OBSERVATION, content, proposed_type=MemoryType.COMPETENCE)
    await memory.revision.revise(memory.trust, Retract(record_id=kept.primary.id, rationale="mine"))
    assert await memory.rows("SELECT FROM refused_procedure") == []
    answer = await ask(memory, "cancel my order 77, ordered by mistake, and return the delivered kettle for a refund")
    assert answer.composed is not None


async def test_an_episode_with_very_many_tools_is_no_example(memory: Memory) -> None:
    await lived(memory, "many", "do everything at once", [f"tool{number}" for number in range(MAX_TOOLS + 1)])
    await lived(memory, "few", "do one thing", ["tool1"])
    await learn(memory)
    (model,) = (await models(memory)).values()
    assert model.examples == 1
