"""`clients/operations` has a valid document for every operation, and every untyped value of the schema is known."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from checkout import ROOT
from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLObjectType,
    OperationDefinitionNode,
    build_schema,
    get_named_type,
    parse,
    validate,
)

from stratagraph.graphql.schema import sdl

OPERATIONS = sorted((ROOT / "clients" / "operations").glob("*.graphql"))
SCHEMA = build_schema(sdl())
ALL = parse("\n".join(path.read_text() for path in OPERATIONS))
# Fields that are JSON because their form is the writer's, or beside which there is a typed form.
JSON_FIELDS = {
    "AmendInput.changes", "AmendInput.evidence",
    "CaptureMemoryInput.content", "CaptureMemoryInput.context", "ContestInput.evidence", "ForkInput.conditions",
    "ForkInput.evidence", "ForkInput.payload", "LearnLessonInput.conditions", "MemoryRecord.conditions",
    "MemoryRecord.interpretation", "MemoryRecord.payload", "MergeInput.payload", "PlanDiffChange.after",
    "PlanDiffChange.before", "PlanDiffStep.params", "PlanStep.guards", "PlanStep.params", "RetrieveGraphInput.context",
    "SupersedeInput.evidence", "SupersedeInput.payload",
}  # fmt: skip


def test_the_documents_are_valid_together() -> None:
    assert [error.message for error in validate(SCHEMA, ALL)] == []


def test_every_operation_of_the_schema_that_is_not_deprecated_is_used_once_or_more() -> None:
    used = {
        (one.operation.value, field.name.value)
        for one in ALL.definitions
        if isinstance(one, OperationDefinitionNode)
        for field in one.selection_set.selections
        if isinstance(field, FieldNode)
    }
    kinds = {"query": SCHEMA.query_type, "mutation": SCHEMA.mutation_type, "subscription": SCHEMA.subscription_type}
    offered = {
        (kind, name)
        for kind, root in kinds.items()
        if root is not None
        for name, field in root.fields.items()
        if field.deprecation_reason is None
    }
    assert used == offered


def test_every_name_is_defined_once() -> None:
    named = [one for one in ALL.definitions if isinstance(one, OperationDefinitionNode | FragmentDefinitionNode)]
    assert [name for name, times in Counter(one.name.value for one in named if one.name).items() if times > 1] == []


@pytest.mark.parametrize("path", OPERATIONS, ids=lambda path: path.name)
def test_a_file_says_what_its_operations_are_for(path: Path) -> None:
    assert path.read_text().startswith("# ")


def test_every_json_value_of_the_schema_is_known() -> None:
    found = set()
    for type_ in SCHEMA.type_map.values():
        if isinstance(type_, GraphQLObjectType | GraphQLInterfaceType | GraphQLInputObjectType):
            for name, field in type_.fields.items():
                given = getattr(field, "args", {})
                found |= {f"{type_.name}.{name}({arg}:)" for arg, one in given.items() if is_json(one.type)}
                found |= {f"{type_.name}.{name}"} if is_json(field.type) else set()
    assert found == JSON_FIELDS


def is_json(type_: object) -> bool:
    return get_named_type(type_).name == "JSON"  # type: ignore[call-overload, no-any-return]
