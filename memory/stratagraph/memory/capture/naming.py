"""Entities that drafts name: found by identifier, name or alias, or created."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

from stratagraph.memory.capture.caption import entity_caption
from stratagraph.memory.capture.classify import is_outcome
from stratagraph.memory.capture.draft import Draft, Named
from stratagraph.memory.capture.new_records import new_record
from stratagraph.memory.capture.policy import entity_decay
from stratagraph.memory.capture.references import link_references
from stratagraph.memory.capture.write_set import WriteSet, capture_source
from stratagraph.store.model.enums import DeletionPolicy, MemoryType, Sensitivity
from stratagraph.store.model.trust import UNSCOPED
from stratagraph.store.model.words import record_terms
from stratagraph.store.records.entities import Mention, Resolution, resolve
from stratagraph.store.records.inserting import NewRecord


async def resolve_names(writes: WriteSet) -> None:
    """Link the drafts to the entities and the records that they name, creating the entities that do not exist.

    Locks the entities' terms, which are the first locks of a writer (docs/architecture.md, Lock order). Raises
    InvalidInput where a draft is derived from a more sensitive record or one of another scope.
    """
    _write_entities(writes, await _resolve_entities(writes))
    await link_references(writes)


async def _resolve_entities(writes: WriteSet) -> Resolution:
    """Link the drafts to the entities they name; return those that have to be created."""
    mentions: dict[tuple[int, int], Mention] = {}  # by the draft's position and the name's index
    for draft in writes.drafts:
        for index, named in enumerate(draft.named):
            mentions[draft.position, index] = _mention(writes, draft, named)
        if draft.type is MemoryType.ENTITY:
            mentions[draft.position, -1] = _own_mention(writes, draft)
    resolution = await resolve(
        writes.connection, writes.caller.tenant, dict.fromkeys(mentions.values()), unscoped=writes.scopes.get(UNSCOPED)
    )
    for draft in writes.drafts:
        linked = []
        for index, named in enumerate(draft.named):
            found = resolution.entities.get(mentions[draft.position, index])
            if found is None:
                continue
            linked.append({"surface": named.name, "predicate": named.predicate, "entity_id": str(found)})
            if not is_outcome(draft):
                writes.relate(draft, draft.id, found, named.predicate, named.weight)
        writes.interpretations[draft.position] = {
            "status": "structural",
            "mentions": linked,
            **({"topical_labels": draft.labels} if draft.labels else {}),
        }
        if draft.type is MemoryType.ENTITY:
            mention = mentions[draft.position, -1]
            entity = resolution.entities[mention]
            if resolution.new.pop(entity, None) is not None:
                writes.take_id(draft, entity)
                writes.records.append((draft, new_record(writes, draft)))
            else:
                writes.use_existing(draft, entity)
    return resolution


def _mention(writes: WriteSet, draft: Draft, named: Named) -> Mention:
    return Mention(
        name=named.name,
        scope=writes.scopes[draft.scope],
        sensitivity=int(draft.sensitivity),
        type=named.type,
        identifiers=named.identifiers,
        aliases=named.aliases,
        known_only=named.known_only,
    )


def _own_mention(writes: WriteSet, draft: Draft) -> Mention:
    payload = draft.payload
    return Mention(
        name=payload["canonical_name"],
        scope=writes.scopes[draft.scope],
        sensitivity=int(draft.sensitivity),
        type=payload.get("primary_type"),
        identifiers=tuple((entry["namespace"], entry["value"]) for entry in payload.get("identifiers") or ()),
        aliases=tuple(alias["value"] for alias in payload.get("aliases") or ()),
    )


def _write_entities(writes: WriteSet, resolution: Resolution) -> None:
    """Add a record for each entity to be created, with the first draft that names it as its source."""
    names = {number: name for name, number in writes.scopes.items()}
    first: dict[UUID, Draft] = {}
    for draft, relation in writes.relations:
        first.setdefault(relation.target, draft)
    for entity, mention in resolution.new.items():
        draft = first.get(entity, writes.drafts[0])  # an outcome names entities but links none, having no record
        payload: dict[str, Any] = {"kind": "entity", "canonical_name": mention.name}
        payload["primary_type"] = mention.type or "Other"
        if mention.aliases:
            payload["aliases"] = [{"value": alias} for alias in mention.aliases]
        if mention.identifiers:
            payload["identifiers"] = [{"namespace": space, "value": value} for space, value in mention.identifiers]
        name, text = entity_caption(payload)
        writes.records.append(
            (
                draft,
                NewRecord(
                    id=entity,
                    type=MemoryType.ENTITY,
                    scope=names[mention.scope],
                    sensitivity=Sensitivity(mention.sensitivity),
                    confidence=draft.confidence,
                    tags=(),
                    name=name,
                    text=text,
                    payload=payload,
                    provenance={"sources": [capture_source(draft)], "created_by": writes.author},
                    occurred_at=draft.occurred_at,
                    decay=replace(entity_decay(), half_life_s=max(entity_decay().half_life_s, draft.decay.half_life_s)),
                    deletion_policy=_deletion_policy(draft),
                    terms=record_terms(writes.caller.tenant.index_key, text, name),
                ),
            )
        )


def _deletion_policy(draft: Draft) -> DeletionPolicy:
    return draft.request.retention.deletion_policy if draft.request.retention else DeletionPolicy.AUTO_PRUNE
