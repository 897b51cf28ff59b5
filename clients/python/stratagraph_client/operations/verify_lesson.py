from .base_model import BaseModel
from .fragments import (  # noqa: F401
    RevisedFields,
)


class VerifyLessonData(BaseModel):
    verifyLesson: "RevisedFields"
