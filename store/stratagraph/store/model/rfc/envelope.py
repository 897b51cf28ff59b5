"""What the two forms share: the envelope, relations, audit entries, and what salience needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal, TypeVar
from uuid import UUID, uuid5

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from stratagraph.store.model.canonical import check_json
from stratagraph.store.model.clock import rfc3339
from stratagraph.store.model.enums import AuditAction, Curve, DeletionPolicy, MemoryType, RecordState, Sensitivity
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.payloads import invalid
from stratagraph.store.model.predicates import inverse, stored_direction
from stratagraph.store.model.records import AuditEntry, MemoryRecord, Relation
from stratagraph.store.model.rfc.values import Id, Predicate, Share, Text, Time, without_nones, word_of
from stratagraph.store.model.salience import Decay, Salience

_RELATIONS = UUID("5bd0a9a2-3c0e-5c35-9d4e-0f6a3cf0f5b1")  # namespace of the ids of relations that came without one
MAX_VERSION = 2**31 - 1
MAX_BETA = 1e6  # exponent of the power law; a curve so steep is a step


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedRecord:
    """A whole record, the relations that start or end at it, and its audit entries, oldest first."""

    record: MemoryRecord
    relations: tuple[Relation, ...] = ()
    audit: tuple[AuditEntry, ...] = ()


class Form(BaseModel):
    """A JSON object whose every key has a place in the record."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class RelationForm(Form):
    """Without an id it gets one from its ends and predicate, the same from either end."""

    id: Id | None = None
    predicate: Predicate
    target_id: Id
    weight: Share = 1.0
    created_at: Time | None = None  # absent: when the record was made


class AuditForm(Form):
    action: Annotated[AuditAction, BeforeValidator(word_of(AuditAction))]
    actor: Text
    timestamp: Time
    rationale: Text | None = None


class Envelope(Form):
    """The fields that both forms spell alike."""

    id: Id
    tenant: Text = ""  # absent: the importer's credential decides
    sensitivity: Annotated[Sensitivity, BeforeValidator(word_of(Sensitivity))]
    state: Annotated[RecordState, BeforeValidator(word_of(RecordState))] | None = None  # absent: as a fact's revision
    confidence: Share
    salience: Share
    scope: Text = ""
    tags: list[Text] = Field(default_factory=list)
    created_at: Time
    occurred_at: Time | None = None  # absent: when the record was made
    version: Annotated[int, Field(strict=True, ge=1, le=MAX_VERSION)] = 1
    name: Text | None = None
    text: Text | None = None
    interpretation: dict[str, Any] | None = None
    payload: dict[str, Any]
    audit_log: list[AuditForm] = Field(default_factory=list)


class Kept(Form):
    """What salience needs besides its decay, and no form has a word for: the value `s` fixed at `t0`."""

    s: Share | None = None  # absent: the record's salience
    t0: Time | None = None  # absent: the last thing known to have happened to the record
    created_at: Time | None = None  # what max_age counts from; absent: when the record was made
    pinned: Annotated[bool, Field(strict=True)] = False
    deletion_policy: Annotated[DeletionPolicy, BeforeValidator(word_of(DeletionPolicy))] = DeletionPolicy.AUTO_PRUNE
    never_reinforced: Literal[True] | None = None  # then last_reinforced_at, which both forms require, is created_at


FormT = TypeVar("FormT", bound=Form)


def read_form(form: type[FormT], document: Any) -> FormT:
    """Raises InvalidInput whose path names the first field that is wrong."""
    if not isinstance(document, dict):
        raise InvalidInput("record: a record is a JSON object", path=["record"])
    for name, value in document.items():
        check_json(name, path=["record"])
        check_json(value, path=[str(name)])
    try:
        return form.model_validate(document)
    except ValidationError as error:
        raise invalid(error, []) from error


def envelope_of(record: MemoryRecord, audit: Iterable[AuditEntry]) -> dict[str, Any]:
    """The shared fields but `payload`. Raises InvalidInput for a record that is not whole."""
    if record.redacted or record.payload is None or record.lifecycle is None or record.provenance is None:
        raise InvalidInput(f"record: {record.id} was not read whole, so it cannot be written whole", path=["record"])
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
    return without_nones(
        s=salience.s,
        t0=rfc3339(salience.t0),
        created_at=rfc3339(salience.created_at),
        pinned=salience.pinned,
        deletion_policy=salience.deletion_policy.label,
        never_reinforced=True if salience.last_reinforced_at is None else None,
    )


def last_reinforced_of(salience: Salience) -> str:
    return rfc3339(salience.last_reinforced_at or salience.created_at)


def relations_of(record: MemoryRecord, relations: Iterable[Relation]) -> list[dict[str, Any]]:
    """Each as read from the record: what ends at it appears under the inverse predicate."""
    found = []
    for relation in relations:
        if stored_direction(relation.predicate)[1]:
            raise InvalidInput(
                f"relations: {relation.predicate!r} is the inverse name of a predicate; relations are stored forwards",
                path=["relations"],
            )
        if record.id not in {relation.source, relation.target}:
            raise InvalidInput(f"relations: {relation.id} does not touch the record {record.id}", path=["relations"])
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
    """The decay itself. A power law with an exponent of 0 or less would never fall, or rise."""
    if decay.curve is Curve.CUSTOM:
        beta = (decay.params or {}).get("beta", 1.0)
        if isinstance(beta, bool) or not isinstance(beta, int | float) or not 0 < beta < MAX_BETA:
            where = [*path, "params", "beta"]
            raise InvalidInput(f"{'.'.join(where)}: a number above 0 and below {MAX_BETA:g}", path=where)
    return decay


def salience_from(
    form: Envelope, kept: Kept, decay: Decay, *, updated_at: datetime, last_reinforced_at: datetime, path: list[str]
) -> Salience:
    created_at = kept.created_at or form.created_at
    if kept.never_reinforced and last_reinforced_at != created_at:
        raise InvalidInput(
            f"{'.'.join(path)}: differs from created_at, although the record was never reinforced", path=path
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
    """The state that a fact's revision block tells; other types have none."""
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
            AuditEntry(action=entry.action, actor=entry.actor, timestamp=entry.timestamp, rationale=entry.rationale)
            for entry in form.audit_log
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
