from typing import Optional

from .base_model import BaseModel
from .fragments import RecordFields


class EntityPage(BaseModel):
    entityPage: "EntityPageEntityPage"


class EntityPageEntityPage(BaseModel):
    nodes: list["EntityPageEntityPageNodes"]
    pageInfo: "EntityPageEntityPagePageInfo"


EntityPageEntityPageNodes = RecordFields


class EntityPageEntityPagePageInfo(BaseModel):
    hasNextPage: bool
    endCursor: Optional[str]
