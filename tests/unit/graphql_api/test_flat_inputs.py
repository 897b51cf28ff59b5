"""Input types that are built by one call: equal to what Strawberry builds."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from graphql import GraphQLInputObjectType, GraphQLList, get_nullable_type, is_leaf_type
from hypothesis import given
from hypothesis import strategies as st
from strawberry.schema.config import StrawberryConfig
from strawberry.types.arguments import convert_argument
from strawberry.types.base import StrawberryObjectDefinition

from stratagraph.graphql.schema import build_schema
from stratagraph.graphql.types.capture import CaptureMemoryInput
from stratagraph.store.model.enums import MemoryType, Sensitivity, SourceKind

SCHEMA = build_schema()
# Built by one call too, with the values of their input types left as they are; see test_typed_inputs.py.
NESTED = {"ContestInput", "EraseInput", "ForkRecordInput", "MergeInput", "RememberInput", "SupersedeRecordInput"}
FLAT = [
    (type_, type_.extensions["strawberry-definition"])
    for type_ in SCHEMA._schema.type_map.values()
    if isinstance(type_, GraphQLInputObjectType)
    and isinstance(type_.extensions.get("strawberry-definition"), StrawberryObjectDefinition)
    and type_.extensions["strawberry-definition"].from_input is not None
    and type_.name not in NESTED
]
TEXT = st.none() | st.text(max_size=3)
VALUES = st.fixed_dictionaries(
    {"source": st.text(max_size=3), "sourceKind": st.sampled_from(SourceKind), "content": st.just({"a": [1]})},
    optional={
        "context": st.none() | st.just({"labels": ["x"]}),
        "reasonToRemember": TEXT,
        "proposedType": st.none() | st.sampled_from(MemoryType),
        "summary": TEXT,
        "tags": st.none() | st.lists(st.text(max_size=2), max_size=2),
        "scope": TEXT,
        "sensitivity": st.none() | st.sampled_from(Sensitivity),
        "timestamp": st.none() | st.just(datetime(2026, 1, 1, tzinfo=UTC)),
        "idempotencyKey": TEXT,
    },
)


@pytest.mark.parametrize(("type_", "definition"), FLAT, ids=[type_.name for type_, _ in FLAT])
def test_all_fields_of_a_flat_input_are_leaves_or_lists_of_leaves(
    type_: GraphQLInputObjectType, definition: StrawberryObjectDefinition
) -> None:
    for field in type_.fields.values():
        plain = get_nullable_type(field.type)
        while isinstance(plain, GraphQLList):
            plain = get_nullable_type(plain.of_type)
        assert is_leaf_type(plain)
    assert not any(getattr(field.type, "is_maybe", False) for field in definition.fields)


def test_captures_and_questions_are_flat_inputs() -> None:
    assert {type_.name for type_, _ in FLAT} == {"CaptureMemoryInput", "RetrieveGraphInput"}


@given(VALUES)
def test_a_flat_input_is_what_strawberry_builds(value: dict[str, Any]) -> None:
    definition: StrawberryObjectDefinition = CaptureMemoryInput.__strawberry_definition__  # type: ignore[attr-defined]
    registry, config = SCHEMA.schema_converter.scalar_registry, StrawberryConfig()
    built = convert_argument(value, CaptureMemoryInput, registry, config)
    build, definition.from_input = definition.from_input, None
    try:
        assert convert_argument(value, CaptureMemoryInput, registry, config) == built
    finally:
        definition.from_input = build
