from typing import Optional

from .base_model import BaseModel


class EpisodesOfThreadData(BaseModel):
    thread: Optional["EpisodesOfThreadResult"]


class EpisodesOfThreadResult(BaseModel):
    episodes: "EpisodesOfThreadEpisodes"


class EpisodesOfThreadEpisodes(BaseModel):
    nodes: list["EpisodesOfThreadEpisodesNodes"]
    pageInfo: "EpisodesOfThreadEpisodesPageInfo"


class EpisodesOfThreadEpisodesNodes(BaseModel):
    id: str
    scope: str


class EpisodesOfThreadEpisodesPageInfo(BaseModel):
    hasNextPage: bool
    endCursor: str | None
