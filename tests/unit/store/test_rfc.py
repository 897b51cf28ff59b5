"""Export and import in the two forms of the RFC: both are lossless, and an invalid field is named."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012
from strategies import SOURCE_KINDS, audit_entries, records, relations

from stratagraph.store.model.canonical import canonical_json
from stratagraph.store.model.enums import Curve, MemoryType, RecordState, Sensitivity
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.rfc import ExportedRecord, from_appendix, from_normative, to_appendix, to_normative

Json = dict[str, Any]
To = Callable[..., Json]
From = Callable[[Json], ExportedRecord]

FORMS = pytest.mark.parametrize(
    ("to", "from_"), [(to_appendix, from_appendix), (to_normative, from_normative)], ids=["appendix", "normative"]
)
TYPES = pytest.mark.parametrize("memory_type", MemoryType, ids=lambda memory_type: memory_type.label)
_slow = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
EXAMPLES = settings(max_examples=25, deadline=None, suppress_health_check=_slow)
FEWER = settings(EXAMPLES, max_examples=10)


@st.composite
def exported(draw: DrawFn, memory_type: MemoryType | None = None) -> ExportedRecord:
    record = draw(records(memory_type))
    ends = relations(source=record.id) | relations(target=record.id) | relations(source=record.id, target=record.id)
    return ExportedRecord(
        record=record,
        relations=tuple(draw(st.lists(ends, max_size=2))),
        audit=tuple(draw(st.lists(audit_entries(), max_size=2))),
    )


def written(to: To, whole: ExportedRecord) -> Json:
    return to(whole.record, whole.relations, whole.audit)


def as_bytes(value: Any) -> bytes:
    return canonical_json(value, path=["document"])


# The schemas of the RFC's appendix (15A.1 – 15A.10), with the additions of Stratagraph marked as such. -------------

TIME = {"type": "string", "format": "date-time"}
STRINGS = {"type": "array", "items": {"type": "string"}}
SHARE = {"type": "number", "minimum": 0, "maximum": 1}
TEXT = {"type": "string"}
OBJECT = {"type": "object"}
TYPE_WORDS = ["episodic", "working", "semantic", "competence", "plan_graph", "entity"]  # Stratagraph adds entity
SENSITIVITY_WORDS = ["public", "low", "medium", "high", "hyper"]
PAYLOAD_NAMES = ["Episodic", "Working", "Semantic", "Competence", "PlanGraph", "Entity"]  # Stratagraph adds Entity


def object_of(required: str, properties: Json) -> Json:
    return {"type": "object", "required": required.split(), "properties": properties}


def array_of(items: Json) -> Json:
    return {"type": "array", "items": items}


SCHEMAS: dict[str, Json] = {
    "MemoryRecord": object_of(
        "id type sensitivity confidence salience created_at updated_at lifecycle provenance payload",
        {
            "id": TEXT,
            "type": {"type": "string", "enum": TYPE_WORDS},
            "sensitivity": {"type": "string", "enum": SENSITIVITY_WORDS},
            "confidence": SHARE,
            "salience": SHARE,
            "scope": TEXT,
            "tags": STRINGS,
            "created_at": TIME,
            "updated_at": TIME,
            "lifecycle": {"$ref": "mem://schemas/Lifecycle"},
            "provenance": {"$ref": "mem://schemas/Provenance"},
            "relations": array_of({"$ref": "mem://schemas/Relation"}),
            "payload": {"oneOf": [{"$ref": f"mem://schemas/{name}Payload"} for name in PAYLOAD_NAMES]},
            # Stratagraph adds:
            "tenant": TEXT,
            "occurred_at": TIME,
            "state": {"enum": ["active", "contested", "superseded", "retracted"]},
            "version": {"type": "integer", "minimum": 1},
            "interpretation": OBJECT,
            "audit_log": array_of(
                object_of("action actor timestamp", {"action": TEXT, "actor": TEXT, "timestamp": TIME})
            ),
        },
    ),
    "Lifecycle": object_of(
        "decay last_reinforced_at",
        {
            "decay": object_of(
                "curve half_life_seconds",
                {
                    "curve": {"type": "string", "enum": ["exponential", "linear", "custom"]},
                    "half_life_seconds": {"type": "integer", "minimum": 1},
                    "min_salience": SHARE,
                    "max_age_seconds": {"type": "integer", "minimum": 1},
                    # Stratagraph adds:
                    "reinforcement_gain": {"type": "number"},
                    "params": OBJECT,
                },
            ),
            "last_reinforced_at": TIME,
            "pinned": {"type": "boolean"},
            "deletion_policy": {"type": "string", "enum": ["auto_prune", "manual_only", "never"]},
        },
    ),
    "Provenance": object_of(
        "sources",
        {
            "sources": array_of(
                object_of(
                    "kind ref",
                    {
                        "kind": {"type": "string", "enum": list(SOURCE_KINDS)},  # Stratagraph adds human
                        "ref": TEXT,
                        "hash": TEXT,
                        # Stratagraph adds:
                        "created_by": TEXT,
                        "timestamp": TIME,
                    },
                )
            ),
            "created_by": TEXT,
        },
    ),
    "Relation": object_of(
        "predicate target_id", {"predicate": TEXT, "target_id": TEXT, "weight": SHARE, "created_at": TIME}
    ),
    "EpisodicPayload": object_of(
        "kind timeline",
        {
            "kind": {"const": "episodic"},
            "timeline": array_of(
                object_of("t event_kind ref", {"t": TIME, "event_kind": TEXT, "ref": TEXT, "summary": TEXT})
            ),
            "artifacts": STRINGS,
            "tool_graph_ref": TEXT,
        },
    ),
    "WorkingPayload": object_of(
        "kind thread_id state",
        {
            "kind": {"const": "working"},
            "thread_id": TEXT,
            "state": {"type": "string", "enum": ["planning", "executing", "blocked", "waiting", "done"]},
            "next_actions": STRINGS,
            "open_questions": STRINGS,
            "context_summary": TEXT,
        },
    ),
    "SemanticPayload": object_of(
        "kind subject predicate object validity",
        {
            "kind": {"const": "semantic"},
            "subject": TEXT,
            "predicate": TEXT,
            "object": {"type": ["string", "number", "boolean", "object", "array"]},
            "validity": object_of(
                "mode",
                {
                    "mode": {"type": "string", "enum": ["global", "conditional", "timeboxed"]},
                    "conditions": OBJECT,
                    "start": TIME,
                    "end": TIME,
                },
            ),
            "revision": {
                "type": "object",
                "properties": {
                    "supersedes": TEXT,
                    "superseded_by": TEXT,
                    "status": {"type": "string", "enum": ["active", "contested", "retracted"]},
                },
            },
        },
    ),
    "CompetencePayload": object_of(
        "kind skill_name triggers recipe",
        {
            "kind": {"const": "competence"},
            "skill_name": TEXT,
            "triggers": array_of(object_of("signal", {"signal": TEXT, "conditions": OBJECT})),
            "recipe": array_of(
                object_of("step", {"step": TEXT, "tool": TEXT, "args_schema": OBJECT, "validation": TEXT})
            ),
            "failure_modes": STRINGS,
            "fallbacks": STRINGS,
            "version": TEXT,
        },
    ),
    "PlanGraphPayload": object_of(
        "kind plan_id version nodes edges",
        {
            "kind": {"const": "plan_graph"},
            "plan_id": TEXT,
            "version": TEXT,
            "intent": TEXT,
            "constraints": {"type": ["object", "array"]},  # the normative block's Constraint[] is allowed beside it
            "inputs_schema": OBJECT,
            "outputs_schema": OBJECT,
            "nodes": array_of(object_of("id op", {"id": TEXT, "op": TEXT, "params": OBJECT, "guards": OBJECT})),
            "edges": array_of(
                object_of("from to kind", {"from": TEXT, "to": TEXT, "kind": {"enum": ["data", "control"]}})
            ),
            "metrics": {
                "type": "object",
                "properties": {"avg_latency_ms": {"type": "number"}, "failure_rate": SHARE},
            },
        },
    ),
    "EntityPayload": object_of(
        "kind canonical_name",
        {
            "kind": {"const": "entity"},
            "canonical_name": TEXT,
            "primary_type": TEXT,
            "types": STRINGS,
            "aliases": array_of(object_of("value", {"value": TEXT, "kind": TEXT, "locale": TEXT})),
            "identifiers": array_of(object_of("namespace value", {"namespace": TEXT, "value": TEXT})),
            "summary": TEXT,
        },
    ),
}
_registry: Registry[Any] = Registry().with_resources(
    [(f"mem://schemas/{name}", DRAFT202012.create_resource(schema)) for name, schema in SCHEMAS.items()]
)
_formats = Draft202012Validator.FORMAT_CHECKER


def is_date_time(value: object) -> bool:
    return not isinstance(value, str) or datetime.fromisoformat(value).tzinfo is not None


_formats.checks("date-time", raises=ValueError)(is_date_time)

VALIDATOR = Draft202012Validator({"$ref": "mem://schemas/MemoryRecord"}, registry=_registry, format_checker=_formats)

SEMANTIC_EXAMPLE: Json = {
    "id": "9a2b0000-0000-7000-8000-000000000000",  # printed as "9a2b..."
    "type": "semantic",
    "sensitivity": "low",
    "confidence": 0.9,
    "salience": 0.8,
    "created_at": "2026-01-28T00:00:00Z",
    "updated_at": "2026-01-28T00:00:00Z",
    "lifecycle": {
        "decay": {"curve": "exponential", "half_life_seconds": 7776000},
        "last_reinforced_at": "2026-01-28T00:00:00Z",
    },
    "provenance": {"sources": [{"kind": "event", "ref": "evt://..."}]},
    "payload": {
        "kind": "semantic",
        "subject": "user",
        "predicate": "prefers_backend_language",
        "object": "go",
        "validity": {"mode": "conditional", "conditions": {"project_kind": "backend_service"}},
        "revision": {"status": "active"},
    },
}
COMPETENCE_EXAMPLE: Json = {
    "id": "c01d0000-0000-7000-8000-000000000000",  # printed as "c01d..."
    "type": "competence",
    "sensitivity": "medium",
    "confidence": 0.7,
    "salience": 0.6,
    "created_at": "2026-01-28T00:00:00Z",
    "updated_at": "2026-01-28T00:00:00Z",
    "lifecycle": {
        "decay": {"curve": "exponential", "half_life_seconds": 2592000},
        "last_reinforced_at": "2026-01-28T00:00:00Z",
    },
    "provenance": {"sources": [{"kind": "tool_call", "ref": "tool://build#123"}]},
    "payload": {
        "kind": "competence",
        "skill_name": "fix_linker_cache_error",
        "triggers": [{"signal": "ld: cache mismatch", "conditions": {"os": "macos"}}],
        "recipe": [
            {"step": "Clear build cache", "tool": "shell", "validation": "cache directory removed"},
            {"step": "Rebuild with clean flags", "tool": "build", "validation": "build succeeds"},
        ],
        "failure_modes": ["If cache directory is locked, retry with elevated permissions"],
        "fallbacks": ["Reinstall toolchain"],
        "version": "1.0",
    },
}
NORMATIVE_PLAN: Json = {
    "id": "0193a000-0000-7000-8000-000000000001",
    "type": "plan",
    "sensitivity": "public",
    "confidence": 1,
    "salience": 0.5,
    "created_at": "2026-01-28T00:00:00Z",
    "last_reinforced_at": "2026-01-29T00:00:00Z",
    "decay_profile": {"function": "linear", "half_life": 3600, "floor": 0.25, "reinforcement_gain": 0.2},
    "scope": "project",
    "provenance": [{"source_type": "tool", "source_id": "tool://git", "timestamp": "2026-01-28T00:00:00Z"}],
    "relationships": [{"predicate": "uses", "target_id": "0193a000-0000-7000-8000-000000000002"}],
    "payload": {
        "intent": "setup_project",
        "nodes": [{"id": "a", "op": "git init"}, {"id": "b", "op": "cargo new"}],
        "edges": [{"from": "a", "to": "b", "kind": "control"}],
        "input_schema": {"type": "object"},
        "output_schema": {},
        "constraints": [{"type": "trust", "key": "sensitivity", "value": "low"}],
        "metrics": {"failure_rate": 0.1},
        "version": "3",
    },
    "audit_log": [{"action": "create", "actor": "me", "timestamp": "2026-01-28T00:00:00Z", "rationale": "it worked"}],
}


def contains(whole: Any, part: Any) -> bool:
    """Whether `whole` has every field and value of `part`."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(name in whole and contains(whole[name], part[name]) for name in part)
    if isinstance(part, list):
        return len(whole) == len(part) and all(contains(ours, theirs) for ours, theirs in zip(whole, part, strict=True))
    return bool(whole == part)


# Round trips ----------------------------------------------------------------------------------------------------


@TYPES
def test_a_record_is_read_back_as_it_was_written_in_both_forms(memory_type: MemoryType) -> None:
    @EXAMPLES
    @given(exported(memory_type))
    def round_trip(whole: ExportedRecord) -> None:
        for to, from_ in ((to_appendix, from_appendix), (to_normative, from_normative)):
            document = written(to, whole)
            again = from_(json.loads(as_bytes(document)))
            assert again == from_(document) == whole
            assert as_bytes(written(to, again)) == as_bytes(document)

    round_trip()


@TYPES
def test_the_appendix_form_is_valid_by_the_schemas_of_the_rfc(memory_type: MemoryType) -> None:
    @FEWER
    @given(records(memory_type))
    def valid(record: MemoryRecord) -> None:
        assert [error.message for error in VALIDATOR.iter_errors(to_appendix(record))] == []

    valid()


def test_the_schemas_refuse_what_the_rfc_refuses() -> None:
    """Shows that the schemas are not empty, so that the test above proves something."""
    wrong = copy.deepcopy(SEMANTIC_EXAMPLE)
    wrong["lifecycle"]["decay"]["half_life_seconds"] = 0
    wrong["created_at"] = "yesterday"
    del wrong["payload"]["subject"]
    paths = {tuple(error.path) for error in VALIDATOR.iter_errors(wrong)}
    assert paths == {("lifecycle", "decay", "half_life_seconds"), ("created_at",), ("payload",)}
    assert VALIDATOR.is_valid(SEMANTIC_EXAMPLE)
    assert VALIDATOR.is_valid(COMPETENCE_EXAMPLE)


@FORMS
def test_exporting_a_sparse_document_keeps_its_fields(to: To, from_: From) -> None:
    """Optional fields may be missing from a document of another system; the export adds their defaults."""
    required = {"id", "type", "sensitivity", "confidence", "salience", "created_at", "provenance", "payload"}
    required |= {"updated_at", "lifecycle", "last_reinforced_at", "decay_profile"}

    @FEWER
    @given(exported(), st.data())
    def sparse(whole: ExportedRecord, data: st.DataObject) -> None:
        document = written(to, whole)
        optional = sorted(document.keys() - required)
        for name in data.draw(st.lists(st.sampled_from(optional), unique=True)):
            del document[name]
        linked: list[Json] = document.get("relations") or document.get("relationships") or []
        for container in (document.get("lifecycle", {}), *linked):
            left_out = container.keys() & {"s", "t0", "pinned", "deletion_policy", "id", "weight"}
            for name in data.draw(st.lists(st.sampled_from(sorted(left_out)), unique=True)) if left_out else ():
                del container[name]
        again = written(to, from_(document))
        assert contains(again, document)
        assert as_bytes(written(to, from_(again))) == as_bytes(again)

    sparse()


# The RFC's own examples -----------------------------------------------------------------------------------------


def test_the_semantic_example_of_the_rfc_is_read() -> None:
    whole = from_appendix(SEMANTIC_EXAMPLE)
    record = whole.record
    assert (record.type, record.sensitivity, record.state) == (
        MemoryType.SEMANTIC,
        Sensitivity.LOW,
        RecordState.ACTIVE,
    )
    assert record.payload == SEMANTIC_EXAMPLE["payload"]
    assert (record.tenant, record.scope, record.tags, record.version) == ("", "", (), 1)
    assert record.lifecycle is not None
    start = datetime(2026, 1, 28, tzinfo=UTC)
    assert record.occurred_at == record.lifecycle.t0 == record.lifecycle.last_reinforced_at == start
    assert (record.lifecycle.s, record.lifecycle.decay.half_life_s) == (0.8, 7776000)
    assert contains(written(to_appendix, whole), SEMANTIC_EXAMPLE)


def test_the_competence_example_of_the_rfc_is_read() -> None:
    whole = from_appendix(COMPETENCE_EXAMPLE)
    assert whole.record.payload == COMPETENCE_EXAMPLE["payload"]
    assert whole.record.provenance == {"sources": [{"kind": "tool_call", "ref": "tool://build#123"}]}
    assert contains(written(to_appendix, whole), COMPETENCE_EXAMPLE)


def test_a_plan_in_the_form_of_the_normative_block_is_read() -> None:
    whole = from_normative(NORMATIVE_PLAN)
    record, payload = whole.record, whole.record.payload
    assert payload is not None
    assert (record.type, payload["kind"]) == (MemoryType.PLAN_GRAPH, "plan_graph")
    assert payload["plan_id"] == str(record.id)
    assert (payload["inputs_schema"], payload["outputs_schema"]) == ({"type": "object"}, {})
    assert record.provenance is not None
    assert record.provenance["sources"][0]["kind"] == "tool_call"
    assert record.lifecycle is not None
    assert (record.lifecycle.decay.curve, record.lifecycle.decay.min_salience) == (Curve.LINEAR, 0.25)
    assert record.lifecycle.t0 == datetime(2026, 1, 29, tzinfo=UTC)
    assert whole.audit[0].rationale == "it worked"
    assert whole.relations[0].weight == 1.0
    assert contains(written(to_normative, whole), NORMATIVE_PLAN)


# The names of the normative block --------------------------------------------------------------------------------


def normative(memory_type: MemoryType, payload: Json) -> Json:
    whole = from_appendix({**SEMANTIC_EXAMPLE, "type": memory_type.label, "payload": payload})
    return written(to_normative, whole)


@pytest.mark.parametrize(
    ("memory_type", "payload", "renamed"),
    [
        (MemoryType.EPISODIC, {"timeline": [], "artifacts": ["a"]}, {"artifact_refs": ["a"]}),
        (MemoryType.WORKING, {"thread_id": "t", "state": "done"}, {"task_id": "t"}),
        (MemoryType.COMPETENCE, {"skill_name": "s", "triggers": [], "recipe": []}, {"procedure": []}),
        (
            MemoryType.PLAN_GRAPH,
            {
                "plan_id": "p",
                "version": "1",
                "nodes": [{"id": "a", "op": "build"}],
                "edges": [],
                "inputs_schema": {},
                "outputs_schema": {},
            },
            {"input_schema": {}, "output_schema": {}, "version": "1"},
        ),
    ],
    ids=["episodic", "working", "competence", "plan"],
)
def test_the_normative_form_uses_its_own_names(memory_type: MemoryType, payload: Json, renamed: Json) -> None:
    found = normative(memory_type, payload)["payload"]
    assert contains(found, renamed)
    assert not found.keys() & {"artifacts", "thread_id", "recipe", "inputs_schema", "outputs_schema"}


def test_the_normative_envelope_uses_its_own_names() -> None:
    document = normative(MemoryType.COMPETENCE, COMPETENCE_EXAMPLE["payload"])
    assert document["decay_profile"] == {
        "function": "exponential",
        "half_life": 7776000,
        "floor": 0.0,
        "reinforcement_gain": 0.1,
    }
    assert document["provenance"] == [{"source_type": "event", "source_id": "evt://..."}]
    assert document["last_reinforced_at"] == "2026-01-28T00:00:00Z"
    assert document["relationships"] == []


def test_a_payload_key_that_already_has_the_other_forms_name_is_swapped() -> None:
    payload = {"skill_name": "s", "triggers": [], "recipe": [{"step": "a"}], "procedure": "mine"}
    document = normative(MemoryType.COMPETENCE, payload)
    assert (document["payload"]["procedure"], document["payload"]["recipe"]) == ([{"step": "a"}], "mine")
    read = from_normative(document).record.payload
    assert read == {"kind": "competence", **payload}


def test_a_working_payload_contains_the_time_of_its_last_update() -> None:
    document = normative(MemoryType.WORKING, {"thread_id": "t", "state": "done", "last_updated": "mine"})
    assert document["payload"]["last_updated"] == document["updated_at"] == "2026-01-28T00:00:00Z"
    assert document["payload"]["_last_updated"] == "mine"
    del document["updated_at"]
    document["payload"]["last_updated"] = "2026-02-01T01:00:00+01:00"
    record = from_normative(document).record
    assert record.updated_at == datetime(2026, 2, 1, tzinfo=UTC)
    assert record.payload == {"kind": "working", "thread_id": "t", "state": "done", "last_updated": "mine"}


def test_two_times_of_the_last_update_are_refused() -> None:
    document = normative(MemoryType.WORKING, {"thread_id": "t", "state": "done"})
    document["payload"]["last_updated"] = "2026-02-01T00:00:00Z"
    assert refused(from_normative, document) == ["payload", "last_updated"]


# Relations, times, salience -----------------------------------------------------------------------------------------


def test_a_relation_is_the_same_when_exported_from_either_end() -> None:
    one, other = SEMANTIC_EXAMPLE["id"], COMPETENCE_EXAMPLE["id"]
    from_target = from_appendix({**SEMANTIC_EXAMPLE, "relations": [{"predicate": "derived_from", "target_id": other}]})
    from_source = from_appendix(
        {**COMPETENCE_EXAMPLE, "relations": [{"predicate": "derived_semantic", "target_id": one}]}
    )
    relation = from_target.relations[0]
    assert (relation.predicate, relation.source, relation.target) == ("derived_semantic", UUID(other), UUID(one))
    assert from_source.relations == from_target.relations
    assert written(to_appendix, from_target)["relations"][0]["predicate"] == "derived_from"


def test_a_relation_of_other_records_is_refused() -> None:
    whole = from_appendix({**SEMANTIC_EXAMPLE, "relations": [{"predicate": "uses", "target_id": str(UUID(int=1))}]})
    unrelated = replace(whole.relations[0], source=UUID(int=2))
    with pytest.raises(InvalidInput, match="does not start or end at"):
        to_appendix(whole.record, [unrelated])


def test_a_relation_under_its_inverse_name_is_refused() -> None:
    whole = from_appendix({**SEMANTIC_EXAMPLE, "relations": [{"predicate": "uses", "target_id": str(UUID(int=1))}]})
    with pytest.raises(InvalidInput, match="stored under the forward name"):
        to_normative(whole.record, [replace(whole.relations[0], predicate="used_by")])


@FORMS
def test_microseconds_are_kept_and_offsets_are_converted_to_utc(to: To, from_: From) -> None:
    document = written(to, from_appendix(SEMANTIC_EXAMPLE))
    document["created_at"] = "2026-01-28T02:00:00.000001+02:00"
    again = written(to, from_(document))
    assert again["created_at"] == "2026-01-28T00:00:00.000001Z"


@FORMS
def test_a_record_that_was_never_reinforced_is_read_back_as_such(to: To, from_: From) -> None:
    whole = from_appendix(SEMANTIC_EXAMPLE)
    assert whole.record.lifecycle is not None
    record = replace(whole.record, lifecycle=replace(whole.record.lifecycle, last_reinforced_at=None))
    document = to(record)
    assert from_(document).record == record
    container = document if to is to_normative else document["lifecycle"]
    container["last_reinforced_at"] = "2026-01-29T00:00:00Z"
    assert refused(from_, document)[-1] == "last_reinforced_at"


def test_fractions_of_seconds_are_exported_in_additional_fields() -> None:
    whole = from_appendix(SEMANTIC_EXAMPLE)
    assert whole.record.lifecycle is not None
    decay = replace(whole.record.lifecycle.decay, half_life_s=1.25, max_age_s=9.75)
    record = replace(whole.record, lifecycle=replace(whole.record.lifecycle, decay=decay))
    found = to_appendix(record)["lifecycle"]["decay"]
    assert (found["half_life_seconds"], found["half_life_s"]) == (1, 1.25)
    assert (found["max_age_seconds"], found["max_age_s"]) == (10, 9.75)
    assert from_appendix(to_appendix(record)).record == record


@pytest.mark.parametrize(
    ("revision", "state"),
    [
        ({"status": "active"}, RecordState.ACTIVE),
        ({"status": "contested"}, RecordState.CONTESTED),
        ({"status": "retracted"}, RecordState.RETRACTED),
        ({"status": "retracted", "superseded_by": "x"}, RecordState.SUPERSEDED),
        ({}, RecordState.ACTIVE),
    ],
)
def test_a_fact_without_a_state_has_the_state_of_its_revision(revision: Json, state: RecordState) -> None:
    payload = {**SEMANTIC_EXAMPLE["payload"], "revision": revision}
    assert from_appendix({**SEMANTIC_EXAMPLE, "payload": payload}).record.state is state


# Refused documents ----------------------------------------------------------------------------------------------


def refused(from_: From, document: Any) -> list[str]:
    """Return the path of the InvalidInput raised, after checking that its message contains the path."""
    with pytest.raises(InvalidInput) as caught:
        from_(document)
    assert caught.value.path is not None
    assert ".".join(caught.value.path) in caught.value.message
    return caught.value.path


def changed(document: Json, path: str, value: Any) -> Json:
    document = copy.deepcopy(document)
    *steps, last = path.split(".")
    container: Any = document
    for step in steps:
        container = container[int(step)] if isinstance(container, list) else container[step]
    if value is ...:
        del container[last]
    else:
        container[int(last) if isinstance(container, list) else last] = value
    return document


APPENDIX = written(
    to_appendix,
    from_appendix(
        {
            **SEMANTIC_EXAMPLE,
            "relations": [{"predicate": "uses", "target_id": COMPETENCE_EXAMPLE["id"]}],
            "audit_log": [{"action": "create", "actor": "me", "timestamp": "2026-01-28T00:00:00Z"}],
        }
    ),
)
NORMATIVE = written(to_normative, from_normative(NORMATIVE_PLAN))
BOTH_REQUIRE = ["id", "type", "sensitivity", "confidence", "salience", "created_at", "provenance", "payload"]


@pytest.mark.parametrize("field", [*BOTH_REQUIRE, "updated_at", "lifecycle", "lifecycle.decay", "payload.object"])
def test_the_appendix_form_names_the_field_that_is_missing(field: str) -> None:
    assert refused(from_appendix, changed(APPENDIX, field, ...)) == field.split(".")


@pytest.mark.parametrize("field", [*BOTH_REQUIRE, "last_reinforced_at", "decay_profile", "payload.nodes"])
def test_the_normative_form_names_the_field_that_is_missing(field: str) -> None:
    assert refused(from_normative, changed(NORMATIVE, field, ...)) == field.split(".")


SHARED_MISTAKES: list[tuple[str, Any]] = [
    ("id", "9a2b..."),
    ("id", 7),
    ("type", "plans"),
    ("type", 4),
    ("sensitivity", "LOW"),
    ("sensitivity", "secret"),
    ("state", "gone"),
    ("confidence", 1.1),
    ("confidence", -0.1),
    ("confidence", "0.5"),
    ("confidence", True),
    ("confidence", float("nan")),
    ("confidence", 10**400),
    ("salience", float("inf")),
    ("salience", 1.0000001),
    ("created_at", "2026-01-28T00:00:00"),
    ("created_at", "2026-01-28"),
    ("created_at", 1769558400),
    ("created_at", "2026-02-30T00:00:00Z"),
    ("created_at", "0001-01-01T00:00:00+14:00"),
    ("occurred_at", "9999-12-31T23:59:59-01:00"),
    ("occurred_at", "now"),
    ("version", 0),
    ("version", 2**31),
    ("version", 1.5),
    ("version", True),
    ("tags", "one"),
    ("tags.0", "a\x00b"),
    ("scope", 3),
    ("scope", "\ud800"),
    ("name", ["n"]),
    ("interpretation", []),
    ("payload", []),
    ("payload", "text"),
    ("audit_log.0.action", "shred"),
    ("audit_log.0.timestamp", "2026-01-28T00:00:00"),
    ("audit_log.0.actor", ...),
    ("lifecycle.pinned", "yes"),
    ("lifecycle.deletion_policy", "sometimes"),
    ("lifecycle.s", 2),
    ("lifecycle.t0", "then"),
]
APPENDIX_MISTAKES: list[tuple[str, Any]] = [
    *SHARED_MISTAKES,
    ("updated_at", "2026-01-28 00:00"),
    ("lifecycle", []),
    ("lifecycle.decay.curve", "sigmoid"),
    ("lifecycle.decay.half_life_seconds", 0),
    ("lifecycle.decay.half_life_seconds", "3600"),
    ("lifecycle.decay.min_salience", 1.5),
    ("lifecycle.decay.max_age_seconds", 0.5),
    ("lifecycle.decay.reinforcement_gain", -1),
    ("lifecycle.last_reinforced_at", "2026-01-28T00:00:00"),
    ("provenance", []),
    ("provenance.sources", ...),
    ("provenance.sources.0.kind", "rumour"),
    ("provenance.sources.0.ref", ...),
    ("provenance.sources.0.timestamp", "2026-01-28T00:00:00"),
    ("relations.0.predicate", "Bad Name"),
    ("relations.0.target_id", "x"),
    ("relations.0.weight", 1.01),
    ("payload.kind", "episodic"),
    ("payload.subject", 5),
    ("payload.validity.mode", "sometimes"),
    ("payload.validity.start", "2026-01-28T00:00:00"),
]
NORMATIVE_MISTAKES: list[tuple[str, Any]] = [
    *SHARED_MISTAKES,
    ("type", "plan_graph"),
    ("decay_profile.function", "sigmoid"),
    ("decay_profile.half_life", 0.5),
    ("decay_profile.half_life", "PT1H"),
    ("decay_profile.floor", -1),
    ("last_reinforced_at", "2026-01-28T00:00:00"),
    ("provenance", {}),
    ("provenance.0.source_type", "tool_call"),
    ("provenance.0.source_id", ...),
    ("relationships.0.predicate", "inverse_of:"),
    ("payload.input_schema", "string"),
    ("payload.edges.0.kind", "magic"),
]


def mistake_name(value: Any) -> str:
    return "missing" if value is ... else ascii(value)[:40]


@pytest.mark.parametrize(("path", "value"), APPENDIX_MISTAKES, ids=mistake_name)
def test_the_appendix_form_names_the_field_that_is_wrong(path: str, value: Any) -> None:
    document = changed({**APPENDIX, "tags": ["x"]}, path, value)
    assert refused(from_appendix, document) == path.split(".")


@pytest.mark.parametrize(("path", "value"), NORMATIVE_MISTAKES, ids=mistake_name)
def test_the_normative_form_names_the_field_that_is_wrong(path: str, value: Any) -> None:
    document = changed({**NORMATIVE, "tags": ["x"]}, path, value)
    assert refused(from_normative, document) == path.split(".")


@pytest.mark.parametrize("path", ["colour", "lifecycle.colour", "lifecycle.decay.colour", "relations.0.colour"])
def test_a_key_that_a_record_cannot_store_is_refused(path: str) -> None:
    assert refused(from_appendix, changed(APPENDIX, path, "red")) == path.split(".")


@pytest.mark.parametrize("path", ["colour", "updatedAt", "decay_profile.colour", "relationships.0.colour"])
def test_the_normative_form_refuses_a_key_that_a_record_cannot_store(path: str) -> None:
    assert refused(from_normative, changed(NORMATIVE, path, "red")) == path.split(".")


def test_unknown_keys_of_sources_and_payloads_are_kept() -> None:
    document = changed(changed(APPENDIX, "provenance.sources.0.page", 7), "payload.colour", "red")
    whole = from_appendix(document)
    assert as_bytes(written(to_appendix, whole)) == as_bytes(document)
    assert from_normative(written(to_normative, whole)) == whole


@pytest.mark.parametrize(
    ("decay", "path"),
    [
        ({"half_life_seconds": 3600.5}, "lifecycle.decay"),
        ({"half_life_seconds": 3600, "half_life_s": 3700.5}, "lifecycle.decay"),
        ({"half_life_seconds": 3600, "max_age_s": 4.5}, "lifecycle.decay"),
        ({"curve": "custom", "half_life_seconds": 1, "params": {"beta": 0}}, "lifecycle.decay.params.beta"),
        ({"curve": "custom", "half_life_seconds": 1, "params": {"beta": "1"}}, "lifecycle.decay.params.beta"),
        ({"curve": "custom", "half_life_seconds": 1, "params": {"beta": True}}, "lifecycle.decay.params.beta"),
    ],
)
def test_a_decay_that_contradicts_itself_is_refused(decay: Json, path: str) -> None:
    document = changed(APPENDIX, "lifecycle.decay", {"curve": "exponential", **decay})
    assert refused(from_appendix, document) == path.split(".")


@pytest.mark.parametrize("document", [None, [], "record", 7])
@pytest.mark.parametrize("from_", [from_appendix, from_normative])
def test_a_document_that_is_not_an_object_is_refused(from_: From, document: Any) -> None:
    assert refused(from_, document) == ["record"]


@pytest.mark.parametrize("to", [to_appendix, to_normative])
def test_a_redacted_record_cannot_be_exported(to: To) -> None:
    with pytest.raises(InvalidInput, match="not read in full"):
        to(from_appendix(SEMANTIC_EXAMPLE).record.as_redacted())
