from .base_model import BaseModel
from .fragments import (  # noqa: F401
    ChangeFields,
)


class ChangedData(BaseModel):
    changed: "ChangeFields"
