from .base_model import BaseModel
from .fragments import (  # noqa: F401
    RevisedFields,
)


class PinData(BaseModel):
    pin: "RevisedFields"
