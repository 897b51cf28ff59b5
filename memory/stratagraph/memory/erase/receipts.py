"""The receipt of an erasure: new, found by a retry, or continued."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from stratagraph.memory.erase.request import Erase, ErasureResult, request_hashes
from stratagraph.store.erasure.receipts import (
    ErasureKind,
    Receipt,
    Tally,
    find_by_key,
    find_receipt,
    lock_unfinished,
    target_hash,
)
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.model.errors import IdempotencyMismatch
from stratagraph.store.model.ids import new_id
from stratagraph.store.postgres.database import Connection


def new_receipt(
    tenant: Tenant, actor: str, request: Erase, tally: Tally, *, started_at: datetime, is_finished: bool
) -> Receipt:
    """Return the receipt of an erasure that starts, or starts and finishes, at `started_at`."""
    keyed = None if request.kind is ErasureKind.TENANT else tenant
    key_hash, request_hash = request_hashes(keyed, actor, request)
    return Receipt(
        id=new_id(),
        tenant=tenant.id,
        kind=request.kind,
        actor=actor,
        rationale=request.rationale,
        started_at=started_at,
        finished_at=started_at if is_finished else None,
        target_hash=target_hash(tenant, request.kind, request.target),
        counts=tally.counts,
        hashes=tuple(tally.hashes),
        digest=tally.digest,
        key_hash=key_hash,
        request_hash=request_hash,
    )


async def find_earlier(
    connection: Connection, tenant: Tenant | None, actor: str, request: Erase
) -> ErasureResult | None:
    """Return the result of an earlier request with the same idempotency key, or an unfinished erasure of the scope.

    Returns None if there is neither. An unfinished erasure of a scope is continued whatever its key. `tenant` is None
    if the tenant itself is erased. Raises IdempotencyMismatch if the key was used for another request.
    """
    key_hash, request_hash = request_hashes(tenant, actor, request)
    known = await find_by_key(connection, key_hash=key_hash) if key_hash is not None else None
    if known is not None:
        if known.request_hash != request_hash:
            raise IdempotencyMismatch(
                "idempotencyKey: this key was used for another request; repeat that request unchanged, or choose a new"
                " key",
                path=["idempotencyKey"],
            )
        return ErasureResult(receipt=known, replayed=True)
    if request.kind is not ErasureKind.SCOPE or tenant is None:
        return None
    unfinished = await lock_unfinished(connection, target=target_hash(tenant, request.kind, request.target))
    return ErasureResult(receipt=unfinished) if unfinished is not None else None


async def lock_receipt(connection: Connection, tenant: Tenant, request: Erase, id_: UUID) -> Receipt:
    """Lock and return the receipt of an unfinished erasure, or the finished one if another process finished it."""
    unfinished = await lock_unfinished(connection, target=target_hash(tenant, request.kind, request.target))
    if unfinished is not None:
        return unfinished
    finished = await find_receipt(connection, tenant, id_)
    assert finished is not None  # receipts are never deleted
    return finished


def tally_of(receipt: Receipt) -> Tally:
    """Return the tally of an unfinished receipt, to be continued."""
    return Tally(counts=dict(receipt.counts), hashes=list(receipt.hashes), digest=receipt.digest)


def with_tally(receipt: Receipt, tally: Tally, *, finished_at: datetime | None) -> Receipt:
    """Return the receipt with the counts and hashes of `tally`."""
    return replace(
        receipt, counts=tally.counts, hashes=tuple(tally.hashes), digest=tally.digest, finished_at=finished_at
    )
