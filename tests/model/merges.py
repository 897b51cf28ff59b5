"""Edits and merges of entities in the model, and what all merges share."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from model.entities import lesson_of, mention_of
from model.linking import settle_collisions, settled_slots
from model.names import NO_TYPE, fold_name
from model.records import ENTITY, FACT, SUPERSEDED, Fact, Item, Refused, shows
from model.slots import slot_of
from model.state import State

from stratagraph.memory.revise.request import Merge, Revise, Supersede
from stratagraph.store.model.errors import InvalidInput, VersionConflict
from stratagraph.store.model.trust import Trust


def require_current(items: Iterable[Item], request: Revise) -> None:
    for item in items:
        if item.id == request.record_id and request.expected_version not in (None, item.version):
            raise Refused(VersionConflict)
    if any(not item.is_current for item in items):
        raise Refused(VersionConflict)


def moved(edges: set[tuple[UUID, UUID]], ids: Collection[UUID], new: UUID) -> set[tuple[UUID, UUID]]:
    ends = {(new if a in ids else a, new if b in ids else b) for a, b in edges}
    return {(a, b) for a, b in ends if a != b}


def edit_entity(state: State, request: Supersede, item: Item) -> None:
    """Change the fields of an entity that the request names; null removes one."""
    changed = {**item.content, **{key: value for key, value in request.payload.items() if key != "kind"}}
    content = {key: value for key, value in changed.items() if value is not None}
    wanted = mention_of(content, *item.where).folded_identifiers
    for other in state.current(ENTITY):
        taken = {
            one for lesson in state.lessons[other.id] if _where(lesson) == item.where for one in lesson.identifiers
        }
        if other.id != item.id and wanted & taken:
            raise Refused(InvalidInput)
    require_current([item], request)
    _write(state, item, content, "revise")


def _where(lesson: Any) -> tuple[str, int]:
    return lesson.scope, lesson.sensitivity


def _write(state: State, item: Item, content: dict[str, Any], action: str) -> None:
    """Give an entity another payload. What captures of other scopes or sensitivities taught stays."""
    item.content = content
    state.named_anew.add(item.id)
    item.version += 1
    item.audit.append(action)
    taught = [lesson for lesson in state.lessons[item.id] if _where(lesson) != item.where]
    state.lessons[item.id] = [*taught, lesson_of(mention_of(content, *item.where), content.get("types") or ())]


def merge_entities(state: State, request: Merge, trust: Trust, items: Sequence[Item]) -> UUID:
    """Merge entities into the one with the most current facts that the caller may read; return its id."""
    if len({item.sensitivity for item in items}) > 1:
        raise Refused(InvalidInput)
    require_current(items, request)
    facts = [fact for fact in state.current(FACT) if shows(trust, fact) == "full"]
    survivor = max(items, key=lambda item: sum(_names(fact, item.id) for fact in facts))
    for loser in items:
        if loser.id != survivor.id:
            _absorb(state, survivor, loser)
    ids = {item.id for item in items}
    state.propagate(ids)
    state.reconsider([survivor.id])
    return survivor.id


def _names(item: Item, entity: UUID) -> bool:
    return item.fact is not None and ("entity", entity) in (item.fact.subject, item.fact.object)


def _absorb(state: State, survivor: Item, loser: Item) -> None:
    changed = []
    settled = settled_slots(state)
    for item in state.items.values():
        if item.fact is None or not _names(item, loser.id):
            continue
        was_single = slot_of(item.where, item.fact) in state.single
        item.fact = _renamed(item.fact, loser.id, survivor.id)
        if was_single and not item.fact.is_ambiguous:
            state.single.add(slot_of(item.where, item.fact))
        if item.is_current:
            changed.append(item)
    state.lessons[survivor.id] += state.lessons.pop(loser.id)
    _write(state, survivor, united([survivor.content, loser.content]), "merge")
    state.withdraw(loser, SUPERSEDED, by=survivor.id)
    state.derived = moved(state.derived, [loser.id], survivor.id)
    state.ever_derived |= state.derived
    state.disputes = moved(state.disputes, [loser.id], survivor.id)
    state.named = {(a, predicate, survivor.id if b == loser.id else b) for a, predicate, b in state.named}
    settle_collisions(state, changed, settled)


def _renamed(fact: Fact, old: UUID, new: UUID) -> Fact:
    subject, object_ = (("entity", new) if end == ("entity", old) else end for end in (fact.subject, fact.object))
    return replace(fact, subject=subject, object=object_)


def united(payloads: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the first entity's payload with the names, types and identifiers of all."""
    first = dict(payloads[0])
    for payload in payloads:
        first = {**payload, **first}
    names = [one for payload in payloads for one in (*(payload.get("aliases") or ()), _alias(payload))]
    aliases = {fold_name(one["value"]): one for one in names}
    aliases.pop(fold_name(first["canonical_name"]), None)
    identifiers = [one for payload in payloads for one in payload.get("identifiers") or ()]
    types = [
        one
        for payload in payloads
        for one in (payload.get("primary_type"), *(payload.get("types") or ()))
        if one and one.casefold() not in NO_TYPE
    ]
    first |= {"aliases": list(aliases.values())} if aliases else {}
    first |= {"identifiers": identifiers} if identifiers else {}
    first |= {"primary_type": types[0]} if types else {}
    first |= {"types": list(dict.fromkeys(types))} if len(set(types)) > 1 else {}
    return first


def _alias(payload: dict[str, Any]) -> dict[str, Any]:
    return {"value": payload["canonical_name"]}
