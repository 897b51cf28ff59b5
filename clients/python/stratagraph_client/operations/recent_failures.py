from .base_model import BaseModel


class RecentFailuresData(BaseModel):
    recentFailures: str
