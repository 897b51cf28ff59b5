from pydantic import Field

from .base_model import BaseModel
from .enums import EvidenceNeed, MemoryType, RevisionKind


class RevisionRules(BaseModel):
    revisionRules: list["RevisionRulesRevisionRules"]


class RevisionRulesRevisionRules(BaseModel):
    revision: RevisionKind
    type_: MemoryType = Field(alias="type")
    allowed: bool
    evidence: EvidenceNeed
