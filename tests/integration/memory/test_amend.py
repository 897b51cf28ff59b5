"""Revisions by what changes: a merge patch leaves what a whole payload leaves, on what the record has by then."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Mapping
from typing import Any
from uuid import UUID, uuid4

import pytest
from fix_memory import EVIDENCE, Memory, memory_of, trust_of
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.revise.merge_patch import patched
from stratagraph.memory.revise.request import Amend, Retract, Supersede
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.master import LocalMasterKey
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.model.enums import MemoryType, RecordState, SourceKind
from stratagraph.store.model.errors import (
    EpisodicImmutable,
    EvidenceRequired,
    InvalidInput,
    StratagraphError,
    VersionConflict,
)
from stratagraph.store.model.payloads.procedures import without_computed
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Database

WORDS = st.sampled_from(["red", "green", "blue"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.sampled_from("abcd"), JSON, max_size=4)


@given(OBJECTS, OBJECTS)
def test_a_patch_is_as_rfc_7396_says(document: dict[str, Any], patch: dict[str, Any]) -> None:
    before = copy.deepcopy(document)
    after = patched(document, patch)
    assert document == before
    for name in {*document, *patch}:
        if name not in patch:
            assert after[name] == document[name]
        elif patch[name] is None:
            assert name not in after
        elif isinstance(patch[name], dict):
            inner = document.get(name)
            assert after[name] == patched(inner if isinstance(inner, dict) else {}, patch[name])
        else:
            assert after[name] == patch[name]


@pytest.mark.parametrize(
    ("document", "patch", "result"),  # of those in the appendix of the RFC, the ones about objects
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_the_examples_of_the_rfc(document: dict[str, Any], patch: dict[str, Any], result: dict[str, Any]) -> None:
    assert patched(document, patch) == result


CAPTURES: dict[MemoryType, dict[str, Any]] = {
    MemoryType.SEMANTIC: {
        "subject": "Alice",
        "predicate": "works_at",
        "object": "Acme",
        "validity": {"mode": "conditional", "conditions": {"place": ["here", "there"]}},
        "note": {"a": 1, "b": [2]},
        "evidence": [{"kind": "human", "ref": "ticket-1"}],
    },
    MemoryType.ENTITY: {"canonical_name": "Alice", "types": ["person"], "summary": "a person", "note": {"a": 1}},
    MemoryType.COMPETENCE: {
        "skill_name": "deploy",
        "triggers": [{"signal": "release", "conditions": {"env": "staging"}}],
        "recipe": [{"step": "build"}, {"step": "ship"}],
        "version": "1",
        "performance": {"success_count": 3, "failure_count": 1},
    },
    MemoryType.PLAN_GRAPH: {
        "plan_id": "p",
        "version": "1",
        "intent": "ship",
        "nodes": [{"id": "a", "op": "build"}, {"id": "b", "op": "ship"}],
        "edges": [{"from": "a", "to": "b", "kind": "control"}],
        "metrics": {"execution_count": 2},
    },
    MemoryType.WORKING: {"thread_id": "t", "state": "planning", "next_actions": ["think"], "note": {"a": 1}},
}
CHANGES = st.dictionaries(
    st.sampled_from(
        [
            *("object", "predicate", "validity", "note", "summary", "types", "canonical_name", "recipe", "intent"),
            *("state", "next_actions", "version", "skill_name", "plan_id", "thread_id", "performance", "evidence"),
        ]
    ),
    st.none()
    | WORDS
    | st.lists(st.fixed_dictionaries({"step": WORDS}), min_size=1, max_size=2)
    | st.just([{"kind": "human", "ref": "ticket-9"}])
    | st.dictionaries(
        st.sampled_from(["a", "b", "mode", "conditions", "success_count"]), st.none() | st.integers(0, 9)
    ),
    min_size=1,
    max_size=3,
)


async def captured(memory: Memory, trust: Trust, kind: MemoryType) -> UUID:
    is_working = kind is MemoryType.WORKING
    request = CaptureRequest(
        source="test",
        source_kind=SourceKind.WORKING_STATE if is_working else SourceKind.OBSERVATION,
        content=CAPTURES[kind],
        proposed_type=None if kind in (MemoryType.WORKING, MemoryType.SEMANTIC) else kind,
    )
    (done,) = await memory.capture.capture(trust, [request])
    assert done.primary.type is kind
    return done.primary.id


async def _revised(memory: Memory, trust: Trust, request: Amend | Supersede) -> Any:
    try:
        done = await memory.revision.revise(trust, request)
    except StratagraphError as error:
        return type(error), [*(error.path or [])]
    payload = {name: value for name, value in (done.record.payload or {}).items() if name != "revision"}
    sources = [source["ref"] for source in (done.record.provenance or {})["sources"]]
    return payload, done.record.text, done.record.version, [one for one in sources if one.startswith("ticket")]


async def _compare(memory: Memory, kind: MemoryType, changes: Mapping[str, Any]) -> bool:
    amended, superseded = (trust_of(tenant=f"{name}-{uuid4().hex[:12]}") for name in ("amended", "superseded"))
    ids = {trust: await captured(memory, trust, kind) for trust in (amended, superseded)}
    request = Amend(record_id=ids[amended], changes=dict(changes), evidence=EVIDENCE, rationale="changed")
    by_patch = await _revised(memory, amended, request)
    stored = without_computed((await memory.record(ids[superseded], superseded)).payload or {}, kind)
    whole = patched(stored, changes)
    if kind is MemoryType.ENTITY:  # whose payload need only have what changes, and null removes
        whole = {**dict.fromkeys(stored), **whole}
    by_payload = await _revised(
        memory,
        superseded,
        Supersede(record_id=ids[superseded], payload=whole, evidence=EVIDENCE, rationale="changed"),
    )
    if isinstance(by_payload[0], type):
        expected = (by_payload[0], ["changes" if part == "payload" else part for part in by_payload[1]])
        assert by_patch == expected
        return False
    assert by_patch == by_payload
    return True


def test_a_patch_leaves_what_the_whole_payload_leaves(database_url: str) -> None:
    with asyncio.Runner() as runner:
        database = Database(database_url)
        runner.run(database.__aenter__())
        memory = memory_of(database, Directory(database, Vault(database, LocalMasterKey(bytes(32)))))
        ends: list[bool] = []

        @settings(
            max_examples=60,
            deadline=None,
            phases=[phase for phase in Phase if phase is not Phase.explain],
            suppress_health_check=list(HealthCheck),
        )
        @given(st.sampled_from(list(CAPTURES)), CHANGES)
        def check(kind: MemoryType, changes: dict[str, Any]) -> None:
            ends.append(runner.run(_compare(memory, kind, changes)))

        try:
            check()
        finally:
            runner.run(database.__aexit__(None, None, None))
        assert set(ends) == {True, False}


async def test_a_patch_keeps_what_it_does_not_name(memory: Memory) -> None:
    id_ = await captured(memory, memory.trust, MemoryType.SEMANTIC)
    done = await memory.revise(
        Amend(record_id=id_, changes={"object": "Globex", "note": {"b": None}}, evidence=EVIDENCE, rationale="moved")
    )
    payload = done.record.payload or {}
    assert (payload["object"], payload["note"], payload["predicate"]) == ("Globex", {"a": 1}, "works_at")
    assert [one["ref"] for one in payload["evidence"]] == ["ticket-1", "ticket-7"]
    assert payload["validity"]["conditions"] == {"place": ["here", "there"]}
    assert (await memory.record(id_)).state is RecordState.SUPERSEDED


async def test_patches_at_the_same_time_all_count(memory: Memory) -> None:
    id_ = await captured(memory, memory.trust, MemoryType.ENTITY)
    names = [f"part_{number}" for number in range(8)]
    await asyncio.gather(
        *(memory.revision.revise(memory.trust, Amend(record_id=id_, changes={n: n}, rationale="one")) for n in names)
    )
    payload = (await memory.record(id_)).payload or {}
    assert {name: payload[name] for name in names} == {name: name for name in names}


async def test_what_is_wrong_with_a_patch_is_named(memory: Memory) -> None:
    ids = {kind: await captured(memory, memory.trust, kind) for kind in CAPTURES}
    turn = (await memory.turn("hello")).primary.id
    wrongs: list[tuple[UUID, Any, type[StratagraphError], list[str]]] = [
        (ids[MemoryType.SEMANTIC], {"object": "Globex"}, EvidenceRequired, ["evidence"]),
        (ids[MemoryType.SEMANTIC], {}, InvalidInput, ["changes"]),
        (ids[MemoryType.SEMANTIC], ["object"], InvalidInput, ["changes"]),
        (ids[MemoryType.ENTITY], {"canonical_name": None}, InvalidInput, ["changes", "canonical_name"]),
        (ids[MemoryType.WORKING], {"thread_id": "u"}, InvalidInput, ["changes", "thread_id"]),
        (ids[MemoryType.COMPETENCE], {"skill_name": "other"}, InvalidInput, ["changes", "skill_name"]),
        (ids[MemoryType.COMPETENCE], {"learned": {"tools": []}}, InvalidInput, ["changes", "learned"]),
        (ids[MemoryType.COMPETENCE], {"recipe": 5}, InvalidInput, ["changes", "recipe"]),
        (ids[MemoryType.ENTITY], {"sensitivity": "HIGH"}, InvalidInput, ["changes", "sensitivity"]),
        (ids[MemoryType.COMPETENCE], {"tags": ["x"]}, InvalidInput, ["changes", "tags"]),
        (turn, {"text": "bye"}, EpisodicImmutable, ["recordId"]),
    ]
    for id_, changes, error, path in wrongs:
        with pytest.raises(error) as raised:
            await memory.revise(Amend(record_id=id_, changes=changes, rationale="wrong"))
        assert raised.value.path == path
    with pytest.raises(VersionConflict):
        await memory.revise(
            Amend(record_id=ids[MemoryType.ENTITY], changes={"note": 1}, expected_version=9, rationale="stale")
        )
    await memory.revise(Retract(record_id=ids[MemoryType.COMPETENCE], rationale="gone"))
    with pytest.raises(VersionConflict):
        await memory.revise(Amend(record_id=ids[MemoryType.COMPETENCE], changes={"note": 1}, rationale="late"))
