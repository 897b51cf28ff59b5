from .base_model import BaseModel
from .fragments import LabelFields


class PredicatesInUse(BaseModel):
    predicatesInUse: "PredicatesInUsePredicatesInUse"


PredicatesInUsePredicatesInUse = LabelFields
