"""Revision, as callers use it: one change, one transaction, one answer (SPEC §5)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from stratagraph.memory.propagation import BUDGET, RevisionImpact, impact, in_sight
from stratagraph.memory.retrying import retried
from stratagraph.memory.revise.attention import penalize, pin, reinforce
from stratagraph.memory.revise.contest import contest, resolve_contest, retract
from stratagraph.memory.revise.delete import delete
from stratagraph.memory.revise.merge import merge
from stratagraph.memory.revise.request import (
    Contest,
    Delete,
    Fork,
    Merge,
    Penalize,
    Pin,
    Reinforce,
    ResolveContest,
    Retract,
    Revise,
    Supersede,
    check,
)
from stratagraph.memory.revise.supersede import fork, supersede
from stratagraph.memory.revise.unit_of_work import UnitOfWork
from stratagraph.store.feed.sequence import Sequences
from stratagraph.store.keys.tenancy import Caller, Directory
from stratagraph.store.model.clock import Clock
from stratagraph.store.model.enums import Access, RecordState, Sensitivity
from stratagraph.store.model.errors import (
    ConditionsOverlap,
    Forbidden,
    IdempotencyMismatch,
    RecordNotFound,
    StratagraphError,
)
from stratagraph.store.model.ids import new_id
from stratagraph.store.model.records import MemoryRecord, Relation
from stratagraph.store.model.trust import Trust, Visibility
from stratagraph.store.postgres.database import Connection, Database, Role, elevated
from stratagraph.store.records.candidates import (
    Committed,
    RequestKey,
    find_keyed,
    insert_candidates,
)
from stratagraph.store.records.reading import Reader
from stratagraph.store.records.reevaluations import Reevaluation, waiting_reevaluations
from stratagraph.store.records.tombstones import find_tombstones
from stratagraph.store.records.writing import finish

_APPLY: dict[type[Revise], Callable[[UnitOfWork, Any], Awaitable[UUID]]] = {
    Supersede: supersede,
    Fork: fork,
    Contest: contest,
    ResolveContest: resolve_contest,
    Retract: retract,
    Merge: merge,
    Delete: delete,
    Reinforce: reinforce,
    Penalize: penalize,
    Pin: pin,
}
MAX_WAITING = 200  # queued re-evaluations listed at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Revised:
    """What a revision left. `record` is the one that is current afterwards, `records` all that it touched, `queued`
    how many derived records are still to be looked at."""

    record: MemoryRecord
    records: tuple[MemoryRecord, ...]
    edges: tuple[Relation, ...]
    candidate: UUID
    sequence: str
    queued: int = 0
    replayed: bool = False


class Revision:
    """Revises. One per process; safe to call from many tasks."""

    def __init__(self, database: Database, directory: Directory, clock: Clock) -> None:
        self._database = database
        self._directory = directory
        self._clock = clock
        self._sequences = Sequences()

    async def revise(self, trust: Trust, request: Revise) -> Revised:
        """Make one change, or none. Whoever was in the way is stepped aside for; a caller never hears of a deadlock.

        Raises InvalidInput, NotFound, Forbidden, VersionConflict, EpisodicImmutable, EvidenceRequired,
        ConditionsOverlap, IdempotencyMismatch, DeletionForbidden, with nothing changed; or StoreUnavailable.
        """
        trust.require(Access.WRITE)
        check(request)
        caller = await self._directory.caller(trust)
        try:
            return await retried(lambda: self._commit(caller, request))
        except StratagraphError as error:
            if isinstance(error, ConditionsOverlap) and error.path is None:  # found by the database itself
                raise ConditionsOverlap(
                    "payload: another active fact of this subject and predicate holds at the same time; retract,"
                    " supersede or merge it"
                ) from error
            if error.path and error.path[0].startswith("#"):  # a capture's way of naming its item
                error.path.pop(0)
            raise

    async def _commit(self, caller: Caller, request: Revise) -> Revised:
        tenant, actor = caller.tenant, caller.trust.actor
        key = RequestKey.of(tenant, request.idempotency_key, request.as_json())
        async with self._transaction(caller, request) as connection:
            used = await find_keyed(connection, tenant, actor, [key.key_hash] if key.key_hash is not None else [])
            known = key.replay(used, path=["idempotencyKey"])
            if known is not None:
                return await self._replayed(connection, caller, known)
            sequence = await self._sequences.current(connection)
            work = UnitOfWork(connection, self._directory, caller, self._clock.now(), request.rationale)
            current = await _APPLY[type(request)](work, request)
            await work.settle()
            touched = list(dict.fromkeys([*work.touched, current]))
            candidate = new_id()
            await insert_candidates(
                connection,
                tenant,
                [
                    {
                        "id": candidate,
                        "source": actor,
                        "source_kind": request.kind,
                        "sensitivity": Sensitivity.PUBLIC,  # of the source, who is the actor and in the audit log
                        "record": current,
                        "created": touched,
                        "edges": [edge.id for edge in work.edges],
                        "key_hash": key.key_hash,
                        "request_hash": key.request_hash,
                    }
                ],
                actor=actor,
                at=work.at,
            )
            await finish(connection, tenant, work.changes)
            reader = Reader(connection, self._directory, caller, work.at)
            records = await reader.records(touched)
            edges = await reader.relations([edge.id for edge in work.edges])
        record = records.get(current) or work.known[current]  # what was deleted, as it was last
        return Revised(
            record=record,
            records=tuple(records[id_] for id_ in touched if id_ in records),
            edges=tuple(edges),
            candidate=candidate,
            sequence=sequence,
            queued=work.queued,
        )

    @asynccontextmanager
    async def _transaction(self, caller: Caller, request: Revise) -> AsyncIterator[Connection]:
        """Deleting needs a role that may; everything else is done without it."""
        if isinstance(request, Delete):
            async with self._database.background(Role.ERASE) as connection, elevated(connection, caller.bounds):
                yield connection
        else:
            async with self._database.writing(caller.bounds) as connection:
                yield connection

    async def _replayed(self, connection: Connection, caller: Caller, committed: Committed) -> Revised:
        """What the first request left, as the caller may see it now."""
        reader = Reader(connection, self._directory, caller, self._clock.now())
        records = await reader.records(dict.fromkeys([*committed.created, committed.record]))
        record = records.get(committed.record) or await self._buried(connection, caller, committed.record)
        if record is None:
            raise IdempotencyMismatch(
                "idempotencyKey: the record this key stands for is gone or out of reach; choose a new key",
                path=["idempotencyKey"],
            )
        return Revised(
            record=record,
            records=tuple(records[id_] for id_ in committed.created if id_ in records),
            edges=tuple(await reader.relations(committed.edges)),
            candidate=committed.candidate,
            sequence=await self._sequences.token(connection, committed.sequence),
            replayed=True,
        )

    async def _buried(self, connection: Connection, caller: Caller, id_: UUID) -> MemoryRecord | None:
        """The head of a record that this very key deleted: so much its tombstone tells."""
        grave = (await find_tombstones(connection, caller.tenant, [id_])).get(id_)
        if grave is None:
            return None
        scope = (await self._directory.scope_names([grave.scope]))[grave.scope]
        if caller.trust.visibility(scope=scope, sensitivity=grave.sensitivity) is not Visibility.FULL:
            return None
        return MemoryRecord(
            id=id_,
            tenant=caller.tenant.name,
            type=grave.type,
            scope=scope,
            sensitivity=grave.sensitivity,
            state=RecordState.RETRACTED,
            confidence=0.0,
            salience=0.0,
            tags=(),
            created_at=grave.at,
            occurred_at=grave.at,
            updated_at=grave.at,
            version=0,
            redacted=True,
        )

    async def impact(self, trust: Trust, id_: UUID) -> tuple[list[RevisionImpact], bool]:
        """What retracting or correcting a record would do to all that was derived from it, as far as the caller may
        see it, and whether there is more than was looked at. Changes nothing. Raises NotFound or Forbidden."""
        trust.require(Access.READ)
        caller = await self._directory.caller(trust)
        async with self._database.writing(caller.bounds) as connection:  # support may lie beyond the caller's sight
            reader = Reader(connection, self._directory, caller, self._clock.now())
            record = (await reader.records([id_])).get(id_)
            if record is None:
                raise RecordNotFound(id_, path=["id"])
            if record.redacted:
                raise Forbidden(f"id: record {id_} is above the credential's ceiling", path=["id"])
            found = await impact(connection, self._directory, caller, id_, now=self._clock.now())
            seen = await reader.records([one.record.id for one in found])
        return in_sight(found, seen), len(found) >= BUDGET

    async def waiting(self, trust: Trust) -> list[Reevaluation]:
        """The queue of re-evaluations, as far as the caller may see the records that wait in it."""
        trust.require(Access.READ)
        caller = await self._directory.caller(trust)
        async with self._database.reading(caller.bounds) as connection:
            queue = await waiting_reevaluations(connection, caller.tenant, limit=MAX_WAITING)
            reader = Reader(connection, self._directory, caller, self._clock.now())
            seen = await reader.heads([entry.record for entry in queue])
        return [entry for entry in queue if entry.record in seen]
