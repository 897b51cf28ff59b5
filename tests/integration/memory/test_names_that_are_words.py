"""People whose name is a function word of a language are linked and erased as others: "Dan" is "and" in Indonesian."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from fix_memory import Memory, link

from stratagraph.memory.erase.request import Erase
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.store.model.enums import SourceKind
from stratagraph.store.model.words import name_terms

NAMES = ["Dan", "Ben", "Ada", "Mia", "Ella", "Hans", "Pat", "Mina", "Ed", "Jo"]


@pytest.mark.parametrize("name", NAMES)
async def test_what_was_said_before_such_a_name_was_known_is_linked(memory: Memory, name: str) -> None:
    assert not name_terms(b"key", name)  # so that a record in some language may lack it
    said = (await memory.turn(f"Yesterday {name} called about the invoice.")).primary
    fact = (await memory.observe(name, "works_in", "the warehouse")).primary
    await link(memory)
    relations = await memory.lookup.relations(memory.trust, [said.id, fact.id])
    (subject,) = [one.target for one in relations[fact.id] if one.predicate == "subject_entity"]
    assert [one.target for one in relations[said.id] if one.predicate == "mentions_entity"] == [subject]


async def test_erasing_such_a_person_lists_where_else_the_name_is_but_never_as_all(memory: Memory) -> None:
    fact = (await memory.observe("Dan", "works_in", "the warehouse")).primary
    other = (await memory.turn("the parcel for dan has come")).primary
    await link(memory)
    relations = (await memory.lookup.relations(memory.trust, [fact.id]))[fact.id]
    (dan,) = [one.target for one in relations if one.predicate == "subject_entity"]
    erased = await memory.erasure.erase(memory.trust, Erase(entity_id=dan, rationale="on request"))
    assert await memory.lookup.record(memory.trust, fact.id) is None
    assert erased.receipt.elsewhere == (other.id,)
    assert erased.receipt.elsewhere_complete is False


@pytest.mark.parametrize("past", [False, True], ids=["present", "past"])
@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What does Will own?", "Will owns a boat"),
        ("Tell me about Will", "Will owns a boat"),
        ("Will", "Will owns a boat"),
        ("Who leads IT?", "Mia leads IT"),
        ("IT", "Mia leads IT"),
        ("Where is the office of US?", "US office in Reno"),
    ],
)
async def test_a_name_that_is_an_english_function_word_finds_what_is_said_about_it(
    memory: Memory, question: str, expected: str, past: bool
) -> None:
    for subject, predicate, value in [
        ("Will", "owns", "a boat"),
        ("Jo", "owns", "a house"),
        ("Ella", "leads", "Sales"),
        ("US", "office_in", "Reno"),
        ("Canada", "office_in", "Toronto"),
    ]:
        await memory.observe(subject, predicate, value)
    led = {"subject": "Mia", "predicate": "leads", "object": "IT", "object_type": "Team"}
    await memory.remember(SourceKind.OBSERVATION, led)
    as_of: datetime | None = memory.clock.now() if past else None
    memory.clock.forward(timedelta(minutes=1))
    found = await memory.retrieve.retrieve(memory.trust, RetrieveRequest(task_descriptor=question, as_of=as_of))
    facts = [node for node in found.nodes if node.root and node.record.text == expected]
    assert facts, [node.record.text for node in found.nodes]
    assert found.nodes[0].record.text == expected


async def test_function_words_that_are_not_written_as_names_mean_nobody(memory: Memory) -> None:
    await memory.observe("Will", "owns", "a boat")
    for question in ("Will it rain in Oslo?", "what will happen in Oslo?"):
        found = await memory.retrieve.retrieve(memory.trust, RetrieveRequest(task_descriptor=question))
        assert not found.nodes, question
