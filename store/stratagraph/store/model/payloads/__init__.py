"""The payload schemas, one per record type. See docs/specification.md, Records.

Free text alone is never a record.
"""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from stratagraph.store.model.canonical import check_json
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.error_values import json_type, shown
from stratagraph.store.model.errors import InvalidInput, Problem
from stratagraph.store.model.payloads.base import Payload, dump
from stratagraph.store.model.payloads.competence import CompetencePayload
from stratagraph.store.model.payloads.entity import EntityPayload
from stratagraph.store.model.payloads.episodic import EpisodicPayload
from stratagraph.store.model.payloads.plan_graph import PlanGraphPayload
from stratagraph.store.model.payloads.semantic import SemanticPayload
from stratagraph.store.model.payloads.working import WorkingPayload, WorkingUpdate
from stratagraph.store.model.problems import MAX_PROBLEMS

PAYLOADS: dict[MemoryType, type[Payload]] = {
    MemoryType.EPISODIC: EpisodicPayload,
    MemoryType.WORKING: WorkingPayload,
    MemoryType.ENTITY: EntityPayload,
    MemoryType.SEMANTIC: SemanticPayload,
    MemoryType.COMPETENCE: CompetencePayload,
    MemoryType.PLAN_GRAPH: PlanGraphPayload,
}


def parse_payload(memory_type: MemoryType, value: Any, *, path: list[str] | None = None) -> dict[str, Any]:
    """Return the payload in canonical form: checked against its schema, times in UTC, without null fields.

    A null is kept where it is a value of its own: the args and the result of a tool call, the value of a constraint.

    Raises InvalidInput. Its `path` names the first invalid field; its message names up to 10.
    """
    return _parse(PAYLOADS[memory_type], memory_type, value, path or ["payload"])


def parse_working_update(value: Any, *, path: list[str]) -> dict[str, Any]:
    """Return the fields that an update of a working record sets, in canonical form; only `thread_id` is required.

    Raises InvalidInput as `parse_payload` does.
    """
    return _parse(WorkingUpdate, MemoryType.WORKING, value, path)


def _parse(schema: type[Payload], memory_type: MemoryType, value: Any, path: list[str]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidInput(
            f"{'.'.join(path)}: a {memory_type.label} payload must be a JSON object, not {json_type(value)}", path=path
        )
    check_json(value, path=path)
    try:
        return dump(schema.model_validate({"kind": memory_type.label, **value}))
    except ValidationError as error:
        raise invalid(error, path) from error


def invalid(error: ValidationError, path: list[str]) -> InvalidInput:
    """Return one InvalidInput for all errors that pydantic found, its problems. Its path is that of the first."""
    found = [
        ([*path, *(str(step) for step in item["loc"])], _problem(item))
        for item in error.errors(include_url=False, include_context=False)
    ]
    message = "; ".join(f"{'.'.join(field)}: {problem}" for field, problem in found[:10])
    more = f"; and {len(found) - 10} more" if len(found) > 10 else ""
    made = InvalidInput(message + more, path=found[0][0])
    made.problems = [
        Problem(code=made.code, message=f"{'.'.join(field)}: {problem}", path=tuple(field))
        for field, problem in found[:MAX_PROBLEMS]
    ]
    return made


def _problem(item: ErrorDetails) -> str:
    """Return pydantic's message with the type of a value of the wrong type, a number out of bounds, or a length.

    Texts are never quoted, since they may be memories.
    """
    message, value = item["msg"].removeprefix("Value error, "), item["input"]
    match item["type"]:
        case "model_type" | "dict_type" | "model_attributes_type":
            message = f"must be a JSON object, not {json_type(value)}"
        case "greater_than" | "greater_than_equal" | "less_than" | "less_than_equal":
            message += f", not {shown(value)}" if isinstance(value, int | float) else ""
        case "string_too_long":
            message += f", not {len(value)}"
        case "literal_error":
            message += f", not {'another text' if isinstance(value, str) else json_type(value)}"
        case "extra_forbidden":
            message = "is not a known field; remove it or correct its name"
        case "timezone_aware":
            message = "must have a UTC offset, such as 2026-01-28T09:30:00Z"
        case kind if kind.endswith("_type"):
            message += f", not {json_type(value)}"
    return message
