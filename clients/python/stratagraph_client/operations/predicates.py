from .base_model import BaseModel
from .fragments import PredicateFields


class PredicatesData(BaseModel):
    predicates: list["PredicateFields"]
