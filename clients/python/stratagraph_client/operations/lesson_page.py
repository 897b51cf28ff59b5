from .base_model import BaseModel
from .fragments import (  # noqa: F401
    RecordFields,
)


class LessonPageData(BaseModel):
    lessonPage: "LessonPageResult"


class LessonPageResult(BaseModel):
    nodes: list["RecordFields"]
    pageInfo: "LessonPagePageInfo"


class LessonPagePageInfo(BaseModel):
    hasNextPage: bool
    endCursor: str | None
