from .base_model import BaseModel
from .fragments import RevisedFields


class AmendData(BaseModel):
    amend: "RevisedFields"
