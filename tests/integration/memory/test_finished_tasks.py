"""The working record of a task is pruned once the task is done (docs/specification.md, Capture)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from fix_jobs import resources_of
from fix_memory import Memory, trust_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stratagraph.consolidation.jobs.prune import Prune
from stratagraph.memory.capture.policy import Policy
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.capture.service import Capture
from stratagraph.memory.records.listing import RecordFilter
from stratagraph.memory.revise.request import Pin, Supersede
from stratagraph.store.model.enums import AuditAction, MemoryType, Sensitivity, SourceKind
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.ids import new_id
from stratagraph.store.model.records import MemoryRecord

STATES = ("planning", "executing", "blocked", "waiting", "done")


async def state(memory: Memory, thread: str, name: str, **more: Any) -> UUID:
    content = {"thread_id": thread, "state": name}
    return (await memory.remember(SourceKind.WORKING_STATE, content, **more)).primary.id


async def end(memory: Memory, outcome: str = "success", **content: Any) -> None:
    await memory.remember(SourceKind.OUTCOME, {"outcome_status": outcome, **content})


async def prune(memory: Memory) -> None:
    memory.clock.forward(timedelta(seconds=1))
    assert (await Prune(resources_of(memory)).run_once(memory.clock.now())).counts["set_aside"] == 0


async def read(memory: Memory, id_: UUID) -> MemoryRecord | None:
    return await memory.lookup.record(memory.trust, id_)


async def test_a_done_task_is_pruned_by_the_next_pass_and_leaves_its_audit_log(memory: Memory) -> None:
    id_ = await state(memory, "t", "executing")
    before = memory.clock.now()
    await prune(memory)
    assert await read(memory, id_) is not None  # it goes on
    assert await state(memory, "t", "done") == id_
    done = await read(memory, id_)
    assert done is not None
    assert (done.salience, (done.payload or {})["state"]) == (0, "done")
    earlier = await memory.lookup.record(memory.trust, id_, as_of=before)
    assert earlier is not None
    assert earlier.salience > 0.99
    await prune(memory)
    assert await read(memory, id_) is None
    entries = (await memory.lookup.audit_log(memory.trust, id_)).entries
    assert [entry.action for entry in entries] == [
        AuditAction.CREATE,
        AuditAction.REVISE,
        AuditAction.DECAY,
        AuditAction.DELETE,
    ]
    assert (entries[2].rationale, entries[3].actor) == ("the task is done", "housekeeping")
    assert await state(memory, "t", "planning") != id_  # the thread's next task has a record of its own


@pytest.mark.parametrize("outcome", ["success", "failure", "partial"])
@pytest.mark.parametrize("names", ["thread_id", "record_id"])
async def test_the_outcome_of_a_thread_ends_its_task(memory: Memory, outcome: str, names: str) -> None:
    id_, other = await state(memory, "t", "blocked"), await state(memory, "u", "blocked")
    hidden = await state(memory, "t", "blocked", sensitivity=Sensitivity.MEDIUM)
    turn = (await memory.turn("a remark", thread="t")).edges
    episode = next(edge.target for edge in turn if edge.predicate == "part_of")
    await end(memory, outcome, **{names: "t" if names == "thread_id" else str(episode)})
    await prune(memory)
    assert await read(memory, id_) is None
    assert await read(memory, other) is not None
    assert await read(memory, hidden) is not None  # whose thread is another, at its sensitivity


async def test_silence_ends_no_task(memory: Memory) -> None:
    id_ = await state(memory, "t", "waiting")
    await memory.turn("a remark", thread="t")
    memory.clock.forward(timedelta(hours=1))
    await memory.turn("another remark", thread="t")  # which closes the episode
    await prune(memory)
    assert await read(memory, id_) is not None


async def test_a_task_that_goes_on_before_it_is_pruned_stays(memory: Memory) -> None:
    id_ = await state(memory, "t", "done")
    assert await state(memory, "t", "executing") == id_
    found = await read(memory, id_)
    assert found is not None
    assert found.salience == pytest.approx(1, abs=1e-4)
    await prune(memory)
    assert await read(memory, id_) is not None


async def test_the_policy_of_a_record_keeps_it_though_its_task_is_done(memory: Memory, tmp_path: Path) -> None:
    pinned = await state(memory, "t", "executing")
    await memory.revision.revise(memory.trust, Pin(record_id=pinned, pinned=True, rationale="to show"))
    await state(memory, "t", "done")
    rules = tmp_path / "policy.json"
    rules.write_text('{"rules": [{"when": {"type": ["working"]}, "set": {"deletion_policy": "manual_only"}}]}')
    kept = replace(memory, capture=Capture(memory.database, memory.directory, memory.clock, Policy.load(rules)))
    manual = await state(kept, "u", "done")
    await prune(memory)
    assert await read(memory, pinned) is not None
    assert await read(memory, manual) is not None


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from([*STATES, "outcome", "detailed"]), min_size=1, max_size=6), st.booleans())
async def test_a_working_record_stays_just_while_its_task_goes_on(
    memory: Memory, steps: list[str], in_one_batch: bool
) -> None:
    """In single captures, or in one batch of the same captures in their order."""
    memory = replace(memory, trust=trust_of(tenant=f"tenant {new_id()}"))
    requests, last, goes_on = [], "", False
    for step in ["planning", *steps]:
        if step == "outcome":
            requests.append(request(SourceKind.AGENT_TURN, {"thread_id": "t", "role": "user", "text": "go"}))
            requests.append(request(SourceKind.OUTCOME, {"thread_id": "t", "outcome_status": "success"}))
            goes_on = False
            continue
        last = last if step == "detailed" else step
        change = {"next_actions": ["wait"]} if step == "detailed" else {"state": step}
        requests.append(request(SourceKind.WORKING_STATE, {"thread_id": "t", **change}))
        goes_on = last != "done"
    memory.clock.forward(timedelta(seconds=1))
    for part in [requests] if in_one_batch else [[one] for one in requests]:
        await memory.capture.capture(memory.trust, part)
        memory.clock.forward(timedelta(seconds=1))
    await prune(memory)
    page = await memory.lookup.records(memory.trust, RecordFilter(types=[MemoryType.WORKING]))
    assert bool(page.records) is goes_on, steps


def request(kind: SourceKind, content: dict[str, Any]) -> CaptureRequest:
    return CaptureRequest(source="test", source_kind=kind, content=content)


async def test_a_revision_that_says_so_ends_the_task(memory: Memory) -> None:
    id_ = await state(memory, "t", "executing")
    payload = {"kind": "working", "thread_id": "t", "state": "done"}
    await memory.revision.revise(memory.trust, Supersede(record_id=id_, payload=payload, rationale="finished"))
    await prune(memory)
    assert await read(memory, id_) is None


async def test_a_task_is_not_superseded_by_a_payload_without_a_state(memory: Memory) -> None:
    id_ = await state(memory, "t", "planning")
    without = Supersede(record_id=id_, payload={"thread_id": "t", "context_summary": "half way"}, rationale="news")
    with pytest.raises(InvalidInput, match="state: is missing") as refused:
        await memory.revision.revise(memory.trust, without)
    assert refused.value.path == ["payload", "state"]
