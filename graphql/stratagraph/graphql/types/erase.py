"""Erasing: its input, and the receipt."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Self

import strawberry

from stratagraph.graphql.types.errors import Forbidden, IdempotencyMismatch, InvalidInput, NotFound, Unavailable
from stratagraph.memory.erase.request import Erase, Erasing
from stratagraph.store.erasure import receipts as erasures
from stratagraph.store.model.ids import parse_id


@strawberry.input(description="What is to be erased for good: just one of the four.")
class EraseInput:
    record_id: strawberry.ID | None = strawberry.field(
        default=None, description="The record, with what was derived from it alone; an episode with its members."
    )
    entity_id: strawberry.ID | None = strawberry.field(
        default=None,
        description="The entity and all records linked to it. Needs admin access, the highest ceiling and all scopes.",
    )
    scope: str | None = strawberry.field(
        default=None,
        description="All records of the scope. Needs admin access, the highest ceiling, and the scope or all of them.",
    )
    tenant: str | None = strawberry.field(
        default=None,
        description="The credential's own tenant, with its keys and credentials. Needs admin access, the highest"
        " ceiling and all scopes.",
    )
    rationale: str = strawberry.field(description="Why; kept in the receipt, so it must not tell what is erased.")
    idempotency_key: str | None = strawberry.field(
        default=None, description="The same key and request again answers with the first one's receipt."
    )

    def as_request(self) -> Erase:
        return Erase(
            record_id=parse_id(self.record_id, path=["recordId"]) if self.record_id is not None else None,
            entity_id=parse_id(self.entity_id, path=["entityId"]) if self.entity_id is not None else None,
            scope=self.scope,
            tenant=self.tenant,
            rationale=self.rationale,
            idempotency_key=self.idempotency_key,
        )


@strawberry.type(description="How much of one thing went.")
class ErasedCount:
    name: str = strawberry.field(description="`records.<type>`, or what went with the records, such as `relations`.")
    count: int


@strawberry.type(description="What went, by counts and keyed hashes; never what it was.")
class ErasureReceipt:
    id: strawberry.ID
    kind: str = strawberry.field(description="record, entity, scope or tenant")
    actor: str
    started_at: datetime
    at: datetime = strawberry.field(description="When it was done.")
    counts: list[ErasedCount] = strawberry.field(
        description="What the caller could see of it; all of it, for a credential that sees everything."
    )
    hashes: list[str] = strawberry.field(
        description="HMAC-SHA256 of the ids that went, with the tenant's index key; at most the first thousand."
    )
    digest: str = strawberry.field(description="SHA-256 over all of these hashes, in order.")
    elsewhere: list[strawberry.ID] = strawberry.field(
        description="Records that stay and still say the name of the erased entity, newest first."
    )
    elsewhere_complete: bool = strawberry.field(description="False: there may be more of them.")

    @classmethod
    def of(cls, receipt: erasures.Receipt) -> Self:
        return cls(
            id=strawberry.ID(str(receipt.id)),
            kind=receipt.kind.label,
            actor=receipt.actor,
            started_at=receipt.started_at,
            at=receipt.finished_at or receipt.started_at,
            counts=[ErasedCount(name=name, count=number) for name, number in sorted(receipt.counts.items())],
            hashes=[one.hex() for one in receipt.hashes],
            digest=receipt.digest.hex(),
            elsewhere=[strawberry.ID(str(id_)) for id_ in receipt.elsewhere],
            elsewhere_complete=receipt.elsewhere_complete,
        )


@strawberry.type(description="It is gone.")
class EraseSuccess:
    receipt: ErasureReceipt
    replayed: bool = strawberry.field(description="The idempotency key was known: nothing was erased again.")

    @classmethod
    def of(cls, erasing: Erasing) -> Self:
        return cls(receipt=ErasureReceipt.of(erasing.receipt), replayed=erasing.replayed)


EraseResult = Annotated[
    EraseSuccess | InvalidInput | NotFound | Forbidden | IdempotencyMismatch | Unavailable,
    strawberry.union("EraseResult", description="What came of erasing."),
]
