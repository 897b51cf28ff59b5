from datetime import datetime

from .base_model import BaseModel


class HealthData(BaseModel):
    health: "HealthResult"


class HealthResult(BaseModel):
    ok: bool
    version: str
    checks: list["HealthChecks"]


class HealthChecks(BaseModel):
    name: str
    ok: bool
    detail: str
    checkedAt: datetime
    ageSeconds: float
    stale: bool
