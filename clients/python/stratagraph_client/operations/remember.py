from .base_model import BaseModel
from .fragments import CapturedFields


class RememberData(BaseModel):
    remember: "CapturedFields"
