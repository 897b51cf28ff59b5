"""The parts common to both forms: the envelope, relations, audit entries, and the fields of salience."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal, TypeVar
from uuid import UUID, uuid5

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from stratagraph.store.model.canonical import check_json
from stratagraph.store.model.clock import rfc3339
from stratagraph.store.model.curves import check_power_law
from stratagraph.store.model.enums import AuditAction, Curve, DeletionPolicy, MemoryType, RecordState, Sensitivity
from stratagraph.store.model.error_values import json_type
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.payloads import invalid
from stratagraph.store.model.predicates import inverse, stored_direction
from stratagraph.store.model.records import AuditEntry, MemoryRecord, Relation
from stratagraph.store.model.rfc.values import Id, Predicate, Share, Text, Time, without_nones, word_of
from stratagraph.store.model.salience import Decay, Salience

_RELATIONS = UUID("5bd0a9a2-3c0e-5c35-9d4e-0f6a3cf0f5b1")  # UUID namespace for relations imported without an id
MAX_VERSION = 2**31 - 1  # of a record: PostgreSQL's integer


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedRecord:
    """A whole record, the relations that start or end at it, and its audit entries, oldest first."""

    record: MemoryRecord
    relations: tuple[Relation, ...] = ()
    audit: tuple[AuditEntry, ...] = ()


class Form(BaseModel):
    """A JSON object in which unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class RelationForm(Form):
    """A relation. Without an id it gets one derived from its ends and predicate, the same when read from either end."""

    id: Id | None = None
    predicate: Predicate
    target_id: Id
    weight: Share = 1.0
    created_at: Time | None = None  # absent: the record's created_at


class AuditForm(Form):
    action: Annotated[AuditAction, BeforeValidator(word_of(AuditAction))]
    actor: Text
    timestamp: Time
    rationale: Text | None = None


class Envelope(Form):
    """The fields that both forms spell the same way."""

    id: Id
    tenant: Text = ""  # absent: the tenant of the importing credential
    sensitivity: Annotated[Sensitivity, BeforeValidator(word_of(Sensitivity))]
    state: Annotated[RecordState, BeforeValidator(word_of(RecordState))] | None = None  # absent: the fact's revision
    confidence: Share
    salience: Share
    scope: Text = ""
    tags: list[Text] = Field(default_factory=list)
    created_at: Time
    occurred_at: Time | None = None  # absent: created_at
    version: Annotated[int, Field(strict=True, ge=1, le=MAX_VERSION)] = 1
    name: Text | None = None
    text: Text | None = None
    interpretation: dict[str, Any] | None = None
    payload: dict[str, Any]
    audit_log: list[AuditForm] = Field(default_factory=list)


class Kept(Form):
    """The fields of salience that the RFC does not have: the value `s` at `t0`, pin and deletion policy."""

    s: Share | None = None  # absent: the record's salience
    t0: Time | None = None  # absent: the later of updated_at and last_reinforced_at
    created_at: Time | None = None  # the start of max_age; absent: the record's created_at
    pinned: Annotated[bool, Field(strict=True)] = False
    deletion_policy: Annotated[DeletionPolicy, BeforeValidator(word_of(DeletionPolicy))] = DeletionPolicy.AUTO_PRUNE
    never_reinforced: Literal[True] | None = None  # then last_reinforced_at, which is required, equals created_at


FormT = TypeVar("FormT", bound=Form)


def read_form(form: type[FormT], document: Any) -> FormT:
    """Return the document parsed as a form. Raises InvalidInput, whose path names the first invalid field."""
    if not isinstance(document, dict):
        raise InvalidInput(f"record: a record must be a JSON object, not {json_type(document)}", path=["record"])
    for name, value in document.items():
        check_json(name, path=["record"])
        check_json(value, path=[str(name)])
    try:
        return form.model_validate(document)
    except ValidationError as error:
        raise invalid(error, []) from error


def envelope_of(record: MemoryRecord, audit: Iterable[AuditEntry]) -> dict[str, Any]:
    """Return the fields of the envelope except `payload`. Raises InvalidInput for a redacted record."""
    if record.redacted or record.payload is None or record.lifecycle is None or record.provenance is None:
        raise InvalidInput(
            f"record: record {record.id} was not read in full, so it cannot be exported: its content is hidden from a"
            f" reader with a ceiling below {record.sensitivity.label}. Export it with a higher ceiling.",
            path=["record"],
        )
    return without_nones(
        id=str(record.id),
        tenant=record.tenant,
        sensitivity=record.sensitivity.label,
        state=record.state.label,
        confidence=record.confidence,
        salience=record.salience,
        scope=record.scope,
        tags=list(record.tags),
        created_at=rfc3339(record.created_at),
        occurred_at=rfc3339(record.occurred_at),
        version=record.version,
        name=record.name,
        text=record.text,
        interpretation=record.interpretation,
        audit_log=[
            without_nones(
                action=entry.action, actor=entry.actor, timestamp=rfc3339(entry.timestamp), rationale=entry.rationale
            )
            for entry in audit
        ],
    )


def kept_of(salience: Salience) -> dict[str, Any]:
    """Return the salience fields that neither RFC form has, under the keys of `Kept`."""
    return without_nones(
        s=salience.s,
        t0=rfc3339(salience.t0),
        created_at=rfc3339(salience.created_at),
        pinned=salience.pinned,
        deletion_policy=salience.deletion_policy.label,
        never_reinforced=True if salience.last_reinforced_at is None else None,
    )


def last_reinforced_of(salience: Salience) -> str:
    """Return the time of the last reinforcement; that of creation for a record that was never reinforced."""
    return rfc3339(salience.last_reinforced_at or salience.created_at)


def relations_of(record: MemoryRecord, relations: Iterable[Relation]) -> list[dict[str, Any]]:
    """Return the relations as read from the record: one that ends at it has the inverse predicate.

    Raises InvalidInput for a relation that does not touch the record or has an inverse name as its predicate.
    """
    found = []
    for relation in relations:
        if stored_direction(relation.predicate)[1]:
            raise InvalidInput(
                f"relations: {relation.predicate!r} is an inverse name; relations are stored under the forward name"
                f" {stored_direction(relation.predicate)[0]!r}, with source and target swapped",
                path=["relations"],
            )
        if record.id not in {relation.source, relation.target}:
            raise InvalidInput(
                f"relations: {relation.id} does not start or end at the record {record.id}; leave it out",
                path=["relations"],
            )
        starts_here = relation.source == record.id
        found.append(
            {
                "id": str(relation.id),
                "predicate": relation.predicate if starts_here else inverse(relation.predicate),
                "target_id": str(relation.target if starts_here else relation.source),
                "weight": relation.weight,
                "created_at": rfc3339(relation.created_at),
            }
        )
    return found


def checked(decay: Decay, *, path: list[str]) -> Decay:
    """Return the decay unchanged. Raises InvalidInput, naming `path`, for a custom curve with an invalid exponent.

    The curve's name is not checked here; `Salience.due_at` checks it when the record is written.
    """
    if decay.curve is Curve.CUSTOM:
        check_power_law(decay.params or {}, path)
    return decay


def salience_from(
    form: Envelope, kept: Kept, decay: Decay, *, updated_at: datetime, last_reinforced_at: datetime, path: list[str]
) -> Salience:
    """Return the salience that a document describes.

    Raises InvalidInput if the record was never reinforced and `last_reinforced_at`, which `path` names, is not the
    time of creation.
    """
    created_at = kept.created_at or form.created_at
    if kept.never_reinforced and last_reinforced_at != created_at:
        raise InvalidInput(
            f"{'.'.join(path)}: {rfc3339(last_reinforced_at)} differs from created_at {rfc3339(created_at)}, although"
            " never_reinforced is true; make them equal, or leave never_reinforced out",
            path=path,
        )
    return Salience(
        s=form.salience if kept.s is None else kept.s,
        t0=kept.t0 or max(updated_at, last_reinforced_at),
        created_at=created_at,
        decay=decay,
        pinned=kept.pinned,
        deletion_policy=kept.deletion_policy,
        last_reinforced_at=None if kept.never_reinforced else last_reinforced_at,
    )


_STATES = {"contested": RecordState.CONTESTED, "retracted": RecordState.RETRACTED}


def _state_of(payload: dict[str, Any]) -> RecordState:
    """Return the state given by a fact's `revision`; active for the other types."""
    revision = payload.get("revision") if payload["kind"] == MemoryType.SEMANTIC.label else None
    if not revision:
        return RecordState.ACTIVE
    if "superseded_by" in revision:
        return RecordState.SUPERSEDED
    return _STATES.get(revision.get("status"), RecordState.ACTIVE)


def exported_from(
    form: Envelope,
    memory_type: MemoryType,
    *,
    updated_at: datetime,
    payload: dict[str, Any],
    lifecycle: Salience,
    provenance: dict[str, Any],
    relations: Sequence[RelationForm],
) -> ExportedRecord:
    """Return the record of an envelope and the parts that each form spells in its own way."""
    record = MemoryRecord(
        id=form.id,
        tenant=form.tenant,
        type=memory_type,
        scope=form.scope,
        sensitivity=form.sensitivity,
        state=form.state or _state_of(payload),
        confidence=form.confidence,
        salience=form.salience,
        tags=tuple(form.tags),
        created_at=form.created_at,
        occurred_at=form.occurred_at or form.created_at,
        updated_at=updated_at,
        version=form.version,
        name=form.name,
        text=form.text,
        payload=payload,
        lifecycle=lifecycle,
        provenance=provenance,
        interpretation=form.interpretation,
    )
    return ExportedRecord(
        record=record,
        relations=tuple(_relation(record, relation) for relation in relations),
        audit=tuple(
            AuditEntry(
                seq=seq, action=entry.action, actor=entry.actor, timestamp=entry.timestamp, rationale=entry.rationale
            )
            for seq, entry in enumerate(form.audit_log, 1)
        ),
    )


def _relation(record: MemoryRecord, form: RelationForm) -> Relation:
    predicate, swapped = stored_direction(form.predicate)
    source, target = (form.target_id, record.id) if swapped else (record.id, form.target_id)
    return Relation(
        id=form.id or uuid5(_RELATIONS, f"{source} {predicate} {target}"),
        source=source,
        target=target,
        predicate=predicate,
        weight=form.weight,
        created_at=form.created_at or record.created_at,
    )
