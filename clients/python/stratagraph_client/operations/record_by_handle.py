from typing import Optional

from .base_model import BaseModel
from .fragments import RecordFields


class RecordByHandle(BaseModel):
    recordByHandle: Optional["RecordByHandleRecordByHandle"]


RecordByHandleRecordByHandle = RecordFields
