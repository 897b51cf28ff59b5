"""`planDiff` over GraphQL: what changed between two versions of a plan, for who may read both."""

from __future__ import annotations

from typing import Any

from fix_api import services_of
from fix_memory import Memory, trust_of

from stratagraph.graphql.context import Context
from stratagraph.graphql.schema import build_schema
from stratagraph.store.model.enums import MemoryType, Sensitivity, SourceKind
from stratagraph.store.model.trust import Trust

DIFF = """query($from: String!, $to: String!) { planDiff(planId: "ship", from: $from, to: $to) {
  planId fromId toId sameStructure addedSteps { id op } removedSteps { id op }
  changedSteps { id fields before after } addedLinks { source target kind } removedLinks { source target kind } } }"""


async def difference(memory: Memory, before: str, after: str, trust: Trust | None = None) -> Any:
    context = Context(trust or memory.trust, services_of(memory))
    variables = {"from": before, "to": after}
    result = await build_schema().execute(DIFF, variable_values=variables, context_value=context)
    assert result.errors is None
    assert result.data is not None
    return result.data["planDiff"]


async def test_the_difference_of_two_versions_names_steps_and_links(memory: Memory) -> None:
    old = {
        "plan_id": "ship",
        "version": "1",
        "nodes": [{"id": "a", "op": "build"}, {"id": "b", "op": "test", "params": {"suite": "fast"}}],
        "edges": [{"from": "a", "to": "b", "kind": "control"}],
    }
    new = {
        "plan_id": "ship",
        "version": "2",
        "nodes": [{"id": "b", "op": "test", "params": {"suite": "all"}}, {"id": "c", "op": "ship"}],
        "edges": [{"from": "b", "to": "c", "kind": "data"}],
    }
    ids = [
        str((await memory.remember(SourceKind.OBSERVATION, plan, proposed_type=MemoryType.PLAN_GRAPH)).primary.id)
        for plan in (old, new)
    ]
    assert await difference(memory, "1", "2") == {
        "planId": "ship",
        "fromId": ids[0],
        "toId": ids[1],
        "sameStructure": False,
        "addedSteps": [{"id": "c", "op": "ship"}],
        "removedSteps": [{"id": "a", "op": "build"}],
        "changedSteps": [
            {
                "id": "b",
                "fields": ["params"],
                "before": {"params": {"suite": "fast"}},
                "after": {"params": {"suite": "all"}},
            }
        ],
        "addedLinks": [{"source": "b", "target": "c", "kind": "DATA"}],
        "removedLinks": [{"source": "a", "target": "b", "kind": "CONTROL"}],
    }
    assert (await difference(memory, "2", "2"))["sameStructure"]
    assert await difference(memory, "1", "3") is None
    assert await difference(memory, "1", "2", trust_of(ceiling=Sensitivity.PUBLIC)) is None
