"""A model of memory in a few dictionaries, after docs/specification.md (Relations, Trust, Capture, Revision).

It takes the same requests as the store and returns the expected results. It has one tenant, one scope and one
sensitivity, and takes the time as an argument. A refused request changes nothing.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import combinations
from typing import Any
from uuid import UUID

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
    Revise,
    Supersede,
)
from stratagraph.store.model.enums import SourceKind
from stratagraph.store.model.errors import (
    ConditionsOverlap,
    EpisodicImmutable,
    EvidenceRequired,
    IdempotencyMismatch,
    InvalidInput,
    RecordNotFound,
    StratagraphError,
    VersionConflict,
)

ACTOR = "tester"
ACTIVE, CONTESTED, SUPERSEDED, RETRACTED = "active", "contested", "superseded", "retracted"
CURRENT = (ACTIVE, CONTESTED)
FACT, EVENT, WORKING = "semantic", "episodic", "working"
GAIN = 0.1
SILENCE = timedelta(minutes=30)
HALF_LIFE_S = {FACT: 30 * 86_400.0, WORKING: 86_400.0, EVENT: 3_600.0}
_BEFORE = datetime.min.replace(tzinfo=UTC)

Request = CaptureRequest | Revise


class Refused(Exception):
    """The specification refuses the request, with this class of error."""

    def __init__(self, error: type[StratagraphError]) -> None:
        super().__init__(error.__name__)
        self.error = error


class Impossible(Exception):
    """The answer is impossible for this request in this state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """The ids that the store assigned for a request: record, additional event, episode, candidate."""

    record: UUID
    event: UUID
    episode: UUID
    candidate: str


@dataclass(slots=True, kw_only=True)
class Item:
    """A record of the model."""

    id: UUID
    type: str
    content: dict[str, Any]
    s: float = 1.0
    t0: datetime
    half_life_s: float
    state: str = ACTIVE
    version: int = 1
    pinned: bool = False
    sources: set[str] = field(default_factory=set)
    evidence: tuple[str, ...] = ()  # refs that its payload names
    superseded_by: UUID | None = None
    audit: list[str] = field(default_factory=lambda: ["create"])

    def salience(self, now: datetime) -> float:
        elapsed = 0.0 if self.pinned else max(0.0, (now - self.t0).total_seconds())
        return self.s * math.pow(2.0, -elapsed / self.half_life_s)

    @property
    def slot(self) -> tuple[str, str]:
        return self.content["subject"], self.content["predicate"]


@dataclass(slots=True)
class Model:
    items: dict[UUID, Item] = field(default_factory=dict)
    derived: set[tuple[UUID, UUID]] = field(default_factory=set)  # (source, the record derived from it)
    disputes: set[tuple[UUID, UUID]] = field(default_factory=set)  # (contested, by)
    replaced: set[tuple[UUID, UUID]] = field(default_factory=set)  # (successor, superseded record)
    single: set[tuple[str, str]] = field(default_factory=set)  # slots that hold one value at a time
    tombstones: dict[UUID, list[str]] = field(default_factory=dict)  # audit of each deleted record
    keys: dict[str, tuple[Request, UUID]] = field(default_factory=dict)
    threads: dict[str, datetime] = field(default_factory=dict)  # when each thread's open episode closes by silence
    doubtful: set[UUID] = field(default_factory=set)  # records to re-evaluate at the end of an operation
    now: datetime = _BEFORE

    def copy(self) -> Model:
        return copy.deepcopy(self)

    def apply(self, request: Request, names: Names) -> tuple[UUID, bool]:
        """Carry out `request`. Return the record that is current afterwards, and whether it was a replay.

        Raises Refused, and leaves the model unchanged then.
        """
        before = self.copy()
        try:
            return self._apply(request, names)
        except Refused:
            for name in self.__slots__:
                setattr(self, name, getattr(before, name))
            raise

    def _apply(self, request: Request, names: Names) -> tuple[UUID, bool]:
        key = request.idempotency_key
        if key is not None and key in self.keys:
            known, record = self.keys[key]
            if known != request:
                raise Refused(IdempotencyMismatch)
            if isinstance(request, CaptureRequest) and record not in self.items:
                raise Refused(IdempotencyMismatch)
            return record, True
        current = self._capture(request, names) if isinstance(request, CaptureRequest) else self._revise(request, names)
        self._settle()
        if key is not None:
            self.keys[key] = (request, current)
        return current, False

    # Capture

    def _capture(self, request: CaptureRequest, names: Names) -> UUID:
        if request.source_kind is SourceKind.OBSERVATION:
            return self._observe(request, names)
        if request.source_kind is SourceKind.WORKING_STATE:
            return self._work(request, names)
        thread = request.content.get("thread_id")
        if thread is not None:
            if self.threads.get(thread, self.now) <= self.now:
                self._new(names.episode, EVENT, {})
            self.threads[thread] = self.now + SILENCE
        self._new(names.record, EVENT, dict(request.content))
        return names.record

    def _work(self, request: CaptureRequest, names: Names) -> UUID:
        thread = request.content["thread_id"]
        for item in self.items.values():
            if item.type == WORKING and item.state == ACTIVE and item.content["thread_id"] == thread:
                item.content = dict(request.content)
                item.version += 1
                item.audit.append("revise")
                return item.id
        self._new(names.record, WORKING, dict(request.content))
        return names.record

    def _observe(self, request: CaptureRequest, names: Names) -> UUID:
        content = dict(request.content)
        policy = content.pop("revision_policy", None)
        evidence = [_ref(item) for item in content.pop("evidence", [])]
        content["validity"] = _validity(content)
        content.pop("conditions", None)
        sources = set(evidence) or {f"candidate:{names.candidate}"}
        same = self._same(content)
        if same is not None:
            self._again(same, sources)
            return same.id
        slot = content["subject"], content["predicate"]
        rivals = []
        if policy is not None or slot in self.single:
            rivals = [
                one for one in self._active_in(slot) if not disjoint(one.content["validity"], content["validity"])
            ]
        if rivals and policy == "fork":
            raise Refused(ConditionsOverlap)
        new = self._new(names.record, FACT, content, sources=sources, evidence=evidence)
        for rival in rivals:
            if policy == "contest":
                self._doubt(rival)
                self.disputes.add((rival.id, new.id))
            else:
                self._withdraw(rival, SUPERSEDED, by=new.id)
        if rivals and policy == "contest":
            new.state = CONTESTED
        if policy is not None:
            self._make_single(slot)
        self._propagate([rival.id for rival in rivals])
        self._reconsider([new.id])
        return new.id

    def _again(self, same: Item, sources: set[str]) -> None:
        """Reinforce a fact that is captured again, and add its sources."""
        self._add_sources(same, sources)
        self._reconsider([same.id])

    def _add_sources(self, item: Item, sources: set[str]) -> None:
        """Add sources, without the fact itself. A contested fact gains support without being reinforced."""
        item.sources |= sources - {str(item.id)}
        self._derive(item, sources)
        if item.state == ACTIVE:
            self._reinforce(item)

    # Revision

    def _revise(self, request: Revise, names: Names) -> UUID:
        apply: dict[type[Revise], Callable[[Any, Names], UUID]] = {
            Supersede: self._supersede,
            Fork: self._fork,
            Contest: self._contest,
            ResolveContest: self._resolve,
            Retract: self._retract,
            Merge: self._merge,
            Delete: self._delete,
            Reinforce: self._attend,
            Penalize: self._attend,
            Pin: self._attend,
        }
        return apply[type(request)](request, names)

    def _known(self, ids: Iterable[UUID]) -> list[Item]:
        found = [self.items.get(id_) for id_ in ids]
        if None in found:
            raise Refused(RecordNotFound)
        return [item for item in found if item is not None]

    @staticmethod
    def _revisable(items: Iterable[Item], request: Revise) -> None:
        for item in items:
            if item.id == request.record_id and request.expected_version not in (None, item.version):
                raise Refused(VersionConflict)
            if item.state not in CURRENT:
                raise Refused(VersionConflict)

    def _supersede(self, request: Supersede, names: Names) -> UUID:
        (old,) = self._known([request.record_id])
        _no_episodes([old])
        if old.type == WORKING:
            self._revisable([old], request)
            old.content = {key: value for key, value in request.payload.items() if key != "kind"}
            old.version += 1
            old.audit.append("revise")
            return old.id
        if not request.evidence:
            raise Refused(EvidenceRequired)
        self._revisable([old], request)
        evidence = [_ref(item) for item in request.evidence]
        return self._put_in_place([old], dict(request.payload), evidence, set(evidence), names.record).id

    def _put_in_place(
        self, old: list[Item], content: dict[str, Any], evidence: list[str], sources: set[str], id_: UUID
    ) -> Item:
        same = self._same(content, leaving={item.id for item in old})
        slot = content["subject"], content["predicate"]
        if same is None and slot in self.single:
            self._require_room(content["validity"], slot, leaving={item.id for item in old})
        released = self._release([item.id for item in old])
        for item in old:
            self._withdraw(item, SUPERSEDED, by=id_ if same is None else same.id)
        if same is None:
            same = self._new(id_, FACT, content, sources=sources, evidence=evidence)
        else:
            self._add_sources(same, sources)
        self.replaced |= {(same.id, item.id) for item in old}
        self._propagate([item.id for item in old])
        self._reconsider([same.id, *released])
        return same

    def _fork(self, request: Fork, names: Names) -> UUID:
        (old,) = self._known([request.record_id])
        _no_episodes([old])
        if old.type == WORKING:
            raise Refused(InvalidInput)
        if not request.evidence:
            raise Refused(EvidenceRequired)
        self._revisable([old], request)
        content = {
            "subject": old.content["subject"],
            "predicate": old.content["predicate"],
            "object": request.payload["object"],
            "validity": {"mode": "conditional", "conditions": request.conditions},
        }
        if self._same(content) is not None:
            raise Refused(ConditionsOverlap)
        self._require_room(content["validity"], old.slot, leaving=set())
        evidence = [_ref(item) for item in request.evidence]
        new = self._new(names.record, FACT, content, sources=set(evidence), evidence=evidence)
        old.audit.append("fork")
        self._make_single(old.slot)
        self._reconsider([new.id])
        return new.id

    def _contest(self, request: Contest, names: Names) -> UUID:
        if request.contesting_id == request.record_id:
            raise Refused(InvalidInput)
        ids = [request.record_id, *([request.contesting_id] if request.contesting_id is not None else [])]
        parties = self._known(ids)
        _no_episodes(parties[:1])
        if request.contesting_id is None and not request.evidence:
            raise Refused(EvidenceRequired)
        in_doubt = [item for item in parties if item.type != EVENT]
        self._revisable(in_doubt, request)
        by = request.contesting_id
        if by is None:
            by = self._new(names.event, EVENT, {}, half_life_s=parties[0].half_life_s).id
        for item in in_doubt:
            self._doubt(item)
        self.disputes.add((request.record_id, by))
        self._propagate([item.id for item in in_doubt])
        return request.record_id

    def _resolve(self, request: ResolveContest, names: Names) -> UUID:
        (record,) = self._known([request.record_id])
        _no_episodes([record])
        others = {end for dispute in self._disputes_of([record.id]) for end in dispute} - {record.id}
        winner = request.winner_id
        if winner is not None and winner not in {record.id, *others}:
            raise Refused(InvalidInput)
        if winner is not None and self.items[winner].type == EVENT:
            raise Refused(InvalidInput)
        if request.expected_version not in (None, record.version):
            raise Refused(VersionConflict)
        if record.state != CONTESTED:
            raise Refused(InvalidInput)
        parties = [record, *(self.items[other] for other in sorted(others) if self.items[other].type != EVENT)]
        losers = [item for item in parties if item.id != winner and item.state == CONTESTED]
        released = self._release([record.id, *(item.id for item in losers)])
        for loser in losers:
            if winner is None:
                self._withdraw(loser, RETRACTED)
            else:
                self._withdraw(loser, SUPERSEDED, by=winner)
                self.replaced.add((winner, loser.id))
        if winner is not None and not self._disputes_of([winner]):
            if not self._holds(self.items[winner]):
                self.items[winner].sources.add(f"decision by {ACTOR}")
            self._require_room(
                self.items[winner].content["validity"], self.items[winner].slot, leaving={winner}, single=True
            )
            self._move(self.items[winner], ACTIVE)
        self._propagate([item.id for item in parties])
        self._reconsider(released)
        return winner or record.id

    def _retract(self, request: Retract, names: Names) -> UUID:
        (item,) = self._known([request.record_id])
        _no_episodes([item])
        self._revisable([item], request)
        released = self._release([item.id])
        self._withdraw(item, RETRACTED)
        self._propagate([item.id])
        self._reconsider(released)
        return item.id

    def _merge(self, request: Merge, names: Names) -> UUID:
        items = self._known([request.record_id, *request.others])
        _no_episodes(items)
        if len({item.type for item in items}) > 1 or items[0].type == WORKING:
            raise Refused(InvalidInput)
        self._revisable(items, request)
        lead, ids = items[0], {item.id for item in items}
        slot = lead.slot
        if slot in self.single:
            self._require_room(lead.content["validity"], slot, leaving=ids)
        sources = set().union(*(item.sources for item in items))
        evidence = [ref for item in items for ref in item.evidence]
        for item in items:
            self._withdraw(item, SUPERSEDED, by=names.record)
        new = self._new(names.record, FACT, dict(lead.content), sources=sources, evidence=evidence)
        self.replaced |= {(new.id, item.id) for item in items}
        self.derived = self._moved(self.derived, ids, new.id)
        self.disputes = self._moved(self.disputes, ids, new.id)
        self._reconsider([new.id])
        self._propagate([new.id])
        return new.id

    @staticmethod
    def _moved(edges: set[tuple[UUID, UUID]], ids: set[UUID], new: UUID) -> set[tuple[UUID, UUID]]:
        ends = {(new if a in ids else a, new if b in ids else b) for a, b in edges}
        return {(a, b) for a, b in ends if a != b}

    def _delete(self, request: Delete, names: Names) -> UUID:
        (item,) = self._known([request.record_id])
        _no_episodes([item])
        if request.expected_version not in (None, item.version):
            raise Refused(VersionConflict)
        rested = self._dependents([item.id])
        released = self._release([item.id])
        self.tombstones[item.id] = [*item.audit, "delete"]
        del self.items[item.id]
        self.derived = {edge for edge in self.derived if item.id not in edge}
        self.replaced = {edge for edge in self.replaced if item.id not in edge}
        self._reconsider([*rested, *(released - {item.id})])
        return item.id

    def _attend(self, request: Reinforce | Penalize | Pin, names: Names) -> UUID:
        (item,) = self._known([request.record_id])
        self._revisable([item], request)
        value = item.salience(self.now)
        if isinstance(request, Reinforce):
            self._reinforce(item)
        elif isinstance(request, Penalize):
            item.s, item.t0 = min(value, max(0.0, value - request.amount)), self.now
            item.audit.append("decay")
        elif item.pinned is not request.pinned:
            item.s, item.t0, item.pinned = value, self.now, request.pinned
            item.audit.append("revise")
        return item.id

    # Propagation

    def _holds(self, item: Item) -> bool:
        """Whether the record has support: a source outside memory, or an active record."""
        live = {str(source) for source, target in self.derived if target == item.id and self._is_active(source)}
        outside = {ref for ref in item.sources if self._is_outside(ref)}
        return bool((live | outside) - {str(item.id)})

    def _is_active(self, id_: UUID) -> bool:
        return id_ in self.items and self.items[id_].state == ACTIVE

    def _is_outside(self, ref: str) -> bool:
        try:
            id_ = UUID(ref)
        except ValueError:
            return True
        if id_ in self.items:
            return self.items[id_].state == ACTIVE
        return id_ not in self.tombstones

    def _is_disputed(self, id_: UUID) -> bool:
        ends = {end for dispute in self._disputes_of([id_]) for end in dispute} - {id_}
        return any(end in self.items and self.items[end].state in CURRENT for end in ends)

    def _reconsider(self, ids: Collection[UUID]) -> None:
        self.doubtful |= set(ids)

    def _propagate(self, causes: Collection[UUID]) -> None:
        self.doubtful |= self._dependents(causes)

    def _settle(self) -> None:
        """Re-evaluate the records derived from changed ones by their support and disputes.

        First contest all that lost their support, transitively; then restore all that have it again. A record that
        is contested and restored in one operation counts as unchanged.
        """
        touched, self.doubtful = sorted(self.doubtful), set()
        was: dict[UUID, str] = {}
        for becomes in (CONTESTED, ACTIVE):
            waiting = list(touched)
            while waiting:
                item = self.items.get(waiting.pop(0))
                if item is None or item.state not in CURRENT or item.type == EVENT or item.state == becomes:
                    continue
                sound = self._holds(item) and not self._is_disputed(item.id)
                if sound is not (becomes == ACTIVE):
                    continue
                back = was.get(item.id) == ACTIVE
                if becomes == ACTIVE and not back and not self._has_room(item):
                    continue
                was.setdefault(item.id, item.state)
                item.state = becomes
                waiting += sorted(self._dependents([item.id]))
                touched += sorted(self._dependents([item.id]) - set(touched))
        for id_ in sorted(was):
            item = self.items[id_]
            now, item.state = item.state, was[id_]
            if now != item.state:
                self._move(item, now)

    def _dependents(self, ids: Collection[UUID]) -> set[UUID]:
        return {target for source, target in self.derived if source in ids}

    # Parts of operations

    def _new(
        self,
        id_: UUID,
        type_: str,
        content: dict[str, Any],
        *,
        sources: Collection[str] = (),
        evidence: Collection[str] = (),
        half_life_s: float | None = None,
    ) -> Item:
        if id_ in self.items or id_ in self.tombstones:
            raise Impossible(f"a new {type_} under the id of one that is there: {id_}")
        item = Item(
            id=id_,
            type=type_,
            content=content,
            t0=self.now,
            half_life_s=half_life_s or HALF_LIFE_S[type_],
            sources=set(sources),
            evidence=tuple(evidence),
        )
        self.items[id_] = item
        self._derive(item, evidence)
        return item

    def _derive(self, item: Item, refs: Iterable[str]) -> None:
        for ref in refs:
            try:
                id_ = UUID(ref)
            except ValueError:
                continue
            if id_ in self.items and id_ != item.id:
                self.derived.add((id_, item.id))

    def _reinforce(self, item: Item) -> None:
        item.s, item.t0 = min(1.0, item.salience(self.now) + GAIN), self.now
        item.audit.append("reinforce")

    def _withdraw(self, item: Item, state: str, *, by: UUID | None = None) -> None:
        item.state, item.s, item.t0 = state, 0.0, self.now
        item.version += 1
        item.superseded_by = by
        item.audit.append("supersede" if state == SUPERSEDED else "retract")
        if by is not None:
            self.replaced.add((by, item.id))

    def _doubt(self, item: Item) -> None:
        self._move(item, CONTESTED)

    @staticmethod
    def _move(item: Item, state: str) -> None:
        item.state = state
        item.version += 1
        item.audit.append("contest" if state == CONTESTED else "revise")

    def _disputes_of(self, ids: Collection[UUID]) -> list[tuple[UUID, UUID]]:
        return [dispute for dispute in self.disputes if dispute[0] in ids or dispute[1] in ids]

    def _release(self, ids: Collection[UUID]) -> set[UUID]:
        """End the disputes of `ids`; return the records that were part of them."""
        ended = self._disputes_of(ids)
        self.disputes -= set(ended)
        return {end for dispute in ended for end in dispute}

    def _same(self, content: dict[str, Any], *, leaving: Collection[UUID] = ()) -> Item | None:
        said = _said(content)
        for item in self.items.values():
            if item.type == FACT and item.state in CURRENT and item.id not in leaving and _said(item.content) == said:
                return item
        return None

    def _active_in(self, slot: tuple[str, str]) -> list[Item]:
        return [
            item for item in self.items.values() if item.type == FACT and item.state == ACTIVE and item.slot == slot
        ]

    def _require_room(
        self, validity: dict[str, Any], slot: tuple[str, str], *, leaving: Collection[UUID], single: bool = False
    ) -> None:
        if single and slot not in self.single:
            return
        for item in self._active_in(slot):
            if item.id not in leaving and not disjoint(item.content["validity"], validity):
                raise Refused(ConditionsOverlap)

    def _has_room(self, item: Item) -> bool:
        try:
            self._require_room(item.content.get("validity", {}), item.slot, leaving={item.id}, single=True)
        except Refused:
            return False
        return True

    def _make_single(self, slot: tuple[str, str]) -> None:
        self.single.add(slot)
        for one, other in combinations(self._active_in(slot), 2):
            if not disjoint(one.content["validity"], other.content["validity"]):
                raise Refused(ConditionsOverlap)


def _no_episodes(items: Iterable[Item]) -> None:
    if any(item.type == EVENT for item in items):
        raise Refused(EpisodicImmutable)


def _ref(evidence: dict[str, Any]) -> str:
    return str(evidence.get("source_id") or evidence["ref"])


def _validity(content: dict[str, Any]) -> dict[str, Any]:
    if "validity" in content:
        return dict(content["validity"])
    if content.get("conditions"):
        return {"mode": "conditional", "conditions": content["conditions"]}
    return {"mode": "global"}


def _said(content: dict[str, Any]) -> tuple[Any, ...]:
    return content["subject"], content["predicate"], content["object"], repr(sorted(content["validity"].items()))


def disjoint(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two validities exclude each other (docs/specification.md, Capture)."""
    ours, theirs = one.get("conditions", {}), other.get("conditions", {})
    if any(not _values(ours[key]) & _values(theirs[key]) for key in ours.keys() & theirs.keys()):
        return True
    return any(a.get("end", "9") <= b.get("start", "") for a, b in ((one, other), (other, one)))


def _values(value: Any) -> set[Any]:
    return set(value) if isinstance(value, list) else {value}
