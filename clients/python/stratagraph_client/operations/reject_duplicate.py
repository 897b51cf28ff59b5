from .base_model import BaseModel
from .fragments import RevisedFields


class RejectDuplicateData(BaseModel):
    rejectDuplicate: "RevisedFields"
