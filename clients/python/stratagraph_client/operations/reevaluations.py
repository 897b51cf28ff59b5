from datetime import datetime
from typing import Optional

from .base_model import BaseModel


class Reevaluations(BaseModel):
    reevaluations: list["ReevaluationsReevaluations"]


class ReevaluationsReevaluations(BaseModel):
    recordId: str
    causeId: str
    queuedAt: datetime
    attempts: int
    error: Optional[str]
