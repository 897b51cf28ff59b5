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
    lock_receipt,
)
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.model.errors import IdempotencyMismatch
from stratagraph.store.model.ids import new_id
from stratagraph.store.model.receipt_hashes import receipt_hash
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Connection


def new_receipt(
    tenant: Tenant,
    trust: Trust,
    request: Erase,
    tally: Tally,
    *,
    scope: int | None,
    started_at: datetime,
    finished_at: datetime | None,
) -> Receipt:
    """Return the receipt of an erasure; `finished_at` is None while further batches follow.

    `scope` is the number of the scope of what is requested, None for a tenant.
    """
    keyed = None if request.kind is ErasureKind.TENANT else tenant
    key_hash, request_hash = request_hashes(keyed, trust.identity, request)
    return Receipt(
        id=new_id(),
        tenant=tenant.id,
        kind=request.kind,
        actor=trust.actor,
        rationale=request.rationale,
        started_at=started_at,
        finished_at=finished_at,
        scope=scope,
        salt=tally.salt,
        target_hash=receipt_hash(tally.salt, request.target),
        counts=tally.counts,
        hashes=tuple(tally.hashes),
        digest=tally.digest,
        key_hash=key_hash,
        request_hash=request_hash,
    )


async def find_earlier(
    connection: Connection, tenant: Tenant | None, trust: Trust, request: Erase
) -> ErasureResult | None:
    """Return the result of an earlier request with the same idempotency key, or None if there was none.

    `tenant` is None if the tenant itself is erased. Raises IdempotencyMismatch if the key was used for another request.
    """
    key_hash, request_hash = request_hashes(tenant, trust.identity, request)
    known = await find_by_key(connection, key_hash=key_hash) if key_hash is not None else None
    if known is None:
        return None
    if known.request_hash != request_hash:
        raise IdempotencyMismatch(
            "idempotencyKey: this key was used for another request; repeat that request unchanged, or choose a new key",
            path=["idempotencyKey"],
        )
    return ErasureResult(receipt=known, replayed=True)


async def lock_begun(connection: Connection, tenant: Tenant, request: Erase, id_: UUID) -> Receipt:
    """Lock and return the receipt of an erasure that has begun; another process may have finished it."""
    receipt = await lock_receipt(connection, tenant, id_)
    assert receipt is not None  # receipts are never deleted
    if receipt.finished_at is not None or receipt.salt is None:
        return receipt
    # An erasure that an earlier release began has its target hashed in another way.
    return replace(receipt, target_hash=receipt_hash(receipt.salt, request.target))


def tally_of(receipt: Receipt) -> Tally:
    """Return the tally of an unfinished receipt, to be continued."""
    assert receipt.salt is not None  # unfinished receipts of earlier releases were given one
    return Tally(salt=receipt.salt, counts=dict(receipt.counts), hashes=list(receipt.hashes), digest=receipt.digest)


def with_tally(receipt: Receipt, tally: Tally, *, finished_at: datetime | None) -> Receipt:
    """Return the receipt with the counts and hashes of `tally`."""
    return replace(
        receipt, counts=tally.counts, hashes=tuple(tally.hashes), digest=tally.digest, finished_at=finished_at
    )
