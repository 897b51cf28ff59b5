from typing import Optional

from .base_model import BaseModel
from .enums import Sensitivity
from .fragments import (  # noqa: F401
    LogFields,
)


class LogOfThreadData(BaseModel):
    thread: Optional["LogOfThreadResult"]


class LogOfThreadResult(BaseModel):
    episodes: "LogOfThreadEpisodes"
    turns: "LogOfThreadTurns"


class LogOfThreadEpisodes(BaseModel):
    nodes: list["LogOfThreadEpisodesNodes"]


class LogOfThreadEpisodesNodes(BaseModel):
    sensitivity: Sensitivity


class LogOfThreadTurns(BaseModel):
    nodes: list["LogFields"]
    pageInfo: "LogOfThreadTurnsPageInfo"


class LogOfThreadTurnsPageInfo(BaseModel):
    hasNextPage: bool
    endCursor: str | None
