from typing import Literal

from pydantic import Field

from .base_model import BaseModel
from .fragments import (  # noqa: F401
    RevisedFields,
    RevisedFieldsEdges,
    RevisedFieldsReceipt,
    RevisedFieldsRecord,
    RevisedFieldsRecords,
)


class Unmerge(BaseModel):
    unmerge: "UnmergeUnmerge"


class UnmergeUnmerge(RevisedFields):
    typename__: Literal["RevisionSuccess"] = Field(alias="__typename")
