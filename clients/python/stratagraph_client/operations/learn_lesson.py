from .base_model import BaseModel
from .fragments import (  # noqa: F401
    ReceiptFields,
    RecordFields,
)


class LearnLessonData(BaseModel):
    learnLesson: "LearnLessonResult"


class LearnLessonResult(BaseModel):
    lesson: "RecordFields"
    merged: bool
    retiredIds: list[str]
    receipt: "ReceiptFields"
    replayed: bool
