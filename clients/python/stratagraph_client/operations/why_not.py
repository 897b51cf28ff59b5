from .base_model import BaseModel
from .enums import AbsenceReason
from .fragments import (  # noqa: F401
    RecordFields,
)


class WhyNotData(BaseModel):
    whyNot: "WhyNotResult"


class WhyNotResult(BaseModel):
    record: "RecordFields"
    returned: bool
    reasons: list["WhyNotReasons"]
    rank: int | None
    score: float | None
    candidates: int
    matchedWords: list[str]


class WhyNotReasons(BaseModel):
    reason: AbsenceReason
    message: str
