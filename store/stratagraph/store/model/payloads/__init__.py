"""The payload schemas, one per record type. See docs/specification.md, Records.

Free text alone is never a record.
"""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from stratagraph.store.model.canonical import check_json
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.payloads.base import Payload, dump
from stratagraph.store.model.payloads.competence import CompetencePayload
from stratagraph.store.model.payloads.entity import EntityPayload
from stratagraph.store.model.payloads.episodic import EpisodicPayload
from stratagraph.store.model.payloads.plan_graph import PlanGraphPayload
from stratagraph.store.model.payloads.semantic import SemanticPayload
from stratagraph.store.model.payloads.working import WorkingPayload

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

    Raises InvalidInput. Its `path` names the first invalid field; its message names up to 10.
    """
    path = path or ["payload"]
    if not isinstance(value, dict):
        raise InvalidInput(f"{'.'.join(path)}: a {memory_type.label} payload must be a JSON object", path=path)
    check_json(value, path=path)
    try:
        return dump(PAYLOADS[memory_type].model_validate({"kind": memory_type.label, **value}))
    except ValidationError as error:
        raise invalid(error, path) from error


def invalid(error: ValidationError, path: list[str]) -> InvalidInput:
    """Return one InvalidInput for all errors that pydantic found. Its path is that of the first."""
    found = [
        ([*path, *(str(step) for step in item["loc"])], item["msg"].removeprefix("Value error, "))
        for item in error.errors(include_url=False, include_context=False, include_input=False)
    ]
    message = "; ".join(f"{'.'.join(field)}: {problem}" for field, problem in found[:10])
    more = f"; and {len(found) - 10} more" if len(found) > 10 else ""
    return InvalidInput(message + more, path=found[0][0])
