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


class Pin(BaseModel):
    pin: "PinPin"


class PinPin(RevisedFields):
    typename__: Literal["RevisionSuccess"] = Field(alias="__typename")
