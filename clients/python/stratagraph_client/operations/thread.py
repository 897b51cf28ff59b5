from typing import Optional

from .base_model import BaseModel
from .fragments import (  # noqa: F401
    RecordFields,
)


class ThreadData(BaseModel):
    thread: Optional["ThreadResult"]


class ThreadResult(BaseModel):
    id: str
    working: Optional["RecordFields"]
    turns: "ThreadTurns"
    episodes: "ThreadEpisodes"


class ThreadTurns(BaseModel):
    nodes: list["RecordFields"]
    pageInfo: "ThreadTurnsPageInfo"


class ThreadTurnsPageInfo(BaseModel):
    hasNextPage: bool
    endCursor: str | None


class ThreadEpisodes(BaseModel):
    nodes: list["RecordFields"]
    pageInfo: "ThreadEpisodesPageInfo"


class ThreadEpisodesPageInfo(BaseModel):
    hasNextPage: bool
    endCursor: str | None
