from .base_model import BaseModel


class CreditLessonsData(BaseModel):
    creditLessons: "CreditLessonsResult"


class CreditLessonsResult(BaseModel):
    lessonIds: list[str]
