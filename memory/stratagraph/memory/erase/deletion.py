"""Deleting records with everything that refers to them, in one transaction."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from stratagraph.memory.capture.episodes import close_episodes
from stratagraph.memory.erase.context import ErasureContext, sees_everything
from stratagraph.memory.erase.failed_captures import find_failed_captures
from stratagraph.memory.erase.learned import forget_examples, forget_learned, withdraw_support
from stratagraph.memory.erase.name_matching import name_matcher
from stratagraph.memory.erase.names import names_to_erase
from stratagraph.memory.erase.received_spans import delete_spans_of_erased
from stratagraph.memory.erase.request import Erase
from stratagraph.memory.propagation.reevaluation import reevaluate
from stratagraph.memory.requests.retrying import StaleRead
from stratagraph.store.erasure.closure import (
    NOTHING_LEARNED,
    ErasureAccess,
    ErasureClosure,
    erasure_closure,
    related_records,
)
from stratagraph.store.erasure.counts import count_cascades, count_records
from stratagraph.store.erasure.entities import linked_records, merged_entities
from stratagraph.store.erasure.episodes import lock_episodes_of, recount_episodes, rewrite_episode_history
from stratagraph.store.erasure.learned import LearnedFromRemoved, learned_from_removed, learned_procedures
from stratagraph.store.erasure.leftovers import delete_leftovers
from stratagraph.store.erasure.notes import delete_notes_naming, delete_shared_notes
from stratagraph.store.erasure.receipts import Tally
from stratagraph.store.erasure.removal import mark_erased, remove_records, removed_records
from stratagraph.store.erasure.rewriting import rewrite
from stratagraph.store.erasure.sources import remember_sources
from stratagraph.store.erasure.traces import find_traces
from stratagraph.store.feed.changes import append_changes
from stratagraph.store.keys.callers import Caller, Tenant
from stratagraph.store.model.clock import RESOLUTION
from stratagraph.store.postgres.database import Connection, elevated
from stratagraph.store.records.entities import lock_terms
from stratagraph.store.records.facts import lock_slots_of
from stratagraph.store.records.locking import LockedRecord, lock_records
from stratagraph.store.records.reading import Reader
from stratagraph.store.records.relations import disputes_of
from stratagraph.store.records.tombstones import Cause
from stratagraph.store.records.trims import trimmed_by


@dataclass(frozen=True, slots=True)
class Seeds:
    """The records that a request names, and the number of their scope; of an entity, that of the entity itself.

    With `has_tombstone`, the record was deleted before and left only traces, and what was learned from it.
    """

    ids: set[UUID]
    scope: int | None
    has_tombstone: bool = False
    learned_from_removed_records: LearnedFromRemoved = NOTHING_LEARNED


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """What to do after the commit: remove `orphans`, artifacts without references, and list where `names` occur."""

    orphans: tuple[bytes, ...]
    names: set[str]


async def delete_with_traces(
    context: ErasureContext,
    connection: Connection,
    caller: Caller,
    seeds: Seeds,
    tally: Tally,
    request: Erase,
    *,
    scope: int | None = None,
) -> Deletion:
    """Delete the closure of `seeds` and every trace of it, and add to `tally` what the caller may see of it.

    With `scope`, a whole scope is being erased: its other records are not rewritten and its episodes not closed again.
    Raises StaleRead if another writer has deleted the requested record first, and InvalidInput if the rationale
    contains a name of the entity to be erased.
    """
    tenant, unrestricted = caller.tenant, caller.unrestricted()
    async with elevated(connection, unrestricted.bounds):
        access = await erasure_access(context, caller)
        removed_before, learned_from_removed_records = await _removed_before(connection, tenant, request, seeds)
        closure, rows = await _lock_closure(
            connection,
            tenant,
            seeds.ids,
            access,
            request,
            whole=scope is None,
            removed=removed_before,
            learned_from_removed_records=learned_from_removed_records,
        )
        if not seeds.has_tombstone:
            _require_present(request, rows)
        ids = closure.ids if seeds.has_tombstone else closure.ids & rows.keys()
        at = max([context.clock.now(), *(row.updated_at + RESOLUTION for row in rows.values())])
        staying = {id_ for id_, row in rows.items() if id_ not in ids and row.scope != scope}
        names = await names_to_erase(connection, tenant, request)
        async with elevated(connection, caller.bounds):
            visible = await visible_records(context, connection, caller, ids)
        counts = await count_records(connection, tenant, visible)
        if sees_everything(caller):
            counts |= await count_cascades(connection, tenant, ids)
        tally.add_ids(visible)

        disputes = await disputes_of(connection, tenant, ids)
        disputed = {end for one in disputes for end in (one.contested, one.by)} - ids
        episodes = await lock_episodes_of(connection, tenant, ids)
        traces = await find_traces(connection, tenant, ids | removed_before)
        changes = await rewrite(connection, tenant, staying, traces.strip)
        unsupporting_episodes = {*episodes, *learned_from_removed_records.sources}
        changes += await forget_learned(
            connection,
            context.directory,
            tenant,
            staying,
            unsupporting_episodes,
            at=at,
            known=learned_from_removed_records.records,
        )
        changes += await withdraw_support(connection, tenant, closure.weakened & staying, unsupporting_episodes, at=at)
        await forget_examples(connection, tenant, ids | removed_before | unsupporting_episodes, at=at, without=scope)
        failed = (
            await find_failed_captures(context, connection, tenant, ids, rows, names) if scope is None else set[UUID]()
        )
        if scope is None:
            await delete_spans_of_erased(connection, tenant, ids, names)
        await remember_sources(connection, tenant, ids | removed_before, at=at)
        shared_notes = await delete_shared_notes(connection, tenant, ids, staying)
        leftovers = await delete_leftovers(connection, tenant, ids | removed_before, failed)
        leftovers["audit_notes"] += shared_notes
        removed = await remove_records(
            connection, context.directory, tenant, ids, Cause.ERASED, actor=caller.trust.actor, rationale="", at=at
        )
        changes += removed.changes

        remaining = {id_ for id_ in episodes if id_ not in ids}
        await recount_episodes(connection, tenant, remaining)
        closed = sorted(id_ for id_ in remaining if episodes[id_].is_closed and episodes[id_].scope != scope)
        if closed:
            changes += await close_episodes(connection, context.directory, tenant, closed, at=at)
            await rewrite_episode_history(connection, tenant, closed)
        if names:
            leftovers["audit_notes"] += await delete_notes_naming(
                connection, tenant, staying | remaining, name_matcher(names)
            )
        done = await reevaluate(
            connection,
            context.directory,
            unrestricted,
            doubtful=(closure.survivors | disputed) & staying,
            actor=caller.trust.actor,
            at=at,
        )
        changes += done.changes
        await append_changes(connection, tenant, changes)
    tally.add(counts)
    if sees_everything(caller):
        tally.add({**leftovers, "artifacts": len(removed.orphans)})
    return Deletion(orphans=removed.orphans, names=names)


async def _removed_before(
    connection: Connection, tenant: Tenant, request: Erase, seeds: Seeds
) -> tuple[set[UUID], LearnedFromRemoved]:
    """Return the pruned and deleted records that were linked to the entity to be erased, now marked as erased.

    The second value is what was learned from them, or from the removed record of `seeds`.
    """
    if request.entity_id is None:
        return set(), seeds.learned_from_removed_records
    entities = await merged_entities(connection, tenant, request.entity_id)
    found = await removed_records(connection, tenant, entities)
    learned_from_removed_records = await learned_from_removed(connection, tenant, found)
    if found:
        await mark_erased(connection, tenant, found)
    return found, learned_from_removed_records


async def visible_records(
    context: ErasureContext, connection: Connection, caller: Caller, ids: Collection[UUID]
) -> set[UUID]:
    """Return which of `ids` the caller may read in full; a receipt names and counts no others."""
    if sees_everything(caller):
        return set(ids)
    return set(await Reader(connection, context.directory, caller, context.clock.now()).heads(list(ids)))


async def erasure_access(context: ErasureContext, caller: Caller) -> ErasureAccess:
    """Return which records the caller may erase with those that it requests: those that it may revise."""
    scopes = caller.trust.scopes
    if scopes is None:
        return ErasureAccess(scopes=None, ceiling=int(caller.ceiling))
    known = await context.directory.scopes(caller.tenant, scopes, create=False)
    return ErasureAccess(scopes=tuple(known.values()), ceiling=int(caller.ceiling))


async def _lock_closure(
    connection: Connection,
    tenant: Tenant,
    seeds: set[UUID],
    access: ErasureAccess,
    request: Erase,
    *,
    whole: bool,
    removed: Collection[UUID],
    learned_from_removed_records: LearnedFromRemoved,
) -> tuple[ErasureClosure, dict[UUID, LockedRecord]]:
    """Lock the closure and the records related to it, in the order of all writers; return both.

    `removed` are records that were removed before and are erased with them.

    No writer can add a reference to a locked record, so the closure is complete once it no longer changes under locks.
    """
    closure_of = partial(
        erasure_closure,
        connection,
        tenant,
        access=access,
        whole=whole,
        removed=removed,
        learned_from_removed_records=learned_from_removed_records,
    )
    closure = await closure_of(seeds)
    while True:
        await lock_terms(connection, tenant, closure.ids)
        await lock_slots_of(connection, tenant, closure.ids)
        trimmed = await trimmed_by(connection, tenant, closure.ids)
        episodes = await lock_episodes_of(connection, tenant, closure.ids)
        related = await related_records(connection, tenant, closure.ids)
        related |= await learned_procedures(connection, tenant, episodes, learned_from_removed_records.records)
        wanted = {*closure.ids, *closure.survivors, *related, *episodes, *trimmed}
        rows = await lock_records(connection, tenant, wanted)
        if request.entity_id is not None:  # a record may have been linked to it before it was locked
            entities = await merged_entities(connection, tenant, request.entity_id)
            seeds = seeds | entities | await linked_records(connection, tenant, entities)
        again = await closure_of(seeds)
        related = await related_records(connection, tenant, again.ids)
        if again.ids == closure.ids and {*again.survivors, *related} <= wanted:
            return again, rows
        closure = again


def _require_present(request: Erase, rows: Collection[UUID]) -> None:
    """Raise StaleRead if another writer deleted the requested record before it was locked; its traces may be left."""
    id_ = request.record_id or request.entity_id
    if id_ is not None and id_ not in rows:
        raise StaleRead
