"""Payloads with keys of a wrong type are refused by name, and keys that mean something elsewhere only are kept."""

from __future__ import annotations

from typing import Any

import pytest
from fix_memory import Memory

from stratagraph.memory.revise.request import Fork, Supersede
from stratagraph.store.model.enums import MemoryType, SourceKind
from stratagraph.store.model.errors import StratagraphError

WRONG: list[Any] = [5, "x", True, {"a": 1}, [1], ["x"], [[]]]
ENTITY = {"canonical_name": "Alice", "primary_type": "Person"}
SKILL = {"skill_name": "ship", "triggers": [{"signal": "merged"}], "recipe": [{"step": "push", "tool": "git"}]}
FACT = {"subject": "api", "predicate": "port", "object": 80}
EVIDENCE = ({"kind": "event", "ref": "ci#1"},)


@pytest.mark.parametrize("value", WRONG, ids=str)
async def test_a_key_that_means_something_in_another_type_is_a_key_of_the_callers_own(
    memory: Memory, value: Any
) -> None:
    content = ENTITY | {"tool_graph": value, "timeline": value, "nodes": value}
    made = await memory.remember(SourceKind.OBSERVATION, content, proposed_type=MemoryType.ENTITY)
    assert made.primary.payload is not None
    assert made.primary.payload["tool_graph"] == value
    await memory.remember(
        SourceKind.OBSERVATION, SKILL | {"predicate": value, "subject": value}, proposed_type=MemoryType.COMPETENCE
    )


async def test_evidence_of_a_wrong_type_is_refused_in_every_capture_and_revision(memory: Memory) -> None:
    fact = await memory.remember(SourceKind.OBSERVATION, FACT)
    for value in WRONG:
        with pytest.raises(StratagraphError, match="evidence"):
            await memory.remember(SourceKind.WORKING_STATE, {"thread_id": "t", "state": "planning", "evidence": value})
        payload = FACT | {"object": 81, "evidence": value}
        request = Supersede(record_id=fact.primary.id, payload=payload, evidence=EVIDENCE, rationale="no")
        with pytest.raises(StratagraphError, match="evidence"):
            await memory.revision.revise(memory.trust, request)


async def test_a_fork_refuses_a_validity_or_triggers_of_a_wrong_type(memory: Memory) -> None:
    fact = await memory.remember(SourceKind.OBSERVATION, FACT)
    skill = await memory.remember(SourceKind.OBSERVATION, SKILL, proposed_type=MemoryType.COMPETENCE)
    conditions = [value for value in WRONG if not isinstance(value, dict)]
    payloads = [
        *((fact, FACT | {"validity": value}, "validity") for value in conditions),
        *((fact, FACT | {"validity": {"conditions": value}}, "conditions") for value in conditions),
        *((skill, SKILL | {"triggers": value}, "triggers") for value in WRONG),
        *((skill, SKILL | {"triggers": [{"signal": "a", "conditions": value}]}, "conditions") for value in conditions),
    ]
    for captured, payload, name in payloads:
        request = Fork(
            record_id=captured.primary.id, payload=payload, conditions={"env": "dev"}, evidence=EVIDENCE, rationale="no"
        )
        with pytest.raises(StratagraphError, match=name):
            await memory.revision.revise(memory.trust, request)
