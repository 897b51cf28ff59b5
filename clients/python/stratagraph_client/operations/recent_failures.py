from .base_model import BaseModel


class RecentFailures(BaseModel):
    recentFailures: str
