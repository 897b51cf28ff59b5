"""Entities keep their identity: whom a name means, what captures teach, and what is reported where nobody can tell."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID

import orjson
import pytest
from fix_examples import examples
from fix_jobs import run_jobs
from fix_memory import NOON, Memory, fresh_database, memory_of, trust_of
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from stratagraph.memory.capture.answers import Captured
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.revise.request import Merge
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.master import LocalMasterKey
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.model.enums import MemoryType, Sensitivity, SourceKind
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.records.name_index import MentionOutcome


def entity_request(name: str, **fields: Any) -> CaptureRequest:
    more = {key: fields.pop(key) for key in ("scope", "sensitivity") if key in fields}
    content = {"kind": "entity", "canonical_name": name, **fields}
    return CaptureRequest(
        source="test", source_kind=SourceKind.OBSERVATION, content=content, proposed_type=MemoryType.ENTITY, **more
    )


def event_request(said: str, *mentions: dict[str, Any] | str, **more: Any) -> CaptureRequest:
    return CaptureRequest(
        source="test",
        source_kind=SourceKind.EVENT,
        content={"event_kind": "note", "summary": said},
        context={"mentions": list(mentions)} if mentions else None,
        **more,
    )


def email(address: str) -> dict[str, str]:
    return {"namespace": "email", "value": address}


async def send(memory: Memory, *requests: CaptureRequest) -> list[Captured]:
    memory.clock.forward(timedelta(seconds=1))
    return await memory.capture.capture(memory.trust, requests, batch=True)


async def entities(memory: Memory, name: str) -> list[MemoryRecord]:
    return await memory.lookup.entities(memory.trust, name, scope=None, first=50)


def outcomes(captured: Captured) -> dict[str, MentionOutcome]:
    return {one.name: one.outcome for one in captured.mentions}


def linked(captured: Captured) -> set[Any]:
    return {edge.target for edge in captured.edges if edge.predicate.endswith("_entity")}


async def test_two_people_of_one_name_with_different_addresses_stay_two(memory: Memory) -> None:
    one, other = await send(
        memory,
        entity_request("Sam Lee", primary_type="Person", identifiers=[email("sam@acme.example")], summary="Engineer"),
        entity_request("Sam Lee", primary_type="Person", identifiers=[email("sam@zoo.example")], summary="Keeper"),
    )
    assert one.primary.id != other.primary.id
    assert {record.payload["summary"] for record in await entities(memory, "sam lee") if record.payload} == {
        "Engineer",
        "Keeper",
    }
    unclear = (await send(memory, event_request("called", "Sam Lee")))[0]
    assert outcomes(unclear) == {"Sam Lee": MentionOutcome.AMBIGUOUS}
    assert set(unclear.mentions[0].candidates) == {one.primary.id, other.primary.id}
    assert not linked(unclear)
    clear = (
        await send(memory, event_request("called", {"name": "Sam Lee", "identifiers": [email("SAM@Zoo.example")]}))
    )[0]
    assert linked(clear) == {other.primary.id}


async def test_a_planet_and_a_project_of_one_name_stay_two(memory: Memory) -> None:
    planet = (await send(memory, entity_request("Mercury", primary_type="Planet")))[0]
    project = (await send(memory, event_request("kick-off", {"name": "mercury", "type": "Project"})))[0]
    assert outcomes(project) == {"mercury": MentionOutcome.CREATED}
    assert planet.primary.id not in linked(project)
    typed = (await send(memory, event_request("observed", {"name": "Mercury", "type": "planet"})))[0]
    assert linked(typed) == {planet.primary.id}


async def test_captures_teach_aliases_identifiers_types_and_a_summary(memory: Memory) -> None:
    created = (await send(memory, event_request("hired", "José Pérez")))[0]
    entity = next(iter(linked(created)))
    steps = [
        event_request("moved", {"name": "Jose  PEREZ", "type": "Person", "aliases": ["Pepe"]}),
        event_request("wrote", {"name": "Pepe", "identifiers": [email("Pepe@Example.org")]}),
        event_request("met", {"name": "J. P.", "identifiers": [email("pepe@example.org")]}),
        entity_request("pepe", summary="Runs the depot", office="Ulm"),
    ]
    for request in steps:
        taught = (await send(memory, request))[0]
        assert [one.outcome for one in taught.mentions] == [MentionOutcome.TAUGHT]
        assert {one.entity for one in taught.mentions} == {entity}
    record = await memory.lookup.record(memory.trust, entity)
    assert record is not None
    assert record.payload == {
        "kind": "entity",
        "canonical_name": "José Pérez",
        "primary_type": "Person",
        "aliases": [{"value": "Pepe"}, {"value": "J. P."}],
        "identifiers": [email("Pepe@Example.org")],
        "summary": "Runs the depot",
        "office": "Ulm",
    }
    assert record.version == 1 + len(steps)
    actions = [entry.action for entry in (await memory.lookup.audit(memory.trust, [entity]))[entity]]
    assert actions == ["create", *["revise"] * len(steps)]
    again = (await send(memory, event_request("again", {"name": "Pepe", "type": "Person"})))[0]
    assert outcomes(again) == {"Pepe": MentionOutcome.MATCHED}


async def test_a_taken_identifier_of_another_type_is_reported_and_joins_nothing(memory: Memory) -> None:
    team = (await send(memory, entity_request("Ops", primary_type="Team", identifiers=[email("ops@acme.example")])))[0]
    person = {"name": "Olga Ops", "type": "Person", "identifiers": [email("ops@acme.example")]}
    captured = (await send(memory, event_request("wrote", person)))[0]
    assert outcomes(captured) == {"Olga Ops": MentionOutcome.AMBIGUOUS}
    assert captured.mentions[0].candidates == (team.primary.id,)
    assert await entities(memory, "Olga Ops") == []


async def test_a_scoped_capture_teaches_an_unscoped_entity_for_its_own_scope_only(memory: Memory) -> None:
    acme = (await send(memory, entity_request("Acme", primary_type="Company")))[0].primary.id
    mention = {"name": "Acme", "aliases": ["the client"]}
    await send(memory, event_request("call", mention, scope="project:a"))
    inside = (await send(memory, event_request("call", "the client", scope="project:a")))[0]
    outside = (await send(memory, event_request("call", "the client", scope="project:b")))[0]
    assert linked(inside) == {acme}
    assert acme not in linked(outside)
    record = await memory.lookup.record(memory.trust, acme)
    assert record is not None
    assert record.version == 1
    assert "aliases" not in (record.payload or {})
    reader = trust_of(scopes={"project:b"})
    assert acme not in {one.id for one in await memory.lookup.entities(reader, "the client", scope=None, first=9)}


async def test_an_entity_of_the_own_scope_ranks_before_an_unscoped_one(memory: Memory) -> None:
    await send(memory, entity_request("Hermes", primary_type="Other"))
    own = (await send(memory, entity_request("Hermes", primary_type="Project", scope="project:a")))[0]
    assert own.mentions[0].outcome is MentionOutcome.TAUGHT  # the unscoped one, of no type, fits
    first = (
        await send(
            memory,
            entity_request("Iris", identifiers=[email("a@x.example")]),
            entity_request("Iris", identifiers=[email("b@x.example")], scope="project:a"),
            event_request("call", "Iris", scope="project:a"),
        )
    )[1:]
    assert linked(first[1]) == {first[0].primary.id}


async def test_many_writers_create_one_entity(memory: Memory) -> None:
    mention = {"name": "Nadia Roy", "identifiers": [email("nadia@x.example")]}
    requests = [event_request(f"call {number}", mention) for number in range(12)]
    await asyncio.gather(*(memory.capture.capture(memory.trust, [request]) for request in requests))
    found = await entities(memory, "Nadia Roy")
    assert len(found) == 1
    links = await memory.lookup.relations(memory.trust, [found[0].id])
    assert len(links[found[0].id]) == len(requests)


async def test_records_that_named_somebody_before_the_entity_existed_are_linked(memory: Memory) -> None:
    early = [
        *await send(memory, event_request("Lunch with Ines Alvarez at noon")),
        await memory.observe("The canteen", "praised_by", "ines alvarez"),
        await memory.turn("ask Ines about it"),
    ]
    assert all("Ines" not in one.name for captured in early for one in captured.mentions)
    ines = (await send(memory, entity_request("Inés Álvarez", primary_type="Person", aliases=[{"value": "Ines"}])))[0]
    await run_jobs(memory)
    links = (await memory.lookup.relations(memory.trust, [ines.primary.id]))[ines.primary.id]
    assert {(link.source, link.predicate) for link in links} == {
        (early[0].primary.id, "mentions_entity"),
        (early[1].primary.id, "object_entity"),
        (early[2].primary.id, "mentions_entity"),
    }
    same = await memory.observe("the canteen", "praised_by", "Ines")
    assert same.primary.id == early[1].primary.id


async def test_an_ambiguous_name_is_linked_once_only_one_entity_is_left(memory: Memory) -> None:
    one, other = await send(
        memory,
        entity_request("Kim Berg", identifiers=[email("a@x.example")]),
        entity_request("Kim Berg", identifiers=[email("b@x.example")]),
    )
    unclear = await memory.observe("Kim Berg", "works_at", "Acme")
    memory.clock.forward(timedelta(seconds=1))
    await run_jobs(memory)
    assert not linked(unclear) & {one.primary.id, other.primary.id}
    await memory.revision.revise(memory.trust, merge_request(one.primary.id, other.primary.id))
    memory.clock.forward(timedelta(seconds=1))
    await run_jobs(memory)
    kim = (await entities(memory, "Kim Berg"))[0].id
    links = (await memory.lookup.relations(memory.trust, [unclear.primary.id]))[unclear.primary.id]
    assert (unclear.primary.id, "subject_entity", kim) in {(e.source, e.predicate, e.target) for e in links}


def merge_request(first: UUID, second: UUID) -> Merge:
    return Merge(record_id=first, others=(second,), rationale="the same person")


NAMES = ("Sam Lee", "sam lee", "Sám Lee", "Mercury", "Acme", "ACME GmbH", "Ines")
TYPES = (None, "Person", "Project", "Other")
ADDRESSES = ("a@x.example", "A@x.example", "b@x.example")
mentions = st.builds(
    lambda name, kind, address, alias: {
        "name": name,
        **({"type": kind} if kind else {}),
        **({"identifiers": [email(address)]} if address else {}),
        **({"aliases": [alias]} if alias else {}),
    },
    st.sampled_from(NAMES),
    st.sampled_from(TYPES),
    st.none() | st.sampled_from(ADDRESSES),
    st.none() | st.sampled_from(NAMES),
)
scopes = st.sampled_from(["", "project:a"])
levels = st.sampled_from([Sensitivity.LOW, Sensitivity.MEDIUM])
requests = st.one_of(
    st.builds(
        lambda said, named, scope, level: event_request(said, *named, scope=scope, sensitivity=level),
        st.sampled_from(["Sam Lee called", "Acme wrote", "nothing", "Ines and Mercury"]),
        st.lists(mentions, max_size=2),
        scopes,
        levels,
    ),
    st.builds(
        lambda named, summary, scope, level: entity_request(
            named["name"],
            **{key: named[key] for key in ("identifiers",) if key in named},
            **({"primary_type": named["type"]} if "type" in named else {}),
            **({"aliases": [{"value": alias} for alias in named["aliases"]]} if "aliases" in named else {}),
            **({"summary": summary} if summary else {}),
            scope=scope,
            sensitivity=level,
        ),
        mentions,
        st.none() | st.sampled_from(["one", "two"]),
        scopes,
        levels,
    ),
    st.builds(
        lambda subject, predicate, value, policy, scope, level: CaptureRequest(
            source="test",
            source_kind=SourceKind.OBSERVATION,
            content={
                "subject": subject,
                "predicate": predicate,
                "object": value,
                **({"revision_policy": policy} if policy else {}),
            },
            scope=scope,
            sensitivity=level,
        ),
        st.sampled_from(NAMES),
        st.sampled_from(["works_at", "likes", "age"]),
        st.sampled_from([*NAMES, "7"]),
        st.sampled_from([None, None, "replace"]),
        scopes,
        levels,
    ),
)


def timed(request: CaptureRequest, hours: int) -> CaptureRequest:
    """Return the request with a time of its own, so that no time depends on the batch."""
    return replace(request, timestamp=NOON - timedelta(hours=hours))


UUID_TEXT = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")


async def at_rest(memory: Memory) -> Counter[str]:
    """Return all records and relations with each id replaced by what its record says, instants left out."""
    async with memory.database.background(Role.JOBS) as connection:
        rows = (await connection.execute(text("SELECT * FROM record"))).mappings().all()
        edges = (
            (
                await connection.execute(
                    text(
                        "SELECT e.source, p.name, e.target, e.weight FROM relation e"
                        " JOIN predicate p ON p.id = e.predicate WHERE e.ended_at IS NULL"
                    )
                )
            )
            .mappings()
            .all()
        )
        terms = (await connection.execute(text("SELECT * FROM entity_term"))).mappings().all()
    scopes_by_number = await memory.directory.scope_names({row["scope"] for row in rows})
    says = {
        str(row["id"]): f"{row['type']}|{scopes_by_number[row['scope']]}|{row['sensitivity']}|{row['state']}|"
        + UUID_TEXT.sub("id", orjson.dumps(row["payload"], option=orjson.OPT_SORT_KEYS).decode())
        for row in rows
    }

    def named(value: str) -> str:
        return UUID_TEXT.sub(lambda id_: f"<{says.get(id_.group(), 'other')}>", value)

    found: Counter[str] = Counter()
    for row in rows:
        interpretation = named(orjson.dumps(row["interpretation"], option=orjson.OPT_SORT_KEYS).decode())
        payload = named(orjson.dumps(row["payload"], option=orjson.OPT_SORT_KEYS).decode())
        found[f"{says[str(row['id'])]} {payload} v{row['version']} {interpretation}"] += 1
    for edge in edges:
        found[named(f"{edge['source']} {edge['name']} {edge['target']} {edge['weight']}")] += 1
    for term in terms:
        found[named(f"{term['entity']} {term['kind']} {term['scope']} {term['sensitivity']}")] += 1
    return found


@given(
    story=st.lists(st.builds(timed, requests, st.integers(0, 3)), min_size=2, max_size=9),
    cuts=st.sets(st.integers(1, 8)),
)
@examples(8)
def test_any_split_into_batches_leaves_the_same_store(
    postgres_url: str, template_database: str, story: list[CaptureRequest], cuts: set[int]
) -> None:
    """The scopes are made first and in one order, so that their numbers are equal."""

    async def run(batches: Sequence[Sequence[CaptureRequest]]) -> Counter[str]:
        with fresh_database(postgres_url, template_database) as url:
            async with Database(url) as database:
                directory = Directory(database, Vault(database, LocalMasterKey(bytes(32))))
                memory = memory_of(database, directory)
                tenant = await directory.tenant("acme", create=True)
                assert tenant is not None
                for scope in ("", "project:a"):
                    await directory.scopes(tenant, {scope}, create=True)
                for batch in batches:
                    await send(memory, *batch)
                memory.clock.forward(timedelta(seconds=1))
                assert (await run_jobs(memory))["set_aside"] == 0
                return await at_rest(memory)

    places = [0, *sorted(cut for cut in cuts if cut < len(story)), len(story)]
    batches = [story[start:end] for start, end in pairwise(places)]
    one_by_one = asyncio.run(run([[request] for request in story]))
    assert asyncio.run(run(batches)) == one_by_one


async def test_writers_that_revise_one_entity_wait_for_each_other_and_none_is_refused(memory: Memory) -> None:
    """Each capture changes the summary and adds no name, so that no term of its own makes it lock the entity early."""
    await send(memory, entity_request("Quay Works", primary_type="Organization", summary="start"))

    async def write(number: int) -> None:
        request = entity_request("Quay Works", primary_type="Organization", summary=f"summary {number}")
        await memory.capture.capture(memory.trust, [request])

    await asyncio.gather(*(write(number) for number in range(16)))
    found = await entities(memory, "Quay Works")
    assert [one.version for one in found] == [17]


async def test_people_who_share_a_nickname_stay_two(memory: Memory) -> None:
    one, other = await send(
        memory,
        entity_request("Samuel Lee", primary_type="Person", aliases=[{"value": "Sam"}], summary="pilot"),
        entity_request("Samantha Lee", primary_type="Person", aliases=[{"value": "Sam"}], summary="cook"),
    )
    assert one.primary.id != other.primary.id
    unclear = (await send(memory, event_request("called", "Sam")))[0]
    assert outcomes(unclear) == {"Sam": MentionOutcome.AMBIGUOUS}
    named = (await send(memory, event_request("called", {"name": "S. Lee", "aliases": ["Samuel Lee"]})))[0]
    assert not linked(named) & {one.primary.id, other.primary.id}, "that they are one is said by one side only"


async def test_an_address_means_the_entity_that_has_it_and_a_name_replaces_it(memory: Memory) -> None:
    first = await memory.observe("Oleg@Example.org", "age", "41")
    petrov = (
        await send(
            memory, entity_request("Олег Петров", primary_type="Person", identifiers=[email("oleg@example.org")])
        )
    )[0]
    assert petrov.primary.id in linked(first)
    assert petrov.primary.name == "Олег Петров"
    again = await memory.observe("OLEG@EXAMPLE.ORG", "age", "41")
    assert again.primary.id == first.primary.id


async def test_names_in_one_capture_are_bounded(memory: Memory) -> None:
    many = {"name": "x", "aliases": [f"alias {number}" for number in range(65)]}
    with pytest.raises(InvalidInput, match="up to 64 aliases"):
        await send(memory, event_request("flood", many))
    wide = [{"name": f"n {number}", "aliases": [f"a {number} {index}" for index in range(60)]} for number in range(9)]
    with pytest.raises(InvalidInput, match="together up to 512"):
        await send(memory, event_request("flood", *wide))
