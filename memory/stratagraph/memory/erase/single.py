"""Erasing one record or one entity, in one transaction."""

from __future__ import annotations

from uuid import UUID

from stratagraph.memory.erase.context import ErasureContext
from stratagraph.memory.erase.deletion import Seeds, delete_with_traces, erasure_access, visible_records
from stratagraph.memory.erase.name_matching import name_matcher
from stratagraph.memory.erase.names import list_elsewhere
from stratagraph.memory.erase.receipts import find_earlier, new_receipt
from stratagraph.memory.erase.request import Erase, ErasureResult
from stratagraph.memory.requests.retrying import retried
from stratagraph.memory.revise.named_entities import refuse_named_entity
from stratagraph.memory.revise.unit_of_work import UnitOfWork
from stratagraph.store.erasure.closure import erasure_closure
from stratagraph.store.erasure.counts import count_records
from stratagraph.store.erasure.entities import linked_records, merged_entities
from stratagraph.store.erasure.learned import learned_from_removed
from stratagraph.store.erasure.receipts import ErasureKind, Tally, blank_rationales, insert_receipt
from stratagraph.store.erasure.removal import mark_erased
from stratagraph.store.erasure.scopes import scope_of
from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.errors import InvalidInput, RecordNotFound
from stratagraph.store.model.trust import Visibility
from stratagraph.store.postgres.database import Connection, Role, elevated
from stratagraph.store.records.locking import lock_records
from stratagraph.store.records.reading import Reader
from stratagraph.store.records.tombstones import find_tombstones


async def erase_single(context: ErasureContext, caller: Caller, request: Erase) -> ErasureResult:
    """Erase one record or entity in one transaction, retried on a write collision, and return the result."""

    async def transaction() -> tuple[ErasureResult, tuple[bytes, ...]]:
        started_at = context.clock.now()
        async with (
            context.database.background(Role.ERASE, tenant=caller.tenant.id) as connection,
            elevated(connection, caller.bounds),
        ):
            earlier = await find_earlier(connection, caller.tenant, caller.trust, request)
            if earlier is not None:
                return earlier, ()
            seeds = await _find_seeds(context, connection, caller, request)
            if seeds.has_tombstone and not await mark_erased(connection, caller.tenant, seeds.ids):
                raise RecordNotFound(request.record_id, path=["recordId"])
            tally = Tally()
            done = await delete_with_traces(context, connection, caller, seeds, tally, request)
            receipt = new_receipt(
                caller.tenant,
                caller.trust,
                request,
                tally,
                scope=seeds.scope,
                started_at=started_at,
                finished_at=context.clock.now(),
            )
            if done.names:
                receipt = await list_elsewhere(connection, caller, receipt, done.names)
                await blank_rationales(connection, caller.tenant, name_matcher(done.names))
            await insert_receipt(connection, receipt)
            return ErasureResult(receipt=receipt), done.orphans

    result, orphans = await retried(transaction)
    await context.discard(caller.tenant, orphans)
    return result


async def preview_single(
    context: ErasureContext, connection: Connection, caller: Caller, request: Erase
) -> dict[str, int]:
    """Return the number of records of each type that the erasure would delete, keyed by `records.<type>`.

    Only records that the caller may read in full are counted.
    """
    seeds = await _find_seeds(context, connection, caller, request)
    access = await erasure_access(context, caller)
    closure = await erasure_closure(
        connection,
        caller.tenant,
        seeds.ids,
        access,
        whole=True,
        learned_from_removed_records=seeds.learned_from_removed_records,
    )
    visible = await visible_records(context, connection, caller, closure.ids)
    return await count_records(connection, caller.tenant, visible)


async def _find_seeds(context: ErasureContext, connection: Connection, caller: Caller, request: Erase) -> Seeds:
    """Return the records that the request names; `erasure_closure` finds the others."""
    if request.kind is ErasureKind.RECORD:
        assert request.record_id is not None
        return await _find_record(context, connection, caller, request.record_id)
    assert request.entity_id is not None
    entities = await merged_entities(connection, caller.tenant, request.entity_id)
    if not entities:
        await _refuse_other_kind(context, connection, caller, request.entity_id)
        raise RecordNotFound(
            request.entity_id,
            f"There is no entity {request.entity_id} that this credential may see; check the id, and the credential's"
            " scopes and ceiling.",
            path=["entityId"],
        )
    linked = await linked_records(connection, caller.tenant, entities)
    return Seeds(entities | linked, scope=await scope_of(connection, caller.tenant, request.entity_id))


async def _refuse_other_kind(context: ErasureContext, connection: Connection, caller: Caller, id_: UUID) -> None:
    """Raise InvalidInput if the id is that of a record that the caller may read in full, and that is no entity."""
    reader = Reader(connection, context.directory, caller, context.clock.now())
    record = (await reader.records([id_])).get(id_)
    if record is not None and not record.redacted and record.type is not MemoryType.ENTITY:
        raise InvalidInput(
            f"entityId: {id_} is a record of type {record.type.label}, not an entity; give the id of an entity, or"
            " erase the record by recordId",
            path=["entityId"],
        )


async def _find_record(context: ErasureContext, connection: Connection, caller: Caller, id_: UUID) -> Seeds:
    """Return the record, or the one that was deleted or pruned and left rationales and captures.

    Raises InvalidInput for an entity that a current fact names.
    """
    work = UnitOfWork(connection, context.directory, caller, context.clock.now(), "")
    try:
        record = (await work.targets([id_], path=["recordId"]))[0]
    except RecordNotFound:
        tombstone = (await find_tombstones(connection, caller.tenant, [id_])).get(id_)
        if tombstone is None:
            raise
        scope = (await context.directory.scope_names([tombstone.scope]))[tombstone.scope]
        if caller.trust.visibility(scope=scope, sensitivity=tombstone.sensitivity) is not Visibility.FULL:
            raise
        caller.trust.scope_for_write(scope)
        learned_from_removed_records = await learned_from_removed(connection, caller.tenant, [id_])
        return Seeds(
            {id_}, scope=tombstone.scope, has_tombstone=True, learned_from_removed_records=learned_from_removed_records
        )
    await lock_records(connection, caller.tenant, [id_])
    await refuse_named_entity(connection, caller, record, verb="erased by record")
    return Seeds({id_}, scope=await scope_of(connection, caller.tenant, id_))
