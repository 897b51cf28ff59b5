from .base_model import BaseModel
from .fragments import ChangeFields


class ChangedData(BaseModel):
    changed: "ChangeFields"
