"""Erasing a scope, in batches that an interrupted erasure continues."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from uuid import UUID

from stratagraph.memory.erase import batches
from stratagraph.memory.erase.context import ErasureContext
from stratagraph.memory.erase.deletion import Seeds, delete_with_traces
from stratagraph.memory.erase.receipts import find_earlier, lock_begun, new_receipt, tally_of, with_tally
from stratagraph.memory.erase.request import Erase, ErasureResult
from stratagraph.memory.requests.retrying import retried
from stratagraph.store.erasure.failed_captures import delete_failed_captures, failed_captures
from stratagraph.store.erasure.receipts import (
    ErasureKind,
    Receipt,
    Tally,
    blank_scope_rationales,
    insert_receipt,
    lock_unfinished,
    update_receipt,
)
from stratagraph.store.erasure.scopes import delete_scope_leftovers, find_scope, next_records
from stratagraph.store.erasure.sources import remember_deleted_sources
from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.errors import RecordNotFound
from stratagraph.store.postgres.database import Connection, Role, elevated


async def erase_scope(
    context: ErasureContext, caller: Caller, request: Erase, advance: Callable[[int], None]
) -> ErasureResult:
    """Erase all records of a scope, or continue an erasure of it, and return the result.

    `advance` is called with the number of records erased in each batch. Raises RecordNotFound if the scope does
    not exist or has no records.
    """
    tenant = caller.tenant

    async def begin() -> ErasureResult:
        async with (
            context.database.background(Role.ERASE, tenant=caller.tenant.id) as connection,
            elevated(connection, caller.bounds),
        ):
            earlier = await find_earlier(connection, tenant, caller.trust, request)
            if earlier is not None:
                return earlier
            number = await scope_number(connection, caller, request)
            unfinished = await lock_unfinished(connection, tenant, ErasureKind.SCOPE, number)
            if unfinished is not None:
                return ErasureResult(receipt=unfinished)
            if not await next_records(connection, tenant, number, limit=1):
                raise RecordNotFound(
                    request.target,
                    f"The scope {request.target!r} has no records, so there is nothing to erase.",
                    path=["scope"],
                )
            receipt = new_receipt(
                tenant,
                caller.trust,
                request,
                Tally(),
                scope=number,
                started_at=context.clock.now(),
                finished_at=None,
            )
            await insert_receipt(connection, receipt)
            return ErasureResult(receipt=receipt)

    begun = await retried(begin)
    batch = partial(_erase_batch, context, caller, request, begun.receipt.id)
    return replace(begun, receipt=await batches.run_batches(begun.receipt, batch, advance))


async def _erase_batch(context: ErasureContext, caller: Caller, request: Erase, id_: UUID) -> tuple[Receipt, int]:
    """Erase the next records of the scope or, once there are none, what is left of it."""
    tenant = caller.tenant
    async with (
        context.database.background(Role.ERASE, tenant=caller.tenant.id) as connection,
        elevated(connection, caller.bounds),
    ):
        receipt = await lock_begun(connection, tenant, request, id_)
        if receipt.finished_at is not None:
            return receipt, 0
        number = await scope_number(connection, caller, request)
        tally = tally_of(receipt)
        ids = await next_records(connection, tenant, number, limit=batches.BATCH)
        orphans: tuple[bytes, ...] = ()
        if ids:
            done = await delete_with_traces(
                context, connection, caller, Seeds(set(ids), number), tally, request, scope=number
            )
            orphans = done.orphans
        else:
            failed = {one.id for one in await failed_captures(connection, tenant) if one.scope == request.scope}
            deleted = await delete_failed_captures(connection, tenant, failed)
            await remember_deleted_sources(connection, tenant, number, at=context.clock.now())
            tally.add(await delete_scope_leftovers(connection, tenant, number))
            tally.add({"candidates": deleted})
            await blank_scope_rationales(connection, tenant, number, except_for=id_)
        receipt = with_tally(receipt, tally, finished_at=None if ids else context.clock.now())
        await update_receipt(connection, receipt)
    await context.discard(tenant, orphans)
    return receipt, len(ids)


async def scope_number(connection: Connection, caller: Caller, request: Erase) -> int:
    """Return the number of the requested scope. Raises RecordNotFound if there is no such scope."""
    assert request.scope is not None
    number = await find_scope(connection, caller.tenant, request.scope)
    if number is None:
        raise RecordNotFound(request.scope, f"There is no scope {request.scope!r}; check its spelling.", path=["scope"])
    return number
