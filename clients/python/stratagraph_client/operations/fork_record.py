from .base_model import BaseModel
from .fragments import RevisedFields


class ForkRecordData(BaseModel):
    forkRecord: "RevisedFields"
