from datetime import datetime
from typing import Optional

from .base_model import BaseModel
from .fragments import RecordFields


class Disputes(BaseModel):
    disputes: "DisputesDisputes"


class DisputesDisputes(BaseModel):
    nodes: list["DisputesDisputesNodes"]
    pageInfo: "DisputesDisputesPageInfo"


class DisputesDisputesNodes(BaseModel):
    parties: list["DisputesDisputesNodesParties"]
    since: Optional[datetime]


DisputesDisputesNodesParties = RecordFields


class DisputesDisputesPageInfo(BaseModel):
    hasNextPage: bool
    endCursor: Optional[str]
