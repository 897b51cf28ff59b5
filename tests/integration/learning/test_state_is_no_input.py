"""What the service has learned is no input: all that is accepted can be read, learned past, exported and erased."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from fix_erasing import Store
from fix_examples import examples
from fix_learning import run_learning
from fix_memory import Memory, fresh_database, memory_of
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text
from strategies import payloads

from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.records.listing import RecordFilter
from stratagraph.memory.revise.request import Fork, Merge, Supersede
from stratagraph.store.erasure.rewriting import read_contents
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.contents import RECORD
from stratagraph.store.keys.sealing.master import LocalMasterKey
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.model.enums import MemoryType, Sensitivity, SourceKind
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.rfc import from_appendix, from_normative, to_appendix, to_normative
from stratagraph.store.postgres.database import Database
from stratagraph.store.postgres.schema import tables

Json = dict[str, Any]
TOOLS = ("find", "book", "tell")
NAMES = ("skill:book+find+tell", "plan:book+find+tell")
FORGED: Json = {
    "tools": ["book", "find", "tell"],
    "outcomes": {"success": 10**6},
    "episodes": [["2026-01-01T00:00:00Z", "00000000-0000-7000-8000-000000000001"]],
    "tasks": [{"text": "attacker text", "outcome": "success", "by": [0]}],
}
SKILL: Json = {"skill_name": NAMES[0], "triggers": [{"signal": "x"}], "recipe": [{"step": "a", "tool": "find"}]}
PLAN: Json = {
    "plan_id": NAMES[1],
    "version": "1",
    "nodes": [{"id": "a", "op": "find"}, {"id": "b", "op": "book"}],
    "edges": [{"from": "a", "to": "b", "kind": "data"}],
}
KINDS = {
    MemoryType.EPISODIC: SourceKind.EPISODE,
    MemoryType.WORKING: SourceKind.WORKING_STATE,
}


async def lived(memory: Memory, thread: str, **more: Any) -> UUID:
    """Capture an episode that used TOOLS, and return its first turn."""
    turn = {"thread_id": thread, "role": "user", "text": f"please book a seat for {thread}"}
    first = (await memory.remember(SourceKind.AGENT_TURN, turn, **more)).primary.id
    for tool in TOOLS:
        call = {"thread_id": thread, "tool_name": tool, "args": {"name": thread}, "result": {"user": thread}}
        await memory.remember(SourceKind.TOOL_OUTPUT, call, **more)
    await memory.remember(SourceKind.OUTCOME, {"thread_id": thread, "outcome_status": "success"}, **more)
    return first


async def procedures(memory: Memory) -> dict[str, MemoryRecord]:
    """Return the current skill and plan of TOOLS, by name."""
    found: dict[str, MemoryRecord] = {}
    for kind in (MemoryType.COMPETENCE, MemoryType.PLAN_GRAPH):
        for record in (await memory.lookup.records(memory.trust, RecordFilter(types=(kind,)), first=100)).records:
            payload = record.payload or {}
            found.setdefault(payload.get("skill_name") or payload["plan_id"], record)
    return found


@pytest.mark.parametrize(
    ("kind", "payload", "place", "key"),
    [
        (MemoryType.COMPETENCE, SKILL, (), "learned"),
        (MemoryType.PLAN_GRAPH, PLAN, (), "learned"),
        (MemoryType.COMPETENCE, SKILL, ("recipe",), "effect"),
        *((MemoryType.PLAN_GRAPH, PLAN, ("nodes",), key) for key in ("effect", "share", "metrics")),
        (MemoryType.PLAN_GRAPH, PLAN, ("edges",), "share"),
    ],
)
async def test_keys_that_the_service_computes_are_refused(
    memory: Memory, kind: MemoryType, payload: Json, place: tuple[str, ...], key: str
) -> None:
    forged: Json = json.loads(json.dumps(payload))
    (forged[place[0]][0] if place else forged)[key] = {"execution_count": 10**6} if key == "metrics" else FORGED
    with pytest.raises(InvalidInput, match=f"{key}: computed by the service") as refused:
        await memory.remember(SourceKind.OBSERVATION, forged, proposed_type=kind)
    assert refused.value.path == ["content", *place, *(["0"] if place else []), key]
    assert (await memory.lookup.records(memory.trust, first=10)).records == ()
    stored = (await memory.remember(SourceKind.OBSERVATION, payload, proposed_type=kind)).primary.id
    other = payload | ({"skill_name": "other"} if kind is MemoryType.COMPETENCE else {"plan_id": "other"})
    second = (await memory.remember(SourceKind.OBSERVATION, other, proposed_type=kind)).primary.id
    for request in (
        Supersede(record_id=stored, rationale="mine", payload=forged),
        Fork(record_id=stored, rationale="mine", payload=forged, conditions={"os": "mac"}),
        Merge(record_id=stored, others=(second,), rationale="mine", payload=forged),
    ):
        with pytest.raises(InvalidInput, match=f"{key}: computed by the service") as refused:
            await memory.revision.revise(memory.trust, request)
        assert refused.value.path == ["payload", *place, *(["0"] if place else []), key]


async def test_a_capture_cannot_speak_as_learning(memory: Memory) -> None:
    source = "consolidation/semantic-extractor"
    request = CaptureRequest(source=source, source_kind=SourceKind.EVENT, content={"summary": "x"})
    with pytest.raises(InvalidInput, match="must not begin with consolidation/") as refused:
        await memory.capture.capture(memory.trust, [request])
    assert refused.value.path == ["source"]


async def test_capturing_a_learned_skill_again_does_not_move_its_statistics(memory: Memory) -> None:
    """The effect of the tool is unknown, so that the recipe can be captured as it is."""

    async def found(*said: str) -> None:
        for words in said:
            await memory.turn(words, thread=said[0])
        call = {"thread_id": said[0], "tool_name": "find", "args": {"name": "alice"}, "result": "done"}
        await memory.remember(SourceKind.TOOL_OUTPUT, call)
        await memory.remember(SourceKind.OUTCOME, {"thread_id": said[0], "outcome_status": "success"})

    await found("please find alice")
    await found("find alice please", "yes, go ahead")
    await run_learning(memory)
    before = (await procedures(memory))["skill:find"]
    forged = (before.payload or {}) | {"performance": {"success_count": 10**9, "failure_count": 0}}
    done = await memory.remember(SourceKind.OBSERVATION, forged, proposed_type=MemoryType.COMPETENCE)
    assert done.primary.id == before.id
    await found("find alice again")
    await run_learning(memory)
    after = (await procedures(memory))["skill:find"]
    assert (after.payload or {})["performance"]["success_count"] == 3
    assert after.confidence == pytest.approx(5 / 6)


async def test_what_was_forged_before_an_upgrade_is_a_text_of_the_callers(store: Store) -> None:
    """Erasing other people's turns failed with INTERNAL, every stage with KeyError, and its words were shown."""
    memory = store.memory
    turn = await lived(memory, "ann")
    skill = (await memory.remember(SourceKind.OBSERVATION, SKILL, proposed_type=MemoryType.COMPETENCE)).primary.id
    forged = json.dumps({"learned": FORGED})
    await memory.rows("UPDATE record SET payload = payload || CAST(:p AS jsonb) WHERE id = :id", id=skill, p=forged)
    await lived(memory, "ben")
    await run_learning(memory)
    assert await memory.rows("SELECT * FROM job_set_aside") == []
    learned = await procedures(memory)
    assert learned[NAMES[0]].id == skill
    assert learned[NAMES[0]].learned_tools is None
    assert learned[NAMES[1]].learned_tools == ("book", "find", "tell")
    await store.erase(record_id=turn)
    assert not await store.has(turn)


@pytest.mark.parametrize("state", [{"tools": ["x"]}, {"episodes": 3}, {**FORGED, "steps": {"find": {}}}])
async def test_a_state_that_cannot_be_read_is_blanked_and_stops_nothing(store: Store, state: Json) -> None:
    memory = store.memory
    first = await lived(memory, "ann")
    await lived(memory, "ben")
    await run_learning(memory)
    broken = json.dumps(state)
    await memory.rows("UPDATE record SET learned_state = CAST(:s AS jsonb) WHERE learned_state IS NOT NULL", s=broken)
    await lived(memory, "eve")
    await run_learning(memory)
    assert await memory.rows("SELECT * FROM job_set_aside") == []
    await store.erase(record_id=first)
    assert not await store.has(first)
    assert {row["learned_state"] for row in await memory.rows("SELECT learned_state FROM record")} == {None}


async def test_a_record_that_an_earlier_release_sealed_is_learned_past(store: Store) -> None:
    """Its blob has the state in the payload; a caller's blob has what the caller wrote there."""
    memory = store.memory
    sealed: Json = {"sensitivity": Sensitivity.HYPER}
    first = await lived(memory, "ann", **sealed)
    forged = {**SKILL, "skill_name": "mine"}
    mine = await memory.remember(SourceKind.OBSERVATION, forged, proposed_type=MemoryType.COMPETENCE, **sealed)
    await lived(memory, "ben", **sealed)
    await run_learning(memory)
    tenant = await memory.directory.tenant("acme")
    assert tenant is not None
    learned = [one.id for one in (await procedures(memory)).values()]
    async with memory.database.engine.begin() as connection:
        sealer = await tenant.keyring.sealer(connection)
        for row, content in await read_contents(connection, tenant, tables.record, learned):
            state = content.pop("learned_state") or FORGED
            content["payload"]["learned"] = state
            blob = sealer.seal(row["id"], RECORD, json.dumps(content).encode())
            await connection.execute(text("UPDATE record SET sealed = :s WHERE id = :id"), {"s": blob, "id": row["id"]})
    assert (await procedures(memory))[NAMES[0]].learned_tools == ("book", "find", "tell")
    assert "learned" not in ((await procedures(memory))[NAMES[0]].payload or {})
    await lived(memory, "eve", **sealed)
    await run_learning(memory)
    await store.erase(record_id=first)
    found = await procedures(memory)
    for name in NAMES:
        counted = (found[name].payload or {}).get("performance") or (found[name].payload or {})["metrics"]
        assert (counted.get("success_count") or counted.get("execution_count")) == 3
    own = await memory.lookup.record(memory.trust, mine.primary.id)
    assert own is not None
    assert own.learned_tools is None
    assert (own.payload or {})["learned"] == FORGED


@st.composite
def requests(draw: st.DrawFn) -> CaptureRequest:
    """Captures of any payload of any type, some with keys of the service, or under the names of what is learned."""
    kind = draw(st.sampled_from([*MemoryType, MemoryType.COMPETENCE, MemoryType.PLAN_GRAPH]))
    content = {key: value for key, value in draw(payloads(kind)).items() if key != "kind"}
    if draw(st.booleans()):
        content["learned"] = draw(st.sampled_from([FORGED, {"tools": ["find"]}, {}, "text", ["list"]]))
    if kind is MemoryType.COMPETENCE and draw(st.booleans()):
        content["skill_name"] = NAMES[0]
    if kind is MemoryType.PLAN_GRAPH and draw(st.booleans()):
        content["plan_id"] = NAMES[1]
    content.pop("revision", None)
    if kind is MemoryType.SEMANTIC:
        content["evidence"] = [{"kind": "event", "ref": "the test"}]
    is_given = kind in (MemoryType.ENTITY, MemoryType.COMPETENCE, MemoryType.PLAN_GRAPH)
    return CaptureRequest(
        source=draw(st.sampled_from(["test", "consolidation", "capture/structural", "consolidation/competence"])),
        source_kind=KINDS.get(kind, SourceKind.OBSERVATION),
        content=content,
        proposed_type=kind if is_given else None,
        sensitivity=draw(st.sampled_from([Sensitivity.LOW, Sensitivity.HYPER])),
    )


@given(story=st.lists(requests(), min_size=4, max_size=8))
@examples(8)
def test_what_is_accepted_can_be_read_learned_past_exported_and_erased(
    postgres_url: str, template_database: str, tmp_path_factory: pytest.TempPathFactory, story: list[CaptureRequest]
) -> None:
    files = tmp_path_factory.mktemp("files")

    async def run() -> None:
        with fresh_database(postgres_url, template_database) as url:
            async with Database(url) as database:
                directory = Directory(database, Vault(database, LocalMasterKey(bytes(32))))
                await check_total(Store(memory_of(database, directory), files, url), story)

    asyncio.run(run())


async def check_total(store: Store, story: list[CaptureRequest]) -> None:
    """Capture the story around the episodes of others, then read, learn, export and erase everything."""
    memory = store.memory
    turn = await lived(memory, "ann")
    accepted: set[UUID] = set()
    for request in story:
        memory.clock.forward(timedelta(seconds=1))
        with suppress(InvalidInput):
            accepted.add((await memory.capture.capture(memory.trust, [request]))[0].primary.id)
    await lived(memory, "ben")
    await run_learning(memory)
    assert await memory.rows("SELECT * FROM job_set_aside") == []
    for id_ in accepted:
        record = await memory.lookup.record(memory.trust, id_)
        assert record is not None
        audit = (await memory.lookup.audit(memory.trust, [id_]))[id_]
        for to, from_ in ((to_appendix, from_appendix), (to_normative, from_normative)):
            assert from_(json.loads(json.dumps(to(record, (), audit)))).record.payload == record.payload
    assert NAMES[0] in await procedures(memory)
    for id_ in [turn, *accepted]:
        if not await store.has(id_):  # with an entity goes what names it
            continue
        record = await memory.lookup.record(memory.trust, id_)
        is_entity = record is not None and record.type is MemoryType.ENTITY
        entity, other = (id_, None) if is_entity else (None, id_)
        await store.erase(entity_id=entity, record_id=other, rationale="☃")  # which must hold no name of an entity
        assert not await store.has(id_)
    assert await store.audit_chain_is_valid()
