from typing import Optional

from .base_model import BaseModel
from .fragments import RecordFields


class LessonPage(BaseModel):
    lessonPage: "LessonPageLessonPage"


class LessonPageLessonPage(BaseModel):
    nodes: list["LessonPageLessonPageNodes"]
    pageInfo: "LessonPageLessonPagePageInfo"


LessonPageLessonPageNodes = RecordFields


class LessonPageLessonPagePageInfo(BaseModel):
    hasNextPage: bool
    endCursor: Optional[str]
