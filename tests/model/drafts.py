"""Random steps of histories, before the ids of the records are known: a step names a record by its position."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from hypothesis import strategies as st
from model.facts import fold_predicate
from model.memory import Model, Request
from model.records import CONTESTED, CURRENT, ENTITY, EVENT, FACT, WORKING, Item, Scope

from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.revise.request import (
    Contest,
    Delete,
    Fork,
    Merge,
    Penalize,
    Pin,
    Reinforce,
    ResolveContest,
    Retract,
    Supersede,
)
from stratagraph.store.model.enums import Access, MemoryType, Sensitivity, SourceKind
from stratagraph.store.model.trust import Trust

Json = dict[str, Any]
Draft = dict[str, Any]

SCOPES = ("", "s", "t")


def callers(tenant: str) -> list[Trust]:
    """Return the credentials of a history: one for everything, and three that see a part."""

    def caller(actor: str, ceiling: Sensitivity, *scopes: str) -> Trust:
        named = frozenset(scopes) if scopes else None
        return Trust(tenant=tenant, actor=actor, access=Access.WRITE, ceiling=ceiling, scopes=named)

    return [
        replace(caller("tester", Sensitivity.HYPER), access=Access.ADMIN),
        caller("low in all scopes", Sensitivity.LOW),
        caller("medium in s", Sensitivity.MEDIUM, "s"),
        caller("high in s and t", Sensitivity.HIGH, "s", "t"),
    ]


def weighted(*choices: tuple[int, st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    """Choose among strategies by weight; `one_of` does not count a strategy that is given more than once."""
    numbers = [number for number, (weight, _) in enumerate(choices) for _ in range(weight)]
    return st.sampled_from(numbers).flatmap(lambda number: choices[number][1])


def _validity(mode: str, conditions: Json | None = None, start: str = "", end: str = "") -> Json:
    ends = {"start": start and f"{start}T00:00:00Z", "end": end and f"{end}T00:00:00Z"}
    return {
        "mode": mode,
        **({"conditions": conditions} if conditions else {}),
        **{name: at for name, at in ends.items() if at},
    }


# Histories begin at noon of 1 June 2026, and last weeks or months.
GLOBAL = _validity("global")
CONDITIONAL = (
    _validity("conditional", {"env": "prod"}),
    _validity("conditional", {"env": "dev"}),
    _validity("conditional", {"env": ["dev", "test"]}),
    _validity("conditional", {"region": "eu"}),
)
_WINDOWS = (
    ("2026-01-01", "2026-07-01"),
    ("2026-07-01", "2027-01-01"),
    ("2026-03-01", "2026-09-01"),
    ("2025-01-01", "2026-02-01"),
    ("2025-06-01", "2026-05-01"),
    ("2026-07-15", ""),
    ("2027-01-01", ""),
    ("2026-02-01", ""),
    ("", "2026-06-20"),
    ("", "2026-04-01"),
    ("", "2026-12-01"),
)
TIMEBOXED = (
    *(_validity("timeboxed", None, start, end) for start, end in _WINDOWS),
    _validity("timeboxed", {"env": "prod"}, "2026-02-01", "2026-08-01"),
)

# Names are in lower case, because a capitalised word of a text is looked up as a name.
NAMES = st.sampled_from(["ada", "ada", "ada", " áda ", "ada byron", "bo"])
TYPES = st.sampled_from([None, None, "Person", "Project"])
MAILS = st.lists(st.sampled_from(["ada@x.example", "ADA@x.example", "bo@x.example"]), max_size=1)
VALUES = st.one_of(st.integers(1, 3), st.sampled_from(["acme", "acme", "acme gmbh", "blue", "bo"]))
ALIASES = st.lists(st.sampled_from(["ada", "ada byron", "bo", "acme", "acme gmbh"]), max_size=1)

_position = st.integers(0, 9)
_evidence = st.lists(st.one_of(st.sampled_from(["x", "y"]), _position), max_size=2, unique=True)
_validities = weighted((4, st.just(GLOBAL)), (3, st.sampled_from(TIMEBOXED)), (2, st.sampled_from(CONDITIONAL)))
_where = {
    "scope": st.sampled_from([None, None, None, "s", "s", "t"]),
    "sensitivity": st.sampled_from([None, None, None, Sensitivity.MEDIUM, Sensitivity.HIGH]),
}
_mention = st.fixed_dictionaries({"type": TYPES, "emails": MAILS, "aliases": ALIASES})
_fact: dict[str, st.SearchStrategy[Any]] = {
    "subject": NAMES,
    "predicate": st.sampled_from(["p", "p", "p", "q", "Works At", "colour", "age"]),
    "object": VALUES,
    "validity": _validities,
    "evidence": _evidence,
}
_changed = _fact | {"evidence": st.sampled_from([[], ["x"], ["y"], [0], [1], [2], [5], ["x", 0], [3, 8]])}
_expected = st.sampled_from([None, None, None, "right", "right", "stale"])
_ago = st.sampled_from([None, None, None, timedelta(seconds=30), timedelta(days=1), timedelta(days=100)])


def _draft(kind: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Draft]:
    return st.fixed_dictionaries({"kind": st.just(kind), **fields})


ANY_RECORD = {"position": _position, "expected": _expected}
OBSERVE = _draft(
    "observe",
    **_fact,
    **_where,
    policy=st.sampled_from([None, None, "replace", "replace", "fork", "contest"]),
    mention=st.one_of(st.none(), st.none(), _mention),
    object_type=st.sampled_from([None, None, None, "Organization"]),
    ago=_ago,
)
# Most facts are about one slot, so that they meet.
MEET = _draft(
    "observe",
    subject=st.sampled_from(["ada", " áda "]),
    predicate=st.sampled_from(["p", "p", "P", "age"]),
    object=st.sampled_from([1, 2, 3, "acme", "acme gmbh"]),
    validity=_validities,
    evidence=_evidence,
    scope=st.none(),
    sensitivity=st.none(),
    policy=st.sampled_from([None, "replace", "contest"]),
    mention=st.none(),
    object_type=st.sampled_from([None, None, "Organization"]),
    ago=_ago,
)
INTRODUCE = _draft(
    "introduce",
    name=st.sampled_from(["ada", "ada byron", "bo", "acme"]),
    type=TYPES,
    emails=MAILS,
    aliases=ALIASES,
    summary=st.sampled_from([None, "one", "two"]),
    **_where,
)
HAPPEN = _draft("event", thread=st.sampled_from([None, "t"]), **_where)
WORK = _draft(
    "work",
    thread=st.sampled_from(["t", "u"]),
    state=st.sampled_from(["planning", "executing"]),
    context_summary=st.sampled_from(["", None, "so far"]),
    **_where,
)
FACTS = weighted((3, MEET), (2, OBSERVE))
CAPTURES = weighted((6, MEET), (5, OBSERVE), (3, INTRODUCE), (1, HAPPEN), (1, WORK))
FORK = _draft("fork", object=VALUES, validity=st.sampled_from(CONDITIONAL), evidence=_changed["evidence"], **ANY_RECORD)
RESOLVE = _draft("resolve_contest", winner=st.sampled_from([None, "itself", "other"]), other=_position, **ANY_RECORD)
JOIN = _draft("join", others=st.lists(_position, min_size=1, max_size=2), **ANY_RECORD)
EDIT = _draft(
    "edit",
    changes=st.sampled_from(
        [
            {"summary": "edited"},
            {"summary": None},
            {"canonical_name": "ada"},
            {"aliases": [{"value": "bo"}]},
            {"aliases": None},
            {"identifiers": [{"namespace": "email", "value": "bo@x.example"}]},
            {"identifiers": None},
            {"primary_type": "Person"},
        ]
    ),
    **ANY_RECORD,
)
SALIENCE = st.one_of(
    _draft("reinforce", **ANY_RECORD),
    _draft("penalize", amount=st.sampled_from([0.0, 0.05, 0.3, 2.0]), **ANY_RECORD),
    _draft("pin", pinned=st.booleans(), **ANY_RECORD),
)
REVISIONS = weighted(
    (3, _draft("supersede", **_changed, **ANY_RECORD)),
    (1, FORK),
    (2, _draft("contest", by=st.one_of(st.none(), _position), **ANY_RECORD)),
    (3, RESOLVE),
    (3, _draft("retract", **ANY_RECORD)),
    (2, _draft("merge", others=st.lists(_position, min_size=1, max_size=2), **ANY_RECORD)),
    (2, _draft("delete", **ANY_RECORD)),
    (2, JOIN),
    (2, EDIT),
    (2, SALIENCE),
)
KEYS = st.sampled_from([None] * 12 + ["k1", "k2", "k3", "k4"])
CALLERS = st.sampled_from([0] * 12 + [1, 2, 3])


def request_of(model: Model, draft: Draft, key: str | None, now: datetime) -> Request | None:
    """Return the request that a draft stands for, or None where there is no record at its position."""
    kind = draft["kind"]
    if kind in _CAPTURES:
        return replace(_CAPTURES[kind](model, draft, now), idempotency_key=key)
    only = {
        "join": (ENTITY,),
        "edit": (ENTITY,),
        "fork": (FACT, EVENT),
        "contest": (FACT, EVENT),
        "resolve_contest": (FACT, EVENT),
    }
    item = _at(model, draft["position"], only.get(kind), CONTESTED if kind == "resolve_contest" else None)
    if item is None:
        return None
    version = {None: None, "right": item.version, "stale": item.version + 1}
    common = {
        "record_id": item.id,
        "rationale": "so it is",
        "expected_version": version[draft["expected"]],
        "idempotency_key": key,
    }
    return _REVISIONS[kind](model, draft, item, common)


def _at(model: Model, position: int, only: tuple[str, ...] | None = None, state: str | None = None) -> Item | None:
    """Return the record at a position: usually a current fact, newest first; sometimes any record."""
    all_ = [item for item in model.state.items.values() if only is None or item.type in only]
    wanted = (state,) if state else CURRENT
    current = [item for item in all_ if item.type == FACT and item.state in wanted]
    items = current if current and position < 8 else all_
    return items[-1 - position % len(items)] if items else None


def content_of(draft: Draft) -> Json:

    return {
        "subject": draft["subject"],
        "predicate": fold_predicate(draft["predicate"]),
        "object": draft["object"],
        "validity": draft["validity"],
    }


def _mention_of(name: str, draft: Draft) -> Json:
    identifiers = [{"namespace": "email", "value": value} for value in draft["emails"]]
    return {
        "name": name,
        **({"type": draft["type"]} if draft["type"] else {}),
        **({"aliases": draft["aliases"]} if draft["aliases"] else {}),
        **({"identifiers": identifiers} if identifiers else {}),
    }


def _observe(model: Model, draft: Draft, now: datetime) -> CaptureRequest:
    where = draft["scope"] or "", int(draft["sensitivity"] or Sensitivity.LOW)
    content = {**content_of(draft), "predicate": draft["predicate"], "evidence": _evidence_of(model, draft, where)}
    content |= {"revision_policy": draft["policy"]} if draft["policy"] else {}
    content |= (
        {"object_type": draft["object_type"]} if draft["object_type"] and isinstance(draft["object"], str) else {}
    )
    mention = draft["mention"]
    return CaptureRequest(
        source="test",
        source_kind=SourceKind.OBSERVATION,
        content=content,
        context={"mentions": [_mention_of(draft["subject"], mention)]} if mention is not None else None,
        scope=draft["scope"],
        sensitivity=draft["sensitivity"],
        timestamp=None if draft["ago"] is None else now - draft["ago"],
    )


def _introduce(model: Model, draft: Draft, now: datetime) -> CaptureRequest:
    identifiers = [{"namespace": "email", "value": value} for value in draft["emails"]]
    content = {
        "canonical_name": draft["name"],
        **({"primary_type": draft["type"]} if draft["type"] else {}),
        **({"aliases": [{"value": alias} for alias in draft["aliases"]]} if draft["aliases"] else {}),
        **({"identifiers": identifiers} if identifiers else {}),
        **({"summary": draft["summary"]} if draft["summary"] else {}),
    }
    return CaptureRequest(
        source="test",
        source_kind=SourceKind.OBSERVATION,
        proposed_type=MemoryType.ENTITY,
        content=content,
        scope=draft["scope"],
        sensitivity=draft["sensitivity"],
    )


def _happen(model: Model, draft: Draft, now: datetime) -> CaptureRequest:
    content = {"event_kind": "noted", **({"thread_id": draft["thread"]} if draft["thread"] else {})}
    return CaptureRequest(
        source="test",
        source_kind=SourceKind.EVENT,
        content=content,
        scope=draft["scope"],
        sensitivity=draft["sensitivity"],
    )


def _work(model: Model, draft: Draft, now: datetime) -> CaptureRequest:
    summary = draft["context_summary"]
    return CaptureRequest(
        source="test",
        source_kind=SourceKind.WORKING_STATE,
        content={
            "thread_id": draft["thread"],
            "state": draft["state"],
            **({} if summary == "" else {"context_summary": summary}),
        },
        scope=draft["scope"],
        sensitivity=draft["sensitivity"],
    )


_CAPTURES: dict[str, Callable[[Model, Draft, datetime], CaptureRequest]] = {
    "observe": _observe,
    "introduce": _introduce,
    "event": _happen,
    "work": _work,
}


def _evidence_of(model: Model, draft: Draft, where: Scope) -> list[Json]:
    """Return the evidence of a fact: usually records that may support one of its scope and sensitivity."""
    evidence: list[Json] = []
    for one in draft["evidence"]:
        if isinstance(one, str):
            evidence.append({"kind": "human", "ref": one})
            continue
        items = [item for item in model.state.items.values() if item.type in (FACT, EVENT)]
        fit = [item for item in items if item.scope in (where[0], "") and item.sensitivity <= where[1]]
        chosen = fit if fit and one < 8 else items
        if chosen:
            evidence.append({"source_type": "observation", "source_id": str(chosen[-1 - one % len(chosen)].id)})
    return evidence


def _edit(model: Model, draft: Draft, item: Item, common: Json) -> Request:
    return Supersede(payload=draft["changes"], **common)


def _supersede(model: Model, draft: Draft, item: Item, common: Json) -> Request:
    if item.type == ENTITY:
        return Supersede(payload={"summary": "seen"}, **common)
    payload = {**item.content, "state": "done"} if item.type == WORKING else content_of(draft)
    return Supersede(payload=payload, evidence=tuple(_evidence_of(model, draft, item.where)), **common)


def _fork(model: Model, draft: Draft, item: Item, common: Json) -> Request:
    return Fork(
        payload={"object": draft["object"]},
        conditions=draft["validity"]["conditions"],
        evidence=tuple(_evidence_of(model, draft, item.where)),
        **common,
    )


def _contest(model: Model, draft: Draft, item: Item, common: Json) -> Request:
    other = None if draft["by"] is None else _at(model, draft["by"], (FACT, EVENT))
    if other is None:
        return Contest(evidence=({"kind": "human", "ref": "x"},), **common)
    return Contest(contesting_id=other.id, **common)


def _resolve(model: Model, draft: Draft, item: Item, common: Json) -> Request:
    winner: UUID | None = item.id if draft["winner"] == "itself" else None
    if draft["winner"] == "other":
        others = sorted(model.state.parties(item.id) - {item.id})
        winner = others[draft["other"] % len(others)] if others else item.id
    return ResolveContest(winner_id=winner, **common)


def _merge(model: Model, draft: Draft, item: Item, common: Json) -> Request | None:
    alike = [one for one in model.state.current(item.type) if one.where == item.where and one.id != item.id]
    found = [
        alike[-1 - position % len(alike)] if alike and position < 8 else _at(model, position)
        for position in draft["others"]
    ]
    others = dict.fromkeys(one.id for one in found if one is not None and one.id != item.id)
    return Merge(others=tuple(others), **common) if others else None


_REVISIONS: dict[str, Callable[[Model, Draft, Item, Json], Request | None]] = {
    "supersede": _supersede,
    "fork": _fork,
    "contest": _contest,
    "resolve_contest": _resolve,
    "merge": _merge,
    "join": _merge,
    "edit": _edit,
    "retract": lambda _model, _draft, _item, common: Retract(**common),
    "delete": lambda _model, _draft, _item, common: Delete(**common),
    "reinforce": lambda _model, _draft, _item, common: Reinforce(**common),
    "penalize": lambda _model, draft, _item, common: Penalize(amount=draft["amount"], **common),
    "pin": lambda _model, draft, _item, common: Pin(pinned=draft["pinned"], **common),
}
