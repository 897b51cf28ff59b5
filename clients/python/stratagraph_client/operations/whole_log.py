from typing import Optional

from .base_model import BaseModel
from .fragments import (  # noqa: F401
    LogFields,
)


class WholeLogData(BaseModel):
    thread: Optional["WholeLogResult"]


class WholeLogResult(BaseModel):
    turns: "WholeLogTurns"


class WholeLogTurns(BaseModel):
    nodes: list["LogFields"]
    pageInfo: "WholeLogTurnsPageInfo"


class WholeLogTurnsPageInfo(BaseModel):
    hasNextPage: bool
    endCursor: str | None
