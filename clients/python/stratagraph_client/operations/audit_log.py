from datetime import datetime
from typing import Optional

from .base_model import BaseModel


class AuditLog(BaseModel):
    auditLog: "AuditLogAuditLog"


class AuditLogAuditLog(BaseModel):
    nodes: list["AuditLogAuditLogNodes"]
    pageInfo: "AuditLogAuditLogPageInfo"


class AuditLogAuditLogNodes(BaseModel):
    action: str
    actor: str
    timestamp: datetime
    rationale: Optional[str]


class AuditLogAuditLogPageInfo(BaseModel):
    hasNextPage: bool
    endCursor: Optional[str]
