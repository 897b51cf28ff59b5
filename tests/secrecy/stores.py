"""Stores of records in every place and state, whose every field holds a mark that tells whose content it is.

What a store holds is read from the table of records after each step, so that it is known of every instant which
records were current, where, and when they held, by no code that answers a request.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from fix_memory import NOON
from hypothesis import strategies as st
from noninterference.jobs import run_jobs
from noninterference.steps import everything
from noninterference.stores import STEP, Bench
from sqlalchemy import text

from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.erase.request import Erase
from stratagraph.memory.revise.request import Contest, Delete, Merge, Retract, Revise, Supersede
from stratagraph.store.model.clock import rfc3339
from stratagraph.store.model.enums import MemoryType, Sensitivity, SourceKind
from stratagraph.store.model.errors import ConditionsOverlap, StratagraphError

Json = dict[str, Any]

SCOPES = ("", "project:amber", "project:birch")
NAMES = ("Alice Stone", "Acme Corp", "Quarry")
PREDICATES = ("lives_in", "knows")
WORDS = ("granite", "marble", "basalt")
SUPERSEDED = 3  # the least of the states that are not current

# Found in a text, each with the number of a step: a word that may show where the step's place may be read, one that may
# show while the record itself is current, and a tag, which redacted records have too.
PLACE_MARK, CURRENT_MARK, TAG_MARK = "zq{}q", "zs{}s", "zt{}t"


@dataclass(frozen=True, slots=True)
class Step:
    """A capture, and then the revision of an earlier record. `about` and `on` choose by position."""

    kind: str
    scope: str
    level: Sensitivity
    holds: str
    about: int
    revision: str | None
    on: int


STEPS = st.lists(
    st.builds(
        Step,
        kind=st.sampled_from(["fact", "fact", "fact", "fact", "turn", "event", "entity", "skill", "plan", "working"]),
        scope=st.sampled_from(SCOPES),
        level=st.sampled_from(list(Sensitivity)),
        holds=st.sampled_from(["always", "always", "before", "after", "between", "until later"]),
        about=st.integers(0, 20),
        revision=st.sampled_from([None, None, None, "retract", "supersede", "delete", "erase", "contest", "merge"]),
        on=st.integers(0, 20),
    ),
    min_size=8,
    max_size=14,
)


@dataclass(frozen=True, slots=True)
class Row:
    """A record as the database has it at one instant."""

    scope: str
    level: int
    state: int
    since: datetime | None
    until: datetime | None
    never: bool

    def is_current(self, at: datetime) -> bool:
        """Return whether the record is part of the truth of `at`."""
        return (
            self.state < SUPERSEDED
            and not self.never
            and (self.since is None or self.since <= at)
            and (self.until is None or at < self.until)
        )


@dataclass
class MarkedStore:
    """A tenant filled by steps: the primary record of each, and all rows at each instant, the last one first."""

    tenant: str
    steps: list[Step]
    primary: dict[int, UUID] = field(default_factory=dict)
    snapshots: list[tuple[datetime, Mapping[UUID, Row]]] = field(default_factory=list)
    relations: Mapping[UUID, tuple[UUID, UUID]] = field(default_factory=dict)
    merged: set[int] = field(default_factory=set)  # steps whose content a merge took over
    sequence: str = ""
    revised: dict[str, int] = field(default_factory=dict)

    @property
    def now(self) -> Mapping[UUID, Row]:
        return self.snapshots[0][1]

    def rows_at(self, at: datetime) -> Mapping[UUID, Row]:
        """Return the rows as of an instant."""
        return next((rows for instant, rows in self.snapshots if instant <= at), {})

    def number_of(self, id_: UUID) -> int | None:
        return next((number for number, primary in self.primary.items() if primary == id_), None)


async def fill(bench: Bench, tenant: str, steps: list[Step]) -> MarkedStore:
    """Take the steps in a new tenant, run the background jobs, and fill the mirror if there is one."""
    store = MarkedStore(tenant, steps)
    for number, step in enumerate(steps):
        bench.ids.begin(number)
        await _capture(bench, store, number, step)
        bench.memory.clock.forward(STEP / 4)
        await _revise(bench, store, number, step)
        await _look(bench, store)
        if number == len(steps) - 3:  # so that the words and the mirror of some records are behind
            await settle(bench, store)
    bench.ids.begin(len(steps))
    return store


async def settle(bench: Bench, store: MarkedStore) -> None:
    """Run the background jobs, and bring the mirror up to date."""
    await run_jobs(bench.memory)
    await _look(bench, store)
    if bench.mirror is not None:
        while not (await bench.mirror.run_once()).idle:
            pass


async def _capture(bench: Bench, store: MarkedStore, number: int, step: Step) -> None:
    mark = PLACE_MARK.format(number)
    kind, content, proposed = _content(number, step)
    request = CaptureRequest(
        source=f"source {mark}",
        source_kind=kind,
        content=content,
        context={"mentions": [{"name": NAMES[step.about % 3], "aliases": [f"alias {mark}"]}, f"Firm {mark}"]}
        | ({"references": [str(_seen_below(store, step))]} if _seen_below(store, step) else {}),
        reason_to_remember=f"reason {mark}",
        proposed_type=proposed,
        summary=None if kind is SourceKind.WORKING_STATE else f"{CURRENT_MARK.format(number)} {mark}",
        tags=(TAG_MARK.format(number),),
        scope=step.scope,
        sensitivity=step.level,
        idempotency_key=f"key {mark}",
    )
    try:
        (made,) = await bench.memory.capture.capture(everything(store.tenant), [request])
    except ConditionsOverlap:  # a fork of a fact that holds under the same conditions
        return
    store.primary[number] = made.primary.id
    store.sequence = str(made.sequence)


def _content(number: int, step: Step) -> tuple[SourceKind, Json, MemoryType | None]:
    mark, own = PLACE_MARK.format(number), CURRENT_MARK.format(number)
    said = f"{own} {WORDS[step.about % 3]} {mark} of {NAMES[step.on % 3]}"
    names: Json = {"canonical_name": f"Works {mark}", "aliases": [{"value": f"Inc {mark}"}]}
    skill = {"skill_name": f"skill {mark}", "triggers": [{"signal": said, "conditions": {"env": mark}}]}
    nodes = [{"id": "a", "op": f"op {mark}"}, {"id": "b", "op": "ship"}]
    plan = {"plan_id": f"plan {mark}", "version": "1", "nodes": nodes, "intent": said, "constraints": {"env": mark}}
    working = {"thread_id": f"work {mark}", "state": "executing", "context_summary": said, "next_actions": [said]}
    kinds: dict[str, tuple[SourceKind, Json, MemoryType | None]] = {
        "fact": (SourceKind.OBSERVATION, _fact(step, own, mark) | _validity(step, number), None),
        "turn": (SourceKind.AGENT_TURN, {"role": "user", "text": said, "thread_id": "thread"}, None),
        "event": (SourceKind.EVENT, {"event_kind": "seen", "ref": mark, "summary": said, "thread_id": mark}, None),
        "entity": (
            SourceKind.OBSERVATION,
            names | {"identifiers": [{"namespace": "mail", "value": f"{mark}@x.example"}], "summary": said},
            MemoryType.ENTITY,
        ),
        "skill": (
            SourceKind.OBSERVATION,
            skill | {"recipe": [{"step": said, "tool": f"tool {mark}"}]},
            MemoryType.COMPETENCE,
        ),
        "plan": (
            SourceKind.OBSERVATION,
            plan | {"edges": [{"from": "a", "to": "b", "kind": "control"}]},
            MemoryType.PLAN_GRAPH,
        ),
        "working": (SourceKind.WORKING_STATE, working, None),
    }
    return kinds[step.kind]


def _fact(step: Step, value: str, mark: str) -> Json:
    return {
        "subject": NAMES[step.about % 3],
        "predicate": PREDICATES[step.about % 2],
        "object": {"said": f"{value} {mark}"},  # a text could become an entity of its own
        "evidence": [{"kind": "event", "ref": mark}],
        "revision_policy": ["replace", "contest", "fork"][step.on % 3],
        "conditions": {"env": [mark, "prod"]} if step.on % 4 == 0 else {},
    }


def _validity(step: Step, number: int) -> Json:
    """Return the stated validity; all instants lie between those of steps."""
    at = NOON + (number + 0.6) * STEP
    soon, late = rfc3339(at + 2 * STEP), rfc3339(at + timedelta(days=900))
    bounds = {
        "always": {},
        "before": {"start": rfc3339(at - timedelta(days=9)), "end": rfc3339(at - timedelta(days=2))},
        "after": {"start": late},
        "between": {"start": rfc3339(at - timedelta(days=9)), "end": soon},
        "until later": {"end": late},
    }[step.holds]
    return {"validity": {"mode": "timeboxed", **bounds}} if bounds else {}


def _seen_below(store: MarkedStore, step: Step) -> UUID | None:
    """Return an earlier record that everybody may read who may read what the step writes."""
    found = [
        id_
        for number, id_ in store.primary.items()
        if store.steps[number].scope in ("", step.scope) and store.steps[number].level <= step.level
    ]
    return found[step.about % len(found)] if found else None


async def _revise(bench: Bench, store: MarkedStore, number: int, step: Step) -> None:
    """Revise an earlier record as who may read everything; what the record's kind does not allow is left out."""
    if step.revision is None or not store.primary:
        return
    known = list(store.primary)
    aimed, other = known[step.on % len(known)], known[step.about % len(known)]
    target, trust = store.primary[aimed], everything(store.tenant)
    why = f"because {PLACE_MARK.format(aimed)}"
    request: Revise | Erase
    match step.revision:
        case "erase":
            request = Erase(record_id=target, rationale=why)
        case "retract":
            request = Retract(record_id=target, rationale=why)
        case "delete":
            request = Delete(record_id=target, rationale=why)
        case "contest":
            request = Contest(record_id=target, contesting_id=store.primary[other], rationale="doubtful")
        case "merge":
            request = Merge(record_id=target, others=(store.primary[other],), rationale="the same")
        case _:
            mark = PLACE_MARK.format(aimed)
            payload = _fact(store.steps[aimed], "corrected", mark)
            evidence = payload.pop("evidence")
            payload.pop("revision_policy")
            request = Supersede(record_id=target, payload=payload, evidence=tuple(evidence), rationale=why)
    try:
        if isinstance(request, Erase):
            await bench.memory.erasure.erase(trust, request)
        else:
            await bench.memory.revision.revise(trust, request)
    except StratagraphError:
        return
    store.revised[step.revision] = store.revised.get(step.revision, 0) + 1
    if step.revision == "merge":
        store.merged |= {aimed, other}


async def _look(bench: Bench, store: MarkedStore) -> None:
    """Note all rows and relations of the store as they are now."""
    records = """
    SELECT r.id, s.name AS scope, r.sensitivity, r.state, lower(r.validity) AS since, upper(r.validity) AS until,
      coalesce(isempty(r.validity), false) AS never
    FROM record r JOIN tenant t ON t.id = r.tenant JOIN scope s ON s.tenant = r.tenant AND s.id = r.scope
    WHERE t.name = :tenant
    """
    relations = (
        "SELECT e.id, e.source, e.target FROM relation e JOIN tenant t ON t.id = e.tenant WHERE t.name = :tenant"
    )
    async with bench.memory.database.engine.begin() as connection:
        found = await connection.execute(text(records), {"tenant": store.tenant})
        rows = {one.id: Row(one.scope, one.sensitivity, one.state, one.since, one.until, one.never) for one in found}
        ends = await connection.execute(text(relations), {"tenant": store.tenant})
        store.relations = {**store.relations, **{one.id: (one.source, one.target) for one in ends}}
    store.snapshots.insert(0, (bench.memory.clock.now(), rows))
