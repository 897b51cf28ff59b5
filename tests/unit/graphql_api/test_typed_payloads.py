"""Typed payloads have the fields of their forms, and show what is stored; what does not fit is null."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from typing import Any

import pytest
from graphql import GraphQLNonNull, GraphQLObjectType, GraphQLUnionType, get_named_type, parse, validate
from hypothesis import given
from hypothesis import strategies as st
from strategies import json_values, payloads
from strawberry.types import get_object_definition

from stratagraph.graphql.part_types import form_of_type, key_of, label_of
from stratagraph.graphql.schema import build_schema
from stratagraph.graphql.types import typed_payloads
from stratagraph.graphql.types.enums import MemoryType
from stratagraph.graphql.types.typed_payloads import SHOWN, typed_payload
from stratagraph.memory.requests.evidence import kind_of, reference_of
from stratagraph.memory.requests.warnings import camel_case
from stratagraph.store.model.payloads import PAYLOADS, parse_payload

SCHEMA = build_schema()._schema
TYPES = [one for one in vars(typed_payloads).values() if isinstance(one, type) and hasattr(one, "__form__")]
# Fields of forms that no type shows: `kind` is the type itself, the older form of evidence is shown in the newer one.
LEFT_OUT = {
    "Evidence": {"source_type", "source_id"},
    "Lesson": {"schema_version", "source_challenge_hash", "graduated"},
}
# Fields that may be null although their form requires them, so that all members of the union agree.
LOOSER = {("Plan", "version")}


@pytest.mark.parametrize("type_", TYPES, ids=lambda type_: type_.__name__)
def test_a_type_has_the_fields_of_its_form(type_: type) -> None:
    form = form_of_type(type_)
    shown = {one.python_name for one in get_object_definition(type_, strict=True).fields}
    left_out = LEFT_OUT.get(type_.__name__, set()) | ({"kind"} if form in PAYLOADS.values() else set())
    assert shown == form.model_fields.keys() - left_out
    graphql = SCHEMA.get_type(type_.__name__)
    assert isinstance(graphql, GraphQLObjectType)
    for one in get_object_definition(type_, strict=True).fields:
        field = form.model_fields[one.python_name]
        required = isinstance(graphql.fields[camel_case(one.python_name)].type, GraphQLNonNull)
        assert required == (field.is_required() and (type_.__name__, one.python_name) not in LOOSER), one.python_name


def test_one_document_may_select_all_fields_of_all_types() -> None:
    """Fields of one name have one type in all members, so that a generated client can have all of them."""

    def selection(type_: Any) -> str:
        named = get_named_type(type_)
        if isinstance(named, GraphQLUnionType):
            return "{ " + " ".join(f"... on {one.name} {selection(one)}" for one in named.types) + " }"
        if not isinstance(named, GraphQLObjectType):
            return ""
        return "{ " + " ".join(f"{name} {selection(field.type)}" for name, field in named.fields.items()) + " }"

    union = SCHEMA.get_type("TypedPayload")
    assert isinstance(union, GraphQLUnionType)
    assert {one.name for one in union.types} == {one.__name__ for one in SHOWN.values()}
    assert validate(SCHEMA, parse(f'{{ record(id: "x") {{ typed {selection(union)} }} }}')) == []


def differences(shown: Any, stored: Any, path: str = "") -> Iterator[str]:
    """Yield where a typed object differs from the JSON that it shows."""
    if is_dataclass(shown) and not isinstance(shown, type):
        form = form_of_type(type(shown))
        for one in fields(shown):
            key = key_of(form, one.name)
            value = getattr(shown, one.name)
            if type(shown) is typed_payloads.Evidence and isinstance(stored, dict):
                told = {"kind": kind_of(stored), "ref": reference_of(stored)}.get(key)
                if key in ("kind", "ref") and (label_of(value) if isinstance(value, Enum) else value) != told:
                    yield f"{path}.{key}"
                continue
            yield from differences(value, stored.get(key), f"{path}.{key}")
    elif isinstance(shown, list):
        assert len(shown) == len(stored), path
        for index, (one, other) in enumerate(zip(shown, stored, strict=True)):
            yield from differences(one, other, f"{path}.{index}")
    elif isinstance(shown, datetime):
        if shown != datetime.fromisoformat(stored):
            yield path
    elif (label_of(shown) if isinstance(shown, Enum) else shown) != stored:
        yield path


@pytest.mark.parametrize("memory_type", list(MemoryType))
@given(data=st.data())
def test_what_is_stored_is_shown(memory_type: MemoryType, data: st.DataObject) -> None:
    stored = parse_payload(memory_type, data.draw(payloads(memory_type)))
    shown = typed_payload(memory_type, stored)
    assert type(shown) is SHOWN[memory_type]
    found = list(differences(shown, stored))
    if memory_type is MemoryType.COMPETENCE:  # whose lesson may be anything
        found = [one for one in found if not one.startswith(".lesson")]
    assert found == []


@pytest.mark.parametrize("memory_type", list(MemoryType))
@given(data=st.data())
def test_what_does_not_fit_is_null_and_stops_no_reading(memory_type: MemoryType, data: st.DataObject) -> None:
    """Payloads of any form, as earlier versions or another program may have stored them."""
    stored: Any = dict(data.draw(payloads(memory_type)))
    for key in data.draw(st.lists(st.sampled_from([*stored, "version", "evidence", "revision"]), max_size=3)):
        stored[key] = data.draw(json_values() | st.just(math.nan))
    shown = typed_payload(memory_type, stored)
    assert shown is None or type(shown) is SHOWN[memory_type]
    assert typed_payload(memory_type, None) is None
    assert typed_payload(memory_type, {}) is None
