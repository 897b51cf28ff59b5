"""Facts of the model: what an observation says, and what it does to the facts that it contradicts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from model.entities import Named, name
from model.intervals import Interval, replace_at
from model.names import Mention, fold_name
from model.records import (
    ACTIVE,
    CONTESTED,
    FACT,
    RETRACTED,
    SUPERSEDED,
    Fact,
    Item,
    Names,
    Refused,
    Scope,
    Trim,
    shows,
)
from model.slots import (
    apart,
    contradictions,
    equal_fact,
    facts_in,
    fold_text,
    has_room,
    literal,
    make_single,
    slot_of,
    stated,
)
from model.state import State
from model.support import is_disputed

from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.store.model.errors import ConditionsOverlap, InvalidInput
from stratagraph.store.model.trust import Trust

# Registered by the service, or by the histories before they begin.
OBJECTS_ARE_ENTITIES = frozenset({"works_at"})
OBJECTS_ARE_LITERALS = frozenset({"colour", "age"})
SINGLE_VALUED = frozenset({"age"})


@dataclass(frozen=True, slots=True)
class Sources:
    """The sources of a capture: when each was observed, by its ref, and the records among them that it may read."""

    observed: dict[str, datetime]
    records: tuple[UUID, ...]
    refs: tuple[str, ...]  # as the payload names them


def sources_in(
    state: State, trust: Trust, where: Scope, evidence: Iterable[Mapping[str, Any]], *, at: datetime
) -> Sources:
    """Return the sources that evidence names. Refuses a record that is more sensitive, or of another scope."""
    observed: dict[str, datetime] = {}
    records = []
    for entry in evidence:
        ref = str(entry.get("source_id") or entry["ref"])
        stamp = entry.get("timestamp")
        observed[ref] = datetime.fromisoformat(stamp) if stamp else at
        item = _record(state, ref)
        if item is None or shows(trust, item) != "full":
            continue
        if item.sensitivity > where[1] or item.scope not in (where[0], ""):
            raise Refused(InvalidInput)
        records.append(item.id)
    return Sources(observed, tuple(records), tuple(observed))


def _record(state: State, ref: str) -> Item | None:
    try:
        return state.items.get(UUID(ref))
    except ValueError:
        return None


@dataclass(slots=True)
class Resolution:
    """A fact with its names resolved."""

    fact: Fact
    named: list[Named]
    entities: list[tuple[str, UUID]]  # predicate, entity


def resolve_fact(
    state: State,
    content: Mapping[str, Any],
    where: Scope,
    names: Names,
    *,
    mentions: Iterable[Mapping[str, Any]] = (),
    occurred_at: datetime,
) -> Resolution:
    """Resolve the subject and the object of a fact. A mention of the same name says more about either."""
    listed = {fold_name(one["name"]): one for one in mentions}
    outcomes: list[Named] = []
    entities: list[tuple[str, UUID]] = []

    def resolved(said: str, predicate: str, **more: Any) -> Named:
        more = {**more, **_details(listed.get(fold_name(said)))}
        mention = Mention(name=said.strip(), scope=where[0], sensitivity=where[1], **more)
        found = name(state, mention, names, occurred_at=occurred_at)
        outcomes.append(found)
        if found.entity is not None:
            entities.append((predicate, found.entity))
        return found

    subject = resolved(content["subject"], "subject_entity")
    value, predicate = content["object"], content["predicate"]
    target = None
    is_declared = content.get("object_type") is not None or (isinstance(value, str) and fold_name(value) in listed)
    if isinstance(value, str) and (is_declared or predicate not in OBJECTS_ARE_LITERALS):
        is_name = is_declared or predicate in OBJECTS_ARE_ENTITIES
        target = resolved(value, "object_entity", type=content.get("object_type"), known_only=not is_name).entity
    validity = content["validity"]
    fact = Fact(
        subject=("entity", subject.entity)
        if subject.entity is not None
        else ("ambiguous", fold_text(content["subject"])),
        predicate=predicate,
        object=("entity", target) if target is not None else ("literal", literal(value)),
        conditions=validity.get("conditions") or {},
        stated=stated(validity),
    )
    return Resolution(fact, [one for one in outcomes if one.outcome is not None], entities)


def _details(mention: Mapping[str, Any] | None) -> dict[str, Any]:
    if mention is None:
        return {}
    found: dict[str, Any] = {"known_only": False}
    if mention.get("type"):
        found["type"] = mention["type"]
    if mention.get("aliases"):
        found["aliases"] = tuple(mention["aliases"])
    if mention.get("identifiers"):
        found["identifiers"] = tuple((entry["namespace"], entry["value"]) for entry in mention["identifiers"])
    return found


def fold_predicate(name: str) -> str:
    """Return a predicate as facts spell it: words in lower case, joined by underscores."""
    return "_".join(re.sub(r"(?<=[a-z])(?=[A-Z])|[-_]", " ", name).lower().split())


def validity_in(content: Mapping[str, Any]) -> dict[str, Any]:
    if "validity" in content:
        return dict(content["validity"])
    if content.get("conditions"):
        return {"mode": "conditional", "conditions": content["conditions"]}
    return {"mode": "global"}


def observe(
    state: State, request: CaptureRequest, trust: Trust, where: Scope, names: Names
) -> tuple[UUID, list[Named]]:
    content = dict(request.content)
    policy = content.pop("revision_policy", None)
    evidence = content.pop("evidence", [])
    content["validity"] = validity_in(content)
    content["predicate"] = fold_predicate(content["predicate"])
    content.pop("conditions", None)
    at = request.timestamp or state.now
    mentions = (request.context or {}).get("mentions") or ()
    found = resolve_fact(state, content, where, names, mentions=mentions, occurred_at=at)
    sources = sources_in(state, trust, where, evidence, at=at)
    if not sources.observed:
        sources = replace(sources, observed={f"candidate:{names.candidate}": at})
    current = place(state, names.record, content, where, found, sources, policy, at)
    state.captures[f"candidate:{names.candidate}"] = current.id
    state.named |= {(current.id, predicate, entity) for predicate, entity in found.entities}
    return current.id, found.named


def place(
    state: State,
    id_: UUID,
    content: dict[str, Any],
    where: Scope,
    found: Resolution,
    sources: Sources,
    policy: str | None,
    at: datetime,
    *,
    leaving: Collection[UUID] = (),
    disputed: Collection[UUID] | None = None,
) -> Item:
    """Add a fact beside the facts of its slot, and settle what it contradicts; return the fact that says this now.

    Facts in `leaving` are disregarded. A revision, which gives the facts that are `disputed`, is never late.
    """
    fact = found.fact
    same = equal_fact(state, where, fact, leaving=leaving)
    is_revision = disputed is not None
    if same is not None:
        parties = disputed_among(state, where, fact, [same], leaving=leaving)
        wins = policy == "replace" and not is_revision and not fact.is_ambiguous and not _is_late(state, parties, at)
        add_sources(state, same, sources)
        if wins and parties:
            win_dispute(state, same, parties)
        state.reconsider([same.id])
        return same
    if not fact.is_ambiguous and fact.predicate in SINGLE_VALUED:
        state.single.add(slot_of(where, fact))
    is_single = not fact.is_ambiguous and (policy is not None or slot_of(where, fact) in state.single)
    rivals = contradictions(state, where, fact, fact.stated, leaving=leaving) if is_single else []
    newer = [rival for rival in rivals if rival.effective.contains(state.now) and at < rival.latest_evidence]
    is_late = bool(newer) and fact.stated.contains(state.now) and not is_revision
    if rivals and policy == "fork" and not is_late:
        raise Refused(ConditionsOverlap)
    if disputed is None:
        disputed = disputed_by_new(state, where, fact, rivals, leaving=leaving)
    new = add_fact(state, id_, where, content, fact, sources, at)
    new.policy = policy
    if is_late:
        _become_history(state, new, max(newer, key=lambda rival: (rival.latest_evidence, rival.id)))
        return new
    if rivals and policy == "contest":
        contest(state, new, rivals)
    elif rivals:
        displace(state, new, rivals, disputed)
    if policy is not None:
        make_single(state, where, fact)
    state.propagate([rival.id for rival in rivals])
    state.reconsider([new.id])
    return new


def _become_history(state: State, new: Item, newer: Item) -> None:
    """Let a fact that is older than the evidence of one that holds now begin as superseded."""
    new.state, new.s, new.superseded_by = SUPERSEDED, 0.0, newer.id
    state.replaced.add((newer.id, new.id))


def add_fact(
    state: State, id_: UUID, where: Scope, content: dict[str, Any], fact: Fact, sources: Sources, at: datetime
) -> Item:
    new = state.add(id_, FACT, where, content, occurred_at=at, sources=sources.observed, evidence=sources.refs)
    new.fact, new.effective = fact, fact.stated
    state.derive(new, sources.records)
    return new


def add_sources(state: State, item: Item, sources: Sources) -> None:
    """Add sources, without the fact itself. A contested fact gains support without being reinforced."""
    item.evidence_at = max([item.latest_evidence, *sources.observed.values()])
    item.sources |= {ref: at for ref, at in sources.observed.items() if ref != str(item.id)}
    state.notes.add((item.id, "reinforced"))
    state.derive(item, sources.records)
    if item.state == ACTIVE:
        state.reinforce(item)


def contest(state: State, new: Item, rivals: Iterable[Item]) -> None:
    """Let a fact join the dispute of its slot, or open one: it and all that it contradicts are contested."""
    for rival in rivals:
        if rival.state == ACTIVE:
            state.move(rival, CONTESTED)
        state.disputes.add((rival.id, new.id))
        state.notes.add((rival.id, "contested"))
    new.state = CONTESTED


def _is_late(state: State, parties: Collection[UUID], at: datetime) -> bool:
    """Whether an instant is before the latest evidence of a dispute, of which other records may be parties too."""
    others = {end for dispute in state.disputes_of(parties) for end in dispute} - set(parties)
    times = [state.items[id_].latest_evidence for id_ in parties]
    return any(at < one for one in [*times, *(state.items[id_].occurred_at for id_ in others if id_ in state.items)])


def win_dispute(state: State, winner: Item, parties: Collection[UUID]) -> None:
    """Let a party of a dispute supersede the others in its slot, and become active where the slot has room."""
    state.reconsider(state.release([winner.id]))
    for id_ in sorted(set(parties) - {winner.id}):
        supersede(state, state.items[id_], winner)
        state.propagate([id_])
    if has_room(state, winner):
        state.move(winner, ACTIVE)
        state.notes.add((winner.id, "revised"))
        state.propagate([winner.id])


def disputed_among(
    state: State, where: Scope, fact: Fact, rivals: Collection[Item], *, leaving: Collection[UUID] = ()
) -> set[UUID]:
    """Return the parties, in the slot of a fact, of the disputes of those that it contradicts.

    None if the caller may not read all parties in full, since only who may decides a dispute.
    """
    in_slot = {item.id for item in facts_in(state, where, fact, leaving=leaving)}
    parties = {id_ for rival in rivals if is_disputed(state, rival.id) for id_ in state.parties(rival.id)}
    if state.caller is not None and any(shows(state.caller, state.items[id_]) != "full" for id_ in parties):
        return set()
    return parties & in_slot


def disputed_by_new(
    state: State, where: Scope, fact: Fact, rivals: Collection[Item], *, leaving: Collection[UUID] = ()
) -> set[UUID]:
    """Return the parties of disputes that a new fact ends: none if it does not hold now."""
    return disputed_among(state, where, fact, rivals, leaving=leaving) if fact.stated.contains(state.now) else set()


def displace(state: State, new: Item, rivals: Collection[Item], disputed: Collection[UUID]) -> None:
    """Let a fact replace those that it contradicts: end the disputes, cut the intervals, supersede the rest."""
    assert new.fact is not None
    for id_ in sorted(disputed):
        supersede(state, state.items[id_], new)
    for rival in rivals:
        if rival.id in disputed:
            continue
        left, rest = replace_at(new.fact.stated, rival.effective, state.now)
        trim(state, new, new.effective.cut(left), by=rival.id)
        if rest is None:
            supersede(state, rival, new)
        elif rest != rival.effective:
            trim(state, rival, rest, by=new.id)
            state.notes.add((rival.id, "trimmed"))


def supersede(state: State, old: Item, new: Item) -> None:
    state.reconsider(state.release([old.id]))
    state.withdraw(old, SUPERSEDED, by=new.id)
    state.notes.add((old.id, "superseded"))
    pass_trims(state, [old.id], new.id)


def trim(state: State, item: Item, left: Interval, *, by: UUID) -> None:
    """Set a fact's effective interval, and remember which fact has moved which end."""
    for end, at in (("start", left.start), ("end", left.end)):
        if at is not None and at != getattr(item.effective, end):
            state.trims = [one for one in state.trims if (one.fact, one.by, one.end) != (item.id, by, end)]
            state.trims.append(Trim(item.id, end, at, by))
    item.effective = left


def pass_trims(state: State, old: Collection[UUID], new: UUID) -> None:
    """Let a fact take over the trims of the facts that it supersedes. One that would trim itself is restored."""
    state.trims = [replace(one, by=new) if one.by in old else one for one in state.trims]
    if any(one.fact == one.by for one in state.trims):
        state.trims = [one for one in state.trims if one.fact != one.by]
        _restore(state, state.items[new])


def undo_trims(state: State, removed: Collection[UUID]) -> None:
    """Give back what removed facts have taken from others, as far as no other fact holds there."""
    undone = [one for one in state.trims if one.by in removed]
    state.trims = [one for one in state.trims if one not in undone and one.fact not in removed]
    for id_ in sorted({one.fact for one in undone}):
        if id_ in state.items and state.items[id_].is_current:
            _restore(state, state.items[id_])


def _restore(state: State, item: Item) -> None:
    assert item.fact is not None
    wanted = item.fact.stated
    for one in state.trims:
        if one.fact == item.id:
            wanted = wanted.cut(Interval(start=one.at) if one.end == "start" else Interval(end=one.at))
    others = [
        other
        for other in facts_in(state, item.where, item.fact, leaving={item.id})
        if slot_of(item.where, item.fact) in state.single
        and other.fact is not None
        and not apart(other.fact.conditions, item.fact.conditions)
    ]
    before = [other for other in others if other.effective.high <= item.effective.low]
    after = [other for other in others if other.effective.low >= item.effective.high]
    item.effective = wanted
    for other in before:
        if other.effective.high > item.effective.low:
            trim(state, item, item.effective.starting(other.effective.end), by=other.id)
    for other in after:
        if other.effective.low < item.effective.high:
            trim(state, item, item.effective.ending(other.effective.start), by=other.id)


def retract(state: State, items: Collection[Item]) -> None:
    for item in items:
        state.withdraw(item, RETRACTED)
    undo_trims(state, [item.id for item in items])
