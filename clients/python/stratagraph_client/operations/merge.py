from .base_model import BaseModel
from .fragments import RevisedFields


class MergeData(BaseModel):
    merge: "RevisedFields"
