"""A name within a longer one is none by itself: first names are not linked to records of others, nor erase them."""

from __future__ import annotations

from random import Random

import pytest
from fix_examples import repeated
from fix_memory import Memory, link

from stratagraph.memory.erase.request import Erase
from stratagraph.store.model.enums import MemoryType, SourceKind
from stratagraph.store.model.records import MemoryRecord

PEOPLE = ["Anna Berg", "Anna Bergmann", "Yuki Tanaka", "Yuki Tanabe", "Jon Smith"]
SAYINGS = [
    "{0} is on call for the checkout.",
    "Tomorrow {0} flies to Rome with {1}.",
    "We meet {0} and {1} in Oslo.",
    "Budget talk: {1} and {0} argued about the printer.",
]


async def entities_of(memory: Memory, record: MemoryRecord) -> set[str]:
    """Return the names of the entities to which a record has relations."""
    relations = (await memory.lookup.relations(memory.trust, [record.id]))[record.id]
    ends = {end for one in relations for end in (one.source, one.target)} - {record.id}
    found = [await memory.lookup.record(memory.trust, end) for end in ends]
    return {one.name or "" for one in found if one is not None and one.type is MemoryType.ENTITY}


async def know(memory: Memory, name: str) -> MemoryRecord:
    return (
        await memory.remember(SourceKind.OBSERVATION, {"subject": name, "predicate": "is", "object": "known"})
    ).primary


@pytest.mark.parametrize("seed", range(repeated(4)))
async def test_records_are_linked_to_just_the_people_they_name(memory: Memory, seed: int) -> None:
    """Whether the people, and a first name used alone, are known before or after the records."""
    rng = Random(seed)
    said: list[tuple[MemoryRecord, set[str]]] = []
    steps = [*PEOPLE, "Anna", "Yuki", *range(8)]
    rng.shuffle(steps)
    # Who is known by the first name alone before the full name cannot be told apart from a person of that name.
    steps.sort(key=lambda step: step in ("Anna", "Yuki"))
    for step in steps:
        if isinstance(step, str):
            await know(memory, step)
            await link(memory)
            continue
        who = rng.sample(PEOPLE, 2)
        saying = SAYINGS[step % len(SAYINGS)]
        turn = (await memory.turn(saying.format(*who))).primary
        said.append((turn, {one for place, one in enumerate(who) if f"{{{place}}}" in saying}))
    late = (await memory.turn("Anna called Anna Berg.")).primary
    await link(memory)
    for record, expected in [*said, (late, {"Anna", "Anna Berg"})]:
        assert await entities_of(memory, record) == expected, record.text


async def test_erasing_a_first_name_erases_no_record_of_others(memory: Memory) -> None:
    facts = [(await memory.observe(name, "works_in", city)).primary for name, city in zip(PEOPLE, "ABCDE", strict=True)]
    fact = (await memory.observe("Anna", "reports_to", "the board")).primary
    await link(memory)
    assert await entities_of(memory, facts[0]) == {"Anna Berg"}
    anna = next(
        one.target
        for one in (await memory.lookup.relations(memory.trust, [fact.id]))[fact.id]
        if one.predicate == "subject_entity"
    )
    await memory.erasure.erase(memory.trust, Erase(entity_id=anna, rationale="on request"))
    assert await memory.lookup.record(memory.trust, fact.id) is None
    for kept in facts:
        assert await memory.lookup.record(memory.trust, kept.id) is not None
