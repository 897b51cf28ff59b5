"""Pairs of records that may say the same."""

from __future__ import annotations

from datetime import datetime
from typing import Self

import strawberry

from stratagraph.graphql.types.pages import PageInfo
from stratagraph.graphql.types.records import MemoryRecord
from stratagraph.memory.learning.duplicates import review
from stratagraph.memory.learning.duplicates.signals import LISTED


@strawberry.type(description="A reason to take two records for the same, or not to.")
class DuplicateEvidence:
    signal: str = strawberry.field(
        description="What was found, such as same_name, shared_facts or different_identifiers; docs/learning.md lists"
        " all."
    )
    bits: float = strawberry.field(
        description="Its weight in bits, from -10 to 10; negative for what speaks against the pair."
    )


@strawberry.type(description="Two active records of one type, scope and sensitivity that may say the same.")
class DuplicateCandidate:
    records: list[MemoryRecord] = strawberry.field(
        description="The two records, the one with the lower id first. `merge` accepts the pair, `rejectDuplicate` not."
    )
    score: float = strawberry.field(description=f"How likely they say the same, from {LISTED} to 1.")
    evidence: list[DuplicateEvidence] = strawberry.field(
        description="The reasons, the weightiest first; the score follows from them."
    )
    found_at: datetime = strawberry.field(description="Instant in UTC at which the pair was first found.")

    @classmethod
    def of(cls, found: review.DuplicateCandidate) -> Self:
        weights = sorted(found.evidence.items(), key=lambda item: (-abs(item[1]), item[0]))
        return cls(
            records=[MemoryRecord.of(record) for record in found.records],
            score=found.score,
            evidence=[DuplicateEvidence(signal=signal, bits=bits) for signal, bits in weights],
            found_at=found.found_at,
        )


@strawberry.type(description="A page of pairs of records that may say the same.")
class DuplicateCandidateConnection:
    nodes: list[DuplicateCandidate] = strawberry.field(description="The pairs of this page, the likeliest first.")
    page_info: PageInfo = strawberry.field(description="Position of this page.")

    @classmethod
    def of(cls, page: review.DuplicatePage) -> Self:
        return cls(
            nodes=[DuplicateCandidate.of(one) for one in page.candidates],
            page_info=PageInfo(has_next_page=page.has_next, end_cursor=page.end_cursor),
        )
