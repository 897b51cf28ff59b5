from .base_model import BaseModel


class RetireLessonsData(BaseModel):
    retireLessons: "RetireLessonsResult"


class RetireLessonsResult(BaseModel):
    lessonIds: list[str]
