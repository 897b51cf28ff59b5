"""What `revisionRules` says of each revision and type is what the revision does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from fix_memory import EVIDENCE, Memory

from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.lessons.request import LearnLesson
from stratagraph.memory.revise.request import (
    Amend,
    Contest,
    Delete,
    Fork,
    Merge,
    Penalize,
    Pin,
    Reinforce,
    RejectDuplicate,
    RemoveLesson,
    ResolveContest,
    Retract,
    Revise,
    Supersede,
    Unmerge,
    VerifyLesson,
)
from stratagraph.memory.revise.rules import Kind, Need, Rule, rules
from stratagraph.store.model.enums import MemoryType, SourceKind
from stratagraph.store.model.errors import EpisodicImmutable, EvidenceRequired, InvalidInput

PAYLOADS: dict[MemoryType, dict[str, Any]] = {
    MemoryType.SEMANTIC: {"subject": "Alice", "predicate": "speaks", "object": "Danish"},
    MemoryType.ENTITY: {"canonical_name": "Alice", "types": ["person"]},
    MemoryType.COMPETENCE: {
        "skill_name": "deploy",
        "triggers": [{"signal": "release", "conditions": {"env": "staging"}}],
        "recipe": [{"step": "build"}],
    },
    MemoryType.PLAN_GRAPH: {
        "plan_id": "p",
        "version": "1",
        "intent": "ship",
        "constraints": {"env": "staging"},
        "nodes": [{"id": "a", "op": "build"}],
        "edges": [],
    },
    MemoryType.WORKING: {"thread_id": "t", "state": "planning"},
    MemoryType.EPISODIC: {"role": "user", "text": "hello"},
}
_SOURCES = {MemoryType.WORKING: SourceKind.WORKING_STATE, MemoryType.EPISODIC: SourceKind.AGENT_TURN}
_NAMES = {
    MemoryType.SEMANTIC: "subject",
    MemoryType.ENTITY: "canonical_name",
    MemoryType.COMPETENCE: "skill_name",
    MemoryType.PLAN_GRAPH: "plan_id",
    MemoryType.WORKING: "thread_id",
    MemoryType.EPISODIC: "text",
}


async def captured(memory: Memory, type_: MemoryType, number: int) -> UUID:
    """Capture a record of the type, another one for each number."""
    content = {**PAYLOADS[type_], _NAMES[type_]: f"{PAYLOADS[type_][_NAMES[type_]]} {number}"}
    request = CaptureRequest(
        source="test",
        source_kind=_SOURCES.get(type_, SourceKind.OBSERVATION),
        content=content,
        proposed_type=None if type_ in _SOURCES or type_ is MemoryType.SEMANTIC else type_,
    )
    (done,) = await memory.capture.capture(memory.trust, [request])
    assert done.primary.type is type_
    return done.primary.id


def request_of(kind: Kind, id_: UUID, other: UUID, payload: dict[str, Any], evidence: tuple[Any, ...]) -> Revise:
    common: dict[str, Any] = {"record_id": id_, "rationale": "why not"}
    whole = {name: value for name, value in payload.items() if name not in ("evidence", "kind")}
    kinds: dict[Kind, Callable[[], Revise]] = {
        Kind.SUPERSEDE: lambda: Supersede(**common, payload={**whole, "note": 1}, evidence=evidence),
        Kind.AMEND: lambda: Amend(**common, changes={"note": 1}, evidence=evidence),
        Kind.FORK: lambda: Fork(**common, payload=whole, conditions={"env": "dev"}, evidence=evidence),
        Kind.CONTEST: lambda: Contest(**common, evidence=evidence),
        Kind.RESOLVE_CONTEST: lambda: ResolveContest(**common, winner_id=id_),
        Kind.RETRACT: lambda: Retract(**common),
        Kind.MERGE: lambda: Merge(**common, others=(other,)),
        Kind.UNMERGE: lambda: Unmerge(**common),
        Kind.REJECT_DUPLICATE: lambda: RejectDuplicate(**common, other_id=other),
        Kind.DELETE_RECORD: lambda: Delete(**common),
        Kind.REINFORCE: lambda: Reinforce(**common),
        Kind.PENALIZE: lambda: Penalize(**common, amount=0.1),
        Kind.PIN: lambda: Pin(**common, pinned=True),
        Kind.VERIFY_LESSON: lambda: VerifyLesson(**common, verified=True),
        Kind.REMOVE_LESSON: lambda: RemoveLesson(**common),
    }
    return kinds[kind]()


async def subject_of(memory: Memory, rule: Rule) -> tuple[UUID, UUID]:
    """Return a record that the revision is about, and another one of its type."""
    id_, other = await captured(memory, rule.type, 1), await captured(memory, rule.type, 2)
    if rule.kind in (Kind.VERIFY_LESSON, Kind.REMOVE_LESSON) and rule.type is MemoryType.COMPETENCE:
        lesson = await memory.lessons.learn(memory.trust, LearnLesson(task="ship", solution="test"))
        return lesson.captured.primary.id, other
    if rule.kind is Kind.RESOLVE_CONTEST and rule.is_allowed:
        await memory.revise(Contest(record_id=id_, evidence=EVIDENCE, rationale="doubtful"))
    if rule.kind is Kind.UNMERGE and rule.is_allowed:
        done = await memory.revise(Merge(record_id=id_, others=(other,), rationale="the same"))
        return (other if done.record.id == id_ else id_), done.record.id
    return id_, other


@pytest.mark.parametrize("type_", list(MemoryType), ids=lambda type_: type_.label)
async def test_each_rule_is_what_the_revision_does(memory: Memory, type_: MemoryType) -> None:
    found = [rule for rule in rules() if rule.type is type_]
    assert [rule.kind for rule in found] == list(Kind)
    for number, rule in enumerate(found):
        memory.trust = replace(memory.trust, tenant=f"{type_.label}-{number}")
        id_, other = await subject_of(memory, rule)
        payload = (await memory.record(id_)).payload or {}
        takes = rule.evidence is not Need.NONE
        requests = [request_of(rule.kind, id_, other, payload, evidence) for evidence in ((), EVIDENCE)]
        if not rule.is_allowed:
            with pytest.raises((EpisodicImmutable, InvalidInput)):
                await memory.revise(requests[1])
            continue
        if rule.evidence in (Need.REQUIRED, Need.WITHOUT_RECORD):
            with pytest.raises(EvidenceRequired):
                await memory.revise(requests[0])
            await memory.revise(requests[1])
        else:
            await memory.revise(requests[0])
        assert takes == hasattr(requests[1], "evidence")


async def test_a_contest_by_a_record_needs_no_evidence(memory: Memory) -> None:
    id_, other = [await captured(memory, MemoryType.SEMANTIC, number) for number in (1, 2)]
    await memory.revise(Contest(record_id=id_, contesting_id=other, rationale="doubtful"))
