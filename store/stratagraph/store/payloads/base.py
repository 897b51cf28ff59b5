"""What the payload schemas share: unknown keys are kept, times carry an offset, absent stays absent."""

from __future__ import annotations

from datetime import UTC
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field

Instant = Annotated[AwareDatetime, AfterValidator(lambda value: value.astimezone(UTC))]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]
Name = Annotated[str, Field(min_length=1, max_length=2_000)]


class Part(BaseModel):
    """A piece of a payload. Keys beyond the schema are kept: agents have more to say than we foresaw."""

    model_config = ConfigDict(extra="allow", validate_by_name=True, validate_by_alias=True, frozen=True)


class Payload(Part):
    kind: str


def dump(part: Part) -> dict[str, Any]:
    """Plain JSON with the seed's spellings; fields that were not given are left out."""
    return part.model_dump(mode="json", by_alias=True, exclude_none=True)
