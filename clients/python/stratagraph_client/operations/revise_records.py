from typing import Literal

from pydantic import Field

from .base_model import BaseModel
from .fragments import RevisedFields


class ReviseRecords(BaseModel):
    reviseRecords: "ReviseRecordsReviseRecords"


class ReviseRecordsReviseRecords(BaseModel):
    typename__: Literal["ReviseRecordsSuccess"] = Field(alias="__typename")
    results: list["ReviseRecordsReviseRecordsResults"]


ReviseRecordsReviseRecordsResults = RevisedFields
