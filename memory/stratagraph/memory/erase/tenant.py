"""Erasing a tenant: its keys first, then its records in batches, then every other row."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from uuid import UUID

from stratagraph.memory.erase import batches
from stratagraph.memory.erase.context import ErasureContext
from stratagraph.memory.erase.receipts import find_earlier, lock_begun, new_receipt, tally_of, with_tally
from stratagraph.memory.erase.request import Erase, ErasureResult
from stratagraph.memory.requests.retrying import retried
from stratagraph.store.artifacts.references import release_all_artifacts
from stratagraph.store.erasure.counts import count_cascades, count_records
from stratagraph.store.erasure.episodes import lock_episodes_of
from stratagraph.store.erasure.receipts import (
    ErasureKind,
    Receipt,
    Tally,
    blank_earlier_receipts,
    insert_receipt,
    lock_unfinished,
    update_receipt,
)
from stratagraph.store.erasure.scopes import next_records
from stratagraph.store.erasure.tenants import delete_tenant_leftovers, delete_tenant_records, lock_tenant
from stratagraph.store.feed.changes import append_changes
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.keys.sealing.shredding import shred
from stratagraph.store.model.errors import RecordNotFound
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Role
from stratagraph.store.records.entities import lock_terms
from stratagraph.store.records.facts import lock_slots_of
from stratagraph.store.records.locking import lock_records


async def erase_tenant(
    context: ErasureContext, trust: Trust, request: Erase, advance: Callable[[int], None]
) -> ErasureResult:
    """Erase a tenant, or continue an erasure of it, and return the result.

    `advance` is called with the number of records erased in each batch. A finished erasure is found by its idempotency
    key although the tenant no longer exists.
    """
    async with context.database.background(Role.ERASE) as connection:
        earlier = await find_earlier(connection, None, trust, request)
    if earlier is not None and earlier.receipt.finished_at is not None:
        return earlier
    tenant = await known_tenant(context, trust, request.target)

    async def begin() -> tuple[Receipt, list[bytes]]:
        async with context.database.background(Role.ERASE, tenant=tenant.id) as connection:
            if not await lock_tenant(connection, tenant):
                context.directory.forget(tenant)
                raise _not_found(request.target)
            unfinished = await lock_unfinished(connection, tenant, ErasureKind.TENANT)
            if unfinished is not None:
                return unfinished, []
            # Once the keys are destroyed, encrypted content is unreadable, in backups too.
            keys = await shred(connection, context.directory, tenant)
            orphans = await release_all_artifacts(connection, tenant)
            tally = Tally()
            tally.add({"data_keys": keys, "artifacts": len(orphans)})
            receipt = new_receipt(
                tenant, trust, request, tally, scope=None, started_at=context.clock.now(), finished_at=None
            )
            await insert_receipt(connection, receipt)
            return receipt, orphans

    receipt, orphans = await retried(begin)
    context.directory.forget(tenant)
    await context.discard(tenant, orphans)
    batch = partial(_erase_batch, context, tenant, request, receipt.id)
    receipt = await batches.run_batches(receipt, batch, advance)
    context.directory.forget(tenant)
    return ErasureResult(receipt=receipt)


async def _erase_batch(context: ErasureContext, tenant: Tenant, request: Erase, id_: UUID) -> tuple[Receipt, int]:
    """Erase the next records of the tenant or, once there are none, all its other rows."""
    orphans: list[bytes] = []
    async with context.database.background(Role.ERASE, tenant=tenant.id) as connection:
        receipt = await lock_begun(connection, tenant, request, id_)
        if receipt.finished_at is not None:
            return receipt, 0
        tally = tally_of(receipt)
        ids = await next_records(connection, tenant, None, limit=batches.BATCH)
        if ids:
            # In the order of all writers, who may go on writing.
            await lock_terms(connection, tenant, ids)
            await lock_slots_of(connection, tenant, ids)
            await lock_episodes_of(connection, tenant, ids)
            await lock_records(connection, tenant, ids)
            tally.add(await count_cascades(connection, tenant, ids))
            tally.add(await count_records(connection, tenant, ids))
            tally.add_ids(ids)
            await append_changes(connection, tenant, await delete_tenant_records(connection, tenant, ids))
        else:
            await lock_tenant(connection, tenant)
            orphans = await release_all_artifacts(connection, tenant)
            tally.add({"artifacts": len(orphans)})
            tally.add(await delete_tenant_leftovers(connection, tenant))
            await blank_earlier_receipts(connection, tenant, except_for=id_)
        receipt = with_tally(receipt, tally, finished_at=None if ids else context.clock.now())
        await update_receipt(connection, receipt)
    await context.discard(tenant, orphans)
    return receipt, len(ids)


async def known_tenant(context: ErasureContext, trust: Trust, name: str) -> Tenant:
    """Return the credential's own tenant. Raises RecordNotFound if `name` is another one, or does not exist."""
    tenant = await context.directory.tenant(name) if name == trust.tenant else None
    if tenant is None:
        raise _not_found(name)
    return tenant


def _not_found(name: str) -> RecordNotFound:
    return RecordNotFound(
        name,
        f"There is no tenant {name!r} that this credential may erase; a credential may erase only its own tenant.",
        path=["tenant"],
    )
