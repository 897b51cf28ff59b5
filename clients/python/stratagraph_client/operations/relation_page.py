from typing import Optional

from .base_model import BaseModel
from .fragments import RelationFields


class RelationPage(BaseModel):
    record: Optional["RelationPageRecord"]


class RelationPageRecord(BaseModel):
    relationPage: Optional["RelationPageRecordRelationPage"]


class RelationPageRecordRelationPage(BaseModel):
    nodes: list["RelationPageRecordRelationPageNodes"]
    pageInfo: "RelationPageRecordRelationPagePageInfo"


RelationPageRecordRelationPageNodes = RelationFields


class RelationPageRecordRelationPagePageInfo(BaseModel):
    hasNextPage: bool
    endCursor: Optional[str]
