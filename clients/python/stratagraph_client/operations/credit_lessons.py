from typing import Literal

from pydantic import Field

from .base_model import BaseModel


class CreditLessons(BaseModel):
    creditLessons: "CreditLessonsCreditLessons"


class CreditLessonsCreditLessons(BaseModel):
    typename__: Literal["LessonsChanged"] = Field(alias="__typename")
    lessonIds: list[str]
