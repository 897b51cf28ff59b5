from .base_model import BaseModel
from .fragments import RevisedFields


class SupersedeRecordData(BaseModel):
    supersedeRecord: "RevisedFields"
