from typing import Optional

from .base_model import BaseModel
from .fragments import (  # noqa: F401
    RelationFields,
)


class RelationPageData(BaseModel):
    record: Optional["RelationPageResult"]


class RelationPageResult(BaseModel):
    relationPage: Optional["RelationPageRelationPage"]


class RelationPageRelationPage(BaseModel):
    nodes: list["RelationFields"]
    pageInfo: "RelationPageRelationPagePageInfo"


class RelationPageRelationPagePageInfo(BaseModel):
    hasNextPage: bool
    endCursor: str | None
