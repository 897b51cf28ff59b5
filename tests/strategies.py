"""Random valid values for property tests: payloads of all six types, records, relations, audit entries.

All values are in canonical form, as the store returns them; parsing leaves them unchanged.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from stratagraph.store.model.clock import rfc3339
from stratagraph.store.model.enums import AuditAction, Curve, DeletionPolicy, MemoryType, RecordState, Sensitivity
from stratagraph.store.model.payloads import PAYLOADS
from stratagraph.store.model.payloads.base import MAX_COUNT, MAX_LATENCY_MS
from stratagraph.store.model.predicates import INVERSES, fact_predicate
from stratagraph.store.model.records import AuditEntry, MemoryRecord, Relation
from stratagraph.store.model.salience import Decay, Salience
from stratagraph.store.model.visible_text import is_blank

Json = dict[str, Any]

EXACT = 2**53 - 1  # the largest integer that every JSON reader reads exactly
# Names from the RFC's other JSON form, used as additional keys; converting must not mix them up with its own.
TRICKY_KEYS = (
    "procedure",
    "recipe",
    "task_id",
    "artifact_refs",
    "input_schema",
    "source_type",
    "last_updated",
    "_last_updated",
    "updated_at",
    "copy",
)


def _has_word(name: str) -> bool:
    try:
        return bool(fact_predicate(name))
    except ValueError:
        return False


_letters = st.characters(exclude_categories=["Cs"], exclude_characters="\x00")
texts = st.text(_letters, max_size=8) | st.sampled_from(
    ["naïve Ärger", "記憶", "🧠", "a\u0301", 'O\'Hara \\ "x"', "\u2028"]
)
names = texts.filter(lambda text: not is_blank(text))
times = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
stamps = times.map(rfc3339)
shares = st.floats(0, 1)
numbers = st.floats(-float(EXACT), float(EXACT))  # larger whole doubles return from JSON as inexact integers
counts = st.integers(0, MAX_COUNT) | st.just(MAX_COUNT)
latencies = st.floats(0, MAX_LATENCY_MS)
fact_predicates = names.filter(_has_word).map(fact_predicate)
scalars: SearchStrategy[Any] = st.booleans() | st.integers(-EXACT, EXACT) | numbers | texts


def json_values(*, null: bool = True) -> SearchStrategy[Any]:
    """JSON values three levels deep; with `null=False`, not null at the top level."""
    return st.none() | _nested if null else _nested


_leaves = st.none() | scalars
_lists = st.lists(_leaves, max_size=2)
_nested: SearchStrategy[Any] = (
    scalars
    | _lists
    | st.dictionaries(texts, _leaves | _lists | st.dictionaries(texts, _leaves, max_size=1), max_size=2)
)
_json = json_values()
_present = json_values(null=False)
objects: SearchStrategy[Json] = st.dictionaries(texts, _json, max_size=2)


def _part(required: Json, optional: Json, *, beyond: bool = True, taken: tuple[str, ...] = ()) -> SearchStrategy[Json]:
    """JSON objects of a schema, with some of the optional fields and at times with additional keys."""
    fixed: SearchStrategy[Json] = st.fixed_dictionaries(required, optional=optional)
    if not beyond:
        return fixed
    known = {*required, *optional, *taken}
    keys = (st.sampled_from(TRICKY_KEYS) | names).filter(lambda key: key not in known)
    extras = st.just(Json()) | st.dictionaries(keys, _present, max_size=2)
    return st.builds(lambda fields, more: {**fields, **more}, fixed, extras)


def _list(items: SearchStrategy[Any], size: int = 2) -> SearchStrategy[list[Any]]:
    return st.lists(items, max_size=size)


def _payload(memory_type: MemoryType, required: Json, optional: Json) -> SearchStrategy[Json]:
    assert {*required, *optional, "kind"} == set(PAYLOADS[memory_type].model_fields), "the schema has changed"
    return _part({"kind": st.just(memory_type.label), **required}, optional)


@st.composite
def _timelines(draw: DrawFn) -> list[Json]:
    events = draw(
        _list(_part({"t": times, "event_kind": names, "ref": texts}, {"summary": texts, "content": objects}), 3)
    )
    events.sort(key=lambda event: event["t"])
    return [{**event, "t": rfc3339(event["t"])} for event in events]


@st.composite
def _tool_graphs(draw: DrawFn) -> list[Json]:
    """Tool calls in random order that depend on earlier calls or on a call of another record."""
    ids = draw(st.lists(names, max_size=4, unique=True))
    calls = []
    for position, id_ in enumerate(ids):
        earlier = st.sampled_from([*ids[:position], "elsewhere"]).filter(lambda name: name not in ids[position:])  # noqa: B023
        optional = {"args": _json, "result": _json, "timestamp": stamps, "depends_on": _list(earlier)}
        calls.append(draw(_part({"id": st.just(id_), "tool": names}, optional)))
    return draw(st.permutations(calls))


@st.composite
def _plans(draw: DrawFn) -> Json:
    """A random acyclic graph: each edge leads from an earlier to a later step of a hidden order."""
    ids = draw(st.lists(names, min_size=1, max_size=5, unique=True))
    optional = {"params": objects, "guards": objects}
    nodes = [draw(_part({"id": st.just(id_), "op": names}, optional)) for id_ in ids]
    pairs = [(ids[low], ids[high]) for high in range(len(ids)) for low in range(high)]
    edges = [
        draw(
            _part(
                {"from": st.just(start), "to": st.just(end), "kind": st.sampled_from(["data", "control"])},
                {},
                taken=("source", "target"),
            )
        )
        for start, end in (draw(st.lists(st.sampled_from(pairs), max_size=6)) if pairs else [])
    ]
    metrics = {
        "avg_latency_ms": latencies,
        "failure_rate": shares,
        "execution_count": counts,
        "last_executed_at": stamps,
    }
    return draw(
        _payload(
            MemoryType.PLAN_GRAPH,
            {
                "plan_id": names,
                "version": names,
                "nodes": st.just(draw(st.permutations(nodes))),
                "edges": st.just(edges),
            },
            {
                "intent": texts,
                "constraints": objects | _list(objects),
                "inputs_schema": objects,
                "outputs_schema": objects,
                "metrics": _part({}, metrics),
            },
        )
    )


@st.composite
def validities(draw: DrawFn) -> Json:
    mode = draw(st.sampled_from(["global", "conditional", "timeboxed"]))
    conditions = st.dictionaries(names, _json, min_size=1, max_size=2)
    start = draw(times)
    end = start + draw(st.timedeltas(timedelta(microseconds=1), timedelta(days=4000)))
    window = {"start": rfc3339(start), "end": rfc3339(end)}
    if mode != "timeboxed":
        window = draw(st.sampled_from([{}, window]))
    elif draw(st.booleans()):
        del window[draw(st.sampled_from(["start", "end"]))]
    optional = {} if mode == "global" else {"conditions": conditions}
    said = draw(_part({"mode": st.just(mode)}, optional, taken=("start", "end", "conditions")))
    if mode == "conditional":
        said.setdefault("conditions", draw(conditions))
    return {**said, **window}


def _sources(*, kinds: tuple[str, ...]) -> SearchStrategy[Json]:
    return _part(
        {"kind": st.sampled_from(kinds), "ref": texts}, {"hash": texts, "created_by": texts, "timestamp": stamps}
    )


SOURCE_KINDS = ("event", "artifact", "tool_call", "observation", "outcome", "human")


def payloads(memory_type: MemoryType) -> SearchStrategy[Json]:
    """Valid canonical payloads of one type."""
    return _PAYLOADS[memory_type]


_trigger = _part({"signal": names}, {"conditions": objects})
_step = _part({"step": names}, {"tool": texts, "args_schema": objects, "validation": texts})
_performance = _part(
    {},
    {
        "success_count": counts,
        "failure_count": counts,
        "success_rate": shares,
        "avg_latency_ms": latencies,
        "last_used_at": stamps,
    },
)
_environment = _part(
    {},
    {
        "os": texts,
        "os_version": texts,
        "tool_versions": st.dictionaries(texts, texts, max_size=2),
        "working_directory": texts,
        "context": objects,
    },
)
_PAYLOADS: dict[MemoryType, SearchStrategy[Json]] = {
    MemoryType.EPISODIC: _payload(
        MemoryType.EPISODIC,
        {"timeline": _timelines()},
        {
            "tool_graph": _tool_graphs(),
            "environment": _environment,
            "outcome": st.sampled_from(["success", "failure", "partial"]),
            "artifacts": _list(texts),
            "outcome_reason": texts,
            "tool_graph_ref": texts,
        },
    ),
    MemoryType.WORKING: _payload(
        MemoryType.WORKING,
        {"thread_id": names, "state": st.sampled_from(["planning", "executing", "blocked", "waiting", "done"])},
        {
            "active_constraints": _list(
                _part({"type": names, "key": names, "required": st.booleans()}, {"value": _json})
            ),
            "next_actions": _list(texts),
            "open_questions": _list(texts),
            "context_summary": texts,
        },
    ),
    MemoryType.ENTITY: _payload(
        MemoryType.ENTITY,
        {"canonical_name": names},
        {
            "primary_type": names,
            "types": _list(texts),
            "aliases": _list(_part({"value": names}, {"kind": texts, "locale": texts})),
            "identifiers": _list(_part({"namespace": names, "value": names}, {})),
            "summary": texts,
        },
    ),
    MemoryType.SEMANTIC: _payload(
        MemoryType.SEMANTIC,
        {"subject": names, "predicate": fact_predicates, "object": _present, "validity": validities()},
        {
            "evidence": _list(objects | _sources(kinds=(*SOURCE_KINDS, "tool"))),
            "revision_policy": st.sampled_from(["replace", "fork", "contest"]),
            "revision": _part(
                {},
                {
                    "supersedes": texts,
                    "superseded_by": texts,
                    "status": st.sampled_from(["active", "contested", "retracted"]),
                },
            ),
        },
    ),
    MemoryType.COMPETENCE: _payload(
        MemoryType.COMPETENCE,
        {"skill_name": names, "triggers": _list(_trigger), "recipe": _list(_step)},
        {
            "required_tools": _list(texts),
            "failure_modes": _list(texts),
            "fallbacks": _list(texts),
            "performance": _performance,
            "version": texts,
            "lesson": objects,
        },
    ),
    MemoryType.PLAN_GRAPH: _plans(),
}

_seconds = st.integers(1, 10**9).map(float) | st.floats(1, 1e18)


@st.composite
def decays(draw: DrawFn) -> Decay:
    curve = draw(st.sampled_from(Curve))
    exponent = st.just(None) | st.floats(0.05, 8).map(lambda beta: {"beta": beta})
    return Decay(
        curve=curve,
        half_life_s=draw(_seconds),
        min_salience=draw(st.just(0.0) | shares),
        max_age_s=draw(st.none() | _seconds),
        reinforcement_gain=draw(st.floats(0, 2)),
        params=draw(exponent if curve is Curve.CUSTOM else st.none() | objects),
    )


def saliences(*, created_at: datetime | None = None) -> SearchStrategy[Salience]:
    return st.builds(
        Salience,
        s=shares,
        t0=times,
        created_at=times if created_at is None else st.just(created_at),
        decay=decays(),
        pinned=st.booleans(),
        deletion_policy=st.sampled_from(DeletionPolicy),
        last_reinforced_at=st.none() | times,
    )


@st.composite
def records(draw: DrawFn, memory_type: MemoryType | None = None) -> MemoryRecord:
    """Complete records of one type, or of any type."""
    kind = memory_type or draw(st.sampled_from(MemoryType))
    created_at = draw(times)
    return MemoryRecord(
        id=draw(st.uuids()),
        tenant=draw(texts),
        type=kind,
        scope=draw(texts),
        sensitivity=draw(st.sampled_from(Sensitivity)),
        state=draw(st.sampled_from(RecordState)),
        confidence=draw(shares),
        salience=draw(shares),
        tags=tuple(draw(_list(texts))),
        created_at=created_at,
        occurred_at=draw(times),
        updated_at=draw(times),
        version=draw(st.integers(1, 2**31 - 1)),
        name=draw(st.none() | texts),
        text=draw(st.none() | texts),
        payload=draw(payloads(kind)),
        lifecycle=draw(saliences(created_at=created_at)),
        provenance=draw(
            st.fixed_dictionaries({"sources": _list(_sources(kinds=SOURCE_KINDS))}, optional={"created_by": texts})
        ),
        interpretation=draw(st.none() | objects),
    )


predicates = st.sampled_from(sorted(INVERSES)) | st.from_regex(r"[a-z][a-z0-9_]{0,62}\Z", fullmatch=True).filter(
    lambda name: name not in INVERSES.values()
)


def relations(*, source: UUID | None = None, target: UUID | None = None) -> SearchStrategy[Relation]:
    """Stored relations; `source` and `target` can be given."""
    return st.builds(
        Relation,
        id=st.uuids(),
        source=st.uuids() if source is None else st.just(source),
        target=st.uuids() if target is None else st.just(target),
        predicate=predicates,
        weight=shares,
        created_at=times,
    )


def audit_entries() -> SearchStrategy[AuditEntry]:
    return st.builds(
        AuditEntry,
        action=st.sampled_from(AuditAction),
        actor=texts,
        timestamp=times,
        rationale=st.none() | texts,
    )
