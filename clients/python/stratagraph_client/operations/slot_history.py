from .base_model import BaseModel
from .fragments import RecordFields


class SlotHistory(BaseModel):
    slotHistory: list["SlotHistorySlotHistory"]


SlotHistorySlotHistory = RecordFields
