from typing import Literal

from pydantic import Field

from .base_model import BaseModel
from .fragments import ReceiptFields, RecordFields


class LearnLesson(BaseModel):
    learnLesson: "LearnLessonLearnLesson"


class LearnLessonLearnLesson(BaseModel):
    typename__: Literal["LearnLessonSuccess"] = Field(alias="__typename")
    lesson: "LearnLessonLearnLessonLesson"
    merged: bool
    retiredIds: list[str]
    receipt: "LearnLessonLearnLessonReceipt"
    replayed: bool


LearnLessonLearnLessonLesson = RecordFields
LearnLessonLearnLessonReceipt = ReceiptFields
