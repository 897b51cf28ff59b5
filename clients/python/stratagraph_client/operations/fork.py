from .base_model import BaseModel
from .fragments import RevisedFields


class ForkData(BaseModel):
    fork: "RevisedFields"
