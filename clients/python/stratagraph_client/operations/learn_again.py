from .base_model import BaseModel


class LearnAgainData(BaseModel):
    learnAgain: "LearnAgainResult"


class LearnAgainResult(BaseModel):
    episodes: int
