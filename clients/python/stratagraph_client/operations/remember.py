from .base_model import BaseModel
from .fragments import (  # noqa: F401
    CapturedFields,
)


class RememberData(BaseModel):
    remember: "CapturedFields"
