from datetime import datetime

from .base_model import BaseModel


class EraseData(BaseModel):
    erase: "EraseResult"


class EraseResult(BaseModel):
    receipt: "EraseReceipt"
    replayed: bool


class EraseReceipt(BaseModel):
    id: str
    kind: str
    actor: str
    startedAt: datetime
    at: datetime
    counts: list["EraseReceiptCounts"]
    salt: str | None
    targetHash: str
    hashes: list[str]
    digest: str
    elsewhere: list[str]
    elsewhereComplete: bool


class EraseReceiptCounts(BaseModel):
    name: str
    count: int
