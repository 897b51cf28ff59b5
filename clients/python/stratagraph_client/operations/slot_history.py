from .base_model import BaseModel
from .fragments import RecordFields


class SlotHistoryData(BaseModel):
    slotHistory: list["RecordFields"]
