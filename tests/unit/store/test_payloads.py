"""The payload schemas: a canonical payload is read unchanged, and an invalid field is named by its path."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from strategies import payloads

from stratagraph.store.model.canonical import MAX_DEPTH, canonical_json
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.errors import InvalidInput, LimitExceeded
from stratagraph.store.model.payloads import parse_payload

Json = dict[str, Any]

EXAMPLES = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
AT = "2026-01-28T00:00:00Z"
EVENT: Json = {"t": AT, "event_kind": "tool", "ref": "evt:1"}
CALL: Json = {"id": "c1", "tool": "shell"}
NODE: Json = {"id": "a", "op": "init"}

# The minimal payload of each type.
MINIMAL: dict[MemoryType, Json] = {
    MemoryType.EPISODIC: {"timeline": [EVENT]},
    MemoryType.WORKING: {"thread_id": "t", "state": "planning"},
    MemoryType.ENTITY: {"canonical_name": "Ada"},
    MemoryType.SEMANTIC: {"subject": "ada", "predicate": "likes", "object": "go", "validity": {"mode": "global"}},
    MemoryType.COMPETENCE: {"skill_name": "fix", "triggers": [{"signal": "ld"}], "recipe": [{"step": "clean"}]},
    MemoryType.PLAN_GRAPH: {
        "plan_id": "p",
        "version": "1",
        "nodes": [NODE, {"id": "b", "op": "build"}],
        "edges": [{"from": "a", "to": "b", "kind": "data"}],
    },
}
TYPES = pytest.mark.parametrize("memory_type", MemoryType, ids=lambda memory_type: memory_type.label)
REQUIRED = [(memory_type, field) for memory_type, payload in MINIMAL.items() for field in payload]
NESTED_REQUIRED = [
    (MemoryType.EPISODIC, "timeline.0.t"),
    (MemoryType.EPISODIC, "timeline.0.event_kind"),
    (MemoryType.EPISODIC, "timeline.0.ref"),
    (MemoryType.SEMANTIC, "validity.mode"),
    (MemoryType.COMPETENCE, "triggers.0.signal"),
    (MemoryType.COMPETENCE, "recipe.0.step"),
    (MemoryType.PLAN_GRAPH, "nodes.0.id"),
    (MemoryType.PLAN_GRAPH, "nodes.1.op"),
    (MemoryType.PLAN_GRAPH, "edges.0.from"),
    (MemoryType.PLAN_GRAPH, "edges.0.to"),
    (MemoryType.PLAN_GRAPH, "edges.0.kind"),
]
WRONG: list[tuple[MemoryType, str, Any]] = [
    (MemoryType.EPISODIC, "timeline", {}),
    (MemoryType.EPISODIC, "timeline", "then"),
    (MemoryType.EPISODIC, "timeline.0", "then"),
    (MemoryType.EPISODIC, "timeline.0.t", "2026-01-28T00:00:00"),
    (MemoryType.EPISODIC, "timeline.0.t", "yesterday"),
    (MemoryType.EPISODIC, "timeline.0.event_kind", ""),
    (MemoryType.EPISODIC, "timeline.0.ref", 7),
    (MemoryType.EPISODIC, "timeline.0.content", "text"),
    (MemoryType.EPISODIC, "outcome", "won"),
    (MemoryType.EPISODIC, "artifacts", ["a", 1]),
    (MemoryType.EPISODIC, "environment", "linux"),
    (MemoryType.EPISODIC, "environment", {"tool_versions": ["gcc"]}),
    (MemoryType.EPISODIC, "tool_graph", [{"id": "c1"}]),
    (MemoryType.EPISODIC, "tool_graph", [{**CALL, "timestamp": "2026-01-28T00:00:00"}]),
    (MemoryType.WORKING, "state", "thinking"),
    (MemoryType.WORKING, "thread_id", ""),
    (MemoryType.WORKING, "thread_id", 12),
    (MemoryType.WORKING, "next_actions", "one"),
    (MemoryType.WORKING, "active_constraints", [{"type": "t"}]),
    (MemoryType.ENTITY, "canonical_name", ""),
    (MemoryType.ENTITY, "canonical_name", "x" * 2_001),
    (MemoryType.ENTITY, "primary_type", ""),
    (MemoryType.ENTITY, "primary_type", "x" * 65),
    (MemoryType.ENTITY, "aliases", ["Ada"]),
    (MemoryType.ENTITY, "identifiers", [{"value": "1"}]),
    (MemoryType.SEMANTIC, "subject", None),
    (MemoryType.SEMANTIC, "predicate", ["p"]),
    (MemoryType.SEMANTIC, "object", None),
    (MemoryType.SEMANTIC, "validity", "global"),
    (MemoryType.SEMANTIC, "validity.mode", "always"),
    (MemoryType.SEMANTIC, "validity", {"mode": "conditional"}),
    (MemoryType.SEMANTIC, "validity", {"mode": "conditional", "conditions": {}}),
    (MemoryType.SEMANTIC, "validity", {"mode": "timeboxed"}),
    (MemoryType.SEMANTIC, "validity", {"mode": "timeboxed", "start": AT, "end": AT}),
    (MemoryType.SEMANTIC, "validity", {"mode": "global", "start": AT, "end": "2026-01-27T23:59:59Z"}),
    (MemoryType.SEMANTIC, "validity", {"mode": "timeboxed", "start": "2026-01-28T00:00:00"}),
    (MemoryType.SEMANTIC, "evidence", ["ref"]),
    (MemoryType.SEMANTIC, "revision_policy", "ignore"),
    (MemoryType.SEMANTIC, "revision", {"status": "superseded"}),
    (MemoryType.COMPETENCE, "triggers", [{"signal": "x", "conditions": []}]),
    (MemoryType.COMPETENCE, "recipe", ["clean"]),
    (MemoryType.COMPETENCE, "required_tools", [None]),
    (MemoryType.COMPETENCE, "performance", {"success_rate": 1.01}),
    (MemoryType.COMPETENCE, "performance", {"success_count": -1}),
    (MemoryType.COMPETENCE, "performance", {"last_used_at": "2026-01-28T00:00:00"}),
    (MemoryType.COMPETENCE, "lesson", "learned"),
    (MemoryType.PLAN_GRAPH, "version", 1),
    (MemoryType.PLAN_GRAPH, "nodes", [{"id": "a", "op": "x", "params": []}]),
    (MemoryType.PLAN_GRAPH, "edges.0.kind", "magic"),
    (MemoryType.PLAN_GRAPH, "metrics", {"failure_rate": -0.1}),
    (MemoryType.PLAN_GRAPH, "metrics", {"execution_count": 1.5}),
]


def changed(memory_type: MemoryType, path: str, value: Any) -> Json:
    """The minimal payload with one field set, or removed if `value` is `...`."""
    payload = copy.deepcopy(MINIMAL[memory_type])
    *steps, last = path.split(".")
    container: Any = payload
    for step in steps:
        container = container[int(step)] if isinstance(container, list) else container[step]
    if value is ...:
        del container[last]
    else:
        container[int(last) if isinstance(container, list) else last] = value
    return payload


def refused(memory_type: MemoryType, payload: Any) -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        parse_payload(memory_type, payload)
    assert caught.value.path is not None
    assert ".".join(caught.value.path) in caught.value.message
    return caught.value


def deep(levels: int) -> Any:
    value: Any = "bottom"
    for _ in range(levels):
        value = [value]
    return value


# Accepted payloads ----------------------------------------------------------------------------------------------


@TYPES
def test_a_canonical_payload_is_read_unchanged(memory_type: MemoryType) -> None:
    @EXAMPLES
    @given(payloads(memory_type))
    def unchanged(payload: Json) -> None:
        before = canonical_json(payload, path=["payload"])
        assert parse_payload(memory_type, payload) == payload
        assert canonical_json(payload, path=["payload"]) == before  # the caller's object is not changed

    unchanged()


@TYPES
def test_the_kind_is_added_where_it_is_missing(memory_type: MemoryType) -> None:
    minimal = MINIMAL[memory_type]
    assert parse_payload(memory_type, minimal) == {"kind": memory_type.label, **minimal}


@TYPES
def test_the_kind_of_another_type_is_refused(memory_type: MemoryType) -> None:
    other = "working" if memory_type is not MemoryType.WORKING else "episodic"
    assert refused(memory_type, {**MINIMAL[memory_type], "kind": other}).path == ["payload", "kind"]


@TYPES
def test_unknown_keys_are_kept(memory_type: MemoryType) -> None:
    more = {"colour": {"deep": [1, None, {"x": None}]}, "ключ": "значение"}
    assert contains_all(parse_payload(memory_type, {**MINIMAL[memory_type], **more}), more)


def contains_all(payload: Json, more: Json) -> bool:
    return {name: payload.get(name) for name in more} == more


@pytest.mark.parametrize(
    ("memory_type", "path"),
    [
        (MemoryType.EPISODIC, "timeline.0.colour"),
        (MemoryType.SEMANTIC, "validity.colour"),
        (MemoryType.COMPETENCE, "triggers.0.colour"),
        (MemoryType.COMPETENCE, "recipe.0.colour"),
        (MemoryType.PLAN_GRAPH, "nodes.1.colour"),
        (MemoryType.PLAN_GRAPH, "edges.0.colour"),
    ],
    ids=str,
)
def test_unknown_keys_of_nested_objects_are_kept(memory_type: MemoryType, path: str) -> None:
    payload = changed(memory_type, path, "red")
    assert parse_payload(memory_type, payload) == {"kind": memory_type.label, **payload}


def test_a_null_field_is_treated_as_absent() -> None:
    payload = {**MINIMAL[MemoryType.ENTITY], "summary": None, "aliases": None}
    assert parse_payload(MemoryType.ENTITY, payload) == {"kind": "entity", "canonical_name": "Ada"}


def test_times_are_converted_to_utc() -> None:
    payload = changed(MemoryType.EPISODIC, "timeline.0.t", "2026-01-28T02:00:00.25+02:00")
    assert parse_payload(MemoryType.EPISODIC, payload)["timeline"][0]["t"] == "2026-01-28T00:00:00.250000Z"


def test_a_timeline_is_sorted_by_time_and_equal_times_keep_their_order() -> None:
    events = [
        {**EVENT, "t": "2026-01-28T00:00:01Z", "ref": "last"},
        {**EVENT, "ref": "first"},
        {**EVENT, "t": "2026-01-28T01:00:00+01:00", "ref": "second"},
        {**EVENT, "t": "2026-01-28T00:00:00.5Z", "ref": "third"},
    ]
    found = parse_payload(MemoryType.EPISODIC, {"timeline": events})["timeline"]
    assert [event["ref"] for event in found] == ["first", "second", "third", "last"]


@pytest.mark.parametrize("value", ["", 0, False, 1.5, {}, [], [None], {"x": None}], ids=repr)
def test_a_fact_may_have_any_object_but_null(value: Any) -> None:
    found = parse_payload(MemoryType.SEMANTIC, changed(MemoryType.SEMANTIC, "object", value))["object"]
    assert (found, type(found)) == (value, type(value))


# Refused payloads -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("memory_type", "field"), [*REQUIRED, *NESTED_REQUIRED], ids=str)
def test_a_missing_field_is_named(memory_type: MemoryType, field: str) -> None:
    error = refused(memory_type, changed(memory_type, field, ...))
    assert error.path == ["payload", *field.split(".")]
    assert "required" in error.message


@pytest.mark.parametrize(("memory_type", "field", "value"), WRONG, ids=lambda value: ascii(value)[:50])
def test_a_wrong_field_is_named(memory_type: MemoryType, field: str, value: Any) -> None:
    steps = field.split(".")
    assert (refused(memory_type, changed(memory_type, field, value)).path or [])[: len(steps) + 1] == [
        "payload",
        *steps,
    ]


@TYPES
@pytest.mark.parametrize("payload", [None, "text", 7, [], [{}]], ids=repr)
def test_a_payload_that_is_not_an_object_is_refused(memory_type: MemoryType, payload: Any) -> None:
    assert refused(memory_type, payload).path == ["payload"]


def test_the_error_path_starts_with_the_path_of_the_caller() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_payload(MemoryType.ENTITY, {}, path=["captures", "3", "content"])
    assert caught.value.path == ["captures", "3", "content", "canonical_name"]


def test_all_invalid_fields_are_reported_at_once() -> None:
    message = refused(MemoryType.WORKING, {"state": "thinking"}).message
    assert "payload.thread_id" in message
    assert "payload.state" in message


def test_a_long_list_of_invalid_fields_is_truncated() -> None:
    error = refused(MemoryType.EPISODIC, {"timeline": [{} for _ in range(5)]})
    assert error.message.count(": Field required") == 10
    assert error.message.endswith("; and 5 more")


PLAN_CYCLES = [
    [("a", "a")],
    [("a", "b"), ("b", "a")],
    [("a", "b"), ("b", "c"), ("c", "a")],
    [("a", "b"), ("b", "c"), ("c", "b")],
]


@pytest.mark.parametrize("ends", PLAN_CYCLES, ids=str)
def test_a_plan_with_a_cycle_is_refused(ends: list[tuple[str, str]]) -> None:
    plan = {
        **MINIMAL[MemoryType.PLAN_GRAPH],
        "nodes": [{"id": id_, "op": "x"} for id_ in "abc"],
        "edges": [{"from": start, "to": end, "kind": "control"} for start, end in ends],
    }
    error = refused(MemoryType.PLAN_GRAPH, plan)
    assert error.path is not None
    assert error.path[0] == "payload"
    assert "edges: the steps form a cycle" in error.message


@pytest.mark.parametrize(("side", "end"), [("from", "x"), ("to", "x"), ("to", "A")])
def test_an_edge_to_an_unknown_node_is_refused(side: str, end: str) -> None:
    error = refused(MemoryType.PLAN_GRAPH, changed(MemoryType.PLAN_GRAPH, f"edges.0.{side}", end))
    assert f"edges.0.{side}: there is no node {end!r}" in error.message


def test_a_plan_whose_steps_share_an_id_is_refused() -> None:
    assert "share an id" in refused(MemoryType.PLAN_GRAPH, changed(MemoryType.PLAN_GRAPH, "nodes.1.id", "a")).message


def test_a_plan_may_have_parallel_edges() -> None:
    edges = [{"from": "a", "to": "b", "kind": kind} for kind in ("data", "control", "data")]
    assert parse_payload(MemoryType.PLAN_GRAPH, {**MINIMAL[MemoryType.PLAN_GRAPH], "edges": edges})["edges"] == edges


def test_a_plan_without_steps_is_refused() -> None:
    error = refused(MemoryType.PLAN_GRAPH, {**MINIMAL[MemoryType.PLAN_GRAPH], "nodes": [], "edges": []})
    assert error.path == ["payload", "nodes"]
    assert "at least one step" in error.message


@pytest.mark.parametrize("fields", [{}, {"result": None}, {"args": None, "result": None}, {"args": {"q": None}}])
def test_a_null_that_is_a_value_is_kept_apart_from_an_absent_field(fields: Json) -> None:
    graph = [{**CALL, **fields, "timestamp": None}]
    stored = parse_payload(MemoryType.EPISODIC, {"timeline": [], "tool_graph": graph})
    assert stored["tool_graph"] == [{**CALL, **fields}]
    assert parse_payload(MemoryType.EPISODIC, stored) == stored


def episode(*calls: Json) -> Json:
    return {"timeline": [], "tool_graph": list(calls)}


@pytest.mark.parametrize(
    "calls",
    [
        [{**CALL, "depends_on": ["c1"]}],
        [{**CALL, "depends_on": ["c2"]}, {**CALL, "id": "c2", "depends_on": ["c1"]}],
    ],
    ids=["itself", "each other"],
)
def test_tool_calls_with_cyclic_dependencies_are_refused(calls: list[Json]) -> None:
    assert "circle" in refused(MemoryType.EPISODIC, episode(*calls)).message


def test_two_tool_calls_with_one_id_are_refused() -> None:
    assert "two calls have the id 'c1'" in refused(MemoryType.EPISODIC, episode(CALL, {**CALL, "tool": "git"})).message


def test_a_tool_call_may_depend_on_one_of_another_record() -> None:
    payload = episode({**CALL, "depends_on": ["elsewhere"]})
    assert parse_payload(MemoryType.EPISODIC, payload)["tool_graph"] == payload["tool_graph"]


@TYPES
@pytest.mark.parametrize(
    ("value", "word"),
    [
        ("a\x00b", r"U\+0000"),
        ({"a\x00": 1}, r"U\+0000"),
        ("\ud83d", "surrogate"),
        (float("nan"), "not a JSON number"),
        (float("-inf"), "not a JSON number"),
        ({1: "x"}, "object keys must be strings"),
        ({1, 2}, "a set is not JSON"),
    ],
    ids=["NUL", "NUL in a key", "surrogate", "NaN", "-inf", "number as key", "set"],
)
def test_unstorable_json_is_refused_anywhere_in_a_payload(memory_type: MemoryType, value: Any, word: str) -> None:
    with pytest.raises(InvalidInput, match=word) as caught:
        parse_payload(memory_type, {**MINIMAL[memory_type], "beyond": {"deep": [0, value]}})
    assert caught.value.path == ["payload", "beyond", "deep", "1"]


def test_nesting_over_the_limit_is_refused() -> None:
    payload = MINIMAL[MemoryType.ENTITY]
    fits = {**payload, "beyond": deep(MAX_DEPTH - 1)}
    assert parse_payload(MemoryType.ENTITY, fits)["beyond"] == fits["beyond"]
    with pytest.raises(LimitExceeded, match="64 levels"):
        parse_payload(MemoryType.ENTITY, {**payload, "beyond": deep(MAX_DEPTH)})
    with pytest.raises(LimitExceeded, match="64 levels"):
        parse_payload(MemoryType.ENTITY, {**payload, "beyond": deep(100_000)})
