from .base_model import BaseModel
from .fragments import (  # noqa: F401
    RunFields,
)


class ConsolidationRunsData(BaseModel):
    consolidationRuns: "ConsolidationRunsResult"


class ConsolidationRunsResult(BaseModel):
    nodes: list["RunFields"]
    pageInfo: "ConsolidationRunsPageInfo"


class ConsolidationRunsPageInfo(BaseModel):
    hasNextPage: bool
    endCursor: str | None
