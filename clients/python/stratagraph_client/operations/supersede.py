from .base_model import BaseModel
from .fragments import RevisedFields


class SupersedeData(BaseModel):
    supersede: "RevisedFields"
