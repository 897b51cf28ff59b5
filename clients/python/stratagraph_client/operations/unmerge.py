from .base_model import BaseModel
from .fragments import RevisedFields


class UnmergeData(BaseModel):
    unmerge: "RevisedFields"
