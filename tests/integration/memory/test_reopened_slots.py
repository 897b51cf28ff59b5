"""What was captured and decided between a merge of entities and its undoing, and what becomes of it."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
from fix_memory import Memory

from stratagraph.memory.capture.answers import Captured
from stratagraph.memory.erase.request import Erase
from stratagraph.memory.revise.request import Contest, Delete, Merge, ResolveContest, Retract, Supersede, Unmerge
from stratagraph.store.model.enums import MemoryType, RecordState, SourceKind

ACTIVE, SUPERSEDED = RecordState.ACTIVE, RecordState.SUPERSEDED


async def two_entities(memory: Memory) -> list[UUID]:
    ids = []
    for name in ("Acme", "Acme Corp"):
        kept = await memory.remember(SourceKind.OBSERVATION, {"canonical_name": name}, proposed_type=MemoryType.ENTITY)
        ids.append(kept.primary.id)
    for number in range(4):
        await memory.observe("Acme", f"trait_{number}", "yes")
    return ids


async def merge(memory: Memory, ids: list[UUID]) -> None:
    done = await memory.revision.revise(memory.trust, Merge(record_id=ids[0], others=(ids[1],), rationale="the same"))
    assert done.record.id == ids[0]


async def merged(memory: Memory, *, predicate: str = "mood") -> tuple[Captured, Captured, UUID]:
    """Merge an entity with one value at a time into one with several; return a fact of each, and the merged entity."""
    ids = await two_entities(memory)
    survivors = await memory.observe("Acme", predicate, "red")
    others = await memory.observe("Acme Corp", predicate, "red", revision_policy="replace")
    await merge(memory, ids)
    return survivors, others, ids[1]


async def unmerge(memory: Memory, id_: UUID) -> None:
    await memory.revision.revise(memory.trust, Unmerge(record_id=id_, rationale="not the same"))


async def states(memory: Memory, *facts: Captured) -> list[RecordState]:
    found = [await memory.lookup.record(memory.trust, fact.primary.id) for fact in facts]
    return [record.state for record in found if record is not None]


async def has_several_values(memory: Memory) -> bool:
    """Return whether two more values of the survivor hold beside each other."""
    values = [await memory.observe("Acme", "mood", value) for value in ("violet", "orange")]
    return await states(memory, *values) == [ACTIVE, ACTIVE]


async def test_values_that_were_displaced_only_because_of_the_merge_hold_again(memory: Memory) -> None:
    survivors, others, merged_away = await merged(memory)
    green = await memory.observe("Acme", "mood", "green")
    grey = await memory.observe("Acme", "mood", "grey")
    assert await states(memory, survivors, green, grey) == [SUPERSEDED, SUPERSEDED, ACTIVE]
    await unmerge(memory, merged_away)
    assert await states(memory, survivors, others, green, grey) == [ACTIVE] * 4
    assert await has_several_values(memory)


async def test_a_value_that_was_observed_again_is_not_current_twice(memory: Memory) -> None:
    _, _, merged_away = await merged(memory)
    green = await memory.observe("Acme", "mood", "green")
    await memory.observe("Acme", "mood", "grey")
    again = await memory.observe("Acme", "mood", "green")
    assert again.primary.id != green.primary.id
    await unmerge(memory, merged_away)
    assert await states(memory, green, again) == [SUPERSEDED, ACTIVE]
    record = await memory.lookup.record(memory.trust, green.primary.id)
    assert record is not None
    assert (record.payload or {})["revision"]["superseded_by"] == str(again.primary.id)


async def test_a_validity_that_was_cut_only_because_of_the_merge_is_whole_again(memory: Memory) -> None:
    survivors, _, merged_away = await merged(memory)
    tomorrow = memory.clock.now() + timedelta(days=1)
    await memory.observe("Acme", "mood", "green", validity={"mode": "timeboxed", "start": tomorrow.isoformat()})
    cut = await memory.lookup.record(memory.trust, survivors.primary.id)
    await unmerge(memory, merged_away)
    whole = await memory.lookup.record(memory.trust, survivors.primary.id)
    assert cut is not None
    assert whole is not None
    assert (cut.valid_to, whole.valid_to) == (tomorrow, None)


@pytest.mark.parametrize("policy", ["replace", "contest"])
async def test_a_slot_for_which_a_capture_asked_for_one_value_keeps_it(memory: Memory, policy: str) -> None:
    survivors, others, merged_away = await merged(memory)
    green = await memory.observe("Acme", "mood", "green", revision_policy=policy)
    before = await states(memory, survivors, green)
    await unmerge(memory, merged_away)
    assert await states(memory, survivors, green) == before
    assert await states(memory, others) == [ACTIVE]
    assert not await has_several_values(memory)


async def test_what_a_revision_decided_since_the_merge_stays_decided(memory: Memory) -> None:
    survivors, others, merged_away = await merged(memory)
    request = Supersede(
        record_id=survivors.primary.id,
        payload={"subject": "Acme", "predicate": "mood", "object": "crimson"},
        evidence=({"kind": "artifact", "ref": "report"},),
        rationale="a closer look",
    )
    crimson = (await memory.revision.revise(memory.trust, request)).record
    await unmerge(memory, merged_away)
    assert await states(memory, survivors, others) == [SUPERSEDED, ACTIVE]
    kept = await memory.lookup.record(memory.trust, crimson.id)
    assert kept is not None
    assert kept.state is ACTIVE


async def test_a_dispute_that_was_resolved_since_the_merge_stays_resolved(memory: Memory) -> None:
    survivors, _, merged_away = await merged(memory)
    green = await memory.observe("Acme", "shade", "green")
    contest = Contest(record_id=survivors.primary.id, contesting_id=green.primary.id, rationale="one of them is wrong")
    await memory.revision.revise(memory.trust, contest)
    resolve = ResolveContest(record_id=survivors.primary.id, winner_id=green.primary.id, rationale="seen it")
    await memory.revision.revise(memory.trust, resolve)
    await unmerge(memory, merged_away)
    assert await states(memory, survivors, green) == [SUPERSEDED, ACTIVE]


async def test_a_registered_predicate_keeps_one_value_after_the_merge_is_undone(memory: Memory) -> None:
    ids = await two_entities(memory)
    await memory.observe("Acme Corp", "birthday", "1 May")
    await merge(memory, ids)
    await unmerge(memory, ids[1])
    values = [await memory.observe("Acme", "birthday", day) for day in ("2 May", "3 May")]
    assert await states(memory, *values) == [SUPERSEDED, ACTIVE]


async def test_a_dispute_of_the_merged_entity_that_a_later_value_ended_is_open_again(memory: Memory) -> None:
    _, others, merged_away = await merged(memory)
    await unmerge(memory, merged_away)
    blue = await memory.observe("Acme Corp", "mood", "blue", revision_policy="contest")
    entity = await memory.lookup.record(memory.trust, merged_away)
    assert entity is not None
    acme = await memory.remember(SourceKind.OBSERVATION, {"canonical_name": "Acme"}, proposed_type=MemoryType.ENTITY)
    again = Merge(record_id=acme.primary.id, others=(merged_away,), rationale="the same")
    await memory.revision.revise(memory.trust, again)
    green = await memory.observe("Acme", "mood", "green")
    assert await states(memory, others, blue, green) == [SUPERSEDED, SUPERSEDED, ACTIVE]
    await unmerge(memory, merged_away)
    assert await states(memory, others, blue) == [RecordState.CONTESTED] * 2
    resolve = ResolveContest(record_id=blue.primary.id, winner_id=blue.primary.id, rationale="asked them")
    await memory.revision.revise(memory.trust, resolve)
    assert await states(memory, others, blue) == [SUPERSEDED, ACTIVE]


async def test_a_repetition_decides_nothing_among_the_facts_of_the_other_entity(memory: Memory) -> None:
    ids = await two_entities(memory)
    ann = await memory.observe("Acme Corp", "boss", "Ann", revision_policy="contest")
    bob = await memory.observe("Acme Corp", "boss", "Bob", revision_policy="contest")
    await merge(memory, ids)
    again = await memory.observe("Acme", "boss", "Bob", revision_policy="replace")
    assert again.primary.id == bob.primary.id
    assert await states(memory, ann, bob) == [SUPERSEDED, ACTIVE]
    await unmerge(memory, ids[1])
    assert await states(memory, ann, bob) == [RecordState.CONTESTED] * 2
    resolve = ResolveContest(record_id=ann.primary.id, winner_id=ann.primary.id, rationale="asked them")
    await memory.revision.revise(memory.trust, resolve)
    assert await states(memory, ann, bob) == [ACTIVE, SUPERSEDED]


async def test_a_repetition_of_a_future_fact_leaves_the_present_one_of_the_other_entity(memory: Memory) -> None:
    ids = await two_entities(memory)
    later = {"mode": "timeboxed", "start": (memory.clock.now() + timedelta(days=200)).isoformat()}
    ann = await memory.observe("Acme Corp", "boss", "Ann", revision_policy="replace")
    bob = await memory.observe("Acme Corp", "boss", "Bob", validity=later)
    await memory.observe("Acme", "boss", "Cy", revision_policy="replace")
    await merge(memory, ids)
    await memory.observe("Acme", "boss", "Bob", validity=later, revision_policy="replace")
    await unmerge(memory, ids[1])
    assert await states(memory, ann, bob) == [ACTIVE, ACTIVE]


@pytest.mark.parametrize("how", ["delete", "erase", "retract"])
@pytest.mark.parametrize("policy", ["replace", None])
async def test_a_value_that_was_removed_since_has_displaced_nothing(
    memory: Memory, how: str, policy: str | None
) -> None:
    ids = await two_entities(memory)
    await memory.observe("Acme", "box", "1", revision_policy="replace")
    theirs = await memory.observe("Acme Corp", "box", "2", revision_policy="replace")
    await merge(memory, ids)
    more = {} if policy is None else {"revision_policy": policy}
    third = (await memory.observe("Acme", "box", "3", **more)).primary.id
    match how:
        case "delete":
            await memory.revision.revise(memory.trust, Delete(record_id=third, rationale="a mistake"))
        case "erase":
            await memory.erasure.erase(memory.trust, Erase(record_id=third, rationale="a mistake"))
        case _:
            await memory.revision.revise(memory.trust, Retract(record_id=third, rationale="a mistake"))
    await unmerge(memory, ids[1])
    assert await states(memory, theirs) == [ACTIVE]


@pytest.mark.parametrize("how", ["delete", "erase"])
async def test_a_fact_that_had_become_one_with_a_removed_one_is_current_again(memory: Memory, how: str) -> None:
    ids = await two_entities(memory)
    ours = await memory.observe("Acme", "pet", "cat")
    theirs = await memory.observe("Acme Corp", "pet", "cat")
    await merge(memory, ids)
    assert await states(memory, ours, theirs) == [ACTIVE, SUPERSEDED]
    if how == "delete":
        await memory.revision.revise(memory.trust, Delete(record_id=ours.primary.id, rationale="a mistake"))
    else:
        await memory.erasure.erase(memory.trust, Erase(record_id=ours.primary.id, rationale="a mistake"))
    await unmerge(memory, ids[1])
    assert await states(memory, theirs) == [ACTIVE]
