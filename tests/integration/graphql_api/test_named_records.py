"""Relations and sources show the records that they name, as far as the caller may see them; payloads are typed."""

from __future__ import annotations

from typing import Any

from fix_api import services_of
from fix_memory import EVIDENCE, Memory, trust_of

from stratagraph.graphql.context import Context
from stratagraph.graphql.schema import build_schema
from stratagraph.memory.revise.request import Supersede
from stratagraph.store.model.clock import rfc3339
from stratagraph.store.model.enums import MemoryType, Sensitivity, SourceKind
from stratagraph.store.model.trust import Trust

SCHEMA = build_schema()
RECORD = """query($id: ID!, $asOf: DateTime) { record(id: $id, asOf: $asOf) {
  name payload provenance { sources { ref record { name state redacted } } }
  relations { predicate sourceId targetId source { id name state redacted } target { id name state redacted } }
  typed { __typename ... on Fact { subject predicate object validity { mode start } evidence { kind ref }
    revision { status supersededBy } } ... on Episode { timeline { eventKind summary } toolGraph { tool } }
    ... on Plan { version nodes { op } edges { source target kind } }
    ... on WorkingState { threadId state } ... on Competence { version lesson { task } }
    ... on Entity { types } } } }"""


async def ask(memory: Memory, document: str, trust: Trust | None = None, **variables: Any) -> Any:
    context = Context(trust or memory.trust, services_of(memory))
    result = await SCHEMA.execute(document, variable_values=variables, context_value=context)
    assert result.errors is None
    assert result.data is not None
    return next(iter(result.data.values()))


async def test_a_record_of_each_type_is_typed(memory: Memory) -> None:
    plan = {
        "plan_id": "p",
        "version": "1",
        "nodes": [{"id": "a", "op": "grep"}, {"id": "b", "op": "edit"}],
        "edges": [{"from": "a", "to": "b", "kind": "data"}],
    }
    skill = {"skill_name": "s", "triggers": [], "recipe": [], "lesson": {"task": "deploy"}}
    made = [
        await memory.observe("Ann", "lives_in", "Oslo", evidence=list(EVIDENCE)),
        await memory.turn("hello"),
        await memory.remember(SourceKind.OBSERVATION, plan, proposed_type=MemoryType.PLAN_GRAPH),
        await memory.remember(SourceKind.OBSERVATION, skill, proposed_type=MemoryType.COMPETENCE),
        await memory.remember(SourceKind.WORKING_STATE, {"thread_id": "t", "state": "planning"}),
    ]
    typed = [(await ask(memory, RECORD, id=str(one.primary.id)))["typed"] for one in made]
    fact, turn, shown_plan, shown_skill, working = typed
    assert fact == {
        "__typename": "Fact",
        "subject": "Ann",
        "predicate": "lives_in",
        "object": "Oslo",
        "validity": {"mode": "GLOBAL", "start": None},
        "evidence": [{"kind": "HUMAN", "ref": "ticket-7"}],
        "revision": {"status": "ACTIVE", "supersededBy": None},
    }
    assert turn["timeline"] == [{"eventKind": "agent_turn", "summary": "hello"}]
    assert shown_plan["edges"] == [{"source": "a", "target": "b", "kind": "DATA"}]
    assert shown_skill == {"__typename": "Competence", "version": None, "lesson": {"task": "deploy"}}
    assert working == {"__typename": "WorkingState", "threadId": "t", "state": "PLANNING"}


async def test_the_episode_of_a_thread_is_typed_with_its_events(memory: Memory) -> None:
    await memory.turn("hello", thread="t")
    last = await memory.turn("bye", thread="t")
    episode = next(edge.target for edge in last.edges if edge.predicate == "part_of")
    shown = await ask(memory, RECORD, id=str(episode))
    assert [one["summary"] for one in shown["typed"]["timeline"]] == ["hello", "bye"]


async def test_a_payload_that_does_not_fit_its_type_is_read_as_json(memory: Memory) -> None:
    fact = (await memory.observe("Ann", "lives_in", "Oslo")).primary
    for damaged, expected in (
        ('{"kind": "semantic", "subject": "Ann", "object": 1}', None),
        (
            '{"kind": "semantic", "subject": "Ann", "predicate": "p", "object": 1, "validity": {"mode": "global"},'
            ' "evidence": "x"}',
            {"subject": "Ann", "evidence": None},
        ),
    ):
        await memory.rows(
            "UPDATE record SET payload = CAST(:payload AS jsonb) WHERE id = :id", payload=damaged, id=fact.id
        )
        shown = await ask(memory, RECORD, id=str(fact.id))
        assert shown["payload"]["subject"] == "Ann"
        assert (shown["typed"] is None) == (expected is None)
        if expected is not None:
            assert {key: shown["typed"][key] for key in expected} == expected


async def test_ends_and_sources_are_shown_under_the_callers_trust(memory: Memory) -> None:
    source = await memory.remember(SourceKind.EVENT, {"summary": "seen"}, scope="a", sensitivity=Sensitivity.LOW)
    evidence = [{"kind": "event", "ref": str(source.primary.id)}, {"kind": "human", "ref": "Eve"}]
    fact = await memory.observe("Ann", "lives_in", "Oslo", evidence=evidence, scope="a", sensitivity=Sensitivity.LOW)
    above = await memory.remember(
        SourceKind.EVENT,
        {"summary": "above"},
        context={"references": [{"ref": str(fact.primary.id), "predicate": "confirms"}]},
        scope="a",
        sensitivity=Sensitivity.MEDIUM,
    )
    hidden = await memory.remember(
        SourceKind.EVENT,
        {"summary": "hidden"},
        context={"references": [{"ref": str(fact.primary.id), "predicate": "confirms"}]},
        scope="a",
        sensitivity=Sensitivity.HIGH,
    )
    everything = await ask(memory, RECORD, id=str(fact.primary.id))
    confirmed = {
        one["sourceId"]: one["source"]["name"] for one in everything["relations"] if one["predicate"] == "confirms"
    }
    assert set(confirmed) == {str(above.primary.id), str(hidden.primary.id)}
    assert [one["record"] for one in everything["provenance"]["sources"]] == [
        {"name": "seen", "state": "ACTIVE", "redacted": False},
        None,
    ]
    for one in everything["relations"]:
        assert (one["source"]["id"], one["target"]["id"]) == (one["sourceId"], one["targetId"])
    some = await ask(memory, RECORD, trust_of(ceiling=Sensitivity.LOW, scopes={"a"}), id=str(fact.primary.id))
    assert [
        (one["source"]["id"], one["source"]["redacted"], one["source"]["name"])
        for one in some["relations"]
        if one["predicate"] == "confirms"
    ] == [(str(above.primary.id), True, None)]


async def test_ends_and_sources_of_the_past_are_shown_as_they_were(memory: Memory) -> None:
    source = await memory.observe("Ann", "lives_in", "Oslo")
    evidence = [{"kind": "observation", "ref": str(source.primary.id)}]
    fact = await memory.observe("Ann", "pays_rent_in", "Oslo", evidence=evidence)
    then = rfc3339(memory.clock.now())
    payload = {**(source.primary.payload or {}), "object": "Rome"}
    await memory.revise(Supersede(record_id=source.primary.id, rationale="moved", payload=payload, evidence=EVIDENCE))
    now, before = [await ask(memory, RECORD, id=str(fact.primary.id), asOf=at) for at in (None, then)]
    for shown, state in ((now, "SUPERSEDED"), (before, "ACTIVE")):
        assert [one["record"]["state"] for one in shown["provenance"]["sources"]] == [state]
        assert {one["source"]["state"] for one in shown["relations"] if one["sourceId"] == str(source.primary.id)} == {
            state
        }


async def test_a_narrowed_retrieval_shows_ends_as_narrowly(memory: Memory) -> None:
    low = await memory.turn("the red kite flies", scope="a", sensitivity=Sensitivity.LOW)
    await memory.remember(
        SourceKind.EVENT,
        {"summary": "the red kite lands"},
        context={"references": [str(low.primary.id)]},
        scope="a",
        sensitivity=Sensitivity.MEDIUM,
    )
    document = """query($level: Sensitivity) {
      retrieveGraph(input: {taskDescriptor: "red kite", maxSensitivity: $level}) {
      ... on RetrieveGraphSuccess { edges { source { name redacted } target { name redacted } }
      nodes { record { relations { source { name redacted } } } } } } }"""
    wide = await ask(memory, document)
    assert {one["source"]["redacted"] for one in wide["edges"]} == {False}
    narrow = await ask(memory, document, level="LOW")
    shown = [one["source"] for one in narrow["edges"]]
    shown += [one["source"] for node in narrow["nodes"] for one in node["record"]["relations"] or ()]
    assert {"name": "the red kite lands", "redacted": False} not in shown
    assert {"name": None, "redacted": True} in shown


async def test_words_of_closed_sets_are_enums_beside_the_texts(memory: Memory) -> None:
    fact = (await memory.observe("Ann", "lives_in", "Oslo", evidence=list(EVIDENCE))).primary
    document = """query($id: ID!) { record(id: $id) { auditLog { action actionCode }
      provenance { sources { kind kindCode } } } }"""
    shown = await ask(memory, document, id=str(fact.id))
    assert shown["auditLog"] == [{"action": "create", "actionCode": "CREATE"}]
    assert shown["provenance"]["sources"] == [{"kind": "human", "kindCode": "HUMAN"}]
    document = """{ retrieveGraph(input: {taskDescriptor: "where does Ann live"}) { ... on RetrieveGraphSuccess {
      nodes { why { signals { signal signalCode } } } } } }"""
    found = await ask(memory, document)
    signals = [one for node in found["nodes"] for one in node["why"]["signals"]]
    assert signals
    assert all(one["signal"] == one["signalCode"] for one in signals)
