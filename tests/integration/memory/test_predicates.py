"""The registry of the predicates of facts: built-in entries, a tenant's own, and what they change for captures."""

from __future__ import annotations

import pytest
from fix_memory import Memory, trust_of

from stratagraph.memory.records.predicates import MAX_NAME, Predicates
from stratagraph.store.model.enums import Access, RecordState
from stratagraph.store.model.errors import Forbidden, InvalidInput
from stratagraph.store.model.fact_predicates import BUILT_IN, ENTITY, LITERAL, FactPredicate


@pytest.fixture
def predicates(memory: Memory) -> Predicates:
    return Predicates(memory.database, memory.directory)


async def test_the_registry_lists_the_built_in_predicates_and_those_of_the_tenant(
    memory: Memory, predicates: Predicates
) -> None:
    listed = await predicates.list(memory.trust)
    assert {one.name: one.predicate for one in listed} == BUILT_IN
    assert not any(one.is_own for one in listed)
    done = await predicates.set(memory.trust, "Reports To", FactPredicate(single_valued=True, object_kind=LITERAL))
    assert done.name == "reports_to"
    own = [one for one in await predicates.list(memory.trust) if one.is_own]
    assert own == [done]
    assert all(not one.is_own for one in await predicates.list(trust_of(tenant="other")))


async def test_a_registered_predicate_decides_new_slots_and_objects(memory: Memory, predicates: Predicates) -> None:
    earlier = await memory.observe("Bob", "shoe_owner", "Kim Possible")
    await predicates.set(memory.trust, "shoe_owner", FactPredicate(single_valued=True, object_kind=ENTITY))
    first = await memory.observe("Alice", "shoe_owner", "Ana Brand")
    second = await memory.observe("Alice", "shoe_owner", "Zoe Brand")
    entities = await memory.lookup.entities(memory.trust, "Zoe Brand", scope=None, first=5)
    assert len(entities) == 1
    replaced = await memory.lookup.record(memory.trust, first.primary.id)
    assert replaced is not None
    assert replaced.state is RecordState.SUPERSEDED
    # A slot that existed before keeps any number of values.
    await memory.observe("Bob", "shoe_owner", "Lee Possible")
    kept = await memory.lookup.record(memory.trust, earlier.primary.id)
    assert kept is not None
    assert kept.state is RecordState.ACTIVE
    assert second.primary.state is RecordState.ACTIVE


async def test_a_built_in_single_valued_predicate_keeps_one_value(memory: Memory) -> None:
    first = await memory.observe("Alice", "birthday", "1 May")
    await memory.observe("Alice", "birthday", "2 May")
    replaced = await memory.lookup.record(memory.trust, first.primary.id)
    assert replaced is not None
    assert replaced.state is RecordState.SUPERSEDED


async def test_only_an_administrator_registers_and_only_predicates(memory: Memory, predicates: Predicates) -> None:
    with pytest.raises(Forbidden):
        await predicates.set(trust_of(access=Access.WRITE), "likes", FactPredicate())
    for name in ("", "  ", "-", "x" * (MAX_NAME + 1)):
        with pytest.raises(InvalidInput, match="is not a predicate"):
            await predicates.set(memory.trust, name, FactPredicate())
    with pytest.raises(InvalidInput, match="objectKind"):
        await predicates.set(memory.trust, "likes", FactPredicate(object_kind="person"))
