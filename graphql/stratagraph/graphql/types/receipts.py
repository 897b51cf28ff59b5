"""The receipt of a write."""

from __future__ import annotations

from typing import Self
from uuid import UUID

import strawberry


@strawberry.type(description="Proof that a capture or a revision was stored.")
class CaptureReceipt:
    candidate_id: strawberry.ID = strawberry.field(description="Id of the request as it was stored, a UUID.")
    sequence: str = strawberry.field(
        description="Token of the write; give it as `atLeastSequence` to a retrieval that must reflect the write."
    )
    state: str = strawberry.field(description="State of the request: committed.")

    @classmethod
    def of(cls, candidate: UUID, sequence: str) -> Self:
        return cls(candidate_id=strawberry.ID(str(candidate)), sequence=sequence, state="committed")
