"""Skills and plans learned from episodes, in a store: when they are made, counted, changed, undone and erased."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from fix_erasing import Store
from fix_jobs import resources_of, run_jobs
from fix_learning import learn, runs_of
from fix_memory import Memory, trust_of

from stratagraph.consolidation.jobs.prune import Prune
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.feedback.request import OutcomeReport
from stratagraph.memory.learning.competence import skills
from stratagraph.memory.records.forgetting import Forgetting
from stratagraph.memory.records.listing import RecordFilter
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.revise.request import Contest
from stratagraph.store.erasure.pruning import KEEP_UNLEARNED
from stratagraph.store.model.enums import MemoryType, Outcome, RecordState, Sensitivity, SourceKind
from stratagraph.store.model.records import MemoryRecord

CANARY = "zqxcanary"
FIND = ("find", {"name": "Ann"}, {"user": "user-0001"})
BOOK = ("book", {"user": "user-0001", "seat": "aisle"}, "booked")
TELL = ("tell", {"user": "user-0001"}, "told")
PAY = ("pay", {"user": "user-0001"}, "paid")
Call = tuple[str, Mapping[str, Any], Any]


async def lived(
    memory: Memory, thread: str, asked: str, calls: Sequence[Call], outcome: str = "success", **more: Any
) -> list[UUID]:
    """Capture an episode: what the user asked for, then calls, each depending on the one before; return its records."""
    contents: list[tuple[SourceKind, dict[str, Any]]] = [
        (SourceKind.AGENT_TURN, {"thread_id": thread, "role": "user", "text": asked})
    ]
    for number, (tool, args, result) in enumerate(calls):
        call = {"thread_id": thread, "tool_name": tool, "args": dict(args), "result": result, "call_id": f"c{number}"}
        contents.append((SourceKind.TOOL_OUTPUT, call | ({"depends_on": [f"c{number - 1}"]} if number else {})))
    contents.append((SourceKind.OUTCOME, {"thread_id": thread, "outcome_status": outcome}))
    found = []
    for kind, content in contents:
        memory.clock.forward(timedelta(seconds=1))
        request = CaptureRequest(source="test", source_kind=kind, content=content, **more)
        found.append((await memory.capture.capture(memory.trust, [request]))[0].primary.id)
    return found


async def procedures(memory: Memory, *, scope: str | None = None) -> dict[str, MemoryRecord]:
    """Return the current skills and plans by name, with their payloads."""
    scopes = None if scope is None else [scope]
    found = {}
    for kind in (MemoryType.COMPETENCE, MemoryType.PLAN_GRAPH):
        page = await memory.lookup.records(memory.trust, RecordFilter(types=(kind,), scopes=scopes), first=100)
        for record in page.records:
            if record.state is RecordState.ACTIVE and record.payload is not None:
                found[record.payload.get("skill_name") or record.payload["plan_id"]] = record
    return found


def told(record: MemoryRecord) -> dict[str, Any]:
    """Return a payload without ids, instants and labels of versions."""
    payload = dict(record.payload or {})
    payload.pop("version", None)
    for name in ("performance", "metrics"):
        if name in payload:
            payload[name] = {key: value for key, value in payload[name].items() if not key.startswith("last_")}
    return payload


async def test_a_skill_is_made_at_the_second_success_also_of_another_run(memory: Memory) -> None:
    asked = ("book a seat for Ann", "book a seat on the aisle", "seat, please")
    outcomes = ("failure", "success", "success")
    for scope, in_between in (("apart", True), ("together", False)):
        for number, (text, outcome) in enumerate(zip(asked, outcomes, strict=True)):
            assert not [name for name in await procedures(memory, scope=scope) if name.startswith("skill")]
            await lived(memory, f"{scope} {number}", text, [FIND, BOOK, TELL], outcome, scope=scope)
            if in_between:
                await learn(memory)
    await learn(memory)
    apart, together = await procedures(memory, scope="apart"), await procedures(memory, scope="together")
    assert apart.keys() == together.keys() == {"skill:book+find+tell", "plan:book+find+tell"}
    for name, record in apart.items():
        assert told(record) == told(together[name])
        assert record.confidence == together[name].confidence == pytest.approx(4 / 6)
    skill = apart["skill:book+find+tell"].payload or {}
    assert skill["performance"]["success_count"] == 2
    assert skill["performance"]["failure_count"] == 1
    assert [step["tool"] for step in skill["recipe"]] == ["find", "book", "tell"]
    assert skill["recipe"][1]["args_schema"]["properties"]["user"] == {"type": "string", "source": "find: user"}
    plan = apart["plan:book+find+tell"].id
    predicates = {one.predicate for one in (await memory.lookup.relations(memory.trust, [plan]))[plan]}
    assert {"uses", "derived_semantic"} <= predicates


async def test_another_structure_is_a_new_version_whose_difference_is_told(memory: Memory) -> None:
    await lived(memory, "one", "book a seat", [FIND, BOOK, TELL])
    await learn(memory)
    before = (await procedures(memory))["plan:book+find+tell"]
    await lived(memory, "two", "book a seat", [FIND, BOOK, FIND, TELL])
    await learn(memory)
    after = (await procedures(memory))["plan:book+find+tell"]
    assert after.id != before.id
    assert (after.payload or {})["metrics"]["execution_count"] == 2
    found = await memory.lookup.plan_difference(memory.trust, "plan:book+find+tell", "1", "2")
    assert found is not None
    assert (found.before.id, found.after.id) == (before.id, after.id)
    assert [step["id"] for step in found.added_steps] == ["find#2"]
    assert not found.removed_steps
    assert not found.has_same_structure
    await lived(memory, "three", "book a seat", [FIND, BOOK, TELL])
    await learn(memory)
    assert (await procedures(memory))["plan:book+find+tell"].id == after.id, "statistics make no version"
    hidden = trust_of(ceiling=Sensitivity.PUBLIC)
    assert await memory.lookup.plan_difference(hidden, "plan:book+find+tell", "1", "2") is None


async def test_reports_and_episodes_are_counted_together(memory: Memory) -> None:
    for number in range(2):
        await lived(memory, f"one {number}", "book a seat", [FIND, BOOK])
    await learn(memory)
    skill = (await procedures(memory))["skill:book+find"]
    answer = await memory.retrieve.retrieve(
        memory.trust, RetrieveRequest(task_descriptor="book a seat", memory_types=(MemoryType.COMPETENCE,))
    )
    await memory.retrieve.log.write_now(answer.id)
    report = OutcomeReport(retrieval=answer.id, outcome=Outcome.FAILURE, used=(skill.id,))
    await memory.feedback.report(memory.trust, report)
    await lived(memory, "more", "book a seat", [FIND, BOOK])
    await learn(memory)
    after = (await procedures(memory))["skill:book+find"]
    performance = (after.payload or {})["performance"]
    assert after.id == skill.id
    assert (performance["success_count"], performance["failure_count"]) == (3, 1)
    assert after.confidence == pytest.approx(5 / 7)


async def test_what_is_learned_stays_within_its_scope_and_sensitivity(memory: Memory) -> None:
    for number in range(2):
        await lived(memory, f"open {number}", "book a seat", [FIND, BOOK, TELL])
        await lived(memory, f"secret {number}", CANARY, [FIND, BOOK, TELL], sensitivity=Sensitivity.HIGH)
        await lived(memory, f"else {number}", CANARY, [FIND, BOOK, TELL], scope="elsewhere")
    await learn(memory)
    page = await memory.lookup.records(
        memory.trust, RecordFilter(types=(MemoryType.COMPETENCE, MemoryType.PLAN_GRAPH)), first=100
    )
    assert sorted((record.scope, record.sensitivity.label, record.type.label) for record in page.records) == sorted(
        (scope, level, kind)
        for scope, level in (("", "low"), ("", "high"), ("elsewhere", "low"))
        for kind in ("competence", "plan_graph")
    )
    for record in page.records:
        if (record.scope, record.sensitivity) == ("", Sensitivity.LOW):
            assert CANARY not in f"{record.payload} {record.text}"


async def test_a_skill_that_a_caller_captured_is_left_alone(memory: Memory) -> None:
    content = {"skill_name": "skill:book+find", "triggers": [{"signal": "book"}], "recipe": [{"step": "ask Bob"}]}
    await memory.remember(SourceKind.OBSERVATION, content, proposed_type=MemoryType.COMPETENCE)
    for number in range(2):
        await lived(memory, f"one {number}", "book a seat", [FIND, BOOK])
    await learn(memory)
    assert ((await procedures(memory))["skill:book+find"].payload or {})["recipe"] == [{"step": "ask Bob"}]


@pytest.mark.parametrize("what", ["episode", "turn", "call"])
async def test_an_erased_episode_leaves_what_was_learned_from_it_and_others(store: Store, what: str) -> None:
    memory = store.memory
    await lived(memory, "one", "book a seat for Ann", [FIND, BOOK, TELL])
    turn, call, *_ = await lived(
        memory,
        CANARY,
        f"book a seat, {CANARY}",
        [("find", {"name": CANARY, CANARY: 1}, {"user": CANARY}), ("book", {"user": CANARY}, CANARY), TELL],
    )
    await lived(memory, "two", "seat, please", [FIND, BOOK, FIND, TELL])
    await learn(memory)
    await lived(memory, "three", "another seat", [FIND, BOOK, TELL, BOOK])
    await learn(memory)
    names = {"skill:book+find+tell", "plan:book+find+tell"}
    assert (await procedures(memory)).keys() == names
    relations = await memory.lookup.relations(memory.trust, [turn])
    (episode,) = {one.target for one in relations[turn] if one.predicate == "part_of"}
    erased = {"episode": episode, "turn": turn, "call": call}[what]
    await store.erase(record_id=erased)
    for record in (await memory.lookup.records(memory.trust, first=100)).records:
        if record.type in (MemoryType.COMPETENCE, MemoryType.PLAN_GRAPH):
            assert CANARY not in f"{record.name} {record.text} {record.payload}"
    held = await store.holding([CANARY])
    assert not {column for column in held if column.endswith(".learned_state")}
    if what == "episode":
        assert not {column for column in held if column.split(".")[0] in ("record_history", "learned_signature")}
    found = await procedures(memory)
    assert found.keys() == names
    assert found["skill:book+find+tell"].state is RecordState.ACTIVE


async def test_undoing_a_run_takes_its_episodes_out_again(memory: Memory) -> None:
    await lived(memory, "one", "book a seat", [FIND, BOOK, TELL])
    await learn(memory)
    await lived(memory, "two", "book a seat", [FIND, BOOK, FIND, TELL])
    before = {name: (record.id, record.payload) for name, record in (await procedures(memory)).items()}
    run = await learn(memory)
    assert run is not None
    assert (await procedures(memory)).keys() == {"skill:book+find+tell", "plan:book+find+tell"}
    undone = await runs_of(memory).undo(memory.trust, run, rationale="too eager")
    assert undone.kept == ()
    assert {name: (record.id, record.payload) for name, record in (await procedures(memory)).items()} == before
    await lived(memory, "three", "book a seat", [FIND, BOOK, TELL])
    await learn(memory)
    skill = (await procedures(memory))["skill:book+find+tell"]
    assert (skill.payload or {})["performance"]["success_count"] == 2, "the run that was undone does not count"
    stored = await memory.rows("SELECT learned_state FROM record WHERE id = :id", id=skill.id)
    assert stored[0]["learned_state"]["evidence"]["find"]["calls"] == 2


async def test_learning_counts_for_a_contested_plan_and_ends_no_dispute(memory: Memory) -> None:
    await lived(memory, "one", "book a seat", [FIND, BOOK, TELL])
    await learn(memory)
    plan = (await procedures(memory))["plan:book+find+tell"].id
    evidence = ({"kind": "human", "ref": "the airline changed it"},)
    await memory.revision.revise(memory.trust, Contest(record_id=plan, evidence=evidence, rationale="outdated"))
    await lived(memory, "two", "book a seat", [FIND, BOOK, TELL, FIND])
    await learn(memory)
    await run_jobs(memory)
    record = await memory.lookup.record(memory.trust, plan)
    assert record is not None
    assert record.state is RecordState.CONTESTED
    assert (record.payload or {})["metrics"]["execution_count"] == 2


@pytest.mark.parametrize("question", ["book_seat", "how is book_seat called?", "what is the latest?"])
async def test_a_question_with_no_word_of_any_task_is_answered_too(memory: Memory, question: str) -> None:
    calls = [(tool, {"to": "Oslo"}, "done") for tool in ("search_flights", "book_seat", "send_mail")]
    for thread in ("one", "two"):
        await lived(memory, thread, f"please help {thread}", calls)
    assert await learn(memory)
    known = await procedures(memory)
    assert len(known) > 1
    answer = await memory.retrieve.retrieve(memory.trust, RetrieveRequest(task_descriptor=question))
    if "book_seat" in question:
        assert set(answer.roots) & {record.id for record in known.values()}


async def test_the_first_success_is_kept_from_pruning_until_the_second_makes_the_skill(memory: Memory) -> None:
    job = Prune(resources_of(memory))
    await lived(memory, "one", "book a seat", [FIND, BOOK])
    await learn(memory)
    memory.clock.forward(timedelta(days=1))
    done = (await job.run_once(memory.clock.now())).counts
    assert (done["records_pruned"], done["pruned_unlearned"]) == (0, 0)
    await lived(memory, "two", "book a seat again", [FIND, BOOK])
    await learn(memory)
    skill = (await procedures(memory))["skill:book+find"].payload or {}
    assert skill["performance"]["success_count"] == 2
    assert [one["signal"] for one in skill["triggers"]] == ["book a seat again", "book a seat"]
    done = (await job.run_once(memory.clock.now())).counts
    assert (done["records_pruned"], done["pruned_unlearned"]) == (4, 0)


async def test_a_success_without_a_second_is_kept_for_90_days_and_pruned_without_a_warning(memory: Memory) -> None:
    job = Prune(resources_of(memory))
    await lived(memory, "one", "book a seat", [FIND, BOOK])
    closed_at = memory.clock.now()
    await learn(memory)
    memory.clock.forward(timedelta(days=1))
    assert (await job.run_once(memory.clock.now())).counts["records_pruned"] == 0
    forgetting = Forgetting(memory.database, memory.directory, memory.clock)
    until = closed_at + KEEP_UNLEARNED - timedelta(seconds=1)
    assert (await forgetting.preview(memory.trust, until)).total == 0
    memory.clock.forward(KEEP_UNLEARNED)
    done = (await job.run_once(memory.clock.now())).counts
    assert done["records_pruned"] >= 4
    assert done["pruned_unlearned"] == 0


async def test_tools_whose_names_hold_a_plus_have_skills_of_their_own(memory: Memory) -> None:
    one: Call = ("a", {}, 1)
    two: Call = ("b", {}, 2)
    joined: Call = ("a+b", {}, 3)
    for number, calls in enumerate(([joined], [joined], [one, two], [one, two])):
        await lived(memory, f"{number}", "please", calls)
        await learn(memory)
    found = {name: (record.payload or {})["required_tools"] for name, record in (await procedures(memory)).items()}
    assert found == {"skill:a%2Bb": ["a+b"], "skill:a+b": ["a", "b"]}


async def test_a_skill_of_other_tools_under_the_same_name_is_left_alone(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(skills, "signature", lambda tools: "same")
    for number in range(2):
        await lived(memory, f"one {number}", "please", [FIND])
    await learn(memory)
    before = (await procedures(memory))["skill:same"]
    for number in range(2):
        await lived(memory, f"two {number}", "please", [BOOK])
    await learn(memory)
    after = (await procedures(memory))["skill:same"]
    assert (after.id, after.payload) == (before.id, before.payload)


@pytest.mark.parametrize("what", ["episode", "turn", "entity"])
async def test_a_pruned_episode_can_be_erased_from_what_was_learned_from_it(store: Store, what: str) -> None:
    memory = store.memory
    content = {"canonical_name": "Anna Kowalska"}
    entity = (await memory.remember(SourceKind.OBSERVATION, content, proposed_type=MemoryType.ENTITY)).primary.id
    for number in range(2):
        await lived(memory, f"{number}", "book a seat", [FIND, BOOK, TELL])
        await learn(memory)
    turn, *_ = await lived(memory, "hers", "book a seat for Anna Kowalska", [FIND, BOOK, TELL])
    relations = await memory.lookup.relations(memory.trust, [turn])
    (episode,) = {one.target for one in relations[turn] if one.predicate == "part_of"}
    await learn(memory)
    memory.clock.forward(timedelta(days=2))
    assert (await Prune(resources_of(memory)).run_once(memory.clock.now())).counts["records_pruned"] > 10
    assert "Kowalska" in str([one.payload for one in (await procedures(memory)).values()])
    if what == "entity":
        await store.erase(entity_id=entity)
    else:
        await store.erase(record_id=turn if what == "turn" else episode)
    held = await store.holding(["Kowalska"])
    assert not {column for column in held if column.split(".")[0] in ("record", "record_history")}
    found = await procedures(memory)
    assert found.keys() == {"skill:book+find+tell", "plan:book+find+tell"}
    assert "Kowalska" not in str([(one.name, one.text, one.payload) for one in found.values()])
