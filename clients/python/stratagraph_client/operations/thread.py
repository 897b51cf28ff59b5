from typing import Optional

from .base_model import BaseModel
from .fragments import RecordFields


class Thread(BaseModel):
    thread: Optional["ThreadThread"]


class ThreadThread(BaseModel):
    id: str
    working: Optional["ThreadThreadWorking"]
    turns: "ThreadThreadTurns"
    episodes: "ThreadThreadEpisodes"


ThreadThreadWorking = RecordFields


class ThreadThreadTurns(BaseModel):
    nodes: list["ThreadThreadTurnsNodes"]
    pageInfo: "ThreadThreadTurnsPageInfo"


ThreadThreadTurnsNodes = RecordFields


class ThreadThreadTurnsPageInfo(BaseModel):
    hasNextPage: bool
    endCursor: Optional[str]


class ThreadThreadEpisodes(BaseModel):
    nodes: list["ThreadThreadEpisodesNodes"]
    pageInfo: "ThreadThreadEpisodesPageInfo"


ThreadThreadEpisodesNodes = RecordFields


class ThreadThreadEpisodesPageInfo(BaseModel):
    hasNextPage: bool
    endCursor: Optional[str]
