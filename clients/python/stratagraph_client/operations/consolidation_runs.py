from typing import Optional

from .base_model import BaseModel
from .fragments import RunFields


class ConsolidationRuns(BaseModel):
    consolidationRuns: "ConsolidationRunsConsolidationRuns"


class ConsolidationRunsConsolidationRuns(BaseModel):
    nodes: list["ConsolidationRunsConsolidationRunsNodes"]
    pageInfo: "ConsolidationRunsConsolidationRunsPageInfo"


ConsolidationRunsConsolidationRunsNodes = RunFields


class ConsolidationRunsConsolidationRunsPageInfo(BaseModel):
    hasNextPage: bool
    endCursor: Optional[str]
