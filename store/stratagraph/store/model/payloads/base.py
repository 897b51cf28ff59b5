"""What the payload schemas share: unknown keys are kept, times carry an offset, absent stays absent."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field


def _as_text(value: object) -> object:
    """Numbers would be taken for seconds since 1970; a time is written out."""
    if not isinstance(value, str | datetime):
        raise ValueError("must be an RFC 3339 time such as 2026-01-28T09:30:00Z")
    return value


def _in_utc(value: datetime) -> datetime:
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise ValueError("lies outside the years 1 to 9999 in UTC") from None


Instant = Annotated[AwareDatetime, BeforeValidator(_as_text), AfterValidator(_in_utc)]
Share = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Count = Annotated[int, Field(strict=True, ge=0)]
Name = Annotated[str, Field(min_length=1, max_length=2_000)]


class Part(BaseModel):
    """A piece of a payload. Keys beyond the schema are kept: agents have more to say than we foresaw."""

    model_config = ConfigDict(extra="allow", validate_by_name=True, validate_by_alias=True, frozen=True)


class Payload(Part):
    kind: str


def dump(part: Part) -> dict[str, Any]:
    """Plain JSON with the seed's spellings; fields that were not given are left out."""
    return part.model_dump(mode="json", by_alias=True, exclude_none=True)
