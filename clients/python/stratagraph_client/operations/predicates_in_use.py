from .base_model import BaseModel
from .fragments import (  # noqa: F401
    LabelFields,
)


class PredicatesInUseData(BaseModel):
    predicatesInUse: "LabelFields"
