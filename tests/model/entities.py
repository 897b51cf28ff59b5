"""Entities of the model: what a mention finds, creates and teaches."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from model.names import NO_TYPE, Known, Lesson, Mention, Resolved, fold_identifier, fold_name, resolve
from model.records import ENTITY, Impossible, Item, Names
from model.state import State

MATCHED, CREATED, TAUGHT, AMBIGUOUS = "matched", "created", "taught", "ambiguous"


@dataclass(frozen=True, slots=True)
class Named:
    """The outcome of one mention, as a receipt reports it. Without an outcome, a guess that found nothing."""

    name: str
    outcome: str | None = None
    entity: UUID | None = None
    candidates: tuple[UUID, ...] = ()


def known_entities(state: State) -> list[Known]:
    return [
        Known(
            item.id,
            item.scope,
            item.sensitivity,
            state.lessons.get(item.id, []),
            fold_name(item.content["canonical_name"]),
        )
        for item in state.current(ENTITY)
    ]


def find(state: State, mention: Mention) -> Resolved:
    return resolve(mention, known_entities(state))


def mention_of(content: Mapping[str, Any], scope: str, sensitivity: int) -> Mention:
    """Return what an entity's payload says about its names."""
    return Mention(
        states_type=True,
        name=content["canonical_name"],
        scope=scope,
        sensitivity=sensitivity,
        type=content.get("primary_type"),
        aliases=tuple(alias["value"] for alias in content.get("aliases") or ()),
        identifiers=tuple((entry["namespace"], entry["value"]) for entry in content.get("identifiers") or ()),
    )


def lesson_of(mention: Mention, types: Collection[str | None] = ()) -> Lesson:
    return Lesson(
        mention.scope,
        mention.sensitivity,
        {mention.key, *map(fold_name, mention.aliases)},
        mention.folded_identifiers,
        {
            one.casefold()
            for one in (mention.declared_type, *types)
            if one is not None and one.casefold() not in NO_TYPE
        },
    )


def name(state: State, mention: Mention, names: Names, *, occurred_at: datetime) -> Named:
    """Resolve a mention; create its entity, or teach the entity that it found."""
    found = find(state, mention)
    if found.is_ambiguous:
        return Named(mention.name, AMBIGUOUS, candidates=found.candidates)
    if found.entity is not None:
        taught = not mention.known_only and teach(state, state.items[found.entity], mention)
        return Named(mention.name, TAUGHT if taught else MATCHED, found.entity)
    if mention.known_only:
        return Named(mention.name)
    content: dict[str, Any] = {"canonical_name": mention.name, "primary_type": mention.type or "Other"}
    if mention.aliases:
        content["aliases"] = [{"value": alias} for alias in mention.aliases]
    if mention.identifiers:
        content["identifiers"] = [{"namespace": space, "value": value} for space, value in mention.identifiers]
    waiting = [id_ for id_ in names.entities.get(mention.name, ()) if id_ not in state.items]
    if not waiting:
        raise Impossible(f"the store made no entity named {mention.name!r}")
    add_entity(state, waiting[0], (mention.scope, mention.sensitivity), content, occurred_at=occurred_at)
    return Named(mention.name, CREATED, waiting[0])


def add_entity(
    state: State, id_: UUID, where: tuple[str, int], content: dict[str, Any], *, occurred_at: datetime
) -> Item:
    item = state.add(id_, ENTITY, where, content, occurred_at=occurred_at, sources={"its capture": occurred_at})
    state.named_anew.add(id_)
    lesson = lesson_of(mention_of(content, *where), content.get("types") or ())
    state.lessons[id_] = [without_taken(state, lesson)]
    return item


def without_taken(state: State, lesson: Lesson) -> Lesson:
    """Return the lesson without identifiers that belong to another entity at its scope and sensitivity."""
    where = lesson.scope, lesson.sensitivity
    taken = {
        identifier
        for entity in state.current(ENTITY)
        for known in state.lessons.get(entity.id, ())
        if (known.scope, known.sensitivity) == where
        for identifier in known.identifiers
    }
    return replace(lesson, identifiers=lesson.identifiers - taken)


def teach(state: State, item: Item, mention: Mention, *, content: Mapping[str, Any] | None = None) -> bool:
    """Add to an entity what a mention says and it does not know; return whether that was anything.

    `content` is the payload of a capture of an entity.
    """
    seen = Known(item.id, item.scope, item.sensitivity, state.lessons[item.id]).seen_by(mention)
    said = lesson_of(mention, (content or {}).get("types") or ())
    new = Lesson(
        mention.scope,
        mention.sensitivity,
        said.names - seen.names,
        said.identifiers - seen.identifiers,
        said.types - seen.types,
    )
    more = bool(new.names or new.identifiers or new.types)
    if more:
        state.lessons[item.id].append(without_taken(state, new))
        state.named_anew.add(item.id)
    if (mention.scope, mention.sensitivity) != item.where:
        return more
    before = {key: list(value) if isinstance(value, list) else value for key, value in item.content.items()}
    _write_down(item.content, mention, new, content)
    if item.content == before:
        return False
    item.version += 1
    item.audit.append("revise")
    state.notes.add((item.id, "revised"))
    return True


def _write_down(known: dict[str, Any], mention: Mention, new: Lesson, content: Mapping[str, Any] | None) -> None:
    spelled = {fold_name(alias): alias for alias in reversed((mention.name, *mention.aliases))}
    if new.names:
        aliases = [{"value": spelled[alias]} for alias in sorted(new.names)]
        known["aliases"] = [*(known.get("aliases") or ()), *aliases]
    identifiers = [entry for entry in mention.identifiers if fold_identifier(*entry) in new.identifiers]
    if identifiers:
        added = [{"namespace": space, "value": value} for space, value in identifiers]
        known["identifiers"] = [*(known.get("identifiers") or ()), *added]
    types = [
        one for one in (mention.type, *((content or {}).get("types") or ())) if one and one.casefold() in new.types
    ]
    for one in types:
        if (known.get("primary_type") or "Other").casefold() in NO_TYPE:
            known["primary_type"] = one
        elif one not in (known.get("types") or ()):
            known["types"] = [*(known.get("types") or ()), one]
    if content is not None and content.get("summary"):
        known["summary"] = content["summary"]
