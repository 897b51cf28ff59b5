"""The scalars DateTime and JSON. They refuse times without an offset and numbers that JSON cannot express."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any, NewType

from graphql import GraphQLError, ValueNode, value_from_ast_untyped
from strawberry.types.scalar import ScalarDefinition, scalar

from stratagraph.store.model.clock import as_utc, rfc3339
from stratagraph.store.model.error_values import json_type, shown
from stratagraph.store.model.errors import InvalidInput

JSON = NewType("JSON", object)


def _parse_datetime(value: object) -> datetime:
    if not isinstance(value, str):
        raise GraphQLError(f"A DateTime must be a string such as 2026-01-28T09:30:00Z, not {json_type(value)}.")
    try:
        parsed = datetime.fromisoformat(value)
    except ValueError:
        raise GraphQLError(f"{shown(value)} is not an RFC 3339 date and time, such as 2026-01-28T09:30:00Z.") from None
    try:
        as_utc(parsed, path=["DateTime"])
    except InvalidInput as error:
        raise GraphQLError(error.message) from error
    return parsed  # with its offset, which tells the zone of a capture's sender


def _parse_json(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        raise GraphQLError("NaN and Infinity are not JSON numbers; send null or a finite number.")
    return value


def _parse_json_literal(node: ValueNode, variables: dict[str, Any] | None = None) -> Any:
    return value_from_ast_untyped(node, variables)


SCALARS: dict[object, ScalarDefinition] = {
    datetime: scalar(
        name="DateTime",
        description="An instant as an RFC 3339 string with an offset, such as 2026-01-28T09:30:00Z; returned in UTC.",
        specified_by_url="https://datatracker.ietf.org/doc/html/rfc3339",
        serialize=rfc3339,
        parse_value=_parse_datetime,
    ),
    JSON: scalar(
        name="JSON",
        description="Any JSON value.",
        specified_by_url="https://ecma-international.org/publications-and-standards/standards/ecma-404/",
        serialize=lambda value: value,
        parse_value=_parse_json,
        parse_literal=_parse_json_literal,
    ),
}
