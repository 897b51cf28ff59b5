from .base_model import BaseModel
from .fragments import (  # noqa: F401
    ItemFields,
)


class ListItemsData(BaseModel):
    records: "ListItemsResult"


class ListItemsResult(BaseModel):
    nodes: list["ItemFields"]
    pageInfo: "ListItemsPageInfo"


class ListItemsPageInfo(BaseModel):
    hasNextPage: bool
    endCursor: str | None
