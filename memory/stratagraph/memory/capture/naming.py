"""Entities that drafts name: found by identifier, name or alias, taught what the drafts say of them, or created.

The names of all drafts of a request are resolved in the order of the request, each as if those before it had been
captured alone, so that a batch leaves what single captures would leave. See docs/specification.md, Entities.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from stratagraph.memory.capture.caption import entity_caption
from stratagraph.memory.capture.classify import is_outcome
from stratagraph.memory.capture.draft import Draft, MentionResult, Named, Teaching
from stratagraph.memory.capture.found_names import SearchedText
from stratagraph.memory.capture.interpret import SCANNED_CHARACTERS
from stratagraph.memory.capture.new_records import new_record
from stratagraph.memory.capture.policy import entity_decay
from stratagraph.memory.capture.references import link_references
from stratagraph.memory.capture.write_set import WriteSet, capture_source
from stratagraph.memory.records.changes import Effect
from stratagraph.memory.requests.retrying import StaleRead
from stratagraph.memory.secrets.masking import holds_mask
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.model.enums import DeletionPolicy, MemoryType, Sensitivity
from stratagraph.store.model.fact_predicates import LITERAL, FactPredicate
from stratagraph.store.model.ids import new_id
from stratagraph.store.model.trust import UNSCOPED
from stratagraph.store.model.words import record_terms
from stratagraph.store.postgres.database import Connection
from stratagraph.store.records.entities import (
    Mention,
    find_names,
    hold_entities,
    index_of_names,
    insert_terms,
    lock_names,
    terms_of,
)
from stratagraph.store.records.inserting import NewRecord
from stratagraph.store.records.locking import lock_records
from stratagraph.store.records.name_index import TYPE, KnownEntity, MentionKeys, MentionOutcome, NameIndex, Term
from stratagraph.store.records.predicates import registered

LOCK_ROUNDS = 3  # readings of the names of one request, until all that it creates or teaches is locked


@dataclass(slots=True, kw_only=True)
class Resolved:
    """A mention of a draft and what became of it.

    `named` is None for the entity that the draft itself is. `entity` is the entity that it means, None for none;
    `candidates` are those that it may mean, where it is ambiguous. `is_new` is whether it created `entity`, and `terms`
    are the terms that it taught.
    """

    draft: Draft
    named: Named | None
    mention: Mention
    keys: MentionKeys
    new_id: UUID
    outcome: MentionOutcome = MentionOutcome.UNKNOWN
    entity: UUID | None = None
    candidates: tuple[UUID, ...] = ()
    terms: tuple[Term, ...] = ()

    @property
    def is_new(self) -> bool:
        return self.entity is not None and self.entity == self.new_id

    @property
    def result(self) -> MentionResult:
        """What became of the mention, as the receipt of the capture shows it."""
        return MentionResult(
            name=self.mention.name, outcome=self.outcome, entity=self.entity, candidates=self.candidates
        )

    @property
    def may_revise(self) -> bool:
        """Whether the mention may change the record of an entity that existed: by a term, or by a captured payload."""
        return not self.is_new and (bool(self.terms) or self.named is None)

    @property
    def writes(self) -> bool:
        """Whether the mention creates an entity or teaches one."""
        return self.is_new or bool(self.terms)


@dataclass(slots=True)
class Names:
    """The resolved names of the drafts of one request, by the drafts' positions, in order."""

    resolved: dict[int, list[Resolved]] = field(default_factory=dict)

    def entities_written(self, draft: Draft) -> set[UUID]:
        """Return the entities that the draft creates, teaches or is."""
        return {
            one.entity
            for one in self.resolved.get(draft.position, ())
            if one.entity is not None and (one.writes or one.named is None)
        }

    def results(self, draft: Draft) -> tuple[MentionResult, ...]:
        """Return what became of each name of the draft, without words that were looked up and mean nothing."""
        return tuple(
            one.result for one in self.resolved.get(draft.position, ()) if one.outcome is not MentionOutcome.UNKNOWN
        )

    def note_taught(self, writes: WriteSet) -> None:
        """Note which captured entities the drafts of the write set have revised, after they were written."""
        for position, effects in writes.effects.items():
            for one in self.resolved.get(position, ()):
                is_own = one.named is None and one.outcome is MentionOutcome.MATCHED
                if is_own and (one.entity, Effect.REVISED) in effects:
                    one.outcome = MentionOutcome.TAUGHT

    def apply(self, writes: WriteSet) -> None:
        """Link the drafts of the write set to their entities, and add the records of the entities that they create.

        What the drafts teach existing entities is left in `writes.teachings`.
        """
        for draft in writes.drafts:
            resolved = self.resolved.get(draft.position, [])
            for one in resolved:
                if one.entity is not None and one.writes and not (one.named is not None and one.named.is_pattern):
                    writes.newly_named.add(one.entity)
            surfaces = [
                surface for one in resolved if one.named is not None and (surface := _link(writes, one, one.named))
            ]
            writes.interpretations[draft.position] = {
                "status": "structural",
                "mentions": surfaces,
                **({"topical_labels": draft.labels} if draft.labels else {}),
            }
            if draft.type is MemoryType.ENTITY:
                _become_entity(writes, resolved[-1])


def _link(writes: WriteSet, one: Resolved, named: Named) -> dict[str, str] | None:
    """Link the draft to the entity that it names; return the name for the interpretation, or None for no entity."""
    draft = one.draft
    if one.entity is None:
        return _surface(named, status="ambiguous") if one.outcome is MentionOutcome.AMBIGUOUS else None
    if not is_outcome(draft):
        writes.relate(draft, draft.id, one.entity, named.predicate, named.weight)
    if one.is_new:
        writes.records.append((draft, _entity_record(writes, draft, one)))
    elif one.terms:
        writes.teachings.append(Teaching(draft=draft, entity=one.entity, mention=one.mention))
    return _surface(named, entity_id=str(one.entity))


def _become_entity(writes: WriteSet, own: Resolved) -> None:
    """Make the draft, which is an entity, the new entity that it resolved to, or a lesson of the existing one."""
    draft = own.draft
    assert own.entity is not None
    if own.is_new:
        writes.take_id(draft, own.entity)
        writes.records.append((draft, new_record(writes, draft)))
    else:
        writes.use_existing(draft, own.entity)
        writes.teachings.append(Teaching(draft=draft, entity=own.entity, mention=own.mention, payload=draft.payload))


async def link_names(writes: WriteSet) -> None:
    """Resolve the names of the write set's own drafts and link them to the entities and records that they name."""
    names = await resolve_names(writes.connection, writes.caller.tenant, writes.drafts, writes.scopes)
    names.apply(writes)
    await link_references(writes)


async def resolve_names(
    connection: Connection, tenant: Tenant, drafts: Sequence[Draft], scopes: Mapping[str, int]
) -> Names:
    """Resolve the names of all drafts in order, and write the terms of entities that they create or teach.

    `scopes` has the numbers of the drafts' scopes and of the unscoped one. Sets `entities` of drafts that are facts.
    Locks the names that are written and all entities named; these are the first locks of a writer
    (docs/architecture.md, Lock order). Raises StaleRead if one of the entities was changed, merged or withdrawn
    meanwhile.
    """
    wanted, found, taught = await _locked_names(connection, tenant, drafts, scopes)
    keys = [one.keys for one in wanted]
    if taught:
        # A writer that held one of them until now may have given it an identifier that contradicts the mention.
        rows = await find_names(connection, tenant, keys)
        if rows != found:
            before = [(one.entity, one.terms) for one in wanted]
            _resolve_in_order(index_of_names(rows), tenant, wanted)
            if [(one.entity, one.terms) for one in wanted] != before:
                raise StaleRead
    await insert_terms(
        connection,
        tenant,
        [
            (one.entity, term, one.keys.scope, one.keys.sensitivity)
            for one in wanted
            if one.entity is not None and one.writes
            for term in (terms_of(tenant, one.mention) if one.is_new else one.terms)
        ],
    )
    names = Names()
    texts = {draft.position: SearchedText(draft.text[:SCANNED_CHARACTERS]) for draft in drafts}
    for one in wanted:
        position = one.draft.position
        resolved = names.resolved.setdefault(position, [])
        if not (_is_guess(one) and (_is_repeated(one, resolved) or _is_part(one, texts[position], resolved))):
            resolved.append(one)
            _set_entities(one)
    return names


async def lock_names_ahead(
    connection: Connection,
    tenant: Tenant,
    drafts: Sequence[Draft],
    scopes: Mapping[str, int],
    *,
    changing: Collection[UUID],
) -> list[Draft]:
    """Lock what `resolve_names` will lock for the drafts, and the entities `changing` for changes; write nothing.

    Return the facts among the drafts whose subject is an entity that is known, with their entities set. Raises
    StaleRead as `resolve_names` does.
    """
    wanted, _, _ = await _locked_names(connection, tenant, drafts, scopes, changing=changing)
    unknown = set[int]()
    for one in wanted:
        if one.is_new and one.named is not None and one.named.predicate == "subject_entity":
            unknown.add(one.draft.position)
        elif not _is_guess(one):
            _set_entities(one)
    return [draft for draft in drafts if draft.type is MemoryType.SEMANTIC and draft.position not in unknown]


async def _locked_names(
    connection: Connection,
    tenant: Tenant,
    drafts: Sequence[Draft],
    scopes: Mapping[str, int],
    *,
    changing: Collection[UUID] = (),
) -> tuple[list[Resolved], list[dict[str, Any]], set[UUID]]:
    """Return the mentions of the drafts, the stored names that they were resolved by, and the entities that they teach.

    Locks the names that are written, all entities named, and the entities `changing`.
    """
    predicates = await registered(
        connection, tenant, {draft.payload["predicate"] for draft in drafts if draft.type is MemoryType.SEMANTIC}
    )
    wanted = [one for draft in drafts for one in _mentions_of(tenant, draft, scopes, predicates)]
    keys = [one.keys for one in wanted]
    locked: set[bytes] = set()
    found = None
    for _ in range(LOCK_ROUNDS):
        rows = await find_names(connection, tenant, keys)
        if rows != found:
            found = rows
            _resolve_in_order(index_of_names(rows), tenant, wanted)
        written = {term.key for one in wanted if one.writes for term in one.keys.terms}
        if written <= locked:
            break
        locked |= written
        await lock_names(connection, tenant, locked)
    else:
        raise StaleRead
    known = {row["entity"] for row in found or ()}
    named = {one.entity for one in wanted if one.entity is not None} & known
    taught = {one.entity for one in wanted if one.entity is not None and one.may_revise} & known
    if changing:  # all in one order, or two that change what the other one names would wait for each other
        await lock_records(connection, tenant, named | set(changing))
    if not await hold_entities(connection, tenant, named, taught=taught):
        raise StaleRead
    return wanted, found or [], taught


def _is_guess(one: Resolved) -> bool:
    """Return whether the mention is a word of the text that was only looked up."""
    return one.named is not None and one.named.known_only and one.named.predicate == "mentions_entity"


def _is_repeated(one: Resolved, before: Sequence[Resolved]) -> bool:
    """Return whether a word of the text means an entity that the draft names already, as "Acme" in "Acme GmbH"."""
    return one.entity is not None and any(one.entity == other.entity for other in before)


def _is_part(one: Resolved, text: SearchedText, before: Sequence[Resolved]) -> bool:
    """Return whether a word of the text is only a part of a longer name that means another entity, or several."""
    if one.outcome is MentionOutcome.UNKNOWN:
        return False
    names = [other.mention.name for other in before if other.outcome is not MentionOutcome.UNKNOWN]
    return text.has_only_within(one.mention.name, names)


def _mentions_of(
    tenant: Tenant, draft: Draft, scopes: Mapping[str, int], predicates: Mapping[str, FactPredicate]
) -> list[Resolved]:
    """Return the mentions of a draft in the order in which they are resolved, the entity that it is itself last."""
    scope, unscoped = scopes[draft.scope], scopes[UNSCOPED]
    found: list[tuple[Named | None, Mention]] = []
    for named in draft.named:
        known_only = named.known_only
        if named.predicate == "object_entity" and not named.is_declared:
            kind = predicates[draft.payload["predicate"]].object_kind
            if kind == LITERAL:
                continue
            known_only = kind is None
        mention = Mention(
            name=named.name,
            scope=scope,
            sensitivity=int(draft.names_sensitivity),
            type=named.type,
            identifiers=named.identifiers,
            aliases=named.aliases,
            known_only=known_only,
        )
        found.append((named, mention))
    if draft.type is MemoryType.ENTITY:
        found.append((None, mention_of(draft.payload, scope=scope, sensitivity=draft.sensitivity)))
    return [
        Resolved(draft=draft, named=named, mention=mention, keys=mention.keys(tenant, unscoped), new_id=new_id())
        for named, mention in found
    ]


def mention_of(payload: Mapping[str, Any], *, scope: int, sensitivity: Sensitivity) -> Mention:
    """Return the names, identifiers and types in an entity's payload as a mention that states its type."""
    return Mention(
        states_type=True,
        name=payload["canonical_name"],
        scope=scope,
        sensitivity=int(sensitivity),
        type=payload.get("primary_type"),
        types=tuple(payload.get("types") or ()),
        identifiers=tuple((entry["namespace"], entry["value"]) for entry in _known(payload, "identifiers")),
        aliases=tuple(alias["value"] for alias in _known(payload, "aliases")),
    )


def _known(payload: Mapping[str, Any], field: str) -> list[dict[str, Any]]:
    """Return the aliases or identifiers by which an entity is found: those in which no secret was masked."""
    return [entry for entry in payload.get(field) or () if not holds_mask(entry["value"])]


def _resolve_in_order(index: NameIndex, tenant: Tenant, wanted: Sequence[Resolved]) -> None:
    """Set what becomes of each mention, and add to the index what it creates and teaches."""
    for one in wanted:
        one.entity, one.candidates, one.terms = None, (), ()
        match = index.match(one.keys)
        if match.entity is not None:
            one.entity = match.entity
            more = terms_of(tenant, one.mention) if one.named is None else ()
            one.terms = tuple(dict.fromkeys([*index.unknown_terms(one.keys, match.entity), *_types(index, one, more)]))
            index.teach(match.entity, one.terms, scope=one.keys.scope, sensitivity=one.keys.sensitivity)
            one.outcome = MentionOutcome.TAUGHT if one.terms else MentionOutcome.MATCHED
            continue
        one.candidates = match.candidates
        is_free = not match.candidates and not one.mention.known_only
        one.outcome = (
            MentionOutcome.AMBIGUOUS
            if match.candidates
            else MentionOutcome.CREATED
            if is_free
            else MentionOutcome.UNKNOWN
        )
        if is_free or one.named is None:  # an entity that is captured is stored, even if others fit as well
            one.entity = one.new_id
            terms = dict.fromkeys(
                (term, one.keys.scope, one.keys.sensitivity) for term in terms_of(tenant, one.mention)
            )
            index.add(KnownEntity(one.new_id, one.keys.scope, one.keys.sensitivity, terms))


def _types(index: NameIndex, one: Resolved, terms: Sequence[Term]) -> list[Term]:
    """Return the further types that a captured entity declares and that the known entity does not have."""
    assert one.entity is not None
    known = {term for term, _, _ in index.entities[one.entity].terms}
    return [term for term in terms if term.kind == TYPE and term not in known]


def _set_entities(one: Resolved) -> None:
    """Set the entities of a fact's subject and object on its draft."""
    draft = one.draft
    match one.named.predicate if one.named is not None else None:
        case "subject_entity":
            is_ambiguous = one.outcome is MentionOutcome.AMBIGUOUS
            draft.entities = replace(draft.entities, subject=one.entity, subject_is_ambiguous=is_ambiguous)
        case "object_entity":
            draft.entities = replace(draft.entities, object=one.entity)


def _surface(named: Named, **more: str) -> dict[str, str]:
    """Return a name for the interpretation of a record: as it was written, and what was made of it."""
    known = {"surface": named.name, "predicate": named.predicate, **more}
    return {**known, "type": named.type} if named.type is not None and "status" in more else known


def _entity_record(writes: WriteSet, draft: Draft, one: Resolved) -> NewRecord:
    """Return the record of an entity that a mention creates; the draft is its source."""
    mention = one.mention
    payload: dict[str, Any] = {"kind": "entity", "canonical_name": mention.name}
    payload["primary_type"] = mention.type or "Other"
    if mention.aliases:
        payload["aliases"] = [{"value": alias} for alias in mention.aliases]
    if mention.identifiers:
        payload["identifiers"] = [{"namespace": space, "value": value} for space, value in mention.identifiers]
    name, text = entity_caption(payload)
    return NewRecord(
        id=one.new_id,
        type=MemoryType.ENTITY,
        scope=draft.scope,
        sensitivity=draft.names_sensitivity,
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
    )


def _deletion_policy(draft: Draft) -> DeletionPolicy:
    return draft.request.retention.deletion_policy if draft.request.retention else DeletionPolicy.AUTO_PRUNE
