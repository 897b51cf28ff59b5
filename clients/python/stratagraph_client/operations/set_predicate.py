from .base_model import BaseModel
from .fragments import (  # noqa: F401
    PredicateFields,
)


class SetPredicateData(BaseModel):
    setPredicate: "SetPredicateResult"


class SetPredicateResult(BaseModel):
    predicate: "PredicateFields"
