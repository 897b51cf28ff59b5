"""Typed inputs have the fields of their forms, and are converted to the JSON that means the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLList,
    GraphQLNonNull,
    coerce_input_value,
    get_nullable_type,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import payloads
from strawberry.types import get_object_definition

from stratagraph.graphql.part_types import EXTRA, content_of, form_of_type, json_path, key_of
from stratagraph.graphql.schema import build_schema
from stratagraph.graphql.types import typed_inputs
from stratagraph.graphql.types.enums import MemoryType
from stratagraph.graphql.types.typed_inputs import KINDS
from stratagraph.memory.requests.contents import CONTENTS, form_of
from stratagraph.memory.requests.warnings import camel_case
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.payloads import PAYLOADS, parse_payload

SCHEMA = build_schema()._schema
TYPES = [one for one in vars(typed_inputs).values() if isinstance(one, type) and hasattr(one, "__form__")]
# Fields of forms that no input has: `kind` is the input itself; older forms, and what the service computes or renders.
LEFT_OUT = {
    "EvidenceInput": {"source_type", "source_id"},
    "FactInput": {"kind", "revision"},
    "PlanNodeInput": {"metrics"},
    "CompetenceInput": {"kind", "lesson"},
    "WorkingStateInput": {"kind"},
    "EpisodeInput": {"kind"},
    "EntityInput": {"kind"},
    "PlanInput": {"kind"},
}
STRICTER = {("EvidenceInput", "kind"), ("EvidenceInput", "ref")}  # required of the newer form of evidence


@pytest.mark.parametrize("type_", TYPES, ids=lambda type_: type_.__name__)
def test_an_input_has_the_fields_of_its_form(type_: type) -> None:
    form = form_of_type(type_)
    fields = {one.python_name for one in get_object_definition(type_, strict=True).fields} - {EXTRA}
    assert fields == form.model_fields.keys() - LEFT_OUT.get(type_.__name__, set())
    graphql = SCHEMA.get_type(type_.__name__)
    assert isinstance(graphql, GraphQLInputObjectType)
    for name in fields:
        required = isinstance(graphql.fields[camel_case(name)].type, GraphQLNonNull)
        expected = form.model_fields[name].is_required() or (type_.__name__, name) in STRICTER
        assert required == expected, name


def test_every_kind_of_source_and_of_payload_has_an_input() -> None:
    memory = SCHEMA.get_type("MemoryInput")
    assert isinstance(memory, GraphQLInputObjectType)
    assert memory.is_one_of
    assert memory.fields.keys() == KINDS.keys()
    assert {form_of(kind, memory_type) for _, kind, memory_type in KINDS.values()} >= set(CONTENTS.values())
    for name, (type_, kind, memory_type) in KINDS.items():
        assert name == "note" or form_of_type(type_) is form_of(kind, memory_type)  # a note is a short form of a fact
    payload = SCHEMA.get_type("PayloadInput")
    assert isinstance(payload, GraphQLInputObjectType)
    assert {KINDS[name][2] for name in payload.fields} == set(MemoryType) - {MemoryType.EPISODIC}


def as_graphql(type_: Any, form: Any, value: Any) -> Any:
    """Return a JSON value of a form as the value of its input type, as a client sends it."""
    type_ = get_nullable_type(type_)
    if value is None:
        return None
    if isinstance(type_, GraphQLList):
        return [as_graphql(type_.of_type, form, one) for one in value]
    if isinstance(type_, GraphQLEnumType):
        return value.upper()
    if not isinstance(type_, GraphQLInputObjectType):
        return value
    definition = type_.extensions["strawberry-definition"]
    form = form_of_type(definition.origin)
    given: dict[str, Any] = {}
    names = {
        key_of(form, one.python_name): camel_case(one.python_name)
        for one in definition.fields
        if one.python_name in form.model_fields
    }
    for key, one in value.items():
        if key in names:
            given[names[key]] = as_graphql(type_.fields[names[key]].type, None, one)
        elif EXTRA in type_.fields and key != "kind":
            given.setdefault(EXTRA, {})[key] = one
    return given


def without_unknown(stored: Any, type_: Any) -> Any:
    """Return a JSON value without the keys that the objects within it cannot have in the input type."""
    type_ = get_nullable_type(type_)
    if isinstance(type_, GraphQLList) and isinstance(stored, list):
        return [without_unknown(one, type_.of_type) for one in stored]
    if not isinstance(type_, GraphQLInputObjectType) or not isinstance(stored, Mapping):
        return stored
    form = form_of_type(type_.extensions["strawberry-definition"].origin)
    kept = {}
    for key, one in stored.items():
        field = next((name for name in form.model_fields if key_of(form, name) == key), None)
        if field is not None and camel_case(field) in type_.fields:
            kept[key] = without_unknown(one, type_.fields[camel_case(field)].type)
        elif EXTRA in type_.fields and field is None:
            kept[key] = one
    return kept


@pytest.mark.parametrize("name", ["fact", "entity", "competence", "plan"])
@settings(deadline=None)
@given(data=st.data())
def test_a_payload_given_as_typed_input_is_the_one_given_as_json(name: str, data: st.DataObject) -> None:
    type_, _, memory_type = KINDS[name]
    assert memory_type is not None
    graphql = SCHEMA.get_type(type_.__name__)
    stored = parse_payload(memory_type, data.draw(payloads(memory_type)))
    if name == "fact":  # evidence is given in its newer form; see below
        stored.pop("evidence", None)
    expected = without_unknown({key: one for key, one in stored.items() if key != "kind"}, graphql)
    typed = coerce_input_value(as_graphql(graphql, None, expected), graphql)  # type: ignore[arg-type]
    assert parse_payload(memory_type, content_of(type_, typed)) == parse_payload(memory_type, expected)


def test_what_is_left_out_is_absent_and_null_is_kept_where_it_says_something() -> None:
    assert content_of(typed_inputs.EventInput, {"summary": None}) == {}
    assert content_of(typed_inputs.ToolOutputInput, {"toolName": "x", "result": None}) == {
        "tool_name": "x",
        "result": None,
    }
    state = {"threadId": "t", "nextActions": None, "state": None}
    assert content_of(typed_inputs.WorkingStateInput, state) == {"thread_id": "t", "next_actions": None}
    assert content_of(typed_inputs.EntityInput, {"canonicalName": "x", "summary": None})["summary"] is None


def test_instants_and_words_are_those_of_json() -> None:
    graphql = SCHEMA.get_type("FactInput")
    given = {
        "subject": "Ann",
        "predicate": "p",
        "object": 1,
        "validity": {"mode": "TIMEBOXED", "start": "2026-01-01T02:00:00+02:00"},
        "evidence": [{"kind": "TOOL_CALL", "ref": "c"}],
        "revisionPolicy": "CONTEST",
        "extra": {"own": [1]},
    }
    assert content_of(typed_inputs.FactInput, coerce_input_value(given, graphql)) == {  # type: ignore[arg-type]
        "subject": "Ann",
        "predicate": "p",
        "object": 1,
        "validity": {"mode": "timeboxed", "start": "2026-01-01T00:00:00Z"},
        "evidence": [{"kind": "tool_call", "ref": "c"}],
        "revision_policy": "contest",
        "own": [1],
    }


@pytest.mark.parametrize("extra", [{"threadId": 1, "thread_id": "t"}, {"summary": "x"}, [1], "x"])
def test_extra_has_no_key_of_a_field(extra: Any) -> None:
    with pytest.raises(InvalidInput, match="extra"):
        content_of(typed_inputs.EventInput, {"extra": extra})


@pytest.mark.parametrize(
    ("type_", "path", "expected"),
    [
        (typed_inputs.ToolOutputInput, ["tool_name"], ["toolName"]),
        (typed_inputs.EpisodeInput, ["tool_graph", "2", "depends_on", "0"], ["toolGraph", "2", "dependsOn", "0"]),
        (typed_inputs.PlanInput, ["edges", "1", "from"], ["edges", "1", "source"]),
        (typed_inputs.EventInput, ["threadId"], ["extra", "threadId"]),
        (typed_inputs.FactInput, ["validity", "conditions", "my_key"], ["validity", "conditions", "my_key"]),
        (typed_inputs.FactInput, [], []),
    ],
)
def test_a_path_in_json_is_named_as_the_input_has_it(type_: type, path: list[str], expected: list[str]) -> None:
    assert json_path(type_, path) == expected


def test_all_payload_forms_have_an_input() -> None:
    forms = {form_of_type(type_) for type_ in TYPES}
    for memory_type, form in PAYLOADS.items():
        assert any(issubclass(one, form) or one.__name__.startswith("Working") for one in forms), memory_type
