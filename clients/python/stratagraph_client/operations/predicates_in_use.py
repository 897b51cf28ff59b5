from .base_model import BaseModel
from .fragments import LabelFields


class PredicatesInUseData(BaseModel):
    predicatesInUse: "LabelFields"
