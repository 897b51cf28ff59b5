from .base_model import BaseModel
from .fragments import RevisedFields


class PinData(BaseModel):
    pin: "RevisedFields"
