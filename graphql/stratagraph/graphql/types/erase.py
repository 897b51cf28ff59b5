"""Erasing: its input, its receipt and its result."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Self, cast

import strawberry

from stratagraph.graphql.arguments import given_id
from stratagraph.graphql.flat_inputs import nested_input
from stratagraph.graphql.types.errors import Refusal
from stratagraph.memory.erase.request import MAX_LABEL, MAX_RATIONALE, Erase, ErasureResult
from stratagraph.store.erasure import receipts as erasures
from stratagraph.store.model import errors


@strawberry.input(one_of=True, description="What to erase: exactly one of these.")
class EraseTargetInput:
    record_id: strawberry.ID | None = strawberry.field(
        default=strawberry.UNSET,
        description="Id of the record, which is erased with the records derived from it alone; an episode with its"
        " members. Needs write access.",
    )
    entity_id: strawberry.ID | None = strawberry.field(
        default=strawberry.UNSET,
        description="Id of the entity, which is erased with every record linked to it. Needs admin access, the ceiling"
        " HYPER and all scopes.",
    )
    scope: str | None = strawberry.field(
        default=strawberry.UNSET,
        description="Name of the scope whose records are erased. Needs admin access, the ceiling HYPER, and that scope"
        " or all scopes.",
    )
    tenant: str | None = strawberry.field(
        default=strawberry.UNSET,
        description="Name of the credential's own tenant, which is erased with its keys and credentials. Needs admin"
        " access, the ceiling HYPER and all scopes.",
    )


@nested_input
@strawberry.input(description="What to erase: exactly one of `target`, `recordId`, `entityId`, `scope` and `tenant`.")
class EraseInput:
    target: EraseTargetInput | None = strawberry.field(
        default=None, description="What to erase, in place of the four fields below."
    )
    record_id: strawberry.ID | None = strawberry.field(
        default=None,
        description="Id of the record to erase, with the records derived from it alone; an episode with its members."
        " Needs write access.",
    )
    entity_id: strawberry.ID | None = strawberry.field(
        default=None,
        description="Id of the entity to erase, with every record linked to it. Needs admin access, the ceiling HYPER"
        " and all scopes.",
    )
    scope: str | None = strawberry.field(
        default=None,
        description="Name of the scope whose records to erase. Needs admin access, the ceiling HYPER, and that scope or"
        " all scopes.",
    )
    tenant: str | None = strawberry.field(
        default=None,
        description="Name of the credential's own tenant, to erase with its keys and credentials. Needs admin access,"
        " the ceiling HYPER and all scopes.",
    )
    rationale: str = strawberry.field(
        description=f"Reason, 1 to {MAX_RATIONALE:,} characters. It is kept in the receipt, so it must not repeat what"
        " is erased."
    )
    idempotency_key: str | None = strawberry.field(
        default=None,
        description=f"Key of 1 to {MAX_LABEL} characters. A repeated request with the same key erases nothing and"
        " returns the first receipt.",
    )

    def as_request(self) -> Erase:
        target = cast(Mapping[str, str] | None, self.target)
        given: tuple[str | None, ...] = (self.record_id, self.entity_id, self.scope, self.tenant)
        place = [] if target is None else ["target"]
        if target is not None:
            if any(one is not None for one in given):
                raise errors.InvalidInput(
                    "target: is given beside recordId, entityId, scope or tenant; give it alone, since it takes their"
                    " place",
                    path=["target"],
                )
            given = (target.get("recordId"), target.get("entityId"), target.get("scope"), target.get("tenant"))
        record, entity, scope, tenant = given
        return Erase(
            record_id=given_id(record, path=[*place, "recordId"]) if record is not None else None,
            entity_id=given_id(entity, path=[*place, "entityId"]) if entity is not None else None,
            scope=scope,
            tenant=tenant,
            rationale=self.rationale,
            idempotency_key=self.idempotency_key,
        )


@strawberry.type(description="Number of erased rows of one kind.")
class ErasedCount:
    name: str = strawberry.field(
        description="Kind of the rows: `records.<type>`, or what belonged to the records, such as `relations`."
    )
    count: int = strawberry.field(description="Number of rows, at least 1.")


@strawberry.type(
    description="Proof of an erasure, by counts and salted hashes; it never holds erased content. Anybody who has the"
    " receipt and the ids can compute the hashes again."
)
class ErasureReceipt:
    id: strawberry.ID = strawberry.field(description="Id of the receipt, a UUID.")
    kind: str = strawberry.field(description="What was erased: record, entity, scope or tenant.")
    actor: str = strawberry.field(description="Name of the credential that asked for the erasure.")
    started_at: datetime = strawberry.field(description="Instant in UTC at which the erasure began.")
    at: datetime = strawberry.field(description="Instant in UTC at which the erasure was complete.")
    counts: list[ErasedCount] = strawberry.field(
        description="Erased rows by kind, as far as they were visible to the caller."
    )
    salt: str | None = strawberry.field(
        description="The receipt's salt, 32 bytes in hexadecimal; null in a receipt of an earlier release, whose hashes"
        " are keyed."
    )
    target_hash: str = strawberry.field(
        description="SHA-256 of the salt's bytes and the id or name that was to be erased, in hexadecimal."
    )
    hashes: list[str] = strawberry.field(
        description="SHA-256 of the salt's bytes and the text of each erased id, in hexadecimal; at most 1,000."
    )
    digest: str = strawberry.field(
        description="Sum of the hashes of all erased ids as unsigned numbers, modulo 2^256, in hexadecimal."
    )
    elsewhere: list[strawberry.ID] = strawberry.field(
        description="Ids of records that were kept although they mention the erased entity by name, newest first."
    )
    elsewhere_complete: bool = strawberry.field(
        description="Whether `elsewhere` is complete; if false, more records may mention the entity."
    )

    @classmethod
    def of(cls, receipt: erasures.Receipt) -> Self:
        return cls(
            id=strawberry.ID(str(receipt.id)),
            kind=receipt.kind.label,
            actor=receipt.actor,
            started_at=receipt.started_at,
            at=receipt.finished_at or receipt.started_at,
            counts=[ErasedCount(name=name, count=number) for name, number in sorted(receipt.counts.items())],
            salt=receipt.salt.hex() if receipt.salt is not None else None,
            target_hash=receipt.target_hash.hex(),
            hashes=[one.hex() for one in receipt.hashes],
            digest=receipt.digest.hex(),
            elsewhere=[strawberry.ID(str(id_)) for id_ in receipt.elsewhere],
            elsewhere_complete=receipt.elsewhere_complete,
        )


@strawberry.type(description="The erasure is complete.")
class EraseSuccess:
    receipt: ErasureReceipt = strawberry.field(description="Proof of the erasure.")
    replayed: bool = strawberry.field(
        description="Whether this is the receipt of an earlier request with the same idempotency key."
    )

    @classmethod
    def of(cls, erasing: ErasureResult) -> Self:
        return cls(receipt=ErasureReceipt.of(erasing.receipt), replayed=erasing.replayed)


EraseResult = Annotated[
    EraseSuccess | Refusal,
    strawberry.union("EraseResult", description="Receipt of an erasure, or the error that refused it."),
]
