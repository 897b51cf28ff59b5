"""Base classes and field types of the payload schemas."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    WithJsonSchema,
    model_serializer,
)

from stratagraph.store.model.visible_text import is_blank

_NUMBER = re.compile(r"[-+]?[\d.]+")


def _as_text(value: object) -> object:
    """Refuse numbers, also those in a text, which pydantic would take for seconds since 1970."""
    if not isinstance(value, str | datetime) or (isinstance(value, str) and _NUMBER.fullmatch(value)):
        raise ValueError("must be an RFC 3339 time such as 2026-01-28T09:30:00Z")
    return value


def _in_utc(value: datetime) -> datetime:
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise ValueError("must be within the years 1 to 9999 in UTC") from None


def not_blank(value: str) -> str:
    if is_blank(value):
        raise ValueError("must not be blank; give it a visible character")
    return value


_DAY = "[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
_CLOCK = "(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.,][0-9]+)?)?"
_OFFSET = "(?:[Zz]|[-+\u2212](?:[01][0-9]|2[0-3]):?[0-5][0-9])"
_INSTANT = {
    "type": "string",
    "description": "An RFC 3339 time with an offset, such as 2026-01-28T09:30:00Z.",
    "pattern": f"^{_DAY}[Tt _]{_CLOCK}{_OFFSET}$",
}


def visible_text(most: int) -> WithJsonSchema:
    """Return the JSON Schema of a text of up to `most` characters that must not be blank."""
    return WithJsonSchema({"type": "string", "minLength": 1, "maxLength": most, "pattern": "\\S"})


Instant = Annotated[AwareDatetime, BeforeValidator(_as_text), AfterValidator(_in_utc), WithJsonSchema(_INSTANT)]
Share = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
MAX_COUNT = 2**31 - 1  # of a statistic: what GraphQL's Int holds, so that every reader shows it
MAX_LATENCY_MS = 1e12  # 31 years, so that means of it stay finite
Count = Annotated[int, Field(strict=True, ge=0, le=MAX_COUNT)]
Latency = Annotated[float, Field(strict=True, ge=0, le=MAX_LATENCY_MS)]
MAX_NAME = 2_000  # characters of a name
Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME), AfterValidator(not_blank), visible_text(MAX_NAME)]


class Part(BaseModel):
    """Base class of the objects within a payload. Keys that its schema does not know are kept.

    In the fields `NULLABLE` a null says something else than leaving the field out.
    """

    NULLABLE: ClassVar[tuple[str, ...]] = ()
    model_config = ConfigDict(extra="allow", validate_by_name=True, validate_by_alias=True, frozen=True)


class PartWithNulls(Part):
    """A part in which null is a value: the fields `NULLABLE` keep a null that was given, apart from being absent."""

    @model_serializer(mode="wrap")
    def _with_given_nulls(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = serialize(self)
        nulls = {name: None for name in self.NULLABLE if name in self.model_fields_set and getattr(self, name) is None}
        return written | nulls


class Payload(Part):
    """Base class of the payloads; `kind` names the record type."""

    kind: str


def dump(part: Part) -> dict[str, Any]:
    """Return the object as plain JSON, with the field names of the schema.

    Null fields are left out, except those of a PartWithNulls where null is a value.
    """
    return part.model_dump(mode="json", by_alias=True, exclude_none=True)


def count_of(value: object, *more: object) -> int:
    """Return the sum of counts, at most MAX_COUNT; what is no count is 0.

    >>> count_of(3, "x", True, -1, 2), count_of(2**64) == MAX_COUNT
    (5, True)
    """
    counts = (one for one in (value, *more) if isinstance(one, int) and not isinstance(one, bool) and one > 0)
    return min(MAX_COUNT, sum(counts))
