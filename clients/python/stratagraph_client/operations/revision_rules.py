from pydantic import Field

from .base_model import BaseModel
from .enums import EvidenceNeed, MemoryType, RevisionKind


class RevisionRulesData(BaseModel):
    revisionRules: list["RevisionRulesResult"]


class RevisionRulesResult(BaseModel):
    revision: RevisionKind
    type_: MemoryType = Field(alias="type")
    allowed: bool
    evidence: EvidenceNeed
