"""Running an erasure in batches, each a transaction of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from stratagraph.memory.requests.retrying import retried
from stratagraph.store.erasure.receipts import Receipt

BATCH = 500  # records of a scope or tenant erased in one transaction


async def run_batches(
    receipt: Receipt, batch: Callable[[], Awaitable[tuple[Receipt, int]]], advance: Callable[[int], None]
) -> Receipt:
    """Run `batch` until its receipt is finished, and return that.

    `batch` returns the receipt and the number of records erased, which is passed to `advance`.
    """
    while receipt.finished_at is None:
        receipt, erased = await retried(batch)
        advance(erased)
    return receipt
