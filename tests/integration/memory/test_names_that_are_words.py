"""People whose name is a function word of a language are linked and erased as others: "Dan" is "and" in Indonesian."""

from __future__ import annotations

from datetime import timedelta

import pytest
from fix_memory import Memory

from stratagraph.memory.erase.request import Erase
from stratagraph.memory.linking import link_due
from stratagraph.store.model.words import name_terms

NAMES = ["Dan", "Ben", "Ada", "Mia", "Ella", "Hans", "Pat", "Mina", "Ed", "Jo"]


async def link(memory: Memory) -> None:
    memory.clock.forward(timedelta(minutes=1))
    while (await link_due(memory.database, memory.directory, now=memory.clock.now(), batch=100)).due:
        pass


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
