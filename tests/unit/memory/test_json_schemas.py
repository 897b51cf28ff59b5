"""The JSON Schemas accept what the service accepts, and nothing else that JSON Schema can tell apart."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import UTC, datetime
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from strategies import json_values, payloads

from stratagraph.memory.capture.classify import classify
from stratagraph.memory.capture.interpret import interpret
from stratagraph.memory.capture.noting import key_warnings
from stratagraph.memory.capture.request import CaptureRequest, checked
from stratagraph.memory.requests.contents import CONTENTS
from stratagraph.memory.requests.evidence import KINDS as KINDS_OF_EVIDENCE
from stratagraph.memory.requests.evidence import SOURCE_TYPES, check_evidence
from stratagraph.memory.requests.schemas import DIALECT, json_schema, schema_names
from stratagraph.store.model.enums import MemoryType, SourceKind
from stratagraph.store.model.errors import StratagraphError
from stratagraph.store.model.payloads import parse_payload
from stratagraph.store.model.payloads.procedures import refuse_computed

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
KINDS = {kind.value for kind in CONTENTS}
GIVEN = {MemoryType.ENTITY, MemoryType.COMPETENCE, MemoryType.PLAN_GRAPH}
# The messages of what is refused although a schema accepts it: each is one of the rules that `$comment` lists.
BEYOND = re.compile(
    r"blank|circle|cycle|two calls have the id|share an id|there is no node|later than start|ahead of the service"
    r"|must have a word|valid datetime|day value|out of range|within the\s+years|: write |U\+0000|surrogate"
    r"|no exact|depends on itself|cannot be a name|a predicate|valid integer"
)
NAMES = [*["Ann", "works_at", "a b", "Ünï", "x" * 512, "y" * 2_000] * 4, "x" * 2_001, "", " ", "\u200b"]
TIMES = [
    *["2026-01-28T09:30:00Z", "2025-01-28T09:30:00Z"] * 15,
    "0001-01-01T00:00:00+14:00",
    "2026-01-28T09:30:00Z",
    "2026-01-28 09:30+0200",
    "2026-01-28t09:30:00.123456789z",
    "2026-01-28_09:30:00,5-23:59",
    "2026-01-28T09:30:00\u22120200",
    "2026-02-30T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-01-28T24:00:00Z",
    "2026-01-28T09:30:60Z",
    "2026-01-28T09:30:00",
    "2026-01-28",
    "1700000000",
    "yesterday",
]
UUIDS = [*["0198f7a0-0000-7000-8000-000000000001"] * 5, "no id"]
JUNK = json_values()
IDS = st.sampled_from(["a", "b"])
POINTERS = ("id", "from", "to", "source", "target")
TWENTY = st.integers(0, 19)
RARE = 13  # one that nothing else prefers
OWN = ["own", "é", "my key"]  # keys of the caller's


def accepted(name: str, value: Any) -> str | None:
    """Return why the service refuses a value in the place that a schema is for; None if it accepts it."""
    try:
        if name == "evidence":
            check_evidence([value], NOW, path=["evidence"])
        elif name == "context":
            request = CaptureRequest(source="x", source_kind=SourceKind.EVENT, content={}, context=value)
            key_warnings(request)
            interpret(classify(checked(request, NOW), 0, NOW))
        elif name in KINDS or MemoryType[name.upper()] in GIVEN:
            kind = SourceKind(name) if name in KINDS else SourceKind.OBSERVATION
            proposed = None if name in KINDS else MemoryType[name.upper()]
            request = CaptureRequest(source="x", source_kind=kind, content=value, proposed_type=proposed)
            key_warnings(request)
            draft = classify(checked(request, NOW), 0, NOW)
            refuse_computed(draft.payload, draft.type, path=["content"])
            interpret(draft)
        else:
            parse_payload(MemoryType[name.upper()], value)
    except StratagraphError as error:
        return error.message
    return None


LEAVES: dict[str, st.SearchStrategy[Any]] = {
    "string": st.sampled_from(NAMES),
    "integer": st.sampled_from([*[0, 3, 7] * 5, -1, 2**31 - 1, 2**31, 2.5, True, "1"]),
    "number": st.sampled_from([*[0, 0.5, 1] * 5, 1.5, -1, 1e12, 1e13, True, "1"]),
    "boolean": st.sampled_from([*[True, False] * 9, 0, "true"]),
    "object": st.dictionaries(st.sampled_from(["k", "l", "own"]), JUNK, max_size=2),
    "null": st.none(),
}


def values(schema: Any, root: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Return values that mostly have the form of a schema, and sometimes not."""
    if schema is False:
        return JUNK
    if "$ref" in schema:
        return values(root["$defs"][schema["$ref"].rsplit("/", 1)[1]], root)
    if "properties" in schema:
        return objects(schema, root)
    if "anyOf" in schema:
        return st.one_of([values(one, root) for one in schema["anyOf"]])
    if "items" in schema:
        return st.lists(mostly(values(schema["items"], root)), max_size=3)
    return leaves(schema)


def leaves(schema: Any) -> st.SearchStrategy[Any]:
    if "const" in schema:
        return st.sampled_from([*[schema["const"]] * 9, "other"])
    if "enum" in schema:
        return st.sampled_from([*schema["enum"] * 5, "other", "OTHER"])
    for beginning, samples in (("^[0-9]{4}-", TIMES), ("^[0-9a-f", UUIDS)):
        if schema.get("pattern", "").startswith(beginning):
            return st.sampled_from(samples)
    kind = schema.get("type")
    return LEAVES.get(kind, JUNK) if isinstance(kind, str) else JUNK


@st.composite
def mostly(draw: st.DrawFn, usual: st.SearchStrategy[Any]) -> Any:
    return draw(JUNK if draw(TWENTY) == RARE else usual)


@st.composite
def objects(draw: st.DrawFn, schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    required = list(schema.get("required", ()))
    if "allOf" in schema and {"from", "source"} <= schema["properties"].keys():
        required += draw(st.sampled_from([["from", "to"], ["source", "target"], ["from", "target"]]))
    made = {}
    for key in [*required, *draw(chosen(tuple(one for one in schema["properties"] if one not in required)))]:
        made[key] = draw(IDS if key in POINTERS else known(schema, key, root))
    if draw(TWENTY) == RARE:
        made.pop(next(iter(made), None), None)
        made[draw(st.sampled_from(OWN))] = draw(JUNK)
    return made


@cache
def chosen(keys: tuple[str, ...]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(keys), unique=True, max_size=4) if keys else st.just([])


OF_EVIDENCE: dict[str, st.SearchStrategy[Any]] = {
    "kind": st.sampled_from([*KINDS_OF_EVIDENCE * 2, None, "other"]),
    "source_type": st.sampled_from([*SOURCE_TYPES, None, "other", 7]),
    "ref": st.sampled_from(["x", "y", "z", " ", None, 7]),
    "source_id": st.sampled_from(["x", "y", "z", " ", None, 7]),
}
FIELDS: dict[tuple[int, str], st.SearchStrategy[Any]] = {}


def known(schema: Any, key: str, root: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Return values of a property; each strategy is made once, since that takes longer than to draw from it."""
    if (id(schema), key) not in FIELDS:
        if schema["properties"][key].keys() == {"description"} and key in OF_EVIDENCE:
            return OF_EVIDENCE[key]
        FIELDS[id(schema), key] = mostly(values(schema["properties"][key], root))
    return FIELDS[id(schema), key]


@pytest.mark.parametrize("name", schema_names())
def test_a_schema_is_one_of_its_dialect_and_describes_each_field(name: str) -> None:
    schema = json_schema(name)
    Draft202012Validator.check_schema(schema)
    assert (schema["$schema"], schema["$id"]) == (DIALECT, f"/schemas/{name}.json")
    for part in (schema, *schema.get("$defs", {}).values()):
        for key, one in part.get("properties", {}).items():
            assert one is False or key == "kind" or "description" in one, (name, key)
    assert json.loads(json.dumps(schema)) == schema


@cache
def prepared(name: str) -> tuple[st.SearchStrategy[Any], Draft202012Validator]:
    schema = json_schema(name)
    usual = values(schema, schema)
    # A context that is null is none.
    return (usual if name == "context" else mostly(usual)), Draft202012Validator(schema)


@pytest.mark.parametrize("name", schema_names())
def test_a_schema_accepts_what_the_service_accepts(name: str) -> None:
    strategy, validator = prepared(name)
    seen: Counter[tuple[bool, bool]] = Counter()

    @settings(deadline=None, max_examples=600)
    @given(strategy)
    def agree(value: Any) -> None:
        problem = accepted(name, value)
        valid = validator.is_valid(value)
        seen[valid, problem is None] += 1
        if problem is None:
            assert valid, (value, next(validator.iter_errors(value)).message)
        elif valid:
            assert BEYOND.search(problem), (value, problem)

    agree()
    assert seen[True, True] > 2
    assert seen[False, False] > 2


@pytest.mark.parametrize("memory_type", list(MemoryType))
@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_the_payloads_of_all_other_tests_are_valid(memory_type: MemoryType, data: st.DataObject) -> None:
    value = parse_payload(memory_type, data.draw(payloads(memory_type)))
    if memory_type is MemoryType.PLAN_GRAPH:  # `metrics` of a step is computed by the service
        value["nodes"] = [{key: one for key, one in node.items() if key != "metrics"} for node in value["nodes"]]
    errors = [one.message for one in Draft202012Validator(json_schema(memory_type.label)).iter_errors(value)]
    own = [key for key in ("learned", "composed", "derived_from", "evidence") if key in value]
    assert errors == [] or own or accepted(memory_type.label, value) is not None
