from .base_model import BaseModel
from .fragments import RevisedFields


class ResolveContestData(BaseModel):
    resolveContest: "RevisedFields"
