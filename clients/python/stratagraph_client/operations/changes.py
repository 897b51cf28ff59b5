from .base_model import BaseModel
from .fragments import (  # noqa: F401
    ChangeFields,
)


class ChangesData(BaseModel):
    changes: "ChangesResult"


class ChangesResult(BaseModel):
    nodes: list["ChangeFields"]
    pageInfo: "ChangesPageInfo"


class ChangesPageInfo(BaseModel):
    hasNextPage: bool
    endCursor: str | None
