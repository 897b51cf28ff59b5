"""Every read operation of the API, with all fields of its answers and arguments from a list of records."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any
from uuid import UUID

from graphql import (
    GraphQLField,
    GraphQLInterfaceType,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLUnionType,
    get_named_type,
    is_leaf_type,
    is_required_argument,
)
from noninterference.steps import LEVELS, NAMES, OPS, WORDS, Sight

from stratagraph.graphql.schema import build_schema
from stratagraph.store.records.listing import ListOrder

Json = dict[str, Any]
THREADS = ("t", "w")  # of the steps; the second has a working state
FEW = 4  # fields of a type that is selected without a fragment, of which a document has a limited number
EXEMPT = {"health", "changes"}  # of the service, not of the memories; followed in test_changes.py
# Questions that follow relations, so that the mirror may answer them.
GRAPH = ("retrieveGraph", "explainPath", "impact", "relatedEntities", "expand")


@cache
def graphql_schema() -> GraphQLSchema:
    """Return the schema of the API as graphql-core has it."""
    return build_schema()._schema


def fields_of(root: str) -> dict[str, GraphQLField]:
    """Return the fields of the type `root`, Query or Mutation."""
    type_ = graphql_schema().get_type(root)
    assert isinstance(type_, GraphQLObjectType)
    fields: dict[str, GraphQLField] = type_.fields
    return fields


@cache
def document(root: str, name: str) -> str:
    """Return an operation with one field, its arguments as variables, and a selection of all that it can answer."""
    field = fields_of(root)[name]
    fragments: dict[str, str] = {}
    selection = _selection(get_named_type(field.type), fragments)
    declared = ", ".join(f"${argument}: {one.type}" for argument, one in field.args.items())
    given = ", ".join(f"{argument}: ${argument}" for argument in field.args)
    operation = "query" if root == "Query" else "mutation"
    head = f"{operation}({declared}) {{ {name}({given}) {selection} }}" if declared else f"{{ {name} {selection} }}"
    return "\n".join([head, *fragments.values()])


def _selection(type_: GraphQLNamedType, fragments: dict[str, str]) -> str:
    if isinstance(type_, GraphQLUnionType):
        spreads = " ".join(f"... on {one.name} {_selection(one, fragments)}" for one in type_.types)
        return f"{{ __typename {spreads} }}"
    if not isinstance(type_, GraphQLObjectType | GraphQLInterfaceType):
        return ""
    if len(type_.fields) <= FEW and all(is_leaf_type(get_named_type(one.type)) for one in type_.fields.values()):
        return f"{{ {' '.join(type_.fields)} }}"
    if fragments.get(type_.name) == "":  # within itself: its leaves only
        leaves = [name for name, field in type_.fields.items() if is_leaf_type(get_named_type(field.type))]
        return f"{{ {' '.join(name for name in leaves if not type_.fields[name].args)} }}"
    if type_.name not in fragments:
        fragments[type_.name] = ""
        own = " ".join(
            f"{name} {_selection(get_named_type(field.type), fragments)}"
            for name, field in type_.fields.items()
            if not any(is_required_argument(argument) for argument in field.args.values())
        )
        fragments[type_.name] = f"fragment F{type_.name} on {type_.name} {{ {own} }}"
    return f"{{ ...F{type_.name} }}"


def questions(sight: Sight, ids: Sequence[UUID], others: Sequence[UUID], now: datetime) -> dict[str, list[Json]]:
    """Return for each field of Query the arguments to ask it with.

    `ids` are records that the caller may see, `others` records that it may not, `now` the instant of the questions.
    """
    asked = [str(id_) for id_ in ids]
    probed = [*asked, *(str(id_) for id_ in others)]
    some = asked[:: max(1, len(asked) // 5)]
    past = [(now - timedelta(seconds=ago)).isoformat() for ago in (1, 90, 200)]
    pairs = list(zip(some, asked[1::2], strict=False))
    return {
        "retrieveGraph": _retrievals(sight, past),
        "whyNot": [
            {"id": id_, "input": {"taskDescriptor": f"{NAMES[0]} {WORDS[0]}", "rootLimit": roots, "maxHops": 1}}
            for id_ in probed
            for roots in (1, 10)
        ],
        "auditLog": [{"id": id_, "first": first} for id_ in probed for first in (1, 100)],
        "record": [{"id": id_} for id_ in probed]
        + [{"id": id_, name: at} for id_ in [*some, *probed[-1:]] for at in past for name in ("asOf", "validAt")],
        "history": [{"id": id_, "first": first} for id_ in probed[::2] for first in (1, 100)],
        "records": [
            {"first": 3},
            {"first": 100},
            {"first": 100, "filter": {"scope": "project:b"}},
            {"first": 100, "filter": {"scope": ""}},
            {"first": 2, "filter": {"types": ["ENTITY"]}},
            {"first": 100, "filter": {"tag": WORDS[0]}},
            *({"first": 100, "filter": {"validAt": at}} for at in past),
            *_lists(asked, probed, past),
        ],
        "slotHistory": [{"id": id_} for id_ in probed[::3]] + [{"id": id_, "asOf": at} for id_ in some for at in past],
        "thread": [{"id": thread, "asOf": at} for thread in THREADS for at in (None, *past)],
        "disputes": [{"first": 100}, {"first": 1}],
        "fading": [
            {"until": (now + timedelta(days=days)).isoformat(), "first": first}
            for days in (2, 3_000)
            for first in (2, 100)
        ],
        "planVersions": [{"planId": id_, "asOf": at} for id_ in ("p", probed[-1]) for at in (None, *past)],
        "recordByHandle": [
            {"handle": handle, "asOf": at}
            for handle in (
                {"plan": {"name": "p"}},
                {"plan": {"name": "p", "version": "1"}},
                {"working": "w"},
                {"ref": "ref-1"},
            )
            for at in (None, past[1])
        ],
        "entityPage": [
            {"name": name, "scope": scope, "first": first, "asOf": at}
            for name in (*NAMES, "Ally")
            for scope, first, at in ((None, 20, None), (None, 1, None), ("project:a", 20, past[1]))
        ],
        "tagsInUse": [{"first": 2}, {"scopes": ["project:b", ""]}],
        "predicatesInUse": [{"first": 1}, {"first": 100}],
        "lessonPage": [
            {"query": query, "first": first, "asOf": at}
            for query in (None, f"{WORDS[0]} {WORDS[1]} {WORDS[2]}")
            for first, at in ((1, None), (100, None), (100, past[1]))
        ],
        "entities": [
            {"name": name, "scope": scope, "first": first}
            for name in (*NAMES, "Ally")
            for scope, first in ((None, 20), (None, 1), ("project:a", 20), ("project:b", 20))
        ],
        "planGraph": [{"id": "p"}, {"id": "p", "version": "1"}, *({"id": id_} for id_ in probed[-2:])]
        + [{"id": id_, "at": at} for id_ in ("p", probed[-1]) for at in past],
        "planDiff": [{"planId": id_, "from": "1", "to": "2"} for id_ in ("p", probed[-1])],
        "revisionImpact": [{"id": id_} for id_ in probed],
        "reevaluations": [{}],
        "failedCaptures": [{"first": 100}, {"first": 1}],
        "duplicateCandidates": [{"first": 100}, {"first": 1}],
        "predicates": [{}],
        "consolidationRuns": [{"first": 1}, {"first": 100}],
        "forgetPreview": [
            {"until": (now + ahead).isoformat(), "first": first}
            for ahead in (timedelta(days=2), timedelta(days=3_000))
            for first in (2, 100)
        ],
        "lessons": [
            {"query": query, "scope": scope, "first": first, "window": window}
            for query in (None, f"{WORDS[0]} {WORDS[1]} {WORDS[2]}")
            for scope, first, window in ((None, 100, "ALL"), (None, 1, "TODAY"), ("project:a", 100, "WEEK"))
        ]
        + [{"trigger": WORDS[0]}, {"source": "lesson", "scope": "project:b"}],
        "playbook": [
            {"query": query, "scope": scope, "limit": limit, "recordRetrievals": False}
            for query in (None, WORDS[0], "nothing of it")
            for scope, limit in ((None, 50), (None, 1), ("project:a", 50))
        ],
        "metrics": [{}],
        "revisionRules": [{}],
        "recentFailures": [{}, {"limit": 1}, {"scope": "project:b"}],
        "explainPath": [{"from": start, "to": end, "k": 5, "maxHops": 4} for start, end in pairs]
        + [{"from": start, "to": end, name: at} for start, end in pairs for at in past for name in ("asOf", "validAt")]
        + [{"from": asked[0], "to": probed[-1], "maxHops": 6}],
        "impact": [
            *({"id": id_, "hops": hops, "first": 5} for id_ in [*some, *probed[-1:]] for hops in (1, 3)),
            *_timed(some, past),
        ],
        "plansContaining": [
            *({"ops": list(OPS[:2])}, {"ops": [OPS[0]], "first": 1}),
            *({"ops": [OPS[0]], "asOf": at} for at in past),
        ],
        "relatedEntities": [
            *({"id": id_, "first": first} for id_ in [*some, *probed[-1:]] for first in (1, 100)),
            *_timed(some, past),
        ],
        "expand": [
            *(
                {"id": id_, "first": first, "loadedIds": loaded}
                for id_ in [*some, *probed[-1:]]
                for first, loaded in ((1, []), (100, probed[:3]))
            ),
            *_timed(some, past),
        ],
    }


def _timed(ids: Sequence[str], past: Sequence[str]) -> list[Json]:
    """Return questions about records of another time than now."""
    return [{"id": id_, name: at} for id_ in ids[:2] for at in past[:2] for name in ("asOf", "validAt")]


def _lists(asked: Sequence[str], probed: Sequence[str], past: Sequence[str]) -> list[Json]:
    """Return lists by each field of the filter and each order, short and long ones."""
    instant = past[1]
    filters: list[Json] = [
        {"ids": list(probed)},
        {"slotOf": asked[0]},
        {"slotOf": probed[-1]},
        {"states": ["CONTESTED", "SUPERSEDED", "RETRACTED"]},
        {"tags": {"any": list(WORDS[:2])}},
        {"namePrefix": NAMES[0][:2]},
        {"source": "test"},
        {"threadId": THREADS[0]},
        {"subject": NAMES[0]},
        {"predicate": "lives_in"},
        {"updatedSince": instant},
        {"occurred": {"from": past[2], "before": past[0]}},
        {"confidence": {"least": 0.5}, "salience": {"most": 0.9}},
    ]
    listed: list[Json] = [{"first": first, "filter": one} for one in filters for first in (2, 100)]
    listed += [{"first": first, "order": order.name} for order in ListOrder for first in (3, 100)]
    listed += [{"first": 3, "order": order.name, "asOf": at} for order in ListOrder for at in past[:2]]
    return listed


def _retrievals(sight: Sight, past: Sequence[str]) -> list[Json]:
    limits = (
        {"rootLimit": 100, "nodeLimit": 1000, "edgeLimit": 5000, "maxHops": 3, "tokenBudget": 4000},
        {"rootLimit": 2, "nodeLimit": 4, "edgeLimit": 3, "maxHops": 2},
        {"rootLimit": 1, "nodeLimit": 3, "maxHops": 1},
        {"rootLimit": 3, "edgeLimit": 1, "maxHops": 6, "minSalience": 0.5},
    )
    tasks = (f"{NAMES[0]} {WORDS[0]}", f"where does {NAMES[1]} live, {WORDS[1]} {WORDS[2]}", "nothing of it")
    asked: list[Json] = [{"taskDescriptor": task, **bounds} for task in tasks for bounds in limits]
    asked += [{"taskDescriptor": tasks[0], "asOf": at, **limits[0]} for at in past]
    asked.append({"taskDescriptor": tasks[1], "maxSensitivity": LEVELS[0], **limits[0]})
    asked.append({"taskDescriptor": tasks[1], "memoryTypes": ["COMPETENCE", "PLAN_GRAPH"], **limits[0]})
    asked.append({"taskDescriptor": tasks[0], "hopTypes": [["ENTITY"], ["SEMANTIC", "EPISODIC"]], **limits[0]})
    asked.append({"taskDescriptor": tasks[1], "citationStyle": "NUMBER", **limits[0]})
    asked.append({"taskDescriptor": tasks[0], "scopes": ["project:a"], **limits[0]})
    asked.append({"taskDescriptor": tasks[0], "scopes": ["project:b"], **limits[0]})
    return [{"input": one} for one in asked]
