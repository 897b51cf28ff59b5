from .base_model import BaseModel
from .fragments import ChangeFields


class Changed(BaseModel):
    changed: "ChangedChanged"


ChangedChanged = ChangeFields
