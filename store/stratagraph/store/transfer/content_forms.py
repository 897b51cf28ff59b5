"""The forms of what a record's content has beside its payload, as instances write them and readers expect them.

Keys that they do not know are kept, since records of other systems bring some in their interpretations.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.exported import Content
from stratagraph.store.model.payloads import invalid
from stratagraph.store.model.payloads.base import Part
from stratagraph.store.model.rfc.envelope import Form
from stratagraph.store.model.rfc.values import Id, Text


def stored_time(value: Any) -> datetime:
    """Return a time as readers of stored JSON parse it, in UTC. Raises ValueError for what they could not read."""
    try:
        parsed = datetime.fromisoformat(value)
        if parsed.tzinfo is not None:
            return parsed.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError("must be a time with a UTC offset, such as 2026-01-28T09:30:00Z")


_Time = Annotated[datetime, BeforeValidator(stored_time)]


class _Source(Part):
    kind: Text  # earlier versions had others than those of today
    ref: Text
    hash: Text = ""
    created_by: Text = ""
    timestamp: _Time | None = None


class _Provenance(Form):
    sources: list[_Source]
    created_by: Text = ""


class _Mention(Part):
    surface: Text
    predicate: Text = ""
    status: Text = ""
    entity_id: Id | None = None
    type: Text | None = None
    by: Text = ""

    @model_validator(mode="after")
    def can_be_linked(self) -> Self:
        if "entity_id" in self.model_fields_set and self.entity_id is None:
            raise ValueError("entity_id must be the id of an entity; leave it out for none")
        if self.status == "ambiguous" and not self.predicate:
            raise ValueError("predicate is missing, by which an ambiguous name will be linked")
        return self


class _Reference(Part):
    ref: Text = ""
    record_id: Id | None = None


class _NamedTime(Part):
    words: Text
    start: _Time
    end: _Time
    by: Text = ""

    @model_validator(mode="after")
    def has_an_instant(self) -> Self:
        if self.start >= self.end:
            raise ValueError("start must be before end")
        return self


class _Interpretation(Part):
    status: Text = ""
    model: Text = ""
    mentions: list[_Mention] | None = None
    references: list[_Reference] | None = None
    topical_labels: list[Text] | None = None
    model_labels: list[Text] | None = None
    named_times: list[_NamedTime] = Field(default_factory=list)
    secrets: dict[str, Any] = Field(default_factory=dict)


class _LearnedState(Part):
    tools: list[Text] = Field(default_factory=list)


_FORMS: dict[str, type[Part] | type[Form]] = {
    "provenance": _Provenance,
    "interpretation": _Interpretation,
    "learned_state": _LearnedState,
}


def check_content_forms(content: Content, path: list[str]) -> None:
    """Raise InvalidInput, naming the field, for a part of a content that has not the form that readers expect."""
    for name, form in _FORMS.items():
        value = getattr(content, name)
        if value is None:
            continue
        try:
            form.model_validate(value)
        except ValidationError as error:
            raise invalid(error, [*path, name]) from error


def check_as_written(payload: Any, written: Any, path: list[str]) -> None:
    """Raise InvalidInput for a null or a time that a payload has in another form than that in which it is `written`."""
    if isinstance(payload, dict) and isinstance(written, dict):
        for name, value in payload.items():
            if name in written:
                check_as_written(value, written[name], [*path, name])
            elif value is None:
                place = [*path, name]
                raise InvalidInput(f"{'.'.join(place)}: must not be null; leave it out", path=place)
    elif isinstance(payload, list) and isinstance(written, list):
        for number, (value, one) in enumerate(zip(payload, written, strict=False)):
            check_as_written(value, one, [*path, str(number)])
    elif payload != written and path[-1] != "predicate":  # which earlier versions spelled in another way
        try:
            stored_time(payload)
        except ValueError as error:
            raise InvalidInput(f"{'.'.join(path)}: {error}", path=path) from error
