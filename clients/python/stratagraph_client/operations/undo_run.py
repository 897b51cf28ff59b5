from typing import Literal

from pydantic import Field

from .base_model import BaseModel
from .enums import KeptReason
from .fragments import RecordFields, RunFields


class UndoRun(BaseModel):
    undoRun: "UndoRunUndoRun"


class UndoRunUndoRun(BaseModel):
    typename__: Literal["UndoRunSuccess"] = Field(alias="__typename")
    run: "UndoRunUndoRunRun"
    undone: int
    kept: list["UndoRunUndoRunKept"]
    keptTotal: int
    complete: bool


UndoRunUndoRunRun = RunFields


class UndoRunUndoRunKept(BaseModel):
    record: "UndoRunUndoRunKeptRecord"
    reason: KeptReason


UndoRunUndoRunKeptRecord = RecordFields
