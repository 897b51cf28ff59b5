"""The smallest histories in which the store and the rules differed, as the random histories showed them."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from fix_memory import Memory
from sqlalchemy import text

from stratagraph.memory import propagation
from stratagraph.memory.reevaluating import reevaluate_due
from stratagraph.memory.revise.request import (
    Contest,
    Delete,
    Fork,
    Merge,
    ResolveContest,
    Retract,
    Revise,
    Supersede,
)
from stratagraph.memory.revise.service import Revised
from stratagraph.store.model.enums import MemoryType, RecordState, SourceKind
from stratagraph.store.model.errors import ConditionsOverlap, StratagraphError

EXTERNAL = {"kind": "human", "ref": "ticket-7"}


def on(*ids: UUID) -> list[dict[str, Any]]:
    return [{"source_type": "observation", "source_id": str(id_)} for id_ in ids]


async def state(memory: Memory, id_: UUID) -> RecordState:
    record = await memory.lookup.record(memory.trust, id_)
    assert record is not None
    return record.state


async def revise(memory: Memory, request: Revise) -> Revised:
    return await memory.revision.revise(memory.trust, request)


async def test_a_fact_that_rests_on_a_source_directly_and_through_another_falls_with_it(memory: Memory) -> None:
    a = (await memory.observe("a", "p", 1)).primary
    b = (await memory.observe("b", "p", 1, evidence=on(a.id))).primary
    both = (await memory.observe("c", "p", 1, evidence=on(a.id, b.id))).primary
    await revise(memory, Retract(record_id=a.id, rationale="wrong"))
    assert await state(memory, b.id) is RecordState.CONTESTED
    assert await state(memory, both.id) is RecordState.CONTESTED


async def test_a_correction_that_rests_on_something_withdrawn_is_in_doubt(memory: Memory) -> None:
    old = (await memory.observe("a", "p", 1)).primary
    gone = (await memory.observe("b", "p", 1)).primary
    await revise(memory, Retract(record_id=gone.id, rationale="wrong"))
    done = await revise(
        memory,
        Supersede(
            record_id=old.id,
            payload={"subject": "a", "predicate": "p", "object": 2, "validity": {"mode": "global"}},
            evidence=tuple(on(gone.id)),
            rationale="corrected",
        ),
    )
    assert await state(memory, done.record.id) is RecordState.CONTESTED


async def test_a_variant_that_rests_on_something_withdrawn_is_in_doubt(memory: Memory) -> None:
    old = (await memory.observe("a", "p", 1, conditions={"env": "prod"})).primary
    gone = (await memory.observe("b", "p", 1)).primary
    await revise(memory, Retract(record_id=gone.id, rationale="wrong"))
    done = await revise(
        memory,
        Fork(
            record_id=old.id,
            payload={"object": 2},
            conditions={"env": "dev"},
            evidence=tuple(on(gone.id)),
            rationale="varies",
        ),
    )
    assert await state(memory, done.record.id) is RecordState.CONTESTED


async def test_a_correction_to_a_fact_that_lacked_support_supports_it(memory: Memory) -> None:
    gone = (await memory.observe("b", "p", 1)).primary
    unsupported = (await memory.observe("a", "p", 2, evidence=on(gone.id))).primary
    old = (await memory.observe("a", "p", 1)).primary
    await revise(memory, Retract(record_id=gone.id, rationale="wrong"))
    assert await state(memory, unsupported.id) is RecordState.CONTESTED
    done = await revise(
        memory,
        Supersede(
            record_id=old.id,
            payload={"subject": "a", "predicate": "p", "object": 2, "validity": {"mode": "global"}},
            evidence=(EXTERNAL,),
            rationale="corrected",
        ),
    )
    assert done.record.id == unsupported.id
    assert await state(memory, unsupported.id) is RecordState.ACTIVE


async def test_what_rested_on_a_contested_fact_holds_again_once_a_merge_settles_it(memory: Memory) -> None:
    a = (await memory.observe("a", "p", 1)).primary
    b = (await memory.observe("a", "p", 2)).primary
    rests = (await memory.observe("c", "p", 1, evidence=on(a.id))).primary
    await revise(memory, Contest(record_id=a.id, contesting_id=b.id, rationale="cannot both be"))
    assert await state(memory, rests.id) is RecordState.CONTESTED
    done = await revise(memory, Merge(record_id=a.id, others=(b.id,), rationale="the same after all"))
    assert await state(memory, done.record.id) is RecordState.ACTIVE
    assert await state(memory, rests.id) is RecordState.ACTIVE


async def test_a_contested_fact_does_not_come_back_beside_one_that_holds_at_the_same_time(
    memory: Memory,
) -> None:
    """One condition set says nothing, the other names a key: the exclusion constraint cannot see that they overlap."""
    general = (await memory.observe("a", "p", 1, revision_policy="replace")).primary
    await revise(memory, Contest(record_id=general.id, evidence=(EXTERNAL,), rationale="doubt"))
    special = (await memory.observe("a", "p", 2, conditions={"env": "prod"}, revision_policy="replace")).primary
    with pytest.raises(ConditionsOverlap):
        await revise(memory, ResolveContest(record_id=general.id, winner_id=general.id, rationale="holds"))
    assert await state(memory, special.id) is RecordState.ACTIVE
    assert await state(memory, general.id) is RecordState.CONTESTED


async def test_new_support_does_not_bring_a_fact_back_beside_one_that_holds_at_the_same_time(
    memory: Memory,
) -> None:
    source = (await memory.observe("b", "p", 1)).primary
    general = (await memory.observe("a", "p", 1, revision_policy="replace", evidence=on(source.id))).primary
    await revise(memory, Retract(record_id=source.id, rationale="wrong"))
    special = (await memory.observe("a", "p", 2, conditions={"env": "prod"}, revision_policy="replace")).primary
    await memory.observe("a", "p", 1, evidence=[EXTERNAL])
    assert await state(memory, special.id) is RecordState.ACTIVE
    assert await state(memory, general.id) is RecordState.CONTESTED


async def test_a_fact_named_as_its_own_evidence(memory: Memory) -> None:
    one = (await memory.observe("a", "p", 1)).primary
    again = (await memory.observe("a", "p", 1, evidence=on(one.id))).primary
    assert again.id == one.id
    assert await state(memory, one.id) is RecordState.ACTIVE
    edges = (await memory.lookup.relations(memory.trust, [one.id]))[one.id]
    assert [edge for edge in edges if edge.source == edge.target] == []


async def test_what_holds_again_changes_later_than_it_did_before(memory: Memory) -> None:
    a = (await memory.observe("a", "p", 1)).primary
    b = (await memory.observe("b", "p", 1, evidence=on(a.id))).primary
    far = memory.clock.now()
    await revise(memory, Contest(record_id=b.id, evidence=(EXTERNAL,), rationale="doubt"))
    await revise(memory, ResolveContest(record_id=b.id, winner_id=b.id, rationale="holds"))
    await revise(memory, Contest(record_id=b.id, evidence=(EXTERNAL,), rationale="doubt"))
    assert memory.clock.now() == far
    await revise(memory, Retract(record_id=a.id, rationale="wrong"))
    async with memory.database.engine.begin() as connection:
        rows = (
            await connection.execute(
                text("SELECT id, at, lag(at) OVER (PARTITION BY id ORDER BY seq) AS before FROM audit")
            )
        ).all()
    assert all(row.before is None or row.before < row.at for row in rows)


async def test_a_contest_raised_while_another_is_resolved_is_not_lost(memory: Memory) -> None:
    """Whichever comes first: the contesting fact is not active beside a fact it contested and nobody decided about."""
    for number in range(6):
        a = (await memory.observe(f"a{number}", "p", 1)).primary
        b = (await memory.observe(f"a{number}", "p", 2)).primary
        await revise(memory, Contest(record_id=a.id, evidence=(EXTERNAL,), rationale="doubt"))
        results = await asyncio.gather(
            revise(memory, Contest(record_id=a.id, contesting_id=b.id, rationale="cannot both be")),
            revise(memory, ResolveContest(record_id=a.id, winner_id=a.id, rationale="holds")),
            return_exceptions=True,
        )
        assert [one for one in results if isinstance(one, Exception)] == []
        states = (await state(memory, a.id), await state(memory, b.id))
        assert states in {
            (RecordState.ACTIVE, RecordState.SUPERSEDED),  # contested, then resolved with both in it
            (RecordState.CONTESTED, RecordState.CONTESTED),  # resolved, then contested anew
        }


async def test_evidence_that_arrives_while_its_fact_is_merged_is_not_lost(memory: Memory) -> None:
    for number in range(6):
        a = (await memory.observe(f"a{number}", "p", 1)).primary
        b = (await memory.observe(f"a{number}", "p", 2)).primary
        await asyncio.gather(
            memory.observe(f"a{number}", "p", 2, evidence=[{"kind": "human", "ref": "late"}]),
            revise(memory, Merge(record_id=a.id, others=(b.id,), rationale="same")),
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


async def test_deriving_from_a_record_while_it_is_deleted(memory: Memory) -> None:
    for number in range(6):
        a = (await memory.observe(f"a{number}", "p", 1)).primary
        results = await asyncio.gather(
            memory.observe(f"b{number}", "p", 2, evidence=on(a.id)),
            revise(memory, Delete(record_id=a.id, rationale="never said")),
            return_exceptions=True,
        )
        assert [one for one in results if isinstance(one, Exception)] == []


async def test_correcting_on_the_evidence_of_a_record_while_it_is_deleted(memory: Memory) -> None:
    for number in range(6):
        a = (await memory.observe(f"a{number}", "p", 1)).primary
        b = (await memory.observe(f"b{number}", "p", 1)).primary
        results = await asyncio.gather(
            revise(
                memory,
                Supersede(
                    record_id=b.id,
                    payload={"subject": f"b{number}", "predicate": "p", "object": 2, "validity": {"mode": "global"}},
                    evidence=tuple(on(a.id)),
                    rationale="corrected",
                ),
            ),
            revise(memory, Delete(record_id=a.id, rationale="never said")),
            return_exceptions=True,
        )
        assert [one for one in results if isinstance(one, Exception) and not isinstance(one, StratagraphError)] == []


async def test_deriving_from_a_record_while_it_is_retracted(memory: Memory) -> None:
    for number in range(6):
        a = (await memory.observe(f"a{number}", "p", 1)).primary
        derived, _ = await asyncio.gather(
            memory.observe(f"b{number}", "p", 2, evidence=on(a.id)),
            revise(memory, Retract(record_id=a.id, rationale="wrong")),
        )
        assert await state(memory, derived.primary.id) is RecordState.CONTESTED


async def test_a_working_record_is_superseded_in_place(memory: Memory) -> None:
    content = {"thread_id": "t", "state": "planning"}
    task = (await memory.remember(SourceKind.WORKING_STATE, content)).primary
    done = await revise(
        memory, Supersede(record_id=task.id, payload={"thread_id": "t", "state": "done"}, rationale="ready")
    )
    assert (done.record.id, done.record.version) == (task.id, 2)
    assert done.record.payload is not None
    assert done.record.payload["state"] == "done"


async def test_what_rests_only_on_something_deleted_is_in_doubt_from_the_start(memory: Memory) -> None:
    gone = (await memory.observe("a", "p", 1)).primary
    await revise(memory, Delete(record_id=gone.id, rationale="never said"))
    late = (await memory.observe("b", "p", 1, evidence=on(gone.id))).primary
    assert await state(memory, late.id) is RecordState.CONTESTED


async def test_a_slot_becomes_single_valued_only_when_all_its_facts_have_room(memory: Memory) -> None:
    """Two facts that overlap were fine while the slot held many; a policy for a third may not leave them both."""
    one = (await memory.observe("a", "p", 1, conditions={"env": "prod"})).primary
    other = (await memory.observe("a", "p", 2, conditions={"region": "eu"})).primary
    with pytest.raises(ConditionsOverlap):
        await memory.observe(
            "a", "p", 3, conditions={"env": "dev", "region": "us"}, revision_policy="replace", evidence=[EXTERNAL]
        )
    assert await state(memory, one.id) is RecordState.ACTIVE
    assert await state(memory, other.id) is RecordState.ACTIVE


async def test_resolving_in_favour_of_a_fact_without_support_says_the_same_each_time(memory: Memory) -> None:
    source = (await memory.observe("b", "p", 1)).primary
    fact = (await memory.observe("a", "p", 1, evidence=on(source.id))).primary
    await revise(memory, Retract(record_id=source.id, rationale="wrong"))
    await revise(memory, Contest(record_id=fact.id, evidence=(EXTERNAL,), rationale="doubt"))
    resolve = ResolveContest(record_id=fact.id, winner_id=fact.id, rationale="holds")
    states = []
    for _ in range(2):
        await revise(memory, resolve)
        states.append(await state(memory, fact.id))
        if states[-1] is RecordState.ACTIVE:
            break
    assert states in ([RecordState.ACTIVE], [RecordState.CONTESTED, RecordState.CONTESTED])


@pytest.mark.parametrize("kind", [Retract, Delete])
async def test_a_retry_that_overtakes_its_first_attempt_is_answered_with_what_that_left(
    memory: Memory, kind: type[Retract | Delete]
) -> None:
    """Both are under way at once; the key says that they are one."""
    for number in range(4):
        fact = (await memory.observe(f"a{number}", "p", 1)).primary
        request = kind(record_id=fact.id, rationale="wrong", idempotency_key=f"k{number}")
        done = await asyncio.gather(revise(memory, request), revise(memory, request))
        assert sorted(one.replayed for one in done) == [False, True]


async def test_two_turns_at_once_open_one_episode_after_a_silence(memory: Memory) -> None:
    """The one that waits finds the episode closed that it waited for, and looks for the one opened in its place."""
    await asyncio.gather(memory.turn("hello", thread="t"), memory.turn("there", thread="t"))
    for number in range(6):
        memory.clock.forward(timedelta(hours=1))
        turns = await asyncio.gather(memory.turn(f"one {number}", thread="t"), memory.turn(f"two {number}", thread="t"))
        opened = [record for turn in turns for record in turn.created if record.id != turn.primary.id]
        assert len({record.id for record in opened if record.type is MemoryType.EPISODIC}) == 1


async def test_deleting_queues_what_one_transaction_has_no_room_for(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(propagation, "BUDGET", 1)
    source = (await memory.observe("a", "p", 1)).primary
    derived = [(await memory.observe(f"b{number}", "p", 1, evidence=on(source.id))).primary for number in range(3)]
    await revise(memory, Delete(record_id=source.id, rationale="never said"))
    later = memory.clock.now() + timedelta(seconds=1)
    while (await reevaluate_due(memory.database, memory.directory, now=later, batch=100)).due:
        pass
    assert {await state(memory, one.id) for one in derived} == {RecordState.CONTESTED}


async def test_a_correction_on_the_evidence_of_the_fact_that_contested_holds(memory: Memory) -> None:
    """The contest ends with the correction; what it rests on holds again, and so does the correction."""
    wrong = (await memory.observe("a", "p", 1)).primary
    right = (await memory.observe("b", "p", 1)).primary
    await revise(memory, Contest(record_id=wrong.id, contesting_id=right.id, rationale="cannot both be"))
    done = await revise(
        memory,
        Supersede(
            record_id=wrong.id,
            payload={"subject": "a", "predicate": "p", "object": 2, "validity": {"mode": "global"}},
            evidence=tuple(on(right.id)),
            rationale="corrected",
        ),
    )
    assert await state(memory, right.id) is RecordState.ACTIVE
    assert await state(memory, done.record.id) is RecordState.ACTIVE
