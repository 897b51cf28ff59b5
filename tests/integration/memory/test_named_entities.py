"""An entity that a current fact names cannot be taken away alone, and a partial payload changes only what it names."""

from __future__ import annotations

from typing import Any

import pytest
from fix_memory import Memory, trust_of

from stratagraph.memory.erase.request import Erase
from stratagraph.memory.revise.request import Delete, Merge, Retract, Supersede, Unmerge
from stratagraph.store.model.enums import RecordState, Sensitivity
from stratagraph.store.model.errors import DeletionForbidden, Forbidden, InvalidInput


@pytest.mark.parametrize("role", ["subject", "object", "hidden subject"])
async def test_an_entity_that_a_current_fact_names_cannot_be_taken_away_alone(memory: Memory, role: str) -> None:
    one = await memory.entity("Acme")
    if role == "object":
        fact = await memory.observe("Ana", "works_at", "Acme")
    else:
        level = Sensitivity.HIGH if role.startswith("hidden") else Sensitivity.LOW
        fact = await memory.observe("Acme", "located_in", "Berlin", sensitivity=level)
    with pytest.raises(InvalidInput, match="cannot be retracted"):
        await memory.revision.revise(memory.trust, Retract(record_id=one, rationale="gone"))
    with pytest.raises(DeletionForbidden, match="cannot be deleted"):
        await memory.revision.revise(memory.trust, Delete(record_id=one, rationale="gone"))
    with pytest.raises(InvalidInput, match="cannot be erased by record"):
        await memory.erasure.erase(memory.trust, Erase(record_id=one, rationale="asked for"))
    await memory.revision.revise(memory.trust, Retract(record_id=fact.primary.id, rationale="wrong"))
    await memory.revision.revise(memory.trust, Retract(record_id=one, rationale="gone"))


@pytest.mark.parametrize("is_named", [False, True], ids=["unnamed", "named by a hidden fact"])
async def test_who_may_not_see_every_fact_cannot_take_an_entity_away(memory: Memory, is_named: bool) -> None:
    one = await memory.entity("Acme", scope="project:a")
    if is_named:
        hidden = {"scope": "project:a", "sensitivity": Sensitivity.HYPER}
        await memory.observe("Acme", "located_in", "Berlin", **hidden)
    for who, needed in (
        (trust_of(ceiling=Sensitivity.LOW), "the ceiling hyper,"),
        (trust_of(ceiling=Sensitivity.HIGH, scopes={"project:a"}), "the ceiling hyper,"),
    ):
        for refused in (Retract(record_id=one, rationale="gone"), Delete(record_id=one, rationale="gone")):
            with pytest.raises(Forbidden, match=needed):
                await memory.revision.revise(who, refused)
        with pytest.raises(Forbidden, match=needed):
            await memory.erasure.erase(who, Erase(record_id=one, rationale="asked for"))
    local = trust_of(scopes={"project:a"})
    if is_named:
        with pytest.raises(InvalidInput, match="current facts name it"):
            await memory.revision.revise(local, Retract(record_id=one, rationale="gone"))
    else:
        await memory.revision.revise(local, Retract(record_id=one, rationale="gone"))


async def test_a_partial_payload_of_an_entity_changes_only_the_fields_that_it_names(memory: Memory) -> None:
    one = await memory.entity("Acme", primary_type="Organization", summary="Makes anvils", founded=1999)

    async def change(**payload: Any) -> dict[str, Any]:
        done = await memory.revision.revise(
            memory.trust, Supersede(record_id=one, payload=payload, rationale="corrected")
        )
        assert done.record.payload is not None
        return {name: value for name, value in done.record.payload.items() if name != "kind"}

    everything = {"canonical_name": "Acme", "primary_type": "Organization", "summary": "Makes anvils", "founded": 1999}
    assert await change(summary="Made anvils") == everything | {"summary": "Made anvils"}
    assert await change(primary_type=None, founded=None) == {"canonical_name": "Acme", "summary": "Made anvils"}
    assert await change(canonical_name="Acme Corp") == {"canonical_name": "Acme Corp", "summary": "Made anvils"}
    with pytest.raises(InvalidInput, match=r"payload\.canonical_name"):
        await change(canonical_name=None)
    assert [found.id for found in await memory.lookup.entities(memory.trust, "acme corp", scope=None, first=5)] == [one]
    assert not await memory.lookup.entities(memory.trust, "acme", scope=None, first=5)


async def test_erasing_an_unmerged_entity_leaves_the_other_one_and_its_facts(memory: Memory) -> None:
    one, two = await memory.entity("Acme"), await memory.entity("Acme Corp")
    kept = [await memory.observe("Acme", "located_in", "Berlin"), await memory.observe("Acme", "mood", "good")]
    erased = await memory.observe("Acme Corp", "located_in", "Rome")
    await memory.revision.revise(memory.trust, Merge(record_id=one, others=(two,), rationale="same"))
    await memory.revision.revise(memory.trust, Unmerge(record_id=two, rationale="not the same"))
    await memory.erasure.erase(memory.trust, Erase(entity_id=two, rationale="asked for"))
    for id_ in (two, erased.primary.id):
        assert await memory.lookup.record(memory.trust, id_) is None
    for id_ in (one, *(fact.primary.id for fact in kept)):
        found = await memory.lookup.record(memory.trust, id_)
        assert found is not None
        assert found.state is RecordState.ACTIVE
