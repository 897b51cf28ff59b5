from .base_model import BaseModel
from .fragments import RevisedFields


class DeleteRecordData(BaseModel):
    deleteRecord: "RevisedFields"
