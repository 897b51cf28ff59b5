"""The right to be forgotten: a record, an entity, a scope or a tenant goes, with every trace of it (SPEC §2).

A record or an entity goes in one transaction; a scope or a tenant in batches, each a transaction of its own, so that
it may be interrupted and goes on when it is asked for again. Neither deletion policy nor pin stands in the way.

An episode goes with the records that it consists of: they are what happened in it. Erasing one of them takes it out of
the episode, and the episode's caption and words are made again from the others. Erasing an entity takes all records
linked to it, whatever their scope and sensitivity, so it needs a caller who may see all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import TypeVar
from uuid import UUID

import structlog

from stratagraph.memory.artifacts import Artifacts
from stratagraph.memory.episodes import close_episodes
from stratagraph.memory.erase.name_matching import names_in, saying, texts, would_become
from stratagraph.memory.erase.request import Erase, Erasing, check_rights, request_hashes
from stratagraph.memory.propagation import reevaluate
from stratagraph.memory.retrying import retried
from stratagraph.memory.revise.unit_of_work import UnitOfWork
from stratagraph.store.artifacts.artifacts import release_all
from stratagraph.store.erasure.erasing import (
    ErasureClosure,
    Tally,
    bury_again,
    contents_of,
    count_all,
    count_belongings,
    count_records,
    erase_candidates,
    erase_notes_naming,
    erase_scope_leftovers,
    erase_shared_notes,
    erase_tenant_leftovers,
    erase_traces,
    erased_hash,
    erasure_closure,
    failed_captures,
    find_scope,
    find_traces,
    identities,
    linked,
    lock_episodes_of,
    lock_tenant,
    neighbours,
    page,
    recount_episodes,
    remove_tenant_records,
    retell_episodes,
    rewrite,
    said_elsewhere,
)
from stratagraph.store.erasure.receipts import (
    Erased,
    Receipt,
    erasures,
    find_erasure,
    find_receipt,
    find_running,
    forget_rationales,
    insert_erasure,
    target_hash,
    update_erasure,
)
from stratagraph.store.erasure.removal import remove_records
from stratagraph.store.feed.consumer import Change, Kind
from stratagraph.store.keys.sealing.shredding import shred
from stratagraph.store.keys.tenancy import Caller, Directory, Tenant
from stratagraph.store.model.clock import RESOLUTION, Clock
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.model.errors import (
    IdempotencyMismatch,
    InvalidInput,
    RecordNotFound,
    StratagraphError,
)
from stratagraph.store.model.ids import new_id
from stratagraph.store.model.trust import Trust, Visibility
from stratagraph.store.postgres.database import Connection, Database, Role, elevated
from stratagraph.store.records.entities import lock_terms
from stratagraph.store.records.locking import Locked, lock_records
from stratagraph.store.records.reading import Reader
from stratagraph.store.records.relations import disputes_of
from stratagraph.store.records.tombstones import Cause, find_tombstones
from stratagraph.store.records.writing import finish

BATCH = 500  # records of a scope or tenant that go in one transaction
MAX_HASHES = 1_000  # of a receipt; all are in its digest
MAX_ELSEWHERE = 200  # records looked at for each name of an erased entity, and listed
T = TypeVar("T")
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Seeds:
    """What is asked for by name. `buried`: the record went before, and only traces of it are left."""

    ids: set[UUID]
    buried: bool = False


@dataclass(slots=True)
class _Taken:
    """What one transaction took away, and what is to be done after its commit."""

    orphans: tuple[bytes, ...] = ()
    names: set[str] = field(default_factory=set)


class Erasure:
    """Erases. One per process; safe to call from many tasks."""

    def __init__(self, database: Database, directory: Directory, clock: Clock, artifacts: Artifacts) -> None:
        self._database = database
        self._directory = directory
        self._clock = clock
        self._artifacts = artifacts

    async def erase(self, trust: Trust, request: Erase, *, advance: Callable[[int], None] = lambda _: None) -> Erasing:
        """Take it away for good, and return the receipt; `advance` hears of each batch how many records went.

        Raises InvalidInput, NotFound, Forbidden and IdempotencyMismatch with nothing changed, and StoreUnavailable:
        then a record or entity is as it was, and a scope or tenant goes on where it was when it is asked for again.
        """
        request.check()
        if request.kind is Erased.TENANT:
            return await self._tenant(trust, request, advance)
        check_rights(trust, request)
        caller = await self._directory.caller(trust)
        if request.kind is Erased.SCOPE:
            return await self._scope(caller, request, advance)
        return await self._one(caller, request)

    async def preview(self, trust: Trust, request: Erase) -> dict[str, int]:
        """How many records of each type would go, as far as the caller may see them; changes nothing.

        Raises as `erase` does.
        """
        replace(request, rationale=request.rationale or "preview").check()
        check_rights(trust, request)
        if request.kind is Erased.TENANT:
            tenant = await self._known_tenant(trust, request.target)
            async with self._database.background(Role.ERASE) as connection:
                return await count_all(connection, tenant, None)
        caller = await self._directory.caller(trust)
        async with self._database.background(Role.ERASE) as connection, elevated(connection, caller.bounds):
            if request.kind is Erased.SCOPE:
                return await count_all(connection, caller.tenant, await self._scope_number(connection, caller, request))
            seeds = await self._seeds(connection, caller, request)
            found = await erasure_closure(connection, caller.tenant, seeds.ids, whole=True)
            return await count_records(connection, caller.tenant, await self._visible(connection, caller, found.going))

    async def receipts(self, *, limit: int = 100) -> list[Receipt]:
        """The newest receipts of all tenants, those of erased ones too: for whoever runs the database."""
        async with self._database.background(Role.ERASE) as connection:
            return list(await erasures(connection, limit=limit))

    # A record or an entity

    async def _one(self, caller: Caller, request: Erase) -> Erasing:
        async def work() -> tuple[Erasing, tuple[bytes, ...]]:
            async with self._database.background(Role.ERASE) as connection, elevated(connection, caller.bounds):
                known = await self._replayed(connection, caller.tenant, caller.trust.actor, request)
                if known is not None:
                    return known, ()
                seeds = await self._seeds(connection, caller, request)
                if seeds.buried and not await bury_again(connection, caller.tenant, *seeds.ids):
                    raise RecordNotFound(request.record_id, path=["recordId"])
                tally = Tally()
                taken = await self._take(connection, caller, seeds, tally, request)
                receipt = self._receipt(caller.tenant, caller.trust.actor, request, tally, at=self._clock.now())
                if taken.names:
                    receipt = await self._look_elsewhere(connection, caller, receipt, taken.names)
                await insert_erasure(connection, receipt)
                return Erasing(receipt=receipt), taken.orphans

        erasing, orphans = await retried(work)
        await self._discard(caller.tenant, orphans)
        return erasing

    async def _seeds(self, connection: Connection, caller: Caller, request: Erase) -> _Seeds:
        """What is asked for by name; the rest follows from it."""
        if request.kind is Erased.RECORD:
            assert request.record_id is not None
            return await self._record(connection, caller, request.record_id)
        assert request.entity_id is not None
        same = await identities(connection, caller.tenant, request.entity_id)
        if not same:
            raise RecordNotFound(
                request.entity_id,
                f"There is no entity {request.entity_id} that this credential may see.",
                path=["entityId"],
            )
        return _Seeds(same | await linked(connection, caller.tenant, same))

    async def _record(self, connection: Connection, caller: Caller, id_: UUID) -> _Seeds:
        """The record, or what is left of one that was deleted or pruned: its rationales and captures."""
        work = UnitOfWork(connection, self._directory, caller, self._clock.now(), "")
        try:
            await work.targets([id_], path=["recordId"])
        except RecordNotFound:
            grave = (await find_tombstones(connection, caller.tenant, [id_])).get(id_)
            if grave is None:
                raise
            scope = (await self._directory.scope_names([grave.scope]))[grave.scope]
            if caller.trust.visibility(scope=scope, sensitivity=grave.sensitivity) is not Visibility.FULL:
                raise
            caller.trust.scope_for_write(scope)
            return _Seeds({id_}, buried=True)
        return _Seeds({id_})

    async def _take(
        self,
        connection: Connection,
        caller: Caller,
        seeds: _Seeds,
        tally: Tally,
        request: Erase,
        *,
        scope: int | None = None,
    ) -> _Taken:
        """Take records away with all that goes with them. Of a `scope` that goes as a whole, nothing is made again."""
        tenant, everything = caller.tenant, caller.everything()
        async with elevated(connection, everything.bounds):
            found, rows = await self._lock(connection, tenant, seeds.ids, request, whole=scope is None)
            if not seeds.buried:
                self._still_there(request, rows)
            going = found.going if seeds.buried else found.going & rows.keys()
            at = max([self._clock.now(), *(row.updated_at + RESOLUTION for row in rows.values())])
            stay = {id_ for id_, row in rows.items() if id_ not in going and row.scope != scope}
            names = await self._names(connection, tenant, going, request)
            async with elevated(connection, caller.bounds):
                visible = await self._visible(connection, caller, going)
            counts = await count_records(connection, tenant, visible)
            if _sees_all(caller):
                counts |= await count_belongings(connection, tenant, going)
            tally.note([erased_hash(tenant, id_) for id_ in visible], most=MAX_HASHES)

            disputed = {
                end for one in await disputes_of(connection, tenant, going) for end in (one.contested, one.by)
            } - going
            episodes = await lock_episodes_of(connection, tenant, going)
            changes = await rewrite(connection, tenant, stay, (await find_traces(connection, tenant, going)).strip)
            failed = await self._failed(connection, tenant, going, rows, names) if scope is None else set()
            shared = await erase_shared_notes(connection, tenant, going, stay)
            traces = await erase_traces(connection, tenant, going, failed)
            traces["audit_notes"] += shared
            removed = await remove_records(
                connection, tenant, going, Cause.ERASED, actor=caller.trust.actor, rationale="", at=at
            )
            changes += removed.changes
            left = {id_ for id_ in episodes if id_ not in going}
            await recount_episodes(connection, tenant, left)
            told = sorted(id_ for id_ in left if episodes[id_][1] and episodes[id_][0] != scope)
            if told:
                changes += await close_episodes(connection, self._directory, tenant, told, at=at)
                await retell_episodes(connection, tenant, told)
            doubtful = (found.survivors | disputed) & stay
            if names:
                says = saying(names)
                traces["audit_notes"] += await erase_notes_naming(connection, tenant, stay | left, says)
            done = await reevaluate(
                connection, self._directory, everything, doubtful=doubtful, actor=caller.trust.actor, at=at
            )
            changes += done.changes
            await finish(connection, tenant, changes)
        tally.add(counts)
        if _sees_all(caller):
            tally.add({**traces, "artifacts": len(removed.orphans)})
        return _Taken(orphans=removed.orphans, names=names)

    async def _lock(
        self, connection: Connection, tenant: Tenant, seeds: set[UUID], request: Erase, *, whole: bool
    ) -> tuple[ErasureClosure, dict[UUID, Locked]]:
        """What goes, and what is related to it, locked in the order of all writers. Nobody refers to a locked record
        anew, so what is found once they are locked is all."""
        found = await erasure_closure(connection, tenant, seeds, whole=whole)
        while True:
            await lock_terms(connection, tenant, found.going)
            episodes = await lock_episodes_of(connection, tenant, found.going)
            related = await neighbours(connection, tenant, found.going)
            wanted = {*found.going, *found.survivors, *related, *episodes}
            rows = await lock_records(connection, tenant, wanted)
            if request.entity_id is not None:  # it may have been named once more before it was locked
                same = await identities(connection, tenant, request.entity_id)
                seeds = seeds | same | await linked(connection, tenant, same)
            again = await erasure_closure(connection, tenant, seeds, whole=whole)
            around = await neighbours(connection, tenant, again.going)
            if again.going == found.going and {*again.survivors, *around} <= wanted:
                return again, rows
            found = again

    def _still_there(self, request: Erase, rows: Collection[UUID]) -> None:
        """Raises NotFound where another eraser was quicker."""
        asked, path = request.record_id or request.entity_id, "recordId" if request.record_id else "entityId"
        if asked is not None and asked not in rows:
            raise RecordNotFound(asked, path=[path])

    async def _names(self, connection: Connection, tenant: Tenant, going: Collection[UUID], request: Erase) -> set[str]:
        """What an entity that goes by its id is called. Raises InvalidInput where the rationale would keep that."""
        if request.entity_id is None:
            return set()
        same = await identities(connection, tenant, request.entity_id)
        names = {
            name for _, content in (await contents_of(connection, tenant, same)).values() for name in names_in(content)
        }
        if saying(names)(request.rationale):
            raise InvalidInput(
                "rationale: it stays in the receipt, and it names what is to be forgotten; name a ticket instead",
                path=["rationale"],
            )
        return names

    async def _failed(
        self,
        connection: Connection,
        tenant: Tenant,
        going: Collection[UUID],
        rows: Mapping[UUID, Locked],
        names: Collection[str],
    ) -> set[UUID]:
        """Failed captures that would become one of `going`, or that speak of one of `names`."""
        kept = await failed_captures(connection, tenant)
        if not kept:
            return set()
        scopes = await self._directory.scope_names({row.scope for id_, row in rows.items() if id_ in going})
        said = {
            (scopes[rows[id_].scope], kind, content["text"])
            for id_, (kind, content) in (await contents_of(connection, tenant, going)).items()
        }
        says = saying(names)
        return {
            one.id
            for one in kept
            if (one.scope, *would_become(one.input, self._clock.now())) in said
            or any(says(text) for text in texts(one.input))
        }

    async def _visible(self, connection: Connection, caller: Caller, ids: Collection[UUID]) -> set[UUID]:
        """Those of `ids` in the caller's full sight: a receipt tells of no others."""
        if _sees_all(caller):
            return set(ids)
        return set(await Reader(connection, self._directory, caller, self._clock.now()).heads(list(ids)))

    async def _look_elsewhere(
        self, connection: Connection, caller: Caller, receipt: Receipt, names: Collection[str]
    ) -> Receipt:
        """List the records that still say one of `names`, found by the index of words and checked on what they say."""
        async with elevated(connection, caller.everything().bounds):
            found = await said_elsewhere(connection, caller.tenant, names, limit=MAX_ELSEWHERE)
        says = saying(names)
        where = [id_ for id_, content in found.records if any(says(text) for text in texts(content))]
        complete = found.complete and len(where) <= MAX_ELSEWHERE
        return replace(receipt, elsewhere=tuple(where[:MAX_ELSEWHERE]), elsewhere_complete=complete)

    # A scope

    async def _scope(self, caller: Caller, request: Erase, advance: Callable[[int], None]) -> Erasing:
        tenant = caller.tenant

        async def begin() -> Erasing:
            async with self._database.background(Role.ERASE) as connection:
                known = await self._replayed(connection, tenant, caller.trust.actor, request)
                if known is not None:
                    return known
                number = await self._scope_number(connection, caller, request)
                if not await page(connection, tenant, number, limit=1):
                    raise RecordNotFound(request.target, f"The scope {request.target!r} holds nothing.", path=["scope"])
                receipt = self._receipt(tenant, caller.trust.actor, request, Tally(), at=None)
                await insert_erasure(connection, receipt)
                return Erasing(receipt=receipt)

        begun = await retried(begin)
        receipt = begun.receipt
        batch = partial(self._scope_batch, caller, request, receipt.id)
        while receipt.finished_at is None:
            receipt, gone = await retried(batch)
            advance(gone)
        return replace(begun, receipt=receipt)

    async def _scope_batch(self, caller: Caller, request: Erase, id_: UUID) -> tuple[Receipt, int]:
        """The next records of the scope; once there are none, what is left of it."""
        tenant = caller.tenant
        async with self._database.background(Role.ERASE) as connection, elevated(connection, caller.bounds):
            receipt = await self._going_on(connection, tenant, request, id_)
            if receipt.finished_at is not None:
                return receipt, 0
            number = await self._scope_number(connection, caller, request)
            tally = _tally(receipt)
            ids = await page(connection, tenant, number, limit=BATCH)
            orphans: tuple[bytes, ...] = ()
            if ids:
                orphans = (await self._take(connection, caller, _Seeds(set(ids)), tally, request, scope=number)).orphans
            else:
                kept = await failed_captures(connection, tenant)
                failed = {one.id for one in kept if one.scope == request.scope}
                candidates = await erase_candidates(connection, tenant, failed)
                tally.add(await erase_scope_leftovers(connection, tenant, number))
                tally.add({"candidates": candidates})
            receipt = _with(receipt, tally, finished_at=None if ids else self._clock.now())
            await update_erasure(connection, receipt)
        await self._discard(tenant, orphans)
        return receipt, len(ids)

    async def _scope_number(self, connection: Connection, caller: Caller, request: Erase) -> int:
        assert request.scope is not None
        number = await find_scope(connection, caller.tenant, request.scope)
        if number is None:
            raise RecordNotFound(request.scope, f"There is no scope {request.scope!r}.", path=["scope"])
        return number

    # A tenant

    async def _tenant(self, trust: Trust, request: Erase, advance: Callable[[int], None]) -> Erasing:
        check_rights(trust, request)
        async with self._database.background(Role.ERASE) as connection:
            known = await self._replayed(connection, None, trust.actor, request)
        if known is not None and known.receipt.finished_at is not None:
            return known
        tenant = await self._known_tenant(trust, request.target)

        async def begin() -> tuple[Receipt, list[bytes]]:
            async with self._database.background(Role.ERASE) as connection:
                if not await lock_tenant(connection, tenant):
                    self._directory.forget(tenant)
                    raise _no_tenant(request.target)
                running = await find_running(connection, target=target_hash(tenant, Erased.TENANT, request.target))
                if running is not None:
                    return running, []
                # Without its keys what is sealed is noise from here on, in backups too.
                keys = await shred(connection, self._directory, tenant)
                orphans = await release_all(connection, tenant)
                tally = Tally()
                tally.add({"data_keys": keys, "artifacts": len(orphans)})
                receipt = self._receipt(tenant, trust.actor, request, tally, at=None)
                await insert_erasure(connection, receipt)
                return receipt, orphans

        receipt, orphans = await retried(begin)
        self._directory.forget(tenant)
        await self._discard(tenant, orphans)
        batch = partial(self._tenant_batch, tenant, request, receipt.id)
        while receipt.finished_at is None:
            receipt, gone = await retried(batch)
            advance(gone)
        self._directory.forget(tenant)
        return Erasing(receipt=receipt)

    async def _tenant_batch(self, tenant: Tenant, request: Erase, id_: UUID) -> tuple[Receipt, int]:
        orphans: list[bytes] = []
        async with self._database.background(Role.ERASE) as connection:
            receipt = await self._going_on(connection, tenant, request, id_)
            if receipt.finished_at is not None:
                return receipt, 0
            tally = _tally(receipt)
            ids = await page(connection, tenant, None, limit=BATCH)
            if ids:
                await lock_records(connection, tenant, ids)
                tally.add(await count_belongings(connection, tenant, ids))
                tally.add(await count_records(connection, tenant, ids))
                rows = await remove_tenant_records(connection, tenant, ids)
                changes = [
                    Change(kind=Kind.RECORD, id=row["id"], version=row["row_version"] + 1, op="D") for row in rows
                ]
                await finish(connection, tenant, changes)
            else:
                await lock_tenant(connection, tenant)
                orphans = await release_all(connection, tenant)
                tally.add({"artifacts": len(orphans)})
                tally.add(await erase_tenant_leftovers(connection, tenant))
                await forget_rationales(connection, tenant, but=id_)
            receipt = _with(receipt, tally, finished_at=None if ids else self._clock.now())
            await update_erasure(connection, receipt)
        await self._discard(tenant, orphans)
        return receipt, len(ids)

    async def _known_tenant(self, trust: Trust, name: str) -> Tenant:
        tenant = await self._directory.tenant(name) if name == trust.tenant else None
        if tenant is None:
            raise _no_tenant(name)
        return tenant

    # All of them

    async def _replayed(
        self, connection: Connection, tenant: Tenant | None, actor: str, request: Erase
    ) -> Erasing | None:
        """What the same key left before; also what was begun on a scope and not finished, under whatever key."""
        key_hash, request_hash = request_hashes(tenant, actor, request)
        known = await find_erasure(connection, key_hash=key_hash) if key_hash is not None else None
        if known is not None:
            if known.request_hash != request_hash:
                raise IdempotencyMismatch(
                    "idempotencyKey: this key was used for another request; choose a new one", path=["idempotencyKey"]
                )
            return Erasing(receipt=known, replayed=True)
        if request.kind is not Erased.SCOPE or tenant is None:
            return None
        running = await find_running(connection, target=target_hash(tenant, request.kind, request.target))
        return Erasing(receipt=running) if running is not None else None

    async def _going_on(self, connection: Connection, tenant: Tenant, request: Erase, id_: UUID) -> Receipt:
        """The receipt of what is under way, locked; finished, where another process was quicker."""
        running = await find_running(connection, target=target_hash(tenant, request.kind, request.target))
        if running is not None:
            return running
        finished = await find_receipt(connection, tenant, id_)
        assert finished is not None  # receipts are never removed
        return finished

    def _receipt(self, tenant: Tenant, actor: str, request: Erase, tally: Tally, *, at: datetime | None) -> Receipt:
        keyed = None if request.kind is Erased.TENANT else tenant
        key_hash, request_hash = request_hashes(keyed, actor, request)
        return Receipt(
            id=new_id(),
            tenant=tenant.id,
            kind=request.kind,
            actor=actor,
            rationale=request.rationale,
            started_at=at or self._clock.now(),
            finished_at=at,
            target_hash=target_hash(tenant, request.kind, request.target),
            counts=tally.counts,
            hashes=tuple(tally.hashes),
            digest=tally.digest,
            key_hash=key_hash,
            request_hash=request_hash,
        )

    async def _discard(self, tenant: Tenant, orphans: Collection[bytes]) -> None:
        """The bytes of artifacts; failing that, housekeeping removes them: what is erased is erased."""
        if not orphans:
            return
        try:
            await self._artifacts.discard(tenant, orphans)
        except StratagraphError as error:
            _log.warning("artifacts of what was erased are left for housekeeping", code=error.code)


def _sees_all(caller: Caller) -> bool:
    return caller.scopes is None and caller.ceiling is Sensitivity.HYPER


def _no_tenant(name: str) -> RecordNotFound:
    return RecordNotFound(name, f"There is no tenant {name!r} that this credential may erase.", path=["tenant"])


def _tally(receipt: Receipt) -> Tally:
    return Tally(counts=dict(receipt.counts), hashes=list(receipt.hashes), digest=receipt.digest)


def _with(receipt: Receipt, tally: Tally, *, finished_at: datetime | None) -> Receipt:
    return replace(
        receipt, counts=tally.counts, hashes=tuple(tally.hashes), digest=tally.digest, finished_at=finished_at
    )
