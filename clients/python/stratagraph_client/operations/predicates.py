from .base_model import BaseModel
from .fragments import PredicateFields


class Predicates(BaseModel):
    predicates: list["PredicatesPredicates"]


PredicatesPredicates = PredicateFields
