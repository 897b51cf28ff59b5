"""Plans as they are and as they were: versions, state and validity."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import Any

from fix_memory import Memory, trust_of

from stratagraph.memory.revise.request import Retract, Supersede
from stratagraph.store.model.enums import MemoryType, RecordState, Sensitivity, SourceKind

EVIDENCE: tuple[dict[str, Any], ...] = ({"kind": "human", "ref": "Ann"},)


def payload(version: str, *ops: str) -> dict[str, Any]:
    nodes = [{"id": op, "op": op} for op in ops]
    edges = [{"from": near, "to": far, "kind": "control"} for near, far in pairwise(ops)]
    return {"plan_id": "deploy", "version": version, "nodes": nodes, "edges": edges}


async def test_a_plan_is_shown_as_it_was_at_an_instant_with_its_state_and_validity(memory: Memory) -> None:
    before = memory.clock.at
    memory.clock.forward(timedelta(hours=1))
    kept = await memory.remember(SourceKind.OBSERVATION, payload("1", "build"), proposed_type=MemoryType.PLAN_GRAPH)
    first, written = kept.primary.id, memory.clock.at
    memory.clock.forward(timedelta(hours=1))
    revised = await memory.revision.revise(
        memory.trust,
        Supersede(record_id=first, rationale="tests first", payload=payload("2", "test", "build"), evidence=EVIDENCE),
    )
    replaced = memory.clock.at
    memory.clock.forward(timedelta(hours=1))

    async def seen(id_: str, **more: Any) -> tuple[Any, ...] | None:
        plan = await memory.lookup.plan(more.pop("trust", memory.trust), id_, **more)
        if plan is None:
            return None
        assert plan.valid_to is None or plan.valid_from < plan.valid_to
        steps = [(step.id, step.rank) for step in plan.steps]
        return plan.payload["version"], plan.record.state, plan.valid_from, plan.valid_to, steps

    new = ("2", RecordState.ACTIVE, replaced, None, [("test", 0), ("build", 1)])
    old = ("1", RecordState.ACTIVE, written, None, [("build", 0)])
    withdrawn = ("1", RecordState.SUPERSEDED, written, replaced, [("build", 0)])
    assert await seen("deploy") == new
    assert await seen("deploy", version="1") == withdrawn
    assert await seen(str(first)) == withdrawn
    between = written + timedelta(minutes=30)
    assert await seen("deploy", at=before) is None
    assert await seen(str(first), at=before) is None
    assert await seen("deploy", at=between) == old
    assert await seen("deploy", at=between, version="2") is None
    assert await seen(str(first), at=between) == old
    assert await seen("deploy", at=replaced + timedelta(minutes=30)) == new
    assert await seen(str(first), at=replaced + timedelta(minutes=30)) == withdrawn
    assert await seen("deploy", trust=trust_of(ceiling=Sensitivity.PUBLIC)) is None
    assert await seen("deploy", trust=trust_of(ceiling=Sensitivity.PUBLIC), at=between) is None

    current = (await memory.lookup.plan(memory.trust, "deploy")) or None
    assert current is not None
    await memory.revision.revise(memory.trust, Retract(record_id=current.record.id, rationale="no longer deployed"))
    gone = memory.clock.at
    memory.clock.forward(timedelta(hours=1))
    assert await seen("deploy") == ("2", RecordState.RETRACTED, replaced, gone, [("test", 0), ("build", 1)])
    assert revised is not None
