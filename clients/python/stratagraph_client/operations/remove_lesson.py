from .base_model import BaseModel
from .fragments import RevisedFields


class RemoveLessonData(BaseModel):
    removeLesson: "RevisedFields"
