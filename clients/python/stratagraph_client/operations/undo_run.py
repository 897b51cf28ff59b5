from .base_model import BaseModel
from .enums import KeptReason
from .fragments import (  # noqa: F401
    RecordFields,
    RunFields,
)


class UndoRunData(BaseModel):
    undoRun: "UndoRunResult"


class UndoRunResult(BaseModel):
    run: "RunFields"
    undone: int
    kept: list["UndoRunKept"]
    keptTotal: int
    complete: bool


class UndoRunKept(BaseModel):
    record: "RecordFields"
    reason: KeptReason
