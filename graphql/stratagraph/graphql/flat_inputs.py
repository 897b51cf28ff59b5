"""Input types whose values are built by one call each.

Strawberry resolves the type and the name of each field of each value anew. In a batch of captures that took twice the
time of all else that is done with GraphQL.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from strawberry.schema.name_converter import NameConverter
from strawberry.types import get_object_definition
from strawberry.types.arguments import InputContext

T = TypeVar("T")


def flat_input(cls: type[T]) -> type[T]:
    """Build values of a Strawberry input type from the values of its fields as graphql-core gives them.

    These must need no conversion: scalars, enums and lists of them, nullable or not, and no Maybe.
    """
    return nested_input(cls)


def nested_input(cls: type[T]) -> type[T]:
    """Build values of an input type whose fields of other input types stay as graphql-core gives them: mappings.

    Their keys are the names that GraphQL has; scalars and enums in them are converted.
    """
    definition = get_object_definition(cls, strict=True)
    convert = NameConverter()
    names = {convert.from_field(field): field.python_name for field in definition.fields}

    def build(type_: type, value: Mapping[str, Any], _: InputContext) -> Any:
        return type_(**{names[name]: given for name, given in value.items()})

    definition.from_input = build
    return cls
