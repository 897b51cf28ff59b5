from .base_model import BaseModel
from .fragments import RunFields


class ConsolidationRunsData(BaseModel):
    consolidationRuns: "ConsolidationRunsResult"


class ConsolidationRunsResult(BaseModel):
    nodes: list["RunFields"]
    pageInfo: "ConsolidationRunsPageInfo"


class ConsolidationRunsPageInfo(BaseModel):
    hasNextPage: bool
    endCursor: str | None
