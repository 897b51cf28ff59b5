from .base_model import BaseModel
from .fragments import RevisedFields


class ContestData(BaseModel):
    contest: "RevisedFields"
