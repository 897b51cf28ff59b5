"""JSON Schemas (2020-12) of what captures and revisions accept, made from the forms that check it.

A schema accepts what the service accepts, apart from the rules of BEYOND, which JSON Schema cannot express; the tests
compare the two in both directions.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from stratagraph.memory.requests.contents import CONTENTS, MAX_TERMS, CaptureContext, EvidenceEntry
from stratagraph.memory.requests.evidence import KINDS, SOURCE_TYPES
from stratagraph.store.model.enums import MemoryType, SourceKind
from stratagraph.store.model.payloads import PAYLOADS
from stratagraph.store.model.payloads.base import MAX_NAME, Part
from stratagraph.store.model.payloads.procedures import COMPUTED
from stratagraph.store.model.predicates import FORM, LINEAGE, inverse

Json = dict[str, Any]
DIALECT = "https://json-schema.org/draft/2020-12/schema"
BEYOND = (
    "What this schema does not say. Also refused are: a name or a reference without a visible character; another"
    " spelling of a known key, such as threadId; a day that its month does not have, and times outside the years 1"
    " to 9999 in UTC; an end that is not after its start; repeated ids, edges to unknown steps, and cycles; times"
    " of events and evidence more than 5 minutes ahead of the service's clock; a predicate without a word; secrets"
    " in predicates, types and names of entities; an integer written with a fraction, such as 1.0; numbers in a"
    " fact that no double holds; integers beyond 64 bits; U+0000 and half surrogate pairs; more than 64 levels of"
    " nesting, 1 MiB, or 512 names in one context. Also taken are: the words of outcome_status in capitals, and"
    " UUIDs in other spellings."
)
_UUID = "^[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$"
_LINEAGE = sorted({*LINEAGE, *map(inverse, LINEAGE), *(f"inverse_of:{one}" for one in LINEAGE)})
_COMPUTED = {"type": "null", "description": "Computed by the service; leave it out."}
_NO_CONDITIONS = {"anyOf": [{"type": "null"}, {"type": "object", "maxProperties": 0}]}
_CONDITIONS = {"required": ["conditions"], "properties": {"conditions": {"type": "object", "minProperties": 1}}}
_EVIDENCED = (SourceKind.OBSERVATION, SourceKind.EPISODE, SourceKind.WORKING_STATE)
_VISIBLE: Json = {"type": "string", "pattern": r"\S"}


def schema_names() -> list[str]:
    """Return the names of all schemas: the source kinds, the types of records, `evidence` and `context`."""
    return [*(kind.value for kind in CONTENTS), *(one.label for one in PAYLOADS), "evidence", "context"]


@cache
def json_schema(name: str) -> Json:
    """Return the schema `name`. Raises KeyError if there is none.

    That of a source kind is for the content of a capture, that of a type for the payload of a record: of an entity, a
    competence or a plan graph also as the content of an OBSERVATION.
    """
    form, title = _forms()[name]
    made = _tidy(form.model_json_schema(by_alias=True))
    made["required"] = [key for key in made.get("required", ()) if key != "kind"]  # which follows from the place
    for rule in (_with_evidence, _without_computed, _with_rules):
        rule(name, made)
    return {
        "$schema": DIALECT,
        "$id": f"/schemas/{name}.json",
        "title": title,
        **{key: value for key, value in made.items() if key != "title"},
        "$comment": BEYOND,
    }


def _forms() -> dict[str, tuple[type[Part], str]]:
    contents = {kind.value: (form, f"Content of a capture of the kind {kind.name}") for kind, form in CONTENTS.items()}
    payloads = {one.label: (form, f"Payload of a record of the type {one.name}") for one, form in PAYLOADS.items()}
    others: dict[str, tuple[type[Part], str]] = {
        "evidence": (EvidenceEntry, "A source, as evidence"),
        "context": (CaptureContext, "Context of a capture"),
    }
    return contents | payloads | others


def _tidy(value: Any) -> Any:
    """Return a schema of pydantic without titles and defaults of fields, which say nothing."""
    if isinstance(value, list):
        return [_tidy(one) for one in value]
    if not isinstance(value, dict):
        return value
    kept = {key: _tidy(one) for key, one in value.items() if key not in ("title", "default")}
    for key in ("properties", "$defs"):  # whose keys are names
        if isinstance(value.get(key), dict):
            kept[key] = {name: _tidy(one) for name, one in value[key].items()}
    return kept


def _with_evidence(name: str, made: Json) -> None:
    """Say what the entries of evidence must have, where captures check them."""
    if name == "evidence":
        made |= _evidence()
    elif name in (*(kind.value for kind in _EVIDENCED), *(one.label for one in COMPUTED), "entity"):
        described = made["properties"].get("evidence", {}).get("description", "Its sources.")
        listed = {"type": "array", "items": {"$ref": "#/$defs/Evidence"}}
        made["properties"]["evidence"] = {"description": described, "anyOf": [listed, {"type": "null"}]}
        made.setdefault("$defs", {})["Evidence"] = _evidence()


def _evidence() -> Json:
    """Return the schema of an entry of evidence; of the two forms, only the one that is used must be right."""
    form = _tidy(EvidenceEntry.model_json_schema())
    described = {key: {"description": one["description"]} for key, one in form["properties"].items()}
    newer = {"required": ["kind"], "properties": {"kind": {"enum": list(KINDS)}}}
    older = {
        "required": ["source_type"],
        "properties": {"kind": {"type": "null"}, "source_type": {"enum": [*SOURCE_TYPES]}},
    }
    return {
        "type": "object",
        "description": form["description"],
        "properties": described | {"timestamp": form["properties"]["timestamp"]},
        "allOf": [
            {"anyOf": [newer, older]},
            {"anyOf": [{"required": [key], "properties": {key: _VISIBLE}} for key in ("ref", "source_id")]},
        ],
        "required": [],
    }


def _without_computed(name: str, made: Json) -> None:
    """Refuse values of the keys that only the service writes, in the payload and in the entries of its lists."""
    parts: Mapping[str, tuple[str, ...]] = next((keys for one, keys in COMPUTED.items() if one.label == name), {})
    for part, keys in parts.items():
        within = made
        if part:
            listed = made["properties"][part]
            within = made["$defs"][listed["items"]["$ref"].rsplit("/", 1)[1]]
        within["properties"] |= dict.fromkeys(keys, _COMPUTED)


def _with_rules(name: str, made: Json) -> None:
    """Add what the forms check beyond the types of their fields."""
    definitions, properties = made.get("$defs", {}), made["properties"]
    if name == MemoryType.SEMANTIC.label:
        definitions["Validity"]["allOf"] = [_timeboxed(), *_conditioned()]
    if name == SourceKind.OBSERVATION.value:
        definitions["Validity"]["allOf"] = [_timeboxed()]
    if "JsonValue" in definitions:
        definitions["JsonValue"] = {"type": ["string", "number", "boolean", "object", "array"]}
    if name == SourceKind.OUTCOME.value:
        properties["record_id"]["anyOf"][0]["pattern"] = _UUID
        made["oneOf"] = [
            {"required": [key], "properties": {key: {"type": "string"}}} for key in ("thread_id", "record_id")
        ]
        made["oneOf"][0]["properties"]["record_id"] = made["oneOf"][1]["properties"]["thread_id"] = {"type": "null"}
    if name == SourceKind.WORKING_STATE.value:
        properties["state"] = {**properties["state"]["anyOf"][0], "description": properties["state"]["description"]}
    if name == SourceKind.EPISODE.value:
        made["anyOf"] = [
            {"required": [key], "properties": {key: {"type": "array", "minItems": 1}}}
            for key in ("timeline", "tool_graph")
        ]
    if name == SourceKind.OBSERVATION.value:
        is_typed = {"required": ["object_type"], "properties": {"object_type": {"type": "string"}}}
        names_entity = {"properties": {"object": {**_VISIBLE, "maxLength": MAX_NAME}}}
        is_not_global = {"properties": {"validity": {"properties": {"mode": {"not": {"const": "global"}}}}}}
        made["allOf"] = [
            {"if": is_typed, "then": names_entity},
            {"if": _CONDITIONS, "then": is_not_global, "else": {"properties": {"validity": {"allOf": _conditioned()}}}},
        ]
    if name == MemoryType.PLAN_GRAPH.label:
        properties["nodes"]["minItems"] = 1
        _with_names(definitions["PlanEdge"], {"from": "source", "to": "target"})
    if name == "context":
        for key in ("identifiers", "aliases"):
            definitions["Mention"]["properties"][key]["maxItems"] = MAX_TERMS
        definitions["Reference"]["properties"]["predicate"]["anyOf"][0] |= {
            "pattern": f"^(?:inverse_of:)?{FORM}$",
            "not": {"enum": _LINEAGE},
        }


def _mode(mode: str, then: Json) -> Json:
    return {"if": {"required": ["mode"], "properties": {"mode": {"const": mode}}}, "then": then}


def _timeboxed() -> Json:
    ends = [{"required": [key], "properties": {key: {"type": "string"}}} for key in ("start", "end")]
    return _mode("timeboxed", {"anyOf": ends})


def _conditioned() -> list[Json]:
    return [_mode("conditional", _CONDITIONS), _mode("global", {"properties": {"conditions": _NO_CONDITIONS}})]


def _with_names(edge: Json, others: Mapping[str, str]) -> None:
    """Take each of the keys by another name too."""
    edge["required"] = [key for key in edge["required"] if key not in others]
    edge["allOf"] = [{"anyOf": [{"required": [key]}, {"required": [other]}]} for key, other in others.items()]
    edge["properties"] |= {other: edge["properties"][key] for key, other in others.items()}
