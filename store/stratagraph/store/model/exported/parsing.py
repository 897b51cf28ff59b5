"""Reading a line of an export. What a line may hold is checked here; what it refers to is checked by the import."""

from __future__ import annotations

from functools import cache
from typing import Any

import orjson
from pydantic import TypeAdapter, ValidationError

from stratagraph.store.model.canonical import check_json
from stratagraph.store.model.error_values import json_type, shown
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.exported.lines import (
    FORMAT,
    VERSION,
    ArtifactLine,
    ArtifactPartLine,
    EndLine,
    HeaderLine,
    Line,
    PredicateLine,
    RecordLine,
    RecordPartLine,
    RelationLine,
    TombstoneLine,
)
from stratagraph.store.model.payloads import invalid

KINDS: dict[str, type[Line]] = {
    "header": HeaderLine,
    "predicate": PredicateLine,
    "artifact": ArtifactLine,
    "artifact_part": ArtifactPartLine,
    "record": RecordLine,
    "record_part": RecordPartLine,
    "relation": RelationLine,
    "tombstone": TombstoneLine,
    "end": EndLine,
}


def parse_line(line: bytes) -> Line:
    """Return one line of an export. Raises InvalidInput, whose `path` names the first invalid field."""
    try:
        document = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise InvalidInput(f"line: is not JSON: {error}; the file is damaged or cut off", path=["line"]) from error
    if not isinstance(document, dict):
        raise InvalidInput(f"line: must be a JSON object, not {json_type(document)}", path=["line"])
    kind = document.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise InvalidInput(f"kind: {shown(kind)} is none of {', '.join(KINDS)}", path=["kind"])
    if kind == "header":
        _check_header(document)
    for name, value in document.items():
        check_json(value, path=[name])
    try:
        return _adapter(kind).validate_python(document)
    except ValidationError as error:
        raise invalid(error, []) from error


def _check_header(document: dict[str, Any]) -> None:
    if document.get("format") != FORMAT:
        raise InvalidInput(
            f"format: {shown(document.get('format'))} is not {FORMAT!r}; give a file that `stratagraph export` wrote",
            path=["format"],
        )
    version = document.get("version")
    if version != VERSION:
        raise InvalidInput(
            f"version: the file has version {shown(version)} of the format, and this release reads version {VERSION};"
            " import it with the release that wrote it, or with a later one",
            path=["version"],
        )


@cache
def _adapter(kind: str) -> TypeAdapter[Line]:
    return TypeAdapter(KINDS[kind])
