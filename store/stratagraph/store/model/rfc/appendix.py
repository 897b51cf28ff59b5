"""The form of the RFC's schema appendix: `lifecycle` and `relations` on the record, payloads spelled as stored."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from stratagraph.store.model.clock import rfc3339
from stratagraph.store.model.enums import Curve, MemoryType
from stratagraph.store.model.payloads import parse_payload
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
from stratagraph.store.model.rfc.values import Gain, Seconds, Share, Text, Time, tidy, without_nones, word_of
from stratagraph.store.model.salience import REINFORCEMENT_GAIN, Decay, Salience


class DecayForm(Form):
    """How salience falls. The RFC's fields are whole seconds; `half_life_s` and `max_age_s` give fractions exactly."""

    curve: Annotated[Curve, BeforeValidator(word_of(Curve))]
    half_life_seconds: Seconds
    half_life_s: Seconds | None = None
    min_salience: Share = 0.0
    max_age_seconds: Seconds | None = None
    max_age_s: Seconds | None = None
    reinforcement_gain: Gain = REINFORCEMENT_GAIN
    params: dict[str, Any] | None = None

    @model_validator(mode="after")
    def seconds_are_whole_and_agree(self) -> Self:
        for name, whole, exact in (
            ("half_life", self.half_life_seconds, self.half_life_s),
            ("max_age", self.max_age_seconds, self.max_age_s),
        ):
            if whole is not None and not whole.is_integer():
                raise ValueError(
                    f"{name}_seconds must be a whole number, not {whole:g}; give a fraction as {name}_s beside it"
                )
            if exact is not None and (whole is None or float(round(exact)) != whole):
                raise ValueError(f"{name}_seconds must be {name}_s, rounded to whole seconds; {name}_s is {exact:g}")
        return self


class LifecycleForm(Kept):
    decay: DecayForm
    last_reinforced_at: Time


class SourceForm(BaseModel):
    """One source. Unknown keys are kept."""

    model_config = ConfigDict(extra="allow", frozen=True)

    kind: Literal["event", "artifact", "tool_call", "observation", "outcome", "human"]
    ref: Text
    hash: Text = ""
    created_by: Text = ""
    timestamp: Time | None = None


class ProvenanceForm(Form):
    sources: list[SourceForm]
    created_by: Text = ""


class AppendixForm(Envelope):
    type: Annotated[MemoryType, BeforeValidator(word_of(MemoryType))]
    updated_at: Time
    lifecycle: LifecycleForm
    provenance: ProvenanceForm
    relations: list[RelationForm] = Field(default_factory=list)


def to_appendix(
    record: MemoryRecord, relations: Iterable[Relation] = (), audit: Iterable[AuditEntry] = ()
) -> dict[str, Any]:
    """Return the record as plain JSON in the appendix form. Raises InvalidInput for a redacted record."""
    envelope = envelope_of(record, audit)
    assert record.lifecycle is not None
    return {
        **envelope,
        "type": record.type.label,
        "updated_at": rfc3339(record.updated_at),
        "lifecycle": _lifecycle_of(record.lifecycle),
        "provenance": record.provenance,
        "relations": relations_of(record, relations),
        "payload": record.payload,
    }


def from_appendix(document: dict[str, Any]) -> ExportedRecord:
    """Return the record, relations and audit entries of a document in the appendix form.

    Raises InvalidInput, whose `path` names the first invalid field: for example a number that is not finite, a time
    without an offset, an unknown word, or a key that a record cannot store.
    """
    form = read_form(AppendixForm, document)
    return exported_from(
        form,
        form.type,
        updated_at=form.updated_at,
        payload=parse_payload(form.type, form.payload),
        lifecycle=salience_from(
            form,
            form.lifecycle,
            _decay_from(form.lifecycle.decay),
            updated_at=form.updated_at,
            last_reinforced_at=form.lifecycle.last_reinforced_at,
            path=["lifecycle", "last_reinforced_at"],
        ),
        provenance=_provenance_from(document["provenance"], form.provenance),
        relations=form.relations,
    )


def _lifecycle_of(salience: Salience) -> dict[str, Any]:
    decay = salience.decay
    return {
        **kept_of(salience),
        "decay": without_nones(
            curve=decay.curve.label,
            **_seconds("half_life", decay.half_life_s),
            min_salience=decay.min_salience,
            **_seconds("max_age", decay.max_age_s),
            reinforcement_gain=decay.reinforcement_gain,
            params=decay.params,
        ),
        "last_reinforced_at": last_reinforced_of(salience),
    }


def _seconds(name: str, seconds: float | None) -> dict[str, float]:
    if seconds is None:
        return {}
    if seconds.is_integer():
        return {f"{name}_seconds": tidy(seconds)}
    return {f"{name}_seconds": round(seconds), f"{name}_s": seconds}


def _decay_from(form: DecayForm) -> Decay:
    decay = Decay(
        curve=form.curve,
        half_life_s=form.half_life_s or form.half_life_seconds,
        min_salience=form.min_salience,
        max_age_s=form.max_age_s or form.max_age_seconds,
        reinforcement_gain=form.reinforcement_gain,
        params=form.params,
    )
    return checked(decay, path=["lifecycle", "decay"])


def _provenance_from(raw: dict[str, Any], form: ProvenanceForm) -> dict[str, Any]:
    """Return the provenance as given, with its times in UTC."""
    return {
        **raw,
        "sources": [
            source if parsed.timestamp is None else {**source, "timestamp": rfc3339(parsed.timestamp)}
            for source, parsed in zip(raw["sources"], form.sources, strict=True)
        ],
    }
