from .base_model import BaseModel
from .fragments import (  # noqa: F401
    RecordFields,
)


class EntityPageData(BaseModel):
    entityPage: "EntityPageResult"


class EntityPageResult(BaseModel):
    nodes: list["RecordFields"]
    pageInfo: "EntityPagePageInfo"


class EntityPagePageInfo(BaseModel):
    hasNextPage: bool
    endCursor: str | None
