from .base_model import BaseModel
from .fragments import RevisedFields


class ReinforceData(BaseModel):
    reinforce: "RevisedFields"
