from datetime import datetime
from typing import Literal, Optional

from pydantic import Field

from .base_model import BaseModel


class Erase(BaseModel):
    erase: "EraseErase"


class EraseErase(BaseModel):
    typename__: Literal["EraseSuccess"] = Field(alias="__typename")
    receipt: "EraseEraseReceipt"
    replayed: bool


class EraseEraseReceipt(BaseModel):
    id: str
    kind: str
    actor: str
    startedAt: datetime
    at: datetime
    counts: list["EraseEraseReceiptCounts"]
    salt: Optional[str]
    targetHash: str
    hashes: list[str]
    digest: str
    elsewhere: list[str]
    elsewhereComplete: bool


class EraseEraseReceiptCounts(BaseModel):
    name: str
    count: int
