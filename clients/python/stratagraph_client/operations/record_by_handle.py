from typing import Optional

from .base_model import BaseModel
from .fragments import (  # noqa: F401
    RecordFields,
)


class RecordByHandleData(BaseModel):
    recordByHandle: Optional["RecordFields"]
