"""Base classes and field types of the payload schemas."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field


def _as_text(value: object) -> object:
    """Refuse numbers, which pydantic would take for seconds since 1970."""
    if not isinstance(value, str | datetime):
        raise ValueError("must be an RFC 3339 time such as 2026-01-28T09:30:00Z")
    return value


def _in_utc(value: datetime) -> datetime:
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise ValueError("must be within the years 1 to 9999 in UTC") from None


Instant = Annotated[AwareDatetime, BeforeValidator(_as_text), AfterValidator(_in_utc)]
Share = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Count = Annotated[int, Field(strict=True, ge=0)]
Name = Annotated[str, Field(min_length=1, max_length=2_000)]


class Part(BaseModel):
    """Base class of the objects within a payload. Keys that its schema does not know are kept."""

    model_config = ConfigDict(extra="allow", validate_by_name=True, validate_by_alias=True, frozen=True)


class Payload(Part):
    """Base class of the payloads; `kind` names the record type."""

    kind: str


def dump(part: Part) -> dict[str, Any]:
    """Return the object as plain JSON, with the field names of the schema and without null fields."""
    return part.model_dump(mode="json", by_alias=True, exclude_none=True)
