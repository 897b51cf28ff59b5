from typing import Literal

from pydantic import Field

from .base_model import BaseModel


class LearnAgain(BaseModel):
    learnAgain: "LearnAgainLearnAgain"


class LearnAgainLearnAgain(BaseModel):
    typename__: Literal["LearnAgainSuccess"] = Field(alias="__typename")
    episodes: int
