from .base_model import BaseModel
from .fragments import RevisedFields


class VerifyLessonData(BaseModel):
    verifyLesson: "RevisedFields"
