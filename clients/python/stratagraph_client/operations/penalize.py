from .base_model import BaseModel
from .fragments import RevisedFields


class PenalizeData(BaseModel):
    penalize: "RevisedFields"
