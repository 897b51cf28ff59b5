"""Merging entities and undoing it: one entity has the names, facts and relations of both, and then again its own."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import psycopg
import pytest
from fix_memory import Memory, trust_of
from psycopg.rows import dict_row

from stratagraph.memory.revise.request import Merge, Unmerge
from stratagraph.memory.revise.service import Revised
from stratagraph.store.model.enums import MemoryType, RecordState, Sensitivity, SourceKind
from stratagraph.store.model.errors import InvalidInput

STATEMENTS = {
    "records": "SELECT id, type, state, sensitivity, confidence, name, payload, provenance, fact_key, slot_key,"
    " condition_key, single_valued, validity::text FROM record",
    "facts": "SELECT * FROM fact",
    "trims": "SELECT fact, by_fact, side, at FROM fact_trim",
    "terms": "SELECT term_key, entity, scope, sensitivity, kind, namespace_key FROM entity_term",
    "slots": "SELECT s.scope, s.sensitivity, s.slot_key, s.single_valued FROM fact_slot s"
    " WHERE EXISTS (SELECT FROM record r WHERE r.slot_key = s.slot_key)",
    "salience": "SELECT id, s, t0, curve, half_life_s, pinned, deletion_policy, due_at, last_reinforced_at"
    " FROM salience",
    "relations": "SELECT e.source, p.name, e.target, e.weight FROM relation e JOIN predicate p ON p.id = e.predicate"
    " AND p.tenant = e.tenant WHERE e.ended_at IS NULL",
    "merges": "SELECT entity, survivor FROM entity_merge",
}


def at_rest(url: str) -> dict[str, set[str]]:
    """Return what the store holds, without the ids of relations, the versions, the instants of writes and the audit."""
    with psycopg.connect(url, row_factory=dict_row) as connection:
        return {
            name: {repr(sorted(row.items())) for row in connection.execute(statement)}
            for name, statement in STATEMENTS.items()
        }


async def merge(memory: Memory, *ids: UUID, **more: Any) -> Revised:
    return await memory.revision.revise(
        memory.trust, Merge(record_id=ids[0], others=tuple(ids[1:]), rationale="the same", **more)
    )


async def unmerge(memory: Memory, id_: UUID) -> Revised:
    return await memory.revision.revise(memory.trust, Unmerge(record_id=id_, rationale="not the same after all"))


async def test_a_merge_that_is_undone_leaves_the_store_as_it_was(memory: Memory, database_url: str) -> None:
    one = await memory.entity("Acme", aliases=[{"value": "ACME Inc"}], identifiers=[{"namespace": "w", "value": "1"}])
    two = await memory.entity("Acme Corp", primary_type="Organization", identifiers=[{"namespace": "v", "value": "2"}])
    await memory.observe("Acme", "located_in", "Berlin")
    equal = await memory.observe("Acme", "founded", "1999")
    same = await memory.observe("Acme Corp", "founded", "1999")
    city = await memory.observe("Acme", "mood", "good", revision_policy="replace")
    town = await memory.observe("Acme Corp", "mood", "bad")
    works = await memory.observe("Ana", "works_at", "Acme Corp")
    await memory.turn("Talked to Acme Corp", context={"mentions": ["Acme Corp"]})
    before = at_rest(database_url)
    done = await merge(memory, one, two)
    assert done.record.id == one
    assert (await memory.record(same.primary.id)).state is RecordState.SUPERSEDED
    assert len(((await memory.record(equal.primary.id)).provenance or {})["sources"]) == 2
    assert {(await memory.record(fact.primary.id)).state for fact in (city, town)} == {RecordState.CONTESTED}
    assert (await memory.record(works.primary.id)).state is RecordState.ACTIVE
    assert at_rest(database_url) != before
    undone = await unmerge(memory, two)
    assert undone.record.id == two
    assert undone.record.state is RecordState.ACTIVE
    after = at_rest(database_url)
    for name in STATEMENTS:
        assert after[name] == before[name], name


async def test_captures_between_a_merge_and_its_undoing_stay_with_the_survivor(memory: Memory) -> None:
    one, two = await memory.entity("Acme"), await memory.entity("Acme Corp")
    own = await memory.observe("Acme Corp", "mood", "bad", revision_policy="replace")
    equal = await memory.observe("Acme", "founded", "1999")
    same = await memory.observe("Acme Corp", "founded", "1999")
    await memory.observe("Acme", "located_in", "Berlin")
    assert (await merge(memory, one, two)).record.id == one
    later = await memory.observe("Acme Corp", "mood", "fine", revision_policy="replace")
    again = await memory.observe("Acme Corp", "founded", "1999")
    assert again.primary.id == equal.primary.id
    assert (await memory.record(own.primary.id)).state is RecordState.SUPERSEDED
    learned = await memory.turn("About it", context={"mentions": [{"name": "Acme Corp", "aliases": ["The A Firm"]}]})
    await unmerge(memory, two)
    # The entity's own fact holds again; what was said since the merge is about the survivor.
    assert (await memory.record(own.primary.id)).state is RecordState.ACTIVE
    assert (await memory.record(later.primary.id)).state is RecordState.ACTIVE
    assert await subjects(memory, own, later) == [two, one]
    assert len(((await memory.record(equal.primary.id)).provenance or {})["sources"]) == 2
    assert len(((await memory.record(same.primary.id)).provenance or {})["sources"]) == 1
    assert {alias["value"] for alias in ((await memory.record(one)).payload or {})["aliases"]} == {"The A Firm"}
    assert "aliases" not in ((await memory.record(two)).payload or {})
    mentioned = await memory.lookup.relations(memory.trust, [learned.primary.id])
    assert one in {edge.target for edge in mentioned[learned.primary.id]}


async def test_a_fact_kept_for_the_survivor_leaves_it_its_own_fact_and_the_later_evidence(memory: Memory) -> None:
    two = await memory.entity("Acme Corp")
    kept = await memory.observe("Acme Corp", "founded", "1999")
    one = await memory.entity("Acme")
    equal = await memory.observe("Acme", "founded", "1999")
    await memory.observe("Acme", "located_in", "Berlin")
    assert (await merge(memory, one, two)).record.id == one
    assert (await memory.record(equal.primary.id)).state is RecordState.SUPERSEDED
    await memory.observe("Acme", "founded", "1999")
    await unmerge(memory, two)
    assert (await memory.record(equal.primary.id)).state is RecordState.ACTIVE
    assert await subjects(memory, kept, equal) == [two, one]
    assert len(((await memory.record(kept.primary.id)).provenance or {})["sources"]) == 1
    assert len(((await memory.record(equal.primary.id)).provenance or {})["sources"]) == 2


async def test_later_evidence_for_a_fact_of_the_merged_entity_becomes_a_fact_of_the_survivor(memory: Memory) -> None:
    one, two = await memory.entity("Acme"), await memory.entity("Acme Corp")
    own = await memory.observe("Acme Corp", "founded", "1999")
    for city in ("Berlin", "Rome"):
        await memory.observe("Acme", "located_in", city)
    assert (await merge(memory, one, two)).record.id == one
    assert (await memory.observe("Acme", "founded", "1999")).primary.id == own.primary.id
    done = await unmerge(memory, two)
    about = [found for found in done.records if found.type is MemoryType.SEMANTIC and found.id != own.primary.id]
    assert [(found.state, len(found.provenance["sources"])) for found in about if found.provenance] == [
        (RecordState.ACTIVE, 1)
    ]
    edges = (await memory.lookup.relations(memory.trust, [about[0].id]))[about[0].id]
    assert {edge.target for edge in edges if edge.predicate == "subject_entity"} == {one}
    assert await subjects(memory, own) == [two]
    assert len(((await memory.record(own.primary.id)).provenance or {})["sources"]) == 1
    # Captured again, it is known.
    assert (await memory.observe("Acme", "founded", "1999")).primary.id == about[0].id


async def test_chained_merges_are_undone_in_the_reverse_order(memory: Memory, database_url: str) -> None:
    a, b, c = [await memory.entity(name) for name in ("Ada", "Ada L", "Ada Lovelace")]
    for name in ("Ada", "Ada L", "Ada Lovelace", "Ada Lovelace"):
        await memory.observe(name, "born_on", "1815-12-10")
        await memory.observe(name, "lives_in", f"{name} Street")
    for name in ("Charles", "Mary", "William", "Annabella"):
        await memory.observe("Ada Lovelace", "knows", name)
    await memory.observe("Charles", "knows", "Ada")
    before = at_rest(database_url)
    assert (await merge(memory, b, a)).record.id == a
    between = at_rest(database_url)
    assert (await merge(memory, a, c)).record.id == c
    with pytest.raises(InvalidInput, match="unmerge it first"):
        await unmerge(memory, b)
    await unmerge(memory, a)
    assert at_rest(database_url) == between
    await unmerge(memory, b)
    assert at_rest(database_url) == before


async def test_several_entities_of_one_merge_are_undone_one_after_another(memory: Memory, database_url: str) -> None:
    a, b, c = [await memory.entity(name) for name in ("Ben", "Ben K", "Ben Kim")]
    for name in ("Ben", "Ben K", "Ben Kim"):
        await memory.observe(name, "works_at", "Acme")
        await memory.observe(name, "mood", name, revision_policy="replace")
    before = at_rest(database_url)
    await merge(memory, a, b, c, payload={"canonical_name": "Benjamin Kim", "summary": "one person"})
    assert ((await memory.record(a)).name or "").startswith("Benjamin Kim")
    with pytest.raises(InvalidInput, match="undo that one first"):
        await unmerge(memory, b)
    await unmerge(memory, c)
    await unmerge(memory, b)
    assert at_rest(database_url) == before


async def test_a_merge_rekeys_facts_that_its_caller_may_not_see(memory: Memory) -> None:
    one, two = await memory.entity("Acme"), await memory.entity("Acme Corp")
    hidden = await memory.observe("Acme Corp", "owes", "much", sensitivity=Sensitivity.HIGH)
    low = trust_of(ceiling=Sensitivity.LOW)
    done = await memory.revision.revise(low, Merge(record_id=one, others=(two,), rationale="same"))
    assert done.record.id == one  # the hidden fact does not decide who survives
    assert await subjects(memory, hidden) == [one]
    await memory.revision.revise(low, Unmerge(record_id=two, rationale="not the same"))
    assert await subjects(memory, hidden) == [two]


async def test_the_entity_with_more_facts_survives_a_merge(memory: Memory) -> None:
    one, two = await memory.entity("Acme"), await memory.entity("Acme Corp")
    await memory.observe("Acme Corp", "located_in", "Berlin")
    assert (await merge(memory, one, two)).record.id == two
    assert (await memory.record(one)).state is RecordState.SUPERSEDED


async def test_entities_of_two_sensitivities_are_not_merged(memory: Memory) -> None:
    one = await memory.entity("Acme")
    two = (
        await memory.remember(
            SourceKind.OBSERVATION,
            {"canonical_name": "Acme Corp"},
            proposed_type=MemoryType.ENTITY,
            sensitivity=Sensitivity.HIGH,
        )
    ).primary.id
    with pytest.raises(InvalidInput, match="different sensitivities"):
        await merge(memory, one, two)


async def test_only_an_entity_that_was_merged_can_be_unmerged(memory: Memory) -> None:
    one = await memory.entity("Acme")
    fact = await memory.observe("Acme", "located_in", "Berlin")
    with pytest.raises(InvalidInput, match="no merge of entity"):
        await unmerge(memory, one)
    with pytest.raises(InvalidInput, match="only a merge of entities"):
        await unmerge(memory, fact.primary.id)


async def subjects(memory: Memory, *facts: Any) -> list[UUID]:
    """Return the subject entity of each captured fact."""
    found = []
    for fact in facts:
        edges = (await memory.lookup.relations(memory.trust, [fact.primary.id]))[fact.primary.id]
        found += [
            edge.target for edge in edges if edge.predicate == "subject_entity" and edge.source == fact.primary.id
        ]
    return found


async def test_captures_at_the_same_time_as_a_merge_name_the_entity_that_survives(
    memory: Memory, database_url: str
) -> None:
    one, two = await memory.entity("Acme"), await memory.entity("Acme Corp")
    for city in ("Berlin", "Rome"):
        await memory.observe("Acme", "located_in", city)

    async def capture(number: int) -> None:
        await memory.observe("Acme Corp" if number % 2 else "Acme", "trait", f"value {number % 5}")

    captures = [asyncio.create_task(capture(number)) for number in range(20)]
    done = await merge(memory, one, two)
    await asyncio.gather(*captures)
    survivor, merged = (one, two) if done.record.id == one else (two, one)
    with psycopg.connect(database_url) as connection:
        named = connection.execute("SELECT DISTINCT subject_entity FROM fact").fetchall()
        current = connection.execute("SELECT count(*) FROM record WHERE type = 4 AND state = 1").fetchone()
    assert named == [(survivor,)]
    assert current == (7,)  # two places and five traits, each known once
    await unmerge(memory, merged)
