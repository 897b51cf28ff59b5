from typing import Literal

from pydantic import Field

from .base_model import BaseModel
from .fragments import PredicateFields


class SetPredicate(BaseModel):
    setPredicate: "SetPredicateSetPredicate"


class SetPredicateSetPredicate(BaseModel):
    typename__: Literal["SetPredicateSuccess"] = Field(alias="__typename")
    predicate: "SetPredicateSetPredicatePredicate"


SetPredicateSetPredicatePredicate = PredicateFields
