"""Revisions of the model, one function for each operation (docs/specification.md, Revision)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import Any
from uuid import UUID

from model.facts import (
    Resolution,
    Sources,
    disputed_by_new,
    pass_trims,
    place,
    resolve_fact,
    retract,
    sources_in,
    undo_trims,
)
from model.merges import edit_entity, merge_entities, moved, require_current
from model.records import (
    ACTIVE,
    CONTESTED,
    ENTITY,
    EVENT,
    FACT,
    SUPERSEDED,
    WORKING,
    Item,
    Names,
    Refused,
    shows,
    writes,
)
from model.slots import contradictions, equal_fact, require_room, slot_of
from model.state import Gone, State
from model.support import grounded

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
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.model.errors import (
    ConditionsOverlap,
    DeletionForbidden,
    EpisodicImmutable,
    EvidenceRequired,
    Forbidden,
    InvalidInput,
    RecordNotFound,
    StratagraphError,
    VersionConflict,
)
from stratagraph.store.model.trust import Trust


def revise(state: State, request: Revise, trust: Trust, names: Names) -> UUID:
    """Carry out a revision; return the record that is current afterwards."""
    return _APPLY[type(request)](state, request, trust, names)


def targets(state: State, trust: Trust, ids: Iterable[UUID]) -> list[Item]:
    """Return the records to be revised, which the caller must see in full and may write."""
    found = []
    for id_ in ids:
        item = state.items.get(id_)
        seen = "none" if item is None else shows(trust, item)
        if item is None or seen == "none":
            raise Refused(RecordNotFound)
        if seen == "redacted" or not writes(trust, item.scope):
            raise Refused(Forbidden)
        found.append(item)
    return found


def _no_episodes(items: Iterable[Item]) -> None:
    if any(item.type == EVENT for item in items):
        raise Refused(EpisodicImmutable)


def _supersede(state: State, request: Supersede, trust: Trust, names: Names) -> UUID:
    (old,) = targets(state, trust, [request.record_id])
    _no_episodes([old])
    if old.type == WORKING:
        require_current([old], request)
        old.content |= {key: value for key, value in request.payload.items() if key != "kind"}
        old.version += 1
        old.audit.append("revise")
        old.note_task(state.now)
        return old.id
    if old.type == ENTITY:
        edit_entity(state, request, old)
        return old.id
    if not request.evidence:
        raise Refused(EvidenceRequired)
    content = dict(request.payload)
    found = resolve_fact(state, content, old.where, names, occurred_at=state.now)
    sources = sources_in(state, trust, old.where, request.evidence, at=state.now)
    require_current([old], request)
    new = _succeed(state, [old], names.record, content, found, sources)
    state.propagate([old.id])
    return new.id


def _succeed(
    state: State,
    old: Collection[Item],
    id_: UUID,
    content: dict[str, Any],
    found: Resolution,
    sources: Sources,
    *,
    lead: Item | None = None,
    leaving: Collection[UUID] = (),
) -> Item:
    """Let a new fact, or a known one that says the same, take the place of others."""
    lead = lead or next(iter(old))
    ids = {item.id for item in old}
    away = {*ids, *leaving}
    rivals = contradictions(state, lead.where, found.fact, found.fact.stated, leaving=away)
    disputed = disputed_by_new(state, lead.where, found.fact, rivals, leaving=away)
    if not leaving:
        state.reconsider(state.release(ids))
    for item in old:
        state.withdraw(item, SUPERSEDED)
    new = place(
        state,
        id_,
        content,
        lead.where,
        found,
        sources,
        lead.policy,
        state.now,
        leaving=away,
        disputed=disputed,
    )
    for item in old:
        item.superseded_by = new.id
        state.replaced.add((new.id, item.id))
    pass_trims(state, ids, new.id)
    state.named |= {(new.id, predicate, entity) for predicate, entity in found.entities}
    state.reconsider([new.id])
    return new


def _fork(state: State, request: Fork, trust: Trust, names: Names) -> UUID:
    (old,) = targets(state, trust, [request.record_id])
    _no_episodes([old])
    if old.type in (WORKING, ENTITY):
        raise Refused(InvalidInput)
    if not request.evidence:
        raise Refused(EvidenceRequired)
    content = {
        "subject": old.content["subject"],
        "predicate": old.content["predicate"],
        "object": request.payload["object"],
        "validity": {"mode": "conditional", "conditions": request.conditions},
    }
    found = resolve_fact(state, content, old.where, names, occurred_at=state.now)
    sources = sources_in(state, trust, old.where, request.evidence, at=state.now)
    require_current([old], request)
    if equal_fact(state, old.where, found.fact) is not None:
        raise Refused(ConditionsOverlap)
    new = place(state, names.record, content, old.where, found, sources, "fork", state.now, disputed=())
    old.audit.append("fork")
    state.named |= {(new.id, predicate, entity) for predicate, entity in found.entities}
    return new.id


def _contest(state: State, request: Contest, trust: Trust, names: Names) -> UUID:
    if request.contesting_id == request.record_id:
        raise Refused(InvalidInput)
    ids = [request.record_id, *([request.contesting_id] if request.contesting_id is not None else [])]
    parties = targets(state, trust, ids)
    _no_episodes(parties[:1])
    if request.contesting_id is None and not request.evidence:
        raise Refused(EvidenceRequired)
    if len({party.scope for party in parties}) > 1:
        raise Refused(InvalidInput)
    in_doubt = [item for item in parties if item.type != EVENT]
    require_current(in_doubt, request)
    by = request.contesting_id
    if by is None:
        event = state.add(names.event, EVENT, parties[0].where, {}, half_life_s=parties[0].half_life_s)
        event.against, by = request.record_id, event.id
    for item in in_doubt:
        state.move(item, CONTESTED)
    state.disputes.add((request.record_id, by))
    state.propagate([item.id for item in in_doubt])
    return request.record_id


def _resolve(state: State, request: ResolveContest, trust: Trust, names: Names) -> UUID:
    (record,) = targets(state, trust, [request.record_id])
    _no_episodes([record])
    parties = state.parties(record.id)
    try:
        targets(state, trust, sorted(parties - {record.id}))
    except Refused:
        raise Refused(Forbidden) from None
    if request.winner_id is not None and request.winner_id not in parties:
        raise Refused(InvalidInput)
    if request.winner_id is not None and state.items[request.winner_id].type == EVENT:
        raise Refused(InvalidInput)
    if request.expected_version not in (None, record.version):
        raise Refused(VersionConflict)
    if record.state != CONTESTED:
        raise Refused(InvalidInput)
    others = [state.items[id_] for id_ in sorted(parties) if state.items[id_].type != EVENT]
    losers = [item for item in others if item.id != request.winner_id and item.state == CONTESTED]
    released = state.release(parties)
    if request.winner_id is None:
        retract(state, losers)
    else:
        for loser in losers:
            state.withdraw(loser, SUPERSEDED, by=request.winner_id)
        pass_trims(state, [loser.id for loser in losers], request.winner_id)
    if request.winner_id is not None and state.items[request.winner_id].state == CONTESTED:
        _reinstate(state, state.items[request.winner_id], trust)
    if request.winner_id is not None:
        winner = state.items[request.winner_id]
        winner.evidence_at = max(winner.latest_evidence, state.now)
    state.propagate([item.id for item in others])
    state.reconsider(released)
    return request.winner_id or record.id


def _reinstate(state: State, winner: Item, trust: Trust) -> None:
    """Make the winner active. Where nothing else holds it, the decision becomes its source."""
    if winner.fact is not None and slot_of(winner.where, winner.fact) in state.single:
        require_room(state, winner.where, winner.fact, winner.effective, leaving={winner.id})
    if winner.id not in grounded(state, also=winner):
        winner.sources[f"decision by {trust.actor}"] = state.now
    state.move(winner, ACTIVE)


def _retract(state: State, request: Retract, trust: Trust, names: Names) -> UUID:
    (item,) = targets(state, trust, [request.record_id])
    _no_episodes([item])
    require_current([item], request)
    _refuse_named(state, trust, item, InvalidInput)
    released = state.release([item.id])
    retract(state, [item])
    state.propagate([item.id])
    state.reconsider(released)
    return item.id


def _refuse_named(state: State, trust: Trust, item: Item, error: type[StratagraphError]) -> None:
    """Refuse to remove an entity that a current fact names, or that one which the caller may not see may name."""
    if item.type != ENTITY:
        return
    named = [fact for fact in state.current(FACT) if ("entity", item.id) in _ends(fact)]
    if any(shows(trust, fact) == "full" for fact in named):
        raise Refused(error)
    if trust.ceiling is not Sensitivity.HYPER or (trust.scopes is not None and item.scope == ""):
        raise Refused(Forbidden)


def _ends(item: Item) -> tuple[Any, ...]:
    return () if item.fact is None else (item.fact.subject, item.fact.object)


def _merge(state: State, request: Merge, trust: Trust, names: Names) -> UUID:
    items = targets(state, trust, [request.record_id, *request.others])
    _no_episodes(items)
    if len({item.type for item in items}) > 1 or items[0].type == WORKING or len({item.scope for item in items}) > 1:
        raise Refused(InvalidInput)
    if items[0].type == ENTITY:
        return merge_entities(state, request, trust, items)
    require_current(items, request)
    lead = max(items, key=lambda item: item.sensitivity)
    ids = {item.id for item in items}
    assert lead.fact is not None
    content = dict(lead.content)
    evidence = [{"ref": ref} for item in items for ref in item.evidence] or [{"ref": next(iter(lead.sources))}]
    found = resolve_fact(state, content, lead.where, names, occurred_at=state.now)
    sources = sources_in(state, trust, lead.where, evidence, at=state.now)
    carried = {ref: at for item in items for ref, at in item.sources.items()}
    sources = replace(sources, observed={**carried, **sources.observed})
    parties = {end for dispute in state.disputes_of(ids) for end in dispute}
    new = _succeed(state, items, names.record, content, found, sources, lead=lead, leaving=parties | ids)
    state.derived = moved(state.derived, ids, new.id)
    state.ever_derived |= state.derived
    state.disputes = moved(state.disputes, ids, new.id)
    state.propagate([new.id])
    return new.id


def _delete(state: State, request: Delete, trust: Trust, names: Names) -> UUID:
    (item,) = targets(state, trust, [request.record_id])
    _no_episodes([item])
    if request.expected_version not in (None, item.version):
        raise Refused(VersionConflict)
    _refuse_named(state, trust, item, DeletionForbidden)
    rested = state.dependents([item.id])
    released = state.release([item.id])
    remove(state, item.id, "deleted")
    undo_trims(state, [item.id])
    state.reconsider([*rested, *(released - {item.id})])
    return item.id


def remove(state: State, id_: UUID, cause: str) -> None:
    """Remove a record with its relations."""
    item = state.items[id_]
    audit = [*item.audit, *(["delete"] if cause == "deleted" else [])]
    state.gone[id_] = Gone(cause, audit, item.scope, item.sensitivity)
    del state.items[id_]
    state.lessons.pop(id_, None)
    state.derived = {edge for edge in state.derived if id_ not in edge}
    state.ever_derived = {edge for edge in state.ever_derived if id_ not in edge}
    state.replaced = {edge for edge in state.replaced if id_ not in edge}
    state.disputes = {edge for edge in state.disputes if id_ not in edge}
    state.named = {edge for edge in state.named if id_ not in edge}


def _attend(state: State, request: Reinforce | Penalize | Pin, trust: Trust, names: Names) -> UUID:
    (item,) = targets(state, trust, [request.record_id])
    require_current([item], request)
    value = item.salience(state.now)
    if isinstance(request, Reinforce):
        state.reinforce(item)
    elif isinstance(request, Penalize):
        item.s, item.t0 = min(value, max(0.0, value - request.amount)), state.now
        item.audit.append("decay")
    elif item.pinned is not request.pinned:
        item.s, item.t0, item.pinned = value, state.now, request.pinned
        item.audit.append("revise")
    return item.id


_APPLY: dict[type[Revise], Callable[[State, Any, Trust, Names], UUID]] = {
    Supersede: _supersede,
    Fork: _fork,
    Contest: _contest,
    ResolveContest: _resolve,
    Retract: _retract,
    Merge: _merge,
    Delete: _delete,
    Reinforce: _attend,
    Penalize: _attend,
    Pin: _attend,
}
