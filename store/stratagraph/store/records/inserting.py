"""Inserting new records and relations, in a transaction that has already taken the locks they need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.audit.events import AuditEvent, write_audit
from stratagraph.store.feed.changes import Change, Kind
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing import contents
from stratagraph.store.keys.sealing.vault import Sealer
from stratagraph.store.model.enums import AuditAction, DeletionPolicy, MemoryType, RecordState, Sensitivity
from stratagraph.store.model.ids import new_id
from stratagraph.store.model.records import MemoryRecord, Relation
from stratagraph.store.model.salience import Decay, Salience, withdrawn
from stratagraph.store.model.trust import acl
from stratagraph.store.model.valid_time import Interval, multirange
from stratagraph.store.model.words import Terms
from stratagraph.store.postgres.bulk import insert_rows
from stratagraph.store.postgres.queries import fetch
from stratagraph.store.postgres.schema import tables
from stratagraph.store.records.fact_keys import FactKeys
from stratagraph.store.records.handles import handle_key
from stratagraph.store.records.lessons import lesson_key
from stratagraph.store.records.procedures import PROCEDURES, version_key
from stratagraph.store.records.salience_rows import salience_row


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRecord:
    """A record that is to be inserted. Its salience starts at 1.0, or at 0 for one that is superseded already.

    `named_times` are those that the text of an event names. `lesson_authors` are the identities of those who wrote the
    advice of a lesson.
    """

    id: UUID
    type: MemoryType
    scope: str
    sensitivity: Sensitivity
    confidence: float
    tags: tuple[str, ...]
    name: str
    text: str
    payload: dict[str, Any]
    provenance: dict[str, Any]
    occurred_at: datetime
    decay: Decay
    deletion_policy: DeletionPolicy
    terms: Terms
    interpretation: dict[str, Any] | None = None
    learned_state: dict[str, Any] | None = None
    handle: str | None = None
    fact: FactKeys | None = None
    state: RecordState = RecordState.ACTIVE
    rationale: str | None = None
    lesson_authors: tuple[str, ...] = ()
    named_times: tuple[Interval, ...] = ()

    def salience(self, at: datetime) -> Salience:
        new = Salience(
            s=1.0, t0=at, created_at=at, decay=self.decay, deletion_policy=self.deletion_policy, last_reinforced_at=at
        )
        return withdrawn(new, at) if self.state is RecordState.SUPERSEDED else new

    def as_record(self, tenant: Tenant, at: datetime) -> MemoryRecord:
        """Return the record as a reader gets it right after the commit."""
        return MemoryRecord(
            id=self.id,
            tenant=tenant.name,
            type=self.type,
            scope=self.scope,
            sensitivity=self.sensitivity,
            state=self.state,
            confidence=self.confidence,
            salience=self.salience(at).at(at),
            tags=self.tags,
            created_at=at,
            occurred_at=self.occurred_at,
            updated_at=at,
            version=1,
            name=self.name,
            text=self.text,
            payload=self.payload,
            lifecycle=self.salience(at),
            provenance=self.provenance,
            interpretation=self.interpretation,
            learned_tools=None if self.learned_state is None else tuple(self.learned_state["tools"]),
            valid_from=self.fact.validity.start if self.fact else None,
            valid_to=self.fact.validity.end if self.fact else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRelation:
    """A relation that is to be inserted, in the direction in which its predicate is stored."""

    source: UUID
    target: UUID
    predicate: str
    weight: float
    id: UUID = field(default_factory=new_id)

    def as_relation(self, at: datetime) -> Relation:
        return Relation(
            id=self.id,
            source=self.source,
            target=self.target,
            predicate=self.predicate,
            weight=self.weight,
            created_at=at,
        )


async def insert_records(
    connection: AsyncConnection,
    directory: Directory,
    tenant: Tenant,
    records: Sequence[NewRecord],
    *,
    actor: str,
    at: datetime,
) -> list[Change]:
    """Insert records with their salience and audit events; return the changes to append to the feed."""
    if not records:
        return []
    scopes = await directory.scopes(tenant, {record.scope for record in records}, create=True)
    sealed = {record.id for record in records if tenant.keyring.seals(record.sensitivity)}
    sealer = await tenant.keyring.sealer(connection) if sealed else None
    rows = [
        _record_row(tenant, record, scopes[record.scope], at, sealer if record.id in sealed else None)
        for record in records
    ]
    await insert_rows(connection, tables.record, rows)
    await insert_rows(
        connection,
        tables.word_change,
        [
            {
                "tenant": tenant.id,
                "record": record.id,
                "scope": scopes[record.scope],
                "sensitivity": int(record.sensitivity),
                "step": 1,
                "terms": [0, *record.terms.numbers],  # 0 counts the record itself
            }
            for record in records
        ],
    )
    await insert_rows(
        connection, tables.fact, [_fact_row(tenant, one, one.fact, scopes[one.scope]) for one in records if one.fact]
    )
    await insert_rows(
        connection, tables.salience, [salience_row(tenant, record.id, record.salience(at)) for record in records]
    )
    await write_audit(
        connection,
        tenant,
        [
            AuditEvent(
                record=record.id,
                action=AuditAction.CREATE,
                rationale=record.rationale,
                salience=record.salience(at).at(at),
            )
            for record in records
        ],
        actor=actor,
        at=at,
        new=[record.id for record in records],
        sealed=sealed,
    )
    return [Change(kind=Kind.RECORD, id=record.id, version=1) for record in records]


def _record_row(tenant: Tenant, record: NewRecord, scope: int, at: datetime, sealer: Sealer | None) -> dict[str, Any]:
    fact = record.fact
    values = {name: getattr(record, name) for name in contents.FIELDS}
    handle = handle_key(tenant, record.type, record.handle) if record.handle is not None else None
    lesson = lesson_key(tenant, record.type, record.payload)
    return {
        "tenant": tenant.id,
        "id": record.id,
        "type": int(record.type),
        "scope": scope,
        "sensitivity": int(record.sensitivity),
        "state": int(record.state),
        "confidence": record.confidence,
        "tags": record.tags,
        **(contents.plain_columns(values) if sealer is None else contents.sealed_columns(sealer, record.id, values)),
        "created_at": at,
        "occurred_at": record.occurred_at,
        "updated_at": at,
        "version": 1,
        "row_version": 1,
        "handle_key": handle,
        "fact_key": fact.fact if fact else None,
        "slot_key": fact.slot if fact else None,
        "condition_key": fact.condition if fact else None,
        "single_valued": fact.single_valued if fact else None,
        "validity": str(fact.validity) if fact else None,
        "terms": record.terms.numbers,
        "impacts": record.terms.as_sparsevec(),
        "named_times": multirange(record.named_times) if record.named_times else None,
        "lesson_key": lesson,
        "lesson_authors": list(record.lesson_authors) if lesson is not None else None,
        "version_key": (
            version_key(tenant, handle, record.payload.get("version"))
            if handle is not None and record.type in PROCEDURES
            else None
        ),
    }


def _fact_row(tenant: Tenant, record: NewRecord, keys: FactKeys, scope: int) -> dict[str, Any]:
    return {
        "tenant": tenant.id,
        "id": record.id,
        **keys.identity.columns(),
        "stated": str(keys.stated),
        "evidence_at": latest_evidence(record.provenance, record.occurred_at),
        "scope": scope,
        "sensitivity": int(record.sensitivity),
    }


def latest_evidence(provenance: Mapping[str, Any], occurred_at: datetime) -> datetime:
    """Return the latest of `occurred_at` and the times of the sources in `provenance`."""
    times = [source["timestamp"] for source in provenance.get("sources", ()) if source.get("timestamp")]
    return max([occurred_at, *(datetime.fromisoformat(time) for time in times)])


def _end_hints(end: str, record: NewRecord | None, scopes: Mapping[str, int]) -> dict[str, Any]:
    """Return the hints at a relation of an end that is new; of one that is stored, None, nothing is noted here.

    The statement `insert_relations` notes the same of new ends, and the scope and sensitivity of stored ones.
    """
    if record is None:
        return {f"{end}_acl": None, f"{end}_until": None, f"{end}_past": False}
    return {
        f"{end}_acl": acl(scopes[record.scope], record.sensitivity),
        f"{end}_until": record.fact.validity.end if record.fact else None,
        f"{end}_past": record.state > RecordState.CONTESTED,
    }


async def insert_relations(
    connection: AsyncConnection,
    directory: Directory,
    tenant: Tenant,
    relations: Sequence[NewRelation],
    *,
    at: datetime,
    new: Mapping[UUID, NewRecord] = MappingProxyType({}),
) -> list[NewRelation]:
    """Insert relations and return those inserted.

    A relation is skipped if an open one with the same source, predicate and target exists, which stays unchanged. No
    two of `relations` may be equal in these. `new` are records that this transaction has inserted, by id, which have no
    relations yet: if each relation is of one of them, none is skipped, and the insert may be deferred.
    """
    if not relations:
        return []
    predicates = await directory.predicates(tenant, {relation.predicate for relation in relations})
    ordered = sorted(relations, key=lambda r: (r.source, r.predicate, r.target))
    if all(relation.source in new or relation.target in new for relation in relations):
        scopes = await directory.scopes(tenant, {record.scope for record in new.values()}, create=True)
        rows = [
            {
                "tenant": tenant.id,
                "id": relation.id,
                "source": relation.source,
                "target": relation.target,
                "predicate": predicates[relation.predicate],
                "weight": relation.weight,
                "created_at": at,
                "row_version": 1,
                **_end_hints("source", new.get(relation.source), scopes),
                **_end_hints("target", new.get(relation.target), scopes),
            }
            for relation in ordered
        ]
        await insert_rows(connection, tables.relation, rows)
        return list(relations)
    written = await fetch(
        connection,
        "insert_relations",
        tenant=tenant.id,
        at=at,
        ids=[relation.id for relation in ordered],
        sources=[relation.source for relation in ordered],
        targets=[relation.target for relation in ordered],
        predicates=[predicates[relation.predicate] for relation in ordered],
        weights=[relation.weight for relation in ordered],
    )
    ids = {row["id"] for row in written}
    return [relation for relation in relations if relation.id in ids]


def relation_changes(relations: Sequence[NewRelation]) -> list[Change]:
    """Return the changes to append to the feed for newly inserted relations."""
    return [Change(kind=Kind.RELATION, id=relation.id, version=1) for relation in relations]
