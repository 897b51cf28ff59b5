from typing import Literal

from pydantic import Field

from .base_model import BaseModel


class RetireLessons(BaseModel):
    retireLessons: "RetireLessonsRetireLessons"


class RetireLessonsRetireLessons(BaseModel):
    typename__: Literal["LessonsChanged"] = Field(alias="__typename")
    lessonIds: list[str]
