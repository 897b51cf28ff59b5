from typing import Optional

from .base_model import BaseModel
from .fragments import RecordFields


class RecordByHandleData(BaseModel):
    recordByHandle: Optional["RecordFields"]
