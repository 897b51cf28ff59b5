from .base_model import BaseModel
from .fragments import RevisedFields


class RetractData(BaseModel):
    retract: "RevisedFields"
