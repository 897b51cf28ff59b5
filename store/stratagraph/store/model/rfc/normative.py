"""The form of the RFC's normative block ("15A. Canonical Schemas"), which spells many fields differently.

It has `decay_profile {function, half_life, floor, reinforcement_gain}` with the half-life in seconds, `relationships`,
`provenance` as a list of `{source_type, source_id, timestamp}`, the type `plan`, and the payload fields of RENAMED.
If a payload already has an extra key with the form's name, the two names are swapped, so that renaming loses neither
and is its own inverse.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from stratagraph.store.model.clock import rfc3339
from stratagraph.store.model.enums import Curve, MemoryType
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.payloads import invalid, parse_payload
from stratagraph.store.model.records import AuditEntry, MemoryRecord, Relation
from stratagraph.store.model.rfc.envelope import (
    Envelope,
    ExportedRecord,
    Form,
    Kept,
    RelationForm,
    checked,
    envelope_of,
    exported_from,
    kept_of,
    last_reinforced_of,
    read_form,
    relations_of,
    salience_from,
)
from stratagraph.store.model.rfc.values import (
    Gain,
    Seconds,
    Share,
    Text,
    Time,
    label_of,
    tidy,
    without_nones,
    word_of,
)
from stratagraph.store.model.salience import REINFORCEMENT_GAIN, Decay

PLAN = "plan"  # the form's word for plan_graph
RENAMED: dict[MemoryType, dict[str, str]] = {
    MemoryType.EPISODIC: {"artifacts": "artifact_refs"},
    MemoryType.WORKING: {"thread_id": "task_id"},
    MemoryType.COMPETENCE: {"recipe": "procedure"},
    MemoryType.PLAN_GRAPH: {"inputs_schema": "input_schema", "outputs_schema": "output_schema"},
}
_SOURCE = {"kind": "source_type", "ref": "source_id"}
_SOURCE_TYPE = {"tool_call": "tool"}
_LAST_UPDATED = re.compile(r"_*last_updated")


class DecayProfile(Form):
    function: Annotated[Curve, BeforeValidator(word_of(Curve))]
    half_life: Seconds
    floor: Share = 0.0
    reinforcement_gain: Gain = REINFORCEMENT_GAIN
    max_age_seconds: Seconds | None = None
    params: dict[str, Any] | None = None


class ProvenanceRef(BaseModel):
    """One source. Unknown keys are kept."""

    model_config = ConfigDict(extra="allow", frozen=True)

    source_type: Literal["event", "artifact", "tool", "observation", "outcome", "human"]
    source_id: Text
    hash: Text = ""
    created_by: Text = ""
    timestamp: Time | None = None


class Touched(Form):
    """The time of the last update, which this form puts into a working payload."""

    last_updated: Time


class NormativeForm(Envelope):
    type: Annotated[MemoryType, BeforeValidator(word_of(MemoryType, plan_graph=PLAN))]
    updated_at: Time | None = None  # absent: a working payload's last_updated, else created_at
    last_reinforced_at: Time
    decay_profile: DecayProfile
    lifecycle: Kept = Kept()
    provenance: list[ProvenanceRef]
    created_by: Text = ""  # of the provenance
    relationships: list[RelationForm] = Field(default_factory=list)


def to_normative(
    record: MemoryRecord, relations: Iterable[Relation] = (), audit: Iterable[AuditEntry] = ()
) -> dict[str, Any]:
    """Return the record as plain JSON in the normative form. Raises InvalidInput for a redacted record."""
    envelope = envelope_of(record, audit)
    assert record.lifecycle is not None
    assert record.provenance is not None
    assert record.payload is not None
    decay = record.lifecycle.decay
    payload = _exchanged(record.type, record.payload)
    if record.type is MemoryType.WORKING:
        own = {("_" + name if _LAST_UPDATED.fullmatch(name) else name): value for name, value in payload.items()}
        payload = {**own, "last_updated": rfc3339(record.updated_at)}
    return {
        **envelope,
        "type": label_of(record.type, plan_graph=PLAN),
        "updated_at": rfc3339(record.updated_at),
        "last_reinforced_at": last_reinforced_of(record.lifecycle),
        "decay_profile": without_nones(
            function=decay.curve.label,
            half_life=tidy(decay.half_life_s),
            floor=decay.min_salience,
            reinforcement_gain=decay.reinforcement_gain,
            max_age_seconds=None if decay.max_age_s is None else tidy(decay.max_age_s),
            params=decay.params,
        ),
        "lifecycle": kept_of(record.lifecycle),
        "provenance": [_exchanged_source(source) for source in record.provenance["sources"]],
        **_created_by(record.provenance),
        "relationships": relations_of(record, relations),
        "payload": payload,
    }


def from_normative(document: dict[str, Any]) -> ExportedRecord:
    """Return the record, relations and audit entries of a document in the normative form.

    A plan without `plan_id`, which this form does not have, gets its record's id. Raises InvalidInput, whose `path`
    names the first invalid field as this form spells it.
    """
    form = read_form(NormativeForm, document)
    payload = _exchanged(form.type, form.payload)
    updated_at = form.updated_at or form.created_at
    if form.type is MemoryType.WORKING:
        payload, updated_at = _without_last_updated(form, payload)
    if form.type is MemoryType.PLAN_GRAPH:
        payload = {"plan_id": str(form.id), **payload}
    sources = [_source_from(raw, parsed) for raw, parsed in zip(document["provenance"], form.provenance, strict=True)]
    return exported_from(
        form,
        form.type,
        updated_at=updated_at,
        payload=_parsed(form.type, payload),
        lifecycle=salience_from(
            form,
            form.lifecycle,
            _decay_from(form.decay_profile),
            updated_at=updated_at,
            last_reinforced_at=form.last_reinforced_at,
            path=["last_reinforced_at"],
        ),
        provenance={"sources": sources, **_created_by(document)},
        relations=form.relationships,
    )


def _both_ways(names: dict[str, str]) -> dict[str, str]:
    """Return the mapping together with its inverse."""
    return names | {theirs: ours for ours, theirs in names.items()}


def _exchanged(memory_type: MemoryType, payload: dict[str, Any]) -> dict[str, Any]:
    """Return the payload with stored and normative names exchanged. The function is its own inverse."""
    names = _both_ways(RENAMED.get(memory_type, {}))
    renamed = {names.get(name, name): value for name, value in payload.items()}
    evidence = renamed.get("evidence")
    if memory_type is MemoryType.SEMANTIC and isinstance(evidence, list):
        renamed["evidence"] = [_exchanged_source(item) for item in evidence]
    return renamed


def _exchanged_source(source: Any) -> Any:
    """Return a source or a piece of evidence with stored and normative names exchanged; its own inverse."""
    if not isinstance(source, dict):
        return source  # the payload's schema refuses it later
    names, kinds = _both_ways(_SOURCE), _both_ways(_SOURCE_TYPE)
    renamed = {names.get(name, name): value for name, value in source.items()}
    for name in ("kind", "source_type"):  # both: either may be an extra key under the other's name
        if isinstance(renamed.get(name), str):
            renamed[name] = kinds.get(renamed[name], renamed[name])
    return renamed


def _source_from(raw: dict[str, Any], parsed: ProvenanceRef) -> Any:
    """Return the source as given, with the stored names and its time in UTC."""
    return _exchanged_source(raw if parsed.timestamp is None else {**raw, "timestamp": rfc3339(parsed.timestamp)})


def _created_by(holder: dict[str, Any]) -> dict[str, Any]:
    return {"created_by": holder["created_by"]} if "created_by" in holder else {}


def _without_last_updated(form: NormativeForm, payload: dict[str, Any]) -> tuple[dict[str, Any], datetime]:
    """Return a working payload as stored, and the time of its last update.

    A key `last_updated` of the payload's own is exported with one more leading underscore, removed here.
    """
    updated_at = form.updated_at or form.created_at
    if "last_updated" in payload:
        try:
            last_updated = Touched.model_validate({"last_updated": payload["last_updated"]}).last_updated
        except ValidationError as error:
            raise invalid(error, ["payload"]) from error
        if form.updated_at is not None and last_updated != updated_at:
            raise InvalidInput(
                f"payload.last_updated: {rfc3339(last_updated)} differs from updated_at {rfc3339(updated_at)}; give"
                " only one of them",
                path=["payload", "last_updated"],
            )
        updated_at = last_updated
    kept = {name: value for name, value in payload.items() if name != "last_updated"}
    return {name[1:] if _LAST_UPDATED.fullmatch(name) else name: value for name, value in kept.items()}, updated_at


def _parsed(memory_type: MemoryType, payload: dict[str, Any]) -> dict[str, Any]:
    """Parse the payload; an error names its field as this form spells it."""
    try:
        return parse_payload(memory_type, payload)
    except InvalidInput as error:
        path, message = list(error.path or ["payload"]), error.message
        for ours, theirs in RENAMED.get(memory_type, {}).items():
            message = re.sub(rf"\bpayload\.{ours}\b", f"payload.{theirs}", message)
            path[1:2] = [theirs if name == ours else name for name in path[1:2]]
        raise InvalidInput(message, path=path) from error


def _decay_from(form: DecayProfile) -> Decay:
    decay = Decay(
        curve=form.function,
        half_life_s=form.half_life,
        min_salience=form.floor,
        max_age_s=form.max_age_seconds,
        reinforcement_gain=form.reinforcement_gain,
        params=form.params,
    )
    return checked(decay, path=["decay_profile"])
