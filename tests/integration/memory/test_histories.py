"""Random histories of captures and revisions on several connections, compared with tests/model_memory.py.

`make soak` runs 10,000 steps.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any, ClassVar
from uuid import UUID, uuid4

import networkx as nx
import pytest
from fix_memory import ManualClock, trust_of
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from model_memory import (
    CONTESTED,
    CURRENT,
    EVENT,
    FACT,
    WORKING,
    Impossible,
    Item,
    Model,
    Names,
    Refused,
    Request,
)
from sqlalchemy import text

from stratagraph.memory import propagation
from stratagraph.memory.capture.policy import Policy
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.capture.service import Capture, Captured
from stratagraph.memory.engines.service import Engines
from stratagraph.memory.lookup import Lookup
from stratagraph.memory.reevaluating import reevaluate_due
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.retrieve.service import Retrieve
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
from stratagraph.memory.revise.service import Revised, Revision
from stratagraph.store.audit.verification import verify_chains
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.master import LocalMasterKey
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.model.enums import MemoryType, RecordState, SourceKind
from stratagraph.store.model.errors import StratagraphError
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Database

CONNECTIONS = 3
VALIDITIES: tuple[dict[str, Any], ...] = (
    {"mode": "global"},
    {"mode": "conditional", "conditions": {"env": "prod"}},
    {"mode": "conditional", "conditions": {"env": "dev"}},
    {"mode": "conditional", "conditions": {"env": ["dev", "test"]}},
    {"mode": "conditional", "conditions": {"region": "eu"}},
    {"mode": "timeboxed", "start": "2026-01-01T00:00:00Z", "end": "2026-07-01T00:00:00Z"},
    {"mode": "timeboxed", "start": "2026-07-01T00:00:00Z", "end": "2027-01-01T00:00:00Z"},
)
LATE = timedelta(milliseconds=1)  # longer than the microseconds that separate writes of one instant

_RECORDS = """
SELECT r.id, r.type, r.state, r.version, r.row_version, r.updated_at, r.payload, r.provenance,
  s.s, s.t0, s.half_life_s, s.pinned
FROM record r JOIN salience s ON s.tenant = r.tenant AND s.id = r.id
WHERE r.tenant = :tenant AND r.type IN (1, 2, 4)
"""
_RELATIONS = """
SELECT p.name, e.source, e.target FROM relation e JOIN predicate p ON p.tenant = e.tenant AND p.id = e.predicate
WHERE e.tenant = :tenant AND e.ended_at IS NULL AND p.name IN ('derived_semantic', 'contested_by', 'supersedes')
"""
_AUDIT = """
SELECT a.id, array_agg(a.action ORDER BY a.seq) AS actions, array_agg(a.seq ORDER BY a.seq) AS numbers
FROM audit a WHERE a.tenant = :tenant GROUP BY a.id
"""
_DOUBLES = """
SELECT count(*) FROM (SELECT FROM record WHERE tenant = :tenant AND type = 4 AND state = 1
  GROUP BY scope, sensitivity, fact_key HAVING count(*) > 1) doubled
"""


@dataclass(slots=True)
class Site:
    """One server process: its own connection pool and its own cache of names."""

    database: Database
    directory: Directory
    capture: Capture
    revision: Revision
    lookup: Lookup
    retrieve: Retrieve


@dataclass(slots=True)
class SharedState:
    """The database and the event loop that all histories use; each history has a tenant of its own."""

    runner: asyncio.Runner
    clock: ManualClock
    sites: list[Site] = field(default_factory=list)
    histories: int = 0
    steps: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)

    async def open(self, url: str, stack: AsyncExitStack) -> None:
        for _ in range(CONNECTIONS):
            database = await stack.enter_async_context(Database(url))
            directory = Directory(database, Vault(database, LocalMasterKey(bytes(32))))
            self.sites.append(
                Site(
                    database,
                    directory,
                    Capture(database, directory, self.clock, Policy()),
                    Revision(database, directory, self.clock),
                    Lookup(database, directory, self.clock),
                    Retrieve(database, directory, self.clock, Engines()),
                )
            )


# A step before the ids of the records are known: it names a record by its position, counted from the newest.
Draft = dict[str, Any]
_position = st.integers(0, 9)
_evidence = st.lists(st.one_of(st.sampled_from(["x", "y"]), _position), max_size=2, unique=True)
_fact = {
    "subject": st.sampled_from(["a", "b"]),
    "predicate": st.sampled_from(["p", "q"]),
    "object": st.integers(1, 3),
    "validity": st.sampled_from([0, 0, *range(len(VALIDITIES))]),
    "evidence": _evidence,
}
_changed = _fact | {"evidence": st.sampled_from([[], ["x"], ["y"], [0], [1], [2], [5], ["x", 0], [3, 8]])}
_expected = st.sampled_from([None, None, None, "right", "right", "stale"])


def _draft(kind: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Draft]:
    return st.fixed_dictionaries({"kind": st.just(kind), **fields})


OBSERVE = _draft("observe", **_fact, policy=st.sampled_from([None, None, "replace", "fork", "contest"]))
ANY_FACT = {"position": _position, "expected": _expected}
CAPTURES = st.one_of(
    OBSERVE,
    OBSERVE,
    OBSERVE,
    OBSERVE,
    _draft("event", thread=st.sampled_from([None, "t"])),
    _draft("work", thread=st.sampled_from(["t", "u"]), state=st.sampled_from(["planning", "executing"])),
)
REVISIONS = st.one_of(
    _draft("supersede", **_changed, **ANY_FACT),
    _draft("fork", object=_fact["object"], validity=st.integers(1, 4), evidence=_changed["evidence"], **ANY_FACT),
    _draft("contest", by=st.one_of(st.none(), _position), **ANY_FACT),
    _draft("resolve_contest", winner=st.sampled_from([None, "itself", "other"]), other=_position, **ANY_FACT),
    _draft("retract", **ANY_FACT),
    _draft("merge", others=st.lists(_position, min_size=1, max_size=2), **ANY_FACT),
    _draft("delete", **ANY_FACT),
)
SALIENCE = st.one_of(
    _draft("reinforce", **ANY_FACT),
    _draft("penalize", amount=st.sampled_from([0.0, 0.05, 0.3, 2.0]), **ANY_FACT),
    _draft("pin", pinned=st.booleans(), **ANY_FACT),
)
DRAFTS = st.one_of(CAPTURES, CAPTURES, REVISIONS, REVISIONS, SALIENCE)
KEYS = st.sampled_from([None] * 12 + ["k1", "k2", "k3", "k4"])


class Histories(RuleBasedStateMachine):
    """Applies each step to the store and to the model, then compares every record, relation and audit entry."""

    shared: ClassVar[SharedState]

    def __init__(self) -> None:
        super().__init__()
        self.model = Model()
        self.trust: Trust = trust_of(tenant=f"history-{self.shared.histories}-{uuid4().hex[:8]}")
        self.tenant = 0
        self.keyed: dict[str, Request] = {}
        self.past: list[tuple[datetime, Model]] = []
        self.seen: dict[UUID, tuple[int, datetime]] = {}
        self.shared.histories += 1

    @initialize(drafts=st.lists(OBSERVE, min_size=2, max_size=4))
    def begin(self, drafts: list[Draft]) -> None:
        found = self._run(self.shared.sites[0].directory.resolve(self.trust))
        self.tenant = found.tenant.id
        self.model.now = self.shared.clock.now()
        for draft in drafts:
            self._execute([self._request(draft, None)], 0)

    # Steps

    @rule(draft=CAPTURES, key=KEYS, site=st.integers(0, CONNECTIONS - 1))
    def capture(self, draft: Draft, key: str | None, site: int) -> None:
        self._execute([self._request(draft, key)], site)

    @rule(draft=REVISIONS, key=KEYS, site=st.integers(0, CONNECTIONS - 1))
    def revise(self, draft: Draft, key: str | None, site: int) -> None:
        self._execute([self._request(draft, key)], site)

    @rule(draft=SALIENCE, key=KEYS, site=st.integers(0, CONNECTIONS - 1))
    def weigh(self, draft: Draft, key: str | None, site: int) -> None:
        self._execute([self._request(draft, key)], site)

    @rule(drafts=st.lists(DRAFTS, min_size=2, max_size=3), key=KEYS, site=st.integers(0, CONNECTIONS - 1))
    def at_once(self, drafts: list[Draft], key: str | None, site: int) -> None:
        self._execute([self._request(draft, key if number == 0 else None) for number, draft in enumerate(drafts)], site)

    @rule(which=st.integers(0, 3), twice=st.booleans(), site=st.integers(0, CONNECTIONS - 1))
    def again(self, which: int, twice: bool, site: int) -> None:
        """Repeat an earlier request with its idempotency key, possibly on two connections at once."""
        known = sorted(self.keyed)
        if known:
            request = self.keyed[known[which % len(known)]]
            self._execute([request, request] if twice else [request], site)

    @rule(by=st.sampled_from([1, 60, 1_790, 1_810, 7_200, 86_400, 20 * 86_400]))
    def time_passes(self, by: int) -> None:
        self._count()
        self.past = [*self.past[-4:], (self.shared.clock.now() + timedelta(milliseconds=500), self.model.copy())]
        self.shared.clock.forward(timedelta(seconds=by))
        self.model.now = self.shared.clock.now()
        self._compare_now()

    @rule(
        subject=_fact["subject"],
        position=_position,
        then=st.none() | st.integers(0, 4),
        site=st.integers(0, CONNECTIONS - 1),
    )
    def read(self, subject: str, position: int, then: int | None, site: int) -> None:
        """Retrieve the current records about a subject, or read one record as of a past instant."""
        ids = [*self.model.items, *self.model.tombstones]
        self._count()
        if then is None or not self.past or not ids:
            self._retrieve(subject, site)
            return
        instant, model = self.past[then % len(self.past)]
        id_ = ids[position % len(ids)]
        found = self._run(self.shared.sites[site].lookup.record(self.trust, id_, as_of=instant))
        item = model.items.get(id_)
        if item is None or id_ in self.model.tombstones:
            assert found is None
            return
        assert found is not None
        assert (found.state.label, found.version) == (item.state, item.version)
        assert found.salience == pytest.approx(item.salience(instant), abs=1e-8)
        if item.type == FACT:
            assert found.payload is not None
            assert {key: found.payload[key] for key in item.content} == item.content

    def _retrieve(self, subject: str, site: int) -> None:
        """Check that every returned record is current in the model."""
        request = RetrieveRequest(task_descriptor=f"{subject} p q prod dev", root_limit=100, node_limit=100)
        answer = self._run(self.shared.sites[site].retrieve.retrieve(self.trust, request))
        for node in answer.nodes:
            item = self.model.items.get(node.record.id)
            if item is not None:
                assert item.state in CURRENT
                assert node.record.state.label == item.state

    # Executing and comparing

    def _run(self, coroutine: Any) -> Any:
        return self.shared.runner.run(coroutine)

    def _count(self) -> None:
        self.shared.steps += 1

    def _execute(self, drafted: Sequence[Request | None], site: int) -> None:
        requests = [request for request in drafted if request is not None]
        if not requests or may_form_a_cycle(self.model, requests):
            return
        self._count()
        answers = self._run(self._all(requests, site))
        for request, answer in zip(requests, answers, strict=True):
            how = type(answer).__name__ if isinstance(answer, StratagraphError) else "done"
            self.shared.outcomes[f"{_kind(request)}: {how}"] += 1
        for request in requests:
            if request.idempotency_key is not None:
                self.keyed.setdefault(request.idempotency_key, request)
        found = self._run(self._observed())
        differences = []
        for order in permutations(range(len(requests))):
            model = self.model.copy()
            different = _replay(model, [(requests[position], answers[position]) for position in order])
            different = different or _differences(model, found)
            if different is None:
                self.model = model
                return
            differences.append(f"in the order {order}: {different}")
        asked = "\n".join(f"  {request} -> {answer!r}" for request, answer in zip(requests, answers, strict=True))
        raise AssertionError("no order of\n" + asked + "\nleads to the state of the store:\n" + "\n".join(differences))

    async def _all(self, requests: Sequence[Request], site: int) -> list[Captured | Revised | StratagraphError]:
        return await asyncio.gather(*(self._ask(request, site + position) for position, request in enumerate(requests)))

    async def _ask(self, request: Request, site: int) -> Captured | Revised | StratagraphError:
        position = self.shared.sites[site % CONNECTIONS]
        try:
            if isinstance(request, CaptureRequest):
                return (await position.capture.capture(self.trust, [request]))[0]
            return await position.revision.revise(self.trust, request)
        except StratagraphError as error:
            return error

    def _compare_now(self) -> None:
        different = _differences(self.model, self._run(self._observed()))
        assert different is None, different

    async def _observed(self) -> dict[str, Any]:
        site = self.shared.sites[0]
        later = self.shared.clock.now() + LATE
        while (await reevaluate_due(site.database, site.directory, now=later, batch=100)).due:
            pass
        async with site.database.engine.begin() as connection:
            found: dict[str, Any] = {}
            for name, statement in (
                ("records", _RECORDS),
                ("relations", _RELATIONS),
                ("audit", _AUDIT),
                ("doubles", _DOUBLES),
            ):
                found[name] = (await connection.execute(text(statement), {"tenant": self.tenant})).mappings().all()
        for row in found["records"]:
            before = self.seen.get(row["id"])
            if before is not None and before[0] != row["row_version"]:
                assert row["updated_at"] > before[1], f"{row['id']}: updated_at did not increase"
            self.seen[row["id"]] = (row["row_version"], row["updated_at"])
        return found

    def teardown(self) -> None:
        if self.tenant:
            site = self.shared.sites[0]
            found = self._run(verify_chains(site.database, site.directory.vault, tenant=self.trust.tenant))
            assert found.whole, found.problems

    # From drafts to requests

    def _request(self, draft: Draft, key: str | None) -> Request | None:
        kind = draft["kind"]
        if kind in ("observe", "event", "work"):
            return replace(self._capture(draft), idempotency_key=key)
        only = {"fork": (FACT, EVENT), "contest": (FACT, EVENT), "resolve_contest": (FACT, EVENT)}.get(kind)
        id_ = self._at(draft["position"], only, CONTESTED if kind == "resolve_contest" else None)
        if id_ is None:
            return None
        version = {None: None, "right": self.model.items[id_].version, "stale": self.model.items[id_].version + 1}
        common = {
            "record_id": id_,
            "rationale": "so it is",
            "expected_version": version[draft["expected"]],
            "idempotency_key": key,
        }
        return _REVISIONS[kind](self, draft, common)

    def _at(self, position: int, only: tuple[str, ...] | None = None, state: str | None = None) -> UUID | None:
        """The id at a position: usually of a current fact, newest first; sometimes of any record."""
        all_ = [id_ for id_, item in self.model.items.items() if only is None or item.type in only]
        facts = [id_ for id_ in all_ if self.model.items[id_].type == FACT]
        current = [id_ for id_ in facts if self.model.items[id_].state in ((state,) if state else CURRENT)]
        ids = current if current and position < 8 else all_
        return ids[-1 - position % len(ids)] if ids else None

    def _capture(self, draft: Draft) -> CaptureRequest:
        match draft["kind"]:
            case "observe":
                content = _content(draft) | {"evidence": self._evidence(draft)}
                content |= {"revision_policy": draft["policy"]} if draft["policy"] else {}
                kind = SourceKind.OBSERVATION
            case "event":
                content = {"event_kind": "noted"} | ({"thread_id": draft["thread"]} if draft["thread"] else {})
                kind = SourceKind.EVENT
            case _:
                content = {"thread_id": draft["thread"], "state": draft["state"]}
                kind = SourceKind.WORKING_STATE
        return CaptureRequest(source="test", source_kind=kind, content=content)

    def _evidence(self, draft: Draft) -> list[dict[str, Any]]:
        evidence = []
        for one in draft["evidence"]:
            id_ = self._at(one, (FACT, EVENT)) if isinstance(one, int) else None
            if id_ is not None:
                evidence.append({"source_type": "observation", "source_id": str(id_)})
            elif isinstance(one, str):
                evidence.append({"kind": "human", "ref": one})
        return evidence

    def _supersede(self, draft: Draft, common: dict[str, Any]) -> Request:
        if self.model.items[common["record_id"]].type == WORKING:
            payload = {**self.model.items[common["record_id"]].content, "state": "done"}
        else:
            payload = _content(draft)
        return Supersede(payload=payload, evidence=tuple(self._evidence(draft)), **common)

    def _fork(self, draft: Draft, common: dict[str, Any]) -> Request:
        return Fork(
            payload={"object": draft["object"]},
            conditions=VALIDITIES[draft["validity"]]["conditions"],
            evidence=tuple(self._evidence(draft)),
            **common,
        )

    def _contest(self, draft: Draft, common: dict[str, Any]) -> Request:
        if draft["by"] is None:
            return Contest(evidence=({"kind": "human", "ref": "x"},), **common)
        return Contest(contesting_id=self._at(draft["by"], (FACT, EVENT)), **common)

    def _resolve(self, draft: Draft, common: dict[str, Any]) -> Request:
        id_ = common["record_id"]
        winner = id_ if draft["winner"] == "itself" else None
        if draft["winner"] == "other":
            ends = {end for pair in self.model.disputes if id_ in pair for end in pair} - {id_}
            winner = sorted(ends)[draft["other"] % len(ends)] if ends else self._at(draft["other"])
        return ResolveContest(winner_id=winner, **common)

    def _merge(self, draft: Draft, common: dict[str, Any]) -> Request | None:
        others = dict.fromkeys(id_ for position in draft["others"] if (id_ := self._at(position)) is not None)
        others.pop(common["record_id"], None)
        return Merge(others=tuple(others), **common) if others else None


_REVISIONS: dict[str, Callable[[Histories, Draft, dict[str, Any]], Request | None]] = {
    "supersede": Histories._supersede,
    "fork": Histories._fork,
    "contest": Histories._contest,
    "resolve_contest": Histories._resolve,
    "retract": lambda _, __, common: Retract(**common),
    "merge": Histories._merge,
    "delete": lambda _, __, common: Delete(**common),
    "reinforce": lambda _, __, common: Reinforce(**common),
    "penalize": lambda _, draft, common: Penalize(amount=draft["amount"], **common),
    "pin": lambda _, draft, common: Pin(pinned=draft["pinned"], **common),
}


def _content(draft: Draft) -> dict[str, Any]:
    said = {key: draft[key] for key in ("subject", "predicate", "object")}
    return {**said, "validity": VALIDITIES[draft["validity"]]}


def _replay(model: Model, asked: Sequence[tuple[Request, Captured | Revised | StratagraphError]]) -> str | None:
    """Apply the requests to the model in this order; return the first answer that differs, or None."""
    for request, answer in asked:
        try:
            current, replayed = model.apply(request, _names(model, answer))
        except Refused as refused:
            if type(answer) is not refused.error:
                return f"{type(request).__name__}: expected {refused.error.__name__}"
            continue
        except Impossible as impossible:
            return str(impossible)
        if isinstance(answer, StratagraphError):
            return f"{type(request).__name__}: expected no {type(answer).__name__} ({answer})"
        primary = answer.primary if isinstance(answer, Captured) else answer.record
        if (primary.id, answer.replayed) != (current, replayed):
            return f"{type(request).__name__}: expected {current}, replayed {replayed}"
    return None


def _kind(request: Request) -> str:
    return request.source_kind.value if isinstance(request, CaptureRequest) else request.kind


def _names(model: Model, answer: Captured | Revised | StratagraphError) -> Names:
    if isinstance(answer, StratagraphError):
        return Names(record=uuid4(), event=uuid4(), episode=uuid4(), candidate="")
    primary = answer.primary if isinstance(answer, Captured) else answer.record
    made = answer.created if isinstance(answer, Captured) else answer.records
    events = [one.id for one in made if one.type is MemoryType.EPISODIC and one.id not in (*model.items, primary.id)]
    beside = events[0] if events else uuid4()
    return Names(record=primary.id, event=beside, episode=beside, candidate=str(answer.candidate))


def _differences(model: Model, found: dict[str, Any]) -> str | None:
    """Return the first difference between the store and the model, or None."""
    rows = {row["id"]: row for row in found["records"]}
    audit = {row["id"]: list(row["actions"]) for row in found["audit"]}
    if rows.keys() != model.items.keys():
        return f"records: {rows.keys() ^ model.items.keys()}"
    differences = [_difference(model, item, rows[id_], audit[id_]) for id_, item in model.items.items()]
    differences += [
        f"{id_}: audit of the deleted record is {audit.get(id_)}, expected {actions}"
        for id_, actions in model.tombstones.items()
        if audit.get(id_) != actions
    ]
    for name, edges in (
        ("derived_semantic", model.derived),
        ("contested_by", model.disputes),
        ("supersedes", model.replaced),
    ):
        there = {(row["source"], row["target"]) for row in found["relations"] if row["name"] == name}
        differences.append(f"{name}: {there ^ edges}" if there != edges else None)
    if any(list(row["numbers"]) != list(range(1, len(row["numbers"]) + 1)) for row in found["audit"]):
        differences.append("audit: numbers are missing")
    if found["doubles"][0]["count"]:
        differences.append("two active facts have the same content")
    return next((one for one in differences if one is not None), None)


def _difference(model: Model, item: Item, row: Any, actions: list[str]) -> str | None:
    now = {"state": RecordState(row["state"]).label, "version": row["version"], "pinned": row["pinned"]}
    expected: dict[str, Any] = {"state": item.state, "version": item.version, "pinned": item.pinned}
    if item.type != EVENT:
        now |= {key: row["payload"].get(key) for key in item.content} | {"audit": actions}
        expected |= {**item.content, "audit": item.audit}
    if item.type == FACT:
        now["superseded_by"] = (row["payload"].get("revision") or {}).get("superseded_by")
        expected["superseded_by"] = None if item.superseded_by is None else str(item.superseded_by)
        now["sources"] = {source["ref"] for source in row["provenance"]["sources"]}
        expected["sources"] = item.sources
    if now != expected:
        keys = [key for key in expected if now[key] != expected[key]]
        return f"{item.id}: " + ", ".join(f"{key} is {now[key]!r}, expected {expected[key]!r}" for key in keys)
    elapsed = 0.0 if row["pinned"] else max(0.0, (model.now - row["t0"]).total_seconds())
    value = row["s"] * 2.0 ** (-elapsed / row["half_life_s"])
    if abs(value - item.salience(model.now)) > 1e-9:
        return f"{item.id}: salience is {value}, expected {item.salience(model.now)}"
    return None


def may_form_a_cycle(model: Model, requests: Sequence[Request]) -> bool:
    """Whether a step could make facts that support each other in a cycle, for which the rules say nothing."""
    for order in permutations(requests):
        tried = model.copy()
        for request in order:
            names = Names(record=uuid4(), event=uuid4(), episode=uuid4(), candidate="")
            with suppress(Refused):
                tried.apply(request, names)
        if _has_cycle(tried):
            return True
    return False


def _has_cycle(model: Model) -> bool:
    return not nx.is_directed_acyclic_graph(nx.DiGraph(model.derived))


# The explain phase would run a failing history hundreds of times more.
SMALL = settings(
    max_examples=12,
    stateful_step_count=40,
    deadline=None,
    phases=[phase for phase in Phase if phase is not Phase.explain],
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("budget", [propagation.BUDGET, 1], ids=["at once", "queued"])
def test_random_histories_agree_with_the_model(database_url: str, budget: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a budget of one, nearly all dependent records are updated through the queue of re-evaluations."""
    monkeypatch.setattr(propagation, "BUDGET", budget)
    size = SMALL
    if settings.get_current_profile_name() == "soak":
        asked = settings()
        size = settings(SMALL, max_examples=asked.max_examples, stateful_step_count=asked.stateful_step_count)
    with asyncio.Runner() as runner:
        shared = SharedState(runner, ManualClock(datetime(2026, 6, 1, 12, tzinfo=UTC)))
        monkeypatch.setattr(Histories, "shared", shared, raising=False)
        stack = AsyncExitStack()
        try:
            runner.run(shared.open(database_url, stack))
            run_state_machine_as_test(Histories, settings=size)
        finally:
            runner.run(stack.aclose())
    print(f"\n{shared.histories} histories, {shared.steps} steps")
    for what, times in sorted(shared.outcomes.items()):
        print(f"{times:6} {what}")
