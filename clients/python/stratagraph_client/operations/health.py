from datetime import datetime

from .base_model import BaseModel


class Health(BaseModel):
    health: "HealthHealth"


class HealthHealth(BaseModel):
    ok: bool
    version: str
    checks: list["HealthHealthChecks"]


class HealthHealthChecks(BaseModel):
    name: str
    ok: bool
    detail: str
    checkedAt: datetime
    ageSeconds: float
    stale: bool
