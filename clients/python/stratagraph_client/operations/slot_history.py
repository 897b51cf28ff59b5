from .base_model import BaseModel
from .fragments import (  # noqa: F401
    RecordFields,
)


class SlotHistoryData(BaseModel):
    slotHistory: list["RecordFields"]
