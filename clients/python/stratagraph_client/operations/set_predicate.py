from .base_model import BaseModel
from .fragments import PredicateFields


class SetPredicateData(BaseModel):
    setPredicate: "SetPredicateResult"


class SetPredicateResult(BaseModel):
    predicate: "PredicateFields"
