"""Erasing, as callers use it: a record, an entity, a scope or a tenant, with every trace of it.

A record or an entity is erased in one transaction; a scope or a tenant in batches, each a transaction of its own, so
that an interrupted erasure continues when it is requested again. Deletion policies and pins do not prevent an erasure.

An episode is erased with the records that belong to it, since they are what happened in it. Erasing one of these
records removes it from the episode, and the episode's caption and search terms are made again from the others. Erasing
an entity erases all records linked to it, whatever their scope and sensitivity, so it needs a caller who may see all of
them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from stratagraph.memory.erase.context import ErasureContext
from stratagraph.memory.erase.request import Erase, ErasureResult, check_rights
from stratagraph.memory.erase.scope import erase_scope, scope_number
from stratagraph.memory.erase.single import erase_single, preview_single
from stratagraph.memory.erase.tenant import erase_tenant, known_tenant
from stratagraph.memory.records.artifacts import Artifacts
from stratagraph.store.erasure.counts import count_scope, count_tenant
from stratagraph.store.erasure.receipts import ErasureKind, Receipt, newest_receipts
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.clock import Clock
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Database, Role, elevated


class Erasure:
    """The service that erases records, entities, scopes and tenants. One per process; safe to call from many tasks."""

    def __init__(self, database: Database, directory: Directory, clock: Clock, artifacts: Artifacts) -> None:
        self._context = ErasureContext(database, directory, clock, artifacts)

    async def erase(
        self, trust: Trust, request: Erase, *, advance: Callable[[int], None] = lambda _: None
    ) -> ErasureResult:
        """Erase what `request` names, and return the receipt; `advance` receives the number of records of each batch.

        The same request with the same idempotency key returns the first one's receipt. Raises InvalidInput,
        RecordNotFound, Forbidden or IdempotencyMismatch with nothing changed. After StoreUnavailable, a record or
        entity is unchanged; an erasure of a scope or tenant continues where it stopped when it is requested again.
        """
        request.check()
        check_rights(trust, request)
        request = request.without_secrets()
        if request.kind is ErasureKind.TENANT:
            return await erase_tenant(self._context, trust, request, advance)
        caller = await self._context.directory.resolve(trust)
        if request.kind is ErasureKind.SCOPE:
            return await erase_scope(self._context, caller, request, advance)
        return await erase_single(self._context, caller, request)

    async def preview(self, trust: Trust, request: Erase) -> dict[str, int]:
        """Return the number of records of each type that `erase` would delete, among those visible to the caller.

        The keys are `records.<type>`. Changes nothing. Raises as `erase` does.
        """
        replace(request, rationale=request.rationale or "preview").check()
        check_rights(trust, request)
        context = self._context
        if request.kind is ErasureKind.TENANT:
            tenant = await known_tenant(context, trust, request.target)
            async with context.database.background(Role.ERASE, tenant=tenant.id) as connection:
                return await count_tenant(connection, tenant)
        caller = await context.directory.resolve(trust)
        async with (
            context.database.background(Role.ERASE, tenant=caller.tenant.id) as connection,
            elevated(connection, caller.bounds),
        ):
            if request.kind is ErasureKind.SCOPE:
                return await count_scope(connection, caller.tenant, await scope_number(connection, caller, request))
            return await preview_single(context, connection, caller, request)

    async def receipts(self, *, limit: int = 100) -> list[Receipt]:
        """Return the newest `limit` receipts of all tenants, including erased ones, for the database operator."""
        async with self._context.database.background(Role.ERASE) as connection:
            return list(await newest_receipts(connection, limit=limit))
