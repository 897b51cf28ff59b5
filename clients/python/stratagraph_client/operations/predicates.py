from .base_model import BaseModel
from .fragments import (  # noqa: F401
    PredicateFields,
)


class PredicatesData(BaseModel):
    predicates: list["PredicateFields"]
