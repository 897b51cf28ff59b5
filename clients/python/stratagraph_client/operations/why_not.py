from typing import Literal, Optional

from pydantic import Field

from .base_model import BaseModel
from .enums import AbsenceReason
from .fragments import RecordFields


class WhyNot(BaseModel):
    whyNot: "WhyNotWhyNot"


class WhyNotWhyNot(BaseModel):
    typename__: Literal["WhyNotSuccess"] = Field(alias="__typename")
    record: "WhyNotWhyNotRecord"
    returned: bool
    reasons: list["WhyNotWhyNotReasons"]
    rank: Optional[int]
    score: Optional[float]
    candidates: int
    matchedWords: list[str]


WhyNotWhyNotRecord = RecordFields


class WhyNotWhyNotReasons(BaseModel):
    reason: AbsenceReason
    message: str
