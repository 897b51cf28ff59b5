"""Regression tests: the smallest histories in which the store differed from the model (see test_histories.py)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from types import ModuleType
from typing import Any, TypeVar
from uuid import UUID

import pytest
from fix_memory import Memory
from sqlalchemy import text

from stratagraph.memory.capture import service as capture_service
from stratagraph.memory.capture.answers import Captured
from stratagraph.memory.capture.policy import Policy
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.capture.service import Capture
from stratagraph.memory.erase.request import Erase
from stratagraph.memory.propagation import reevaluation as propagation
from stratagraph.memory.propagation.queue import reevaluate_due
from stratagraph.memory.revise import service as revision_service
from stratagraph.memory.revise.linking import link_due
from stratagraph.memory.revise.request import (
    Contest,
    Delete,
    Fork,
    Merge,
    ResolveContest,
    Retract,
    Supersede,
    Unmerge,
)
from stratagraph.store.model.enums import MemoryType, RecordState, SourceKind
from stratagraph.store.model.errors import ConditionsOverlap, StratagraphError

T = TypeVar("T")
EXTERNAL = {"kind": "human", "ref": "ticket-7"}


def evidence_of(*ids: UUID) -> list[dict[str, Any]]:
    return [{"source_type": "observation", "source_id": str(id_)} for id_ in ids]


async def test_a_fact_supported_directly_and_indirectly_by_a_retracted_source_is_contested(memory: Memory) -> None:
    a = (await memory.observe("a", "p", 1)).primary
    b = (await memory.observe("b", "p", 1, evidence=evidence_of(a.id))).primary
    both = (await memory.observe("c", "p", 1, evidence=evidence_of(a.id, b.id))).primary
    await memory.revision.revise(memory.trust, Retract(record_id=a.id, rationale="wrong"))
    assert (await memory.record(b.id)).state is RecordState.CONTESTED
    assert (await memory.record(both.id)).state is RecordState.CONTESTED


async def test_a_correction_supported_only_by_a_retracted_record_is_contested(memory: Memory) -> None:
    old = (await memory.observe("a", "p", 1)).primary
    removed = (await memory.observe("b", "p", 1)).primary
    await memory.revision.revise(memory.trust, Retract(record_id=removed.id, rationale="wrong"))
    done = await memory.revision.revise(
        memory.trust,
        Supersede(
            record_id=old.id,
            payload={"subject": "a", "predicate": "p", "object": 2, "validity": {"mode": "global"}},
            evidence=tuple(evidence_of(removed.id)),
            rationale="corrected",
        ),
    )
    assert (await memory.record(done.record.id)).state is RecordState.CONTESTED


async def test_a_fork_supported_only_by_a_retracted_record_is_contested(memory: Memory) -> None:
    old = (await memory.observe("a", "p", 1, conditions={"env": "prod"})).primary
    removed = (await memory.observe("b", "p", 1)).primary
    await memory.revision.revise(memory.trust, Retract(record_id=removed.id, rationale="wrong"))
    done = await memory.revision.revise(
        memory.trust,
        Fork(
            record_id=old.id,
            payload={"object": 2},
            conditions={"env": "dev"},
            evidence=tuple(evidence_of(removed.id)),
            rationale="varies",
        ),
    )
    assert (await memory.record(done.record.id)).state is RecordState.CONTESTED


async def test_a_correction_equal_to_an_unsupported_fact_restores_that_fact(memory: Memory) -> None:
    removed = (await memory.observe("b", "p", 1)).primary
    unsupported = (await memory.observe("a", "p", 2, evidence=evidence_of(removed.id))).primary
    old = (await memory.observe("a", "p", 1)).primary
    await memory.revision.revise(memory.trust, Retract(record_id=removed.id, rationale="wrong"))
    assert (await memory.record(unsupported.id)).state is RecordState.CONTESTED
    done = await memory.revision.revise(
        memory.trust,
        Supersede(
            record_id=old.id,
            payload={"subject": "a", "predicate": "p", "object": 2, "validity": {"mode": "global"}},
            evidence=(EXTERNAL,),
            rationale="corrected",
        ),
    )
    assert done.record.id == unsupported.id
    assert (await memory.record(unsupported.id)).state is RecordState.ACTIVE


async def test_a_merge_that_settles_a_contest_restores_the_derived_fact(memory: Memory) -> None:
    a = (await memory.observe("a", "p", 1)).primary
    b = (await memory.observe("a", "p", 2)).primary
    derived = (await memory.observe("c", "p", 1, evidence=evidence_of(a.id))).primary
    await memory.revision.revise(memory.trust, Contest(record_id=a.id, contesting_id=b.id, rationale="cannot both be"))
    assert (await memory.record(derived.id)).state is RecordState.CONTESTED
    done = await memory.revision.revise(
        memory.trust, Merge(record_id=a.id, others=(b.id,), rationale="the same after all")
    )
    assert (await memory.record(done.record.id)).state is RecordState.ACTIVE
    assert (await memory.record(derived.id)).state is RecordState.ACTIVE


async def test_a_contest_is_not_resolved_in_favour_of_a_fact_that_contradicts_an_active_one(memory: Memory) -> None:
    """Their conditions differ and do not exclude each other, which the exclusion constraint cannot detect."""
    prod = (await memory.observe("a", "p", 1, conditions={"env": "prod"})).primary
    await memory.revision.revise(memory.trust, Contest(record_id=prod.id, evidence=(EXTERNAL,), rationale="doubt"))
    eu = (await memory.observe("a", "p", 2, conditions={"region": "eu"})).primary
    await _make_single_valued(memory)
    with pytest.raises(ConditionsOverlap):
        await memory.revision.revise(
            memory.trust, ResolveContest(record_id=prod.id, winner_id=prod.id, rationale="holds")
        )
    assert (await memory.record(eu.id)).state is RecordState.ACTIVE
    assert (await memory.record(prod.id)).state is RecordState.CONTESTED


async def test_new_evidence_does_not_restore_a_fact_that_contradicts_an_active_one(memory: Memory) -> None:
    source = (await memory.observe("b", "p", 1)).primary
    prod = (await memory.observe("a", "p", 1, conditions={"env": "prod"}, evidence=evidence_of(source.id))).primary
    await memory.revision.revise(memory.trust, Retract(record_id=source.id, rationale="wrong"))
    eu = (await memory.observe("a", "p", 2, conditions={"region": "eu"})).primary
    await _make_single_valued(memory)
    await memory.observe("a", "p", 1, conditions={"env": "prod"}, evidence=[EXTERNAL])
    assert (await memory.record(eu.id)).state is RecordState.ACTIVE
    assert (await memory.record(prod.id)).state is RecordState.CONTESTED


async def _make_single_valued(memory: Memory) -> None:
    """Capture a fact with a policy, for conditions that exclude those of the others."""
    conditions = {"env": "dev", "region": "us"}
    await memory.observe("a", "p", 3, conditions=conditions, revision_policy="replace", evidence=[EXTERNAL])


async def test_a_fact_given_as_its_own_evidence_gets_no_relation_to_itself(memory: Memory) -> None:
    one = (await memory.observe("a", "p", 1)).primary
    again = (await memory.observe("a", "p", 1, evidence=evidence_of(one.id))).primary
    assert again.id == one.id
    assert (await memory.record(one.id)).state is RecordState.ACTIVE
    edges = (await memory.lookup.relations(memory.trust, [one.id]))[one.id]
    assert [edge for edge in edges if edge.source == edge.target] == []


async def test_the_audit_times_of_a_record_increase_even_if_the_clock_does_not(memory: Memory) -> None:
    a = (await memory.observe("a", "p", 1)).primary
    b = (await memory.observe("b", "p", 1, evidence=evidence_of(a.id))).primary
    far = memory.clock.now()
    await memory.revision.revise(memory.trust, Contest(record_id=b.id, evidence=(EXTERNAL,), rationale="doubt"))
    await memory.revision.revise(memory.trust, ResolveContest(record_id=b.id, winner_id=b.id, rationale="holds"))
    await memory.revision.revise(memory.trust, Contest(record_id=b.id, evidence=(EXTERNAL,), rationale="doubt"))
    assert memory.clock.now() == far
    await memory.revision.revise(memory.trust, Retract(record_id=a.id, rationale="wrong"))
    async with memory.database.engine.begin() as connection:
        rows = (
            await connection.execute(
                text("SELECT id, at, lag(at) OVER (PARTITION BY id ORDER BY seq) AS before FROM audit")
            )
        ).all()
    assert all(row.before is None or row.before < row.at for row in rows)


async def test_a_contest_raised_while_another_is_resolved_is_not_lost(memory: Memory) -> None:
    """In either order, the contesting fact is not active while its contest is unresolved."""
    for number in range(6):
        a = (await memory.observe(f"a{number}", "p", 1)).primary
        b = (await memory.observe(f"a{number}", "p", 2)).primary
        await memory.revision.revise(memory.trust, Contest(record_id=a.id, evidence=(EXTERNAL,), rationale="doubt"))
        results = await asyncio.gather(
            memory.revision.revise(
                memory.trust, Contest(record_id=a.id, contesting_id=b.id, rationale="cannot both be")
            ),
            memory.revision.revise(memory.trust, ResolveContest(record_id=a.id, winner_id=a.id, rationale="holds")),
            return_exceptions=True,
        )
        assert [one for one in results if isinstance(one, Exception)] == []
        states = ((await memory.record(a.id)).state, (await memory.record(b.id)).state)
        assert states in {
            (RecordState.ACTIVE, RecordState.SUPERSEDED),  # contested, then the contest was resolved for both
            (RecordState.CONTESTED, RecordState.CONTESTED),  # resolved, then contested again
        }


async def test_evidence_captured_during_a_merge_of_its_fact_is_not_lost(memory: Memory) -> None:
    for number in range(6):
        a = (await memory.observe(f"a{number}", "p", 1)).primary
        b = (await memory.observe(f"a{number}", "p", 2)).primary
        await asyncio.gather(
            memory.observe(f"a{number}", "p", 2, evidence=[{"kind": "human", "ref": "late"}]),
            memory.revision.revise(memory.trust, Merge(record_id=a.id, others=(b.id,), rationale="same")),
        )
        current = {record.id: record for record in (await memory.lookup.records(memory.trust, first=100)).records}
        facts = [
            record
            for record in current.values()
            if record.payload
            and record.payload.get("subject") == f"a{number}"
            and record.state in (RecordState.ACTIVE, RecordState.CONTESTED)
        ]
        refs = {source["ref"] for fact in facts for source in (fact.provenance or {})["sources"]}
        assert "late" in refs


async def test_deriving_from_a_record_during_its_deletion_succeeds(memory: Memory) -> None:
    for number in range(6):
        a = (await memory.observe(f"a{number}", "p", 1)).primary
        results = await asyncio.gather(
            memory.observe(f"b{number}", "p", 2, evidence=evidence_of(a.id)),
            memory.revision.revise(memory.trust, Delete(record_id=a.id, rationale="never said")),
            return_exceptions=True,
        )
        assert [one for one in results if isinstance(one, Exception)] == []


async def test_correcting_with_evidence_that_is_being_deleted_succeeds_or_is_refused(memory: Memory) -> None:
    for number in range(6):
        a = (await memory.observe(f"a{number}", "p", 1)).primary
        b = (await memory.observe(f"b{number}", "p", 1)).primary
        results = await asyncio.gather(
            memory.revision.revise(
                memory.trust,
                Supersede(
                    record_id=b.id,
                    payload={"subject": f"b{number}", "predicate": "p", "object": 2, "validity": {"mode": "global"}},
                    evidence=tuple(evidence_of(a.id)),
                    rationale="corrected",
                ),
            ),
            memory.revision.revise(memory.trust, Delete(record_id=a.id, rationale="never said")),
            return_exceptions=True,
        )
        assert [one for one in results if isinstance(one, Exception) and not isinstance(one, StratagraphError)] == []


async def test_a_fact_derived_during_the_retraction_of_its_source_is_contested(memory: Memory) -> None:
    for number in range(6):
        a = (await memory.observe(f"a{number}", "p", 1)).primary
        derived, _ = await asyncio.gather(
            memory.observe(f"b{number}", "p", 2, evidence=evidence_of(a.id)),
            memory.revision.revise(memory.trust, Retract(record_id=a.id, rationale="wrong")),
        )
        assert (await memory.record(derived.primary.id)).state is RecordState.CONTESTED


async def test_a_working_record_is_superseded_in_place(memory: Memory) -> None:
    content = {"thread_id": "t", "state": "planning"}
    task = (await memory.remember(SourceKind.WORKING_STATE, content)).primary
    done = await memory.revision.revise(
        memory.trust, Supersede(record_id=task.id, payload={"thread_id": "t", "state": "done"}, rationale="ready")
    )
    assert (done.record.id, done.record.version) == (task.id, 2)
    assert done.record.payload is not None
    assert done.record.payload["state"] == "done"


async def test_a_fact_supported_only_by_a_deleted_record_is_contested_from_the_start(memory: Memory) -> None:
    removed = (await memory.observe("a", "p", 1)).primary
    await memory.revision.revise(memory.trust, Delete(record_id=removed.id, rationale="never said"))
    late = (await memory.observe("b", "p", 1, evidence=evidence_of(removed.id))).primary
    assert (await memory.record(late.id)).state is RecordState.CONTESTED


async def test_a_slot_with_overlapping_facts_cannot_become_single_valued(memory: Memory) -> None:
    """Overlapping facts are allowed in a multi-valued slot; the policy of a third cannot make it single-valued."""
    one = (await memory.observe("a", "p", 1, conditions={"env": "prod"})).primary
    other = (await memory.observe("a", "p", 2, conditions={"region": "eu"})).primary
    with pytest.raises(ConditionsOverlap):
        await memory.observe(
            "a", "p", 3, conditions={"env": "dev", "region": "us"}, revision_policy="replace", evidence=[EXTERNAL]
        )
    assert (await memory.record(one.id)).state is RecordState.ACTIVE
    assert (await memory.record(other.id)).state is RecordState.ACTIVE


async def test_resolving_in_favour_of_a_fact_without_support_is_repeatable(memory: Memory) -> None:
    source = (await memory.observe("b", "p", 1)).primary
    fact = (await memory.observe("a", "p", 1, evidence=evidence_of(source.id))).primary
    await memory.revision.revise(memory.trust, Retract(record_id=source.id, rationale="wrong"))
    await memory.revision.revise(memory.trust, Contest(record_id=fact.id, evidence=(EXTERNAL,), rationale="doubt"))
    resolve = ResolveContest(record_id=fact.id, winner_id=fact.id, rationale="holds")
    states = []
    for _ in range(2):
        await memory.revision.revise(memory.trust, resolve)
        states.append((await memory.record(fact.id)).state)
        if states[-1] is RecordState.ACTIVE:
            break
    assert states in ([RecordState.ACTIVE], [RecordState.CONTESTED, RecordState.CONTESTED])


@pytest.mark.parametrize("kind", [Retract, Delete])
async def test_a_retry_concurrent_with_its_first_attempt_is_answered_as_a_replay(
    memory: Memory, kind: type[Retract | Delete]
) -> None:
    """Both run at once with the same idempotency key."""
    for number in range(4):
        fact = (await memory.observe(f"a{number}", "p", 1)).primary
        request = kind(record_id=fact.id, rationale="wrong", idempotency_key=f"k{number}")
        done = await asyncio.gather(memory.revision.revise(memory.trust, request), memory.revise(request))
        assert sorted(one.replayed for one in done) == [False, True]


@pytest.mark.parametrize("kind", [Retract, Delete])
async def test_a_request_answered_after_its_retry_looked_up_the_key_is_not_refused(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, kind: type[Retract | Delete]
) -> None:
    """The record that it revised is then as the first attempt left it, which would be refused without its key."""
    fact = (await memory.observe("a", "p", 1)).primary
    request = kind(record_id=fact.id, rationale="wrong", idempotency_key="k")
    first = once_after_looking_up_keys(
        monkeypatch, revision_service, lambda: memory.revision.revise(memory.trust, request)
    )
    again = await memory.revision.revise(memory.trust, request)
    assert (first.pop().replayed, again.replayed) == (False, True)
    with pytest.raises(StratagraphError):
        await memory.revision.revise(
            memory.trust, kind(record_id=fact.id, rationale="wrong", idempotency_key="another")
        )


async def test_an_outcome_stored_after_its_retry_looked_up_the_key_is_not_refused(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The retry reaches another process, in which nothing makes it wait for the first attempt."""
    await memory.turn("hello", thread="t")
    another = Capture(memory.database, memory.directory, memory.clock, Policy())
    request = CaptureRequest(
        source="test",
        source_kind=SourceKind.OUTCOME,
        content={"thread_id": "t", "outcome_status": "success"},
        idempotency_key="k",
    )

    async def capture(service: Capture) -> Captured:
        return (await service.capture(memory.trust, [request]))[0]

    first = once_after_looking_up_keys(monkeypatch, capture_service, lambda: capture(another))
    again = await capture(memory.capture)
    assert again.replayed
    assert again.primary.id == first.pop().primary.id


def once_after_looking_up_keys(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, request: Callable[[], Awaitable[T]]
) -> list[T]:
    """Send `request` once, right after the next look-up of keys by `module`; return the list that gets its answer."""
    answers: list[T] = []
    sent: list[Any] = []
    find = module.find_used_keys

    async def found(*given: Any) -> Any:
        used = await find(*given)
        if not sent:
            sent.append(request)
            answers.append(await request())
        return used

    monkeypatch.setattr(module, "find_used_keys", found)
    return answers


async def test_two_concurrent_turns_open_one_episode_after_inactivity(memory: Memory) -> None:
    """The second turn waits for a lock, finds the old episode closed and joins the one that the first opened."""
    await asyncio.gather(memory.turn("hello", thread="t"), memory.turn("there", thread="t"))
    for number in range(6):
        memory.clock.forward(timedelta(hours=1))
        turns = await asyncio.gather(memory.turn(f"one {number}", thread="t"), memory.turn(f"two {number}", thread="t"))
        opened = [record for turn in turns for record in turn.created if record.id != turn.primary.id]
        assert len({record.id for record in opened if record.type is MemoryType.EPISODIC}) == 1


async def test_deleting_queues_re_evaluations_over_the_budget_of_one_transaction(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(propagation, "BUDGET", 1)
    source = (await memory.observe("a", "p", 1)).primary
    derived = [
        (await memory.observe(f"b{number}", "p", 1, evidence=evidence_of(source.id))).primary for number in range(3)
    ]
    await memory.revision.revise(memory.trust, Delete(record_id=source.id, rationale="never said"))
    later = memory.clock.now() + timedelta(seconds=1)
    while (await reevaluate_due(memory.database, memory.directory, now=later, batch=100)).due:
        pass
    assert {(await memory.record(one.id)).state for one in derived} == {RecordState.CONTESTED}


async def test_a_correction_with_the_contesting_fact_as_evidence_is_active(memory: Memory) -> None:
    """The correction ends the contest, which makes its evidence active again, and so the correction."""
    wrong = (await memory.observe("a", "p", 1)).primary
    right = (await memory.observe("b", "p", 1)).primary
    await memory.revision.revise(
        memory.trust, Contest(record_id=wrong.id, contesting_id=right.id, rationale="cannot both be")
    )
    done = await memory.revision.revise(
        memory.trust,
        Supersede(
            record_id=wrong.id,
            payload={"subject": "a", "predicate": "p", "object": 2, "validity": {"mode": "global"}},
            evidence=tuple(evidence_of(right.id)),
            rationale="corrected",
        ),
    )
    assert (await memory.record(right.id)).state is RecordState.ACTIVE
    assert (await memory.record(done.record.id)).state is RecordState.ACTIVE


async def test_a_mention_that_teaches_nothing_is_reported_as_matched(memory: Memory) -> None:
    """The subject teaches an alias; the object, found by this alias, teaches nothing."""
    await memory.observe("ada", "p", 1)
    done = await memory.observe(
        "ada", "q", "acme gmbh", context={"mentions": [{"name": "ada", "aliases": ["acme gmbh"]}]}
    )
    assert [one.outcome.name for one in done.mentions] == ["TAUGHT", "MATCHED"]


async def test_an_earlier_fact_is_linked_to_an_entity_that_it_names_in_another_role_too(memory: Memory) -> None:
    early = (await memory.observe("ada", "p", "acme")).primary
    entity = {"canonical_name": "ada", "aliases": [{"value": "acme"}]}
    ada = await memory.remember(SourceKind.OBSERVATION, entity, proposed_type=MemoryType.ENTITY)
    await link_due(memory.database, memory.directory, now=memory.clock.now() + timedelta(seconds=1), batch=10)
    late = await memory.observe("ada", "p", "acme", evidence=[EXTERNAL])
    assert late.primary.id == early.id
    assert ada.mentions[0].outcome.name == "TAUGHT"


async def test_ending_a_dispute_keeps_the_history_of_its_other_party(memory: Memory) -> None:
    """The other party was written last, at the same instant of the clock."""
    one = (await memory.observe("a", "p", 1)).primary
    other = (await memory.observe("a", "p", 2, revision_policy="contest")).primary
    memory.clock.forward(timedelta(seconds=-1))
    await memory.observe("a", "p", 1, evidence=[EXTERNAL])
    async with memory.database.engine.begin() as connection:
        before = await connection.execute(text("SELECT updated_at FROM record WHERE id = :id"), {"id": one.id})
    await memory.revision.revise(memory.trust, Retract(record_id=other.id, rationale="wrong"))
    async with memory.database.engine.begin() as connection:
        after = await connection.execute(text("SELECT updated_at FROM record WHERE id = :id"), {"id": one.id})
    assert (await memory.record(one.id)).state is RecordState.ACTIVE
    assert after.scalar_one() > before.scalar_one()


async def test_undoing_a_merge_does_not_contest_an_entity_whose_sources_were_erased(memory: Memory) -> None:
    said = {"subject": "ada", "predicate": "p", "object": "acme", "object_type": "Organization"}
    first = await memory.remember(SourceKind.OBSERVATION, said)
    acme = next(one.entity for one in first.mentions if one.name == "acme")
    await memory.remember(SourceKind.OBSERVATION, {**said, "predicate": "q"})
    assert acme is not None
    await memory.erasure.erase(memory.trust, Erase(record_id=first.primary.id, rationale="asked for"))
    entity = {"canonical_name": "initech"}
    other = await memory.remember(SourceKind.OBSERVATION, entity, proposed_type=MemoryType.ENTITY)
    merged = await memory.revision.revise(
        memory.trust, Merge(record_id=acme, others=(other.primary.id,), rationale="one company")
    )
    gone = other.primary.id if merged.record.id == acme else acme
    await memory.revision.revise(memory.trust, Unmerge(record_id=gone, rationale="two companies"))
    assert (await memory.record(acme)).state is RecordState.ACTIVE


async def test_a_record_shows_its_salience_as_of_an_instant_after_its_merge_was_undone(memory: Memory) -> None:
    ids = []
    for name in ("ada", "bo"):
        entity = {"canonical_name": name}
        ids.append((await memory.remember(SourceKind.OBSERVATION, entity, proposed_type=MemoryType.ENTITY)).primary.id)
    merged = await memory.revision.revise(
        memory.trust, Merge(record_id=ids[0], others=(ids[1],), rationale="one person")
    )
    gone = ids[1] if merged.record.id == ids[0] else ids[0]
    await memory.revision.revise(memory.trust, Unmerge(record_id=gone, rationale="two people"))
    memory.clock.forward(timedelta(hours=1))
    then = memory.clock.now()
    memory.clock.forward(timedelta(hours=1))
    now = await memory.lookup.record(memory.trust, gone)
    found = await memory.lookup.record(memory.trust, gone, as_of=then)
    assert now is not None
    assert found is not None
    assert found.salience > now.salience > 0.9
