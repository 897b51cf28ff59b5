from datetime import datetime

from .base_model import BaseModel


class AuditLogData(BaseModel):
    auditLog: "AuditLogResult"


class AuditLogResult(BaseModel):
    nodes: list["AuditLogNodes"]
    pageInfo: "AuditLogPageInfo"


class AuditLogNodes(BaseModel):
    action: str
    actor: str
    timestamp: datetime
    rationale: str | None


class AuditLogPageInfo(BaseModel):
    hasNextPage: bool
    endCursor: str | None
