"""Rules of docs/specification.md that no other file tests."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from fix_memory import EVIDENCE, NOON, Memory, trust_of
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from stratagraph.memory.retrieve.candidates import Why
from stratagraph.memory.retrieve.fuse import score
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.retrieve.weights import Signal
from stratagraph.memory.revise.request import Contest, Pin, Reinforce, Retract, Supersede
from stratagraph.store.model.enums import MemoryType, RecordState, Sensitivity, SourceKind
from stratagraph.store.model.errors import InvalidInput, StoreUnavailable
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.words import term_number
from stratagraph.store.records.ranking import Head


async def test_the_status_in_a_payload_follows_the_state_of_the_record(memory: Memory) -> None:
    """The column `state` is authoritative; a status given in a captured payload is discarded."""
    record = (
        await memory.remember(
            SourceKind.OBSERVATION,
            {"subject": "Alice", "predicate": "likes", "object": "tea", "revision": {"status": "retracted"}},
        )
    ).primary

    async def status() -> tuple[int, str]:
        found = await memory.lookup.record(memory.trust, record.id)
        assert found is not None
        assert found.payload is not None
        state = await memory.value("SELECT state FROM record WHERE id = :id", id=record.id)
        return state, found.payload["revision"]["status"]

    assert await status() == (1, "active")
    await memory.revision.revise(memory.trust, Contest(record_id=record.id, evidence=EVIDENCE, rationale="doubt"))
    assert await status() == (2, "contested")
    await memory.revision.revise(memory.trust, Retract(record_id=record.id, rationale="wrong"))
    assert await status() == (4, "retracted")


async def test_a_retracted_record_is_not_retrieved(memory: Memory) -> None:
    retracted = (await memory.observe("Alice", "plays", "bassoon")).primary
    await memory.revision.revise(memory.trust, Retract(record_id=retracted.id, rationale="wrong"))
    found = await memory.retrieve.retrieve(memory.trust, RetrieveRequest(task_descriptor="bassoon Alice", max_hops=2))
    assert retracted.id not in {node.record.id for node in found.nodes}
    kept = await memory.lookup.record(memory.trust, retracted.id)
    assert kept is not None
    assert (kept.state, kept.salience) == (RecordState.RETRACTED, 0.0)


async def test_a_salience_event_does_not_rewrite_the_record_row(memory: Memory) -> None:
    record = (await memory.observe("Alice", "likes", "tea")).primary
    statement = "SELECT ctid::text || ' ' || xmin::text FROM record WHERE id = :id"
    before = await memory.value(statement, id=record.id)
    await memory.revision.revise(memory.trust, Reinforce(record_id=record.id, rationale="useful"))
    await memory.revision.revise(memory.trust, Pin(record_id=record.id, pinned=True, rationale="keep"))
    # Locking a row changes its header, but makes no new row version, so its ctid stays the same.
    assert (await memory.value(statement, id=record.id)).split()[0] == before.split()[0]
    assert await memory.value("SELECT pinned FROM salience WHERE id = :id", id=record.id) is True


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.floats(0.001, 1))
def test_salience_changes_a_score_by_at_most_30_percent(
    fresh: float, faded: float, confidence: float, words: float
) -> None:
    why = Why(signals={Signal.WORDS: words})
    high, low = max(fresh, faded), min(fresh, faded)
    best = score(Head(UUID(int=1), MemoryType.SEMANTIC, confidence, high, NOON, 0), why)
    worst = score(Head(UUID(int=1), MemoryType.SEMANTIC, confidence, low, NOON, 0), why)
    assert worst <= best
    assert worst >= 0.7 * best - 1e-12


async def test_term_numbers_differ_between_tenants(memory: Memory) -> None:
    """The numbers are keyed per tenant, so that a dump of the database does not reveal words."""
    keys = []
    for name in ("acme", "rival"):
        await memory.observe("Alice", "likes", "bassoon", trust=trust_of(tenant=name))
        tenant = await memory.directory.tenant(name)
        assert tenant is not None
        keys.append(tenant.index_key)
    numbers = [term_number(key, "bassoon") for key in keys]
    assert numbers[0] != numbers[1]
    for number in numbers:
        assert await memory.value("SELECT count(*) FROM record WHERE :n = ANY(terms) AND type = 4", n=number) == 1


async def test_an_internal_failure_keeps_the_input_as_a_candidate_and_names_it(memory: Memory) -> None:
    async with memory.database.engine.begin() as connection:
        await connection.execute(text("ALTER TABLE record ADD CONSTRAINT refused CHECK (name <> 'poison')"))
    with pytest.raises(StoreUnavailable) as caught:
        await memory.remember(SourceKind.EVENT, {"event_kind": "x", "summary": "poison"})
    candidate = UUID(caught.value.message.split("candidate ")[1].split()[0])
    row = "SELECT state || ' ' || (input -> 'content' ->> 'summary') FROM candidate WHERE id = :id"
    assert await memory.value(row, id=candidate) == "failed poison"
    assert await memory.value("SELECT count(*) FROM record") == 0
    with pytest.raises(InvalidInput):  # invalid input is not kept
        await memory.remember(SourceKind.OBSERVATION, {"subject": "", "predicate": "p", "object": 1})
    assert await memory.value("SELECT count(*) FROM candidate") == 1


async def test_an_observation_without_evidence_has_its_candidate_as_source(memory: Memory) -> None:
    plain = await memory.observe("Alice", "likes", "tea")
    assert plain.primary.provenance is not None
    assert [source["ref"] for source in plain.primary.provenance["sources"]] == [f"candidate:{plain.candidate}"]
    with_evidence = await memory.observe(
        "Alice", "likes", "coffee", evidence=[{"source_type": "observation", "source_id": str(plain.primary.id)}]
    )
    assert with_evidence.primary.provenance is not None
    assert [source["ref"] for source in with_evidence.primary.provenance["sources"]] == [str(plain.primary.id)]


async def test_a_derived_fact_must_have_the_scope_and_at_least_the_sensitivity_of_its_sources(
    memory: Memory,
) -> None:
    secret = (await memory.observe("Alice", "earns", 1, sensitivity=Sensitivity.HIGH)).primary
    elsewhere = (await memory.observe("Alice", "works_on", "x", scope="project:x")).primary

    async def derive(source: UUID, **more: Any) -> MemoryRecord:
        evidence = [{"source_type": "observation", "source_id": str(source)}]
        return (await memory.observe("Team", "pays", 2, evidence=evidence, **more)).primary

    with pytest.raises(InvalidInput, match="high or above") as caught:
        await derive(secret.id, sensitivity=Sensitivity.LOW)
    assert caught.value.path == ["sensitivity"]
    assert (await derive(secret.id, sensitivity=Sensitivity.HYPER)).sensitivity is Sensitivity.HYPER
    with pytest.raises(InvalidInput, match="different scopes") as caught:
        await derive(elsewhere.id, scope="project:y")
    assert caught.value.path == ["scope"]
    assert (await derive(elsewhere.id, scope="project:x")).scope == "project:x"


async def test_a_reference_is_visible_only_as_a_relation_whose_both_ends_are_visible(memory: Memory) -> None:
    """An id inside the payload would be visible to a caller who may read only the referring record."""
    secret = (
        await memory.remember(SourceKind.EVENT, {"event_kind": "raise", "ref": "hr#1"}, sensitivity=Sensitivity.HYPER)
    ).primary
    note = await memory.turn("as discussed", sensitivity=Sensitivity.LOW, context={"references": ["hr#1"]})
    low = trust_of(ceiling=Sensitivity.LOW)
    seen = await memory.lookup.record(low, note.primary.id)
    assert seen is not None
    assert str(secret.id) not in repr(seen)
    assert await memory.lookup.relations(low, [note.primary.id]) == {note.primary.id: []}


async def test_a_failed_revision_writes_nothing(memory: Memory) -> None:
    """A revision is one transaction: a failure of its last statement undoes the earlier ones."""
    old = (await memory.observe("Alice", "works_at", "Acme")).primary
    count = "SELECT count(*) FROM record"
    before = await memory.value(count)
    async with memory.database.engine.begin() as connection:
        await connection.execute(
            text("ALTER TABLE candidate ADD CONSTRAINT refused CHECK (source_kind <> 'supersede')")
        )
    payload = {"subject": "Alice", "predicate": "works_at", "object": "Beta", "validity": {"mode": "global"}}
    with pytest.raises(Exception, match="CheckViolation"):
        await memory.revision.revise(
            memory.trust, Supersede(record_id=old.id, payload=payload, evidence=EVIDENCE, rationale="moved")
        )
    assert await memory.value(count) == before
    assert await memory.value("SELECT state FROM record WHERE id = :id", id=old.id) == 1
    assert await memory.value("SELECT count(*) FROM audit WHERE id = :id", id=old.id) == 1
