"""Which revisions of which types are possible, and which need evidence."""

from __future__ import annotations

from typing import Self

import strawberry

from stratagraph.graphql.types.enums import EvidenceNeed, MemoryType, RevisionKind
from stratagraph.memory.revise.rules import Rule


@strawberry.type(description="Whether one revision of records of one type is possible, and whether it needs evidence.")
class RevisionRule:
    revision: RevisionKind = strawberry.field(description="What is to be done to a record, by its mutation.")
    type: MemoryType = strawberry.field(description="Type of the record that is revised.")
    allowed: bool = strawberry.field(
        description="Whether records of the type can be revised so; a lesson is a COMPETENCE with a `lesson`."
    )
    evidence: EvidenceNeed = strawberry.field(description="Whether the revision needs evidence.")

    @classmethod
    def of(cls, rule: Rule) -> Self:
        return cls(revision=rule.kind, type=rule.type, allowed=rule.is_allowed, evidence=rule.evidence)
