"""One name in the ways in which people write it, or with types that an extractor guesses, is one entity."""

from __future__ import annotations

from itertools import combinations
from typing import Any
from uuid import UUID, uuid4

import pytest
from fix_examples import examples
from fix_memory import Memory, trust_of
from hypothesis import given
from hypothesis import strategies as st
from model.names import APART

from stratagraph.memory.erase.request import Erase
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.store.model.entity_kinds import KIND_OF, folded_type
from stratagraph.store.model.enums import MemoryType, RecordState, SourceKind
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.trust import Trust

SPELLINGS = [
    ("Liam O\u2019Brien", "Liam O'Brien"),
    ("Liam O\u00b4Brien", "Liam O`Brien"),
    ("Jean\u2011Luc", "Jean-Luc"),
    ("Hawker\u2013Siddeley", "Hawker-Siddeley"),
    ("Two_Year_Warranty", "two year warranty"),
    ("Kiwi\u200bWorks", "KiwiWorks"),
    ("\u201cThe Rock\u201d Jones", '"The Rock" Jones'),
    ("GPT\u20114", "GPT-4"),
]


async def state(memory: Memory, subject: str, value: str, **more: Any) -> UUID:
    """Capture where something is, in place of what was known."""
    captured = await memory.observe(subject, "lives_in", value, revision_policy="replace", **more)
    return captured.primary.id


async def current(memory: Memory) -> list[str]:
    """Return the objects of the active facts."""
    found = await memory.rows("SELECT payload FROM record WHERE type = 4 AND state = 1 ORDER BY id")
    return [row["payload"]["object"] for row in found]


async def found(memory: Memory, question: str) -> list[UUID]:
    """Return the roots of the answer to a question."""
    answer = await memory.retrieve.retrieve(memory.trust, RetrieveRequest(task_descriptor=question, max_hops=0))
    return [node.record.id for node in answer.nodes if node.root]


async def named(memory: Memory, name: str) -> list[MemoryRecord]:
    return await memory.lookup.entities(memory.trust, name, scope=None, first=50)


@pytest.mark.parametrize(("one", "other"), [*SPELLINGS, *((other, one) for one, other in SPELLINGS)])
async def test_a_replace_in_another_writing_of_the_name_replaces_and_both_are_found(
    memory: Memory, one: str, other: str
) -> None:
    await state(memory, one, "Tarn")
    kept = await state(memory, other, "Brae")
    assert await current(memory) == ["Brae"]
    assert len(await named(memory, one)) == len(await named(memory, other)) == 1
    for asked in (one, other):
        assert (await found(memory, f"where does {asked} live?"))[0] == kept


@pytest.mark.parametrize(("one", "other"), SPELLINGS)
async def test_a_question_in_one_writing_finds_a_text_in_the_other(memory: Memory, one: str, other: str) -> None:
    for said, asked in ((one, other), (other, one)):
        told = (await memory.turn(f"yesterday {said} went fishing")).primary.id
        assert told in await found(memory, f"when did {asked} go?")


async def test_a_name_in_a_text_is_linked_in_any_writing(memory: Memory) -> None:
    entity = (await memory.remember(SourceKind.OBSERVATION, {"canonical_name": "Jean-Luc O'Brien"},
                                    proposed_type=MemoryType.ENTITY)).primary.id  # fmt: skip
    said = await memory.turn("We met Jean\u2011Luc O\u2019Brien\u2019s father")
    assert entity in {edge.target for edge in said.edges}


async def test_an_erasure_finds_what_has_the_name_in_another_writing(memory: Memory) -> None:
    entities = {
        written: (await memory.remember(SourceKind.OBSERVATION, {"canonical_name": written},
                                        proposed_type=MemoryType.ENTITY)).primary.id
        for written in ("Liam O\u2019Brien", "Two_Year_Warranty")
    }  # fmt: skip
    said = {
        "Liam O\u2019Brien": await memory.turn("liam o'brien called"),
        "Two_Year_Warranty": await memory.turn("the two year warranty is void"),
    }
    warranty = entities["Two_Year_Warranty"]
    with pytest.raises(InvalidInput, match="rationale"):
        await memory.erasure.erase(memory.trust, Erase(entity_id=warranty, rationale="a two year warranty"))
    for name, entity in entities.items():
        erased = await memory.erasure.erase(memory.trust, Erase(entity_id=entity, rationale="on request"))
        assert set(erased.receipt.elsewhere) == {said[name].primary.id}


HINTS = [None, "Other", "Project", "Product", "Tool", "Platform", "Team", "Idea", "product"]
KINDS = ["Person", "Company", "City", "Place", "Product"]  # one type of each kind


async def typed(memory: Memory, trust: Trust, type_: str | None, value: str) -> None:
    mention = {"name": "Creator Desk", **({"type": type_} if type_ else {})}
    await state(memory, "Creator Desk", value, context={"mentions": [mention]}, trust=trust)


async def entities_of(memory: Memory, trust: Trust) -> list[MemoryRecord]:
    return await memory.lookup.entities(trust, "Creator Desk", scope=None, first=50)


@given(types=st.lists(st.sampled_from(HINTS), min_size=2, max_size=5))
@examples(6)
async def test_whatever_types_an_extractor_gives_a_thing_a_replace_leaves_one_fact(
    memory: Memory, types: list[str | None]
) -> None:
    trust = trust_of(tenant=f"store-{uuid4()}")
    for number, type_ in enumerate(types):
        await typed(memory, trust, type_, f"Place {number}")
    (entity,) = await entities_of(memory, trust)
    page = await memory.lookup.records(trust, first=100)
    facts = [record for record in page.records if record.type is MemoryType.SEMANTIC]
    active = [record for record in facts if record.state is RecordState.ACTIVE]
    assert [(record.payload or {})["object"] for record in active] == [f"Place {len(types) - 1}"]
    said = {type_ for type_ in types if type_ not in (None, "Other")}
    payload = entity.payload or {}
    assert {folded_type(one) for one in said} <= {
        folded_type(one) for one in (payload["primary_type"], *(payload.get("types") or ()))
    } | {None}


@pytest.mark.parametrize(("one", "other"), list(combinations(KINDS, 2)))
async def test_only_kinds_that_exclude_each_other_keep_things_of_one_name_apart(
    memory: Memory, one: str, other: str
) -> None:
    await typed(memory, memory.trust, one, "here")
    await typed(memory, memory.trust, other, "there")
    are_apart = {KIND_OF[one.casefold()], KIND_OF[other.casefold()]} in APART
    assert len(await entities_of(memory, memory.trust)) == 1 + are_apart
    assert len(await current(memory)) == 1 + are_apart
    await typed(memory, memory.trust, one, "elsewhere")
    assert "elsewhere" in await current(memory)
    assert "here" not in await current(memory)
