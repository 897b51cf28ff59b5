"""Putting records and relations into the store. Called inside one transaction, after its locks are taken.

The order is the same for every writer, so that two of them never wait for each other in a circle: entity terms,
fact slots, working records, episodes (each sorted by key), then the rows themselves, audit, and last the feed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.audit.events import AuditEvent, write_audit
from stratagraph.store.feed.consumer import Change, Kind, append_changes
from stratagraph.store.keys.sealing import contents
from stratagraph.store.keys.sealing.vault import Sealer
from stratagraph.store.keys.tenancy import Directory, Tenant
from stratagraph.store.model.canonical import keyed_hash
from stratagraph.store.model.enums import AuditAction, DeletionPolicy, MemoryType, RecordState, Sensitivity
from stratagraph.store.model.ids import new_id
from stratagraph.store.model.records import MemoryRecord, Relation
from stratagraph.store.model.salience import Decay, Salience
from stratagraph.store.model.words import Terms
from stratagraph.store.postgres import tables
from stratagraph.store.postgres.bulk import insert_rows
from stratagraph.store.postgres.queries import fetch
from stratagraph.store.records.facts import FactKeys


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRecord:
    """All that is decided about a record before it is written."""

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
    handle: str | None = None
    fact: FactKeys | None = None
    state: RecordState = RecordState.ACTIVE
    rationale: str | None = None

    def salience(self, at: datetime) -> Salience:
        return Salience(
            s=1.0, t0=at, created_at=at, decay=self.decay, deletion_policy=self.deletion_policy, last_reinforced_at=at
        )

    def as_record(self, tenant: Tenant, at: datetime) -> MemoryRecord:
        """The record as a reader would get it right after the commit."""
        return MemoryRecord(
            id=self.id,
            tenant=tenant.name,
            type=self.type,
            scope=self.scope,
            sensitivity=self.sensitivity,
            state=self.state,
            confidence=self.confidence,
            salience=1.0,
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
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRelation:
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


def handle_key(tenant: Tenant, memory_type: MemoryType, handle: str) -> bytes:
    """By what a plan, a skill or a thread is looked up without its name standing in a plain column."""
    return keyed_hash(tenant.index_key, f"handle:{memory_type.label}", handle.encode())


async def insert_records(
    connection: AsyncConnection,
    directory: Directory,
    tenant: Tenant,
    records: Sequence[NewRecord],
    *,
    actor: str,
    at: datetime,
) -> list[Change]:
    """Write new records with salience and audit; returns what the feed must say about them."""
    if not records:
        return []
    scopes = await directory.scopes(tenant, {record.scope for record in records}, create=True)
    docs = await directory.docs(tenant, len(records))
    secret = {record.id for record in records if tenant.keyring.seals(record.sensitivity)}
    sealer = await tenant.keyring.sealer(connection) if secret else None
    rows = [
        _record_row(tenant, record, scopes[record.scope], doc, at, sealer if record.id in secret else None)
        for record, doc in zip(records, docs, strict=True)
    ]
    await insert_rows(connection, tables.record, rows)
    await insert_rows(
        connection, tables.salience, [salience_row(tenant, record.id, record.salience(at)) for record in records]
    )
    await write_audit(
        connection,
        tenant,
        [
            AuditEvent(record=record.id, action=AuditAction.CREATE, rationale=record.rationale, salience=1.0)
            for record in records
        ],
        actor=actor,
        at=at,
        new=[record.id for record in records],
        sealed=secret,
    )
    return [Change(kind=Kind.RECORD, id=record.id, version=1) for record in records]


def _record_row(
    tenant: Tenant, record: NewRecord, scope: int, doc: int, at: datetime, sealer: Sealer | None
) -> dict[str, Any]:
    fact = record.fact
    values = {name: getattr(record, name) for name in contents.FIELDS}
    return {
        "tenant": tenant.id,
        "id": record.id,
        "doc": doc,
        "type": int(record.type),
        "scope": scope,
        "sensitivity": int(record.sensitivity),
        "state": int(record.state),
        "confidence": record.confidence,
        "tags": record.tags,
        **(contents.plain(values) if sealer is None else contents.sealed(sealer, record.id, values)),
        "created_at": at,
        "occurred_at": record.occurred_at,
        "updated_at": at,
        "version": 1,
        "row_version": 1,
        "handle_key": handle_key(tenant, record.type, record.handle) if record.handle is not None else None,
        "fact_key": fact.fact if fact else None,
        "slot_key": fact.slot if fact else None,
        "condition_key": fact.condition if fact else None,
        "single_valued": fact.single_valued if fact else None,
        "validity": fact.validity if fact else None,
        "terms": record.terms.numbers,
        "impacts": record.terms.as_sparsevec(),
    }


def salience_row(tenant: Tenant, record: UUID, salience: Salience) -> dict[str, Any]:
    decay = salience.decay
    return {
        "tenant": tenant.id,
        "id": record,
        "s": salience.s,
        "t0": salience.t0,
        "curve": int(decay.curve),
        "half_life_s": decay.half_life_s,
        "min_salience": decay.min_salience,
        "max_age_s": decay.max_age_s,
        "reinforcement_gain": decay.reinforcement_gain,
        "params": decay.params,
        "pinned": salience.pinned,
        "deletion_policy": int(salience.deletion_policy),
        "due_at": salience.due_at(),
        "last_reinforced_at": salience.last_reinforced_at,
    }


async def insert_relations(
    connection: AsyncConnection,
    directory: Directory,
    tenant: Tenant,
    relations: Sequence[NewRelation],
    *,
    at: datetime,
) -> list[NewRelation]:
    """Write relations; returns those that were new. One that is there already stays as it is."""
    if not relations:
        return []
    predicates = await directory.predicates(tenant, {relation.predicate for relation in relations})
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
        }
        for relation in sorted(relations, key=lambda r: (r.source, r.predicate, r.target))
    ]
    written = await insert_rows(
        connection,
        tables.relation,
        rows,
        suffix="ON CONFLICT (tenant, source, predicate, target) WHERE ended_at IS NULL DO NOTHING RETURNING id",
    )
    ids = {row.id for row in written}
    return [relation for relation in relations if relation.id in ids]


def relation_changes(relations: Sequence[NewRelation]) -> list[Change]:
    return [Change(kind=Kind.RELATION, id=relation.id, version=1) for relation in relations]


async def update_records(
    connection: AsyncConnection,
    directory: Directory,
    tenant: Tenant,
    edits: Sequence[Edit],
    *,
    at: datetime,
) -> list[Change]:
    """Replace the content of records that the caller holds locked; what they were goes to the history first.

    A record that is sealed stays so. One whose sensitivity comes to the level of sealing, or that was written before
    there was one, is sealed with all that is kept of it, in a bounded number of statements more.
    """
    changes: list[Change] = []
    if not edits:
        return changes
    docs = await directory.docs(tenant, len(edits))
    blobs, closing = await _resealed(connection, tenant, edits)
    for edit, doc, blob in zip(edits, docs, blobs, strict=True):
        rows = await fetch(
            connection,
            "update_record",
            tenant=tenant.id,
            id=edit.id,
            doc=doc,
            at=at,
            state=edit.state,
            sensitivity=edit.sensitivity,
            confidence=edit.confidence,
            sealed=blob.sealed,
            name=None if blob.hides else edit.name,
            text=None if blob.hides else edit.text,
            payload=None if blob.hides else edit.payload,
            provenance=None if blob.hides else edit.provenance,
            interpretation=None if blob.hides else edit.interpretation,
            terms=edit.terms.numbers if edit.terms else None,
            impacts=edit.terms.as_sparsevec() if edit.terms else None,
            occurred_at=edit.occurred_at,
            step=1 if edit.is_revision else 0,
        )
        changes.extend(Change(kind=Kind.RECORD, id=edit.id, version=row["row_version"]) for row in rows)
    await contents.seal_copies(connection, tenant.keyring, closing)
    return changes


@dataclass(frozen=True, slots=True)
class _Blob:
    """What becomes of a record's blob: a new one, or the same (None). Where there is one, it hides the content."""

    sealed: bytes | None
    hides: bool


async def _resealed(
    connection: AsyncConnection, tenant: Tenant, edits: Sequence[Edit]
) -> tuple[list[_Blob], set[UUID]]:
    """The blob that each edit leaves, and the records that are sealed from now on and were not before."""
    rows = await fetch(
        connection,
        "fetch_contents",
        tenant=tenant.id,
        ids=[edit.id for edit in edits],
        levels=[None if edit.sensitivity is None else int(edit.sensitivity) for edit in edits],
        seal_from=None if tenant.keyring.seal_from is None else int(tenant.keyring.seal_from),
    )
    opened = await contents.opened(tenant.keyring, rows)
    held = {
        row["id"]: {name: row[name] for name in contents.FIELDS} if content is None else content
        for row, content in zip(rows, opened, strict=True)
    }
    closing = {row["id"] for row in rows if row["closing"]}
    unsealed = set(closing)
    sealer: Sealer | None = None
    blobs = []
    for edit in edits:
        values = held.get(edit.id)
        if values is None:
            blobs.append(_Blob(None, hides=False))
            continue
        said = edit.content()
        if not said and edit.id not in unsealed:
            blobs.append(_Blob(None, hides=True))
            continue
        values.update(said)
        unsealed.discard(edit.id)
        sealer = sealer or await tenant.keyring.sealer(connection)
        blobs.append(_Blob(contents.sealed(sealer, edit.id, values)["sealed"], hides=True))
    return blobs, closing


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """New content for one record; None leaves a field as it is. JSON fields are given as text.

    A revision moves the caller's `version`; an append, a statistic or new evidence does not.
    """

    id: UUID
    state: int | None = None
    sensitivity: int | None = None
    confidence: float | None = None
    name: str | None = None
    text: str | None = None
    payload: str | None = None
    provenance: str | None = None
    interpretation: str | None = None
    terms: Terms | None = None
    occurred_at: datetime | None = None
    is_revision: bool = True

    def content(self) -> dict[str, Any]:
        """The new values of what is sealed together."""
        plain = {"name": self.name, "text": self.text}
        json = {"payload": self.payload, "provenance": self.provenance, "interpretation": self.interpretation}
        said: dict[str, Any] = {name: value for name, value in plain.items() if value is not None}
        return said | {name: orjson.loads(value) for name, value in json.items() if value is not None}


async def write_salience(connection: AsyncConnection, tenant: Tenant, events: Sequence[tuple[UUID, Salience]]) -> None:
    """Fix the salience of records anew: the last event decides, so a later write replaces an earlier one."""
    rows = [salience_row(tenant, record, salience) for record, salience in events]
    await insert_rows(
        connection,
        tables.salience,
        rows,
        suffix="ON CONFLICT (tenant, id) DO UPDATE SET (s, t0, curve, half_life_s, min_salience, max_age_s,"
        " reinforcement_gain, params, pinned, deletion_policy, due_at, last_reinforced_at) = (excluded.s, excluded.t0,"
        " excluded.curve, excluded.half_life_s, excluded.min_salience, excluded.max_age_s, excluded.reinforcement_gain,"
        " excluded.params, excluded.pinned, excluded.deletion_policy, excluded.due_at, excluded.last_reinforced_at)",
    )


async def finish(connection: AsyncConnection, tenant: Tenant, changes: Sequence[Change]) -> None:
    """The last thing a writer does: tell the feed, after all rows and under all their locks."""
    await append_changes(connection, tenant, changes)
