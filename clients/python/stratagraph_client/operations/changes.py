from typing import Optional

from .base_model import BaseModel
from .fragments import ChangeFields


class Changes(BaseModel):
    changes: "ChangesChanges"


class ChangesChanges(BaseModel):
    nodes: list["ChangesChangesNodes"]
    pageInfo: "ChangesChangesPageInfo"


ChangesChangesNodes = ChangeFields


class ChangesChangesPageInfo(BaseModel):
    hasNextPage: bool
    endCursor: Optional[str]
