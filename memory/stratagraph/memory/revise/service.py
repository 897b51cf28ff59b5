"""Revision, as callers use it: one change in one transaction. See docs/specification.md, Revision."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from stratagraph.memory.capture.error_paths import at_item, set_request_path, within_item
from stratagraph.memory.propagation.impact import RevisionImpact, preview_impact, visible_impacts
from stratagraph.memory.propagation.reevaluation import BUDGET
from stratagraph.memory.records.changes import RecordChange
from stratagraph.memory.requests.retrying import or_replayed, retried
from stratagraph.memory.requests.warnings import RequestWarning
from stratagraph.memory.revise.attention import penalize, pin, reinforce
from stratagraph.memory.revise.batch_locks import lock_batch
from stratagraph.memory.revise.contest import contest
from stratagraph.memory.revise.delete import delete
from stratagraph.memory.revise.fork import fork
from stratagraph.memory.revise.lessons import remove_lesson, verify_lesson
from stratagraph.memory.revise.merge import merge
from stratagraph.memory.revise.noting import evidence_warnings
from stratagraph.memory.revise.reject_duplicate import reject_duplicate
from stratagraph.memory.revise.request import (
    Amend,
    Contest,
    Delete,
    Fork,
    Merge,
    Penalize,
    Pin,
    Reinforce,
    RejectDuplicate,
    RemoveLesson,
    ResolveContest,
    Retract,
    Revise,
    Supersede,
    Unmerge,
    VerifyLesson,
    check,
    check_batch,
    without_secrets,
)
from stratagraph.memory.revise.resolve_contest import resolve_contest
from stratagraph.memory.revise.retract import retract
from stratagraph.memory.revise.supersede import amend, supersede
from stratagraph.memory.revise.unit_of_work import UnitOfWork
from stratagraph.memory.revise.unmerge import unmerge
from stratagraph.store.feed.changes import append_changes
from stratagraph.store.feed.sequence import Sequences
from stratagraph.store.keys.callers import Caller
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.clock import RESOLUTION, Clock
from stratagraph.store.model.enums import Access, RecordState, Sensitivity
from stratagraph.store.model.errors import (
    ConditionsOverlap,
    Forbidden,
    IdempotencyMismatch,
    RecordNotFound,
    StratagraphError,
)
from stratagraph.store.model.ids import new_id
from stratagraph.store.model.problems import Problems
from stratagraph.store.model.records import MemoryRecord, Relation
from stratagraph.store.model.trust import Trust, Visibility
from stratagraph.store.model.words import record_terms
from stratagraph.store.postgres.database import Connection, Database, Role, elevated
from stratagraph.store.records.candidates import Committed, RequestKey, find_used_keys, insert_candidates
from stratagraph.store.records.reading import Reader
from stratagraph.store.records.reevaluations import Reevaluation, list_reevaluations
from stratagraph.store.records.tombstones import find_tombstones

_APPLY: dict[type[Revise], Callable[[UnitOfWork, Any], Awaitable[UUID]]] = {
    Supersede: supersede,
    Amend: amend,
    Fork: fork,
    Contest: contest,
    ResolveContest: resolve_contest,
    Retract: retract,
    Merge: merge,
    Unmerge: unmerge,
    RejectDuplicate: reject_duplicate,
    Delete: delete,
    Reinforce: reinforce,
    Penalize: penalize,
    Pin: pin,
    VerifyLesson: verify_lesson,
    RemoveLesson: remove_lesson,
}
MAX_WAITING = 200  # queued re-evaluations in one answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Revised:
    """The result of a revision.

    `record` is the record that resulted: the new one, or the one that was changed; a deleted record is shown as it was.
    `records` are all that the revision changed or created, `edges` the new relations, and `changes` what it did to
    stored records. `candidate` is the id of its stored trace, `sequence` the token for reading one's own write.
    `unindexed_terms` is how many terms of the record do not find it. `queued` is the number of derived records still to
    be re-evaluated. `warnings` say what of the request was not used. With `replayed` it is the result of an
    earlier request with the same idempotency key, as the caller may see it now.
    """

    record: MemoryRecord
    records: tuple[MemoryRecord, ...]
    edges: tuple[Relation, ...]
    candidate: UUID
    sequence: str
    changes: tuple[RecordChange, ...] = ()
    unindexed_terms: int = 0
    warnings: tuple[RequestWarning, ...] = ()
    queued: int = 0
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class _Done:
    """One revision of a transaction, made and settled: the record that resulted, and the id of its trace."""

    work: UnitOfWork
    current: UUID
    candidate: UUID

    @property
    def touched(self) -> list[UUID]:
        return list(dict.fromkeys([*self.work.touched, *(id_ for id_, _ in self.work.effects), self.current]))


class Revision:
    """The service that revises records. One per process; safe to call from many tasks."""

    def __init__(self, database: Database, directory: Directory, clock: Clock) -> None:
        self._database = database
        self._directory = directory
        self._clock = clock
        self._sequences = Sequences()

    async def revise(self, trust: Trust, request: Revise) -> Revised:
        """Make one change in one transaction, retried if it conflicts with another writer, and return the result.

        The same request with the same idempotency key returns the first one's result. Raises InvalidInput,
        RecordNotFound, Forbidden, VersionConflict, EpisodicImmutable, EvidenceRequired, ConditionsOverlap,
        IdempotencyMismatch, DeletionForbidden or StoreUnavailable, with nothing changed.
        """
        (revised,) = await self._revise(trust, [request], request.idempotency_key, is_batch=False)
        return revised

    async def revise_all(
        self, trust: Trust, requests: Sequence[Revise], *, idempotency_key: str | None = None
    ) -> list[Revised]:
        """Make several changes in one transaction, in their order: all of them or none; return the result of each.

        Each is made as it would be alone after the ones before it, and each result is read after the last. Deletions
        are refused. Raises as `revise` does, with the path of the item.
        """
        check_batch(requests, idempotency_key)
        return await self._revise(trust, requests, idempotency_key, is_batch=True)

    async def _revise(
        self, trust: Trust, requests: Sequence[Revise], idempotency_key: str | None, *, is_batch: bool
    ) -> list[Revised]:
        trust.require(Access.WRITE)
        now = self._clock.now()
        noted: list[list[RequestWarning]] = []
        problems = Problems()
        for position, request in enumerate(requests):
            with problems, within_item(position, request.field, is_batch=is_batch):
                noted.append(evidence_warnings(request))
                check(request, now)
        problems.refuse()
        caller = await self._directory.resolve(trust)
        requests = [without_secrets(request, caller.tenant.index_key) for request in requests]
        keys = _keys(caller, requests, idempotency_key, is_batch=is_batch)

        async def attempt() -> list[Revised]:
            return await or_replayed(
                self._database, caller, keys, lambda: self._commit(caller, requests, keys, is_batch=is_batch)
            )

        return [
            replace(one, warnings=(*warnings, *one.warnings)) if warnings else one
            for one, warnings in zip(await retried(attempt), noted, strict=True)
        ]

    async def _commit(
        self, caller: Caller, requests: Sequence[Revise], keys: Sequence[RequestKey], *, is_batch: bool
    ) -> list[Revised]:
        tenant = caller.tenant
        async with self._transaction(caller, requests) as connection:
            hashes = [key.key_hash for key in keys if key.key_hash is not None]
            used = await find_used_keys(connection, caller, hashes)
            known = [key.replay(used, path=["idempotencyKey"]) for key in keys]
            if known[0] is not None:
                return [await self._replayed(connection, caller, one) for one in known]
            sequence = await self._sequences.current(connection, tenant)
            at = self._clock.now()
            if is_batch:
                at = await lock_batch(connection, self._directory, caller, requests, at=at)
            done: list[_Done] = []
            for position, request in enumerate(requests):
                with _in_request(position, request, is_batch=is_batch):
                    work = UnitOfWork(connection, self._directory, caller, at, request.rationale)
                    current = await _APPLY[type(request)](work, request)
                    await work.settle()
                done.append(_Done(work, current, new_id()))
                at = work.at + RESOLUTION  # the next one may change the same records
            last = done[-1].work.at
            await insert_candidates(
                connection,
                caller,
                [
                    {
                        "id": one.candidate,
                        "source": caller.trust.actor,
                        "source_kind": request.kind,
                        "sensitivity": Sensitivity.PUBLIC,  # its source is the actor, whom the audit log names too
                        "record": one.current,
                        "created": one.touched,
                        "edges": [edge.id for edge in one.work.edges],
                        "key_hash": key.key_hash,
                        "request_hash": key.request_hash,
                    }
                    for one, request, key in zip(done, requests, keys, strict=True)
                ],
                at=last,
            )
            await append_changes(connection, tenant, [change for one in done for change in one.work.changes])
            reader = Reader(connection, self._directory, caller, last)
            records = await reader.records(dict.fromkeys(id_ for one in done for id_ in one.touched))
            edges = {
                edge.id: edge for edge in await reader.relations([edge.id for one in done for edge in one.work.edges])
            }
        return [
            await _revised(caller, one, request, records, edges, sequence)
            for one, request in zip(done, requests, strict=True)
        ]

    @asynccontextmanager
    async def _transaction(self, caller: Caller, requests: Sequence[Revise]) -> AsyncIterator[Connection]:
        """Open the transaction of revisions; only a deletion, which is alone, runs with the role that may delete."""
        if isinstance(requests[0], Delete):
            async with (
                self._database.background(Role.ERASE, tenant=caller.tenant.id) as connection,
                elevated(connection, caller.bounds),
            ):
                yield connection
        else:
            async with self._database.writing(caller.bounds) as connection:
                yield connection

    async def _replayed(self, connection: Connection, caller: Caller, committed: Committed | None) -> Revised:
        """Return the result of the first request with this key, as the caller may see it now.

        None stands for a revision of a batch whose key was deleted before those of the others.
        """
        if committed is None:
            raise IdempotencyMismatch(
                "idempotencyKey: this key was used before, too long ago to repeat its result; choose a new key",
                path=["idempotencyKey"],
            )
        reader = Reader(connection, self._directory, caller, self._clock.now())
        records = await reader.records(dict.fromkeys([*committed.created, committed.record]))
        record = records.get(committed.record) or await self._deleted(connection, caller, committed.record)
        if record is None:
            raise IdempotencyMismatch(
                "idempotencyKey: this key was used before, and its record was deleted or is not visible to this"
                " credential; choose a new key",
                path=["idempotencyKey"],
            )
        return Revised(
            record=record,
            records=tuple(records[id_] for id_ in committed.created if id_ in records),
            edges=tuple(await reader.relations(committed.edges)),
            candidate=committed.candidate,
            sequence=await self._sequences.token(connection, caller.tenant, committed.sequence),
            replayed=True,
        )

    async def _deleted(self, connection: Connection, caller: Caller, id_: UUID) -> MemoryRecord | None:
        """Return the head of a record that the request of this key deleted, as its tombstone has it."""
        tombstone = (await find_tombstones(connection, caller.tenant, [id_])).get(id_)
        if tombstone is None:
            return None
        scope = (await self._directory.scope_names([tombstone.scope]))[tombstone.scope]
        if caller.trust.visibility(scope=scope, sensitivity=tombstone.sensitivity) is not Visibility.FULL:
            return None
        return MemoryRecord(
            id=id_,
            tenant=caller.tenant.name,
            type=tombstone.type,
            scope=scope,
            sensitivity=tombstone.sensitivity,
            state=RecordState.RETRACTED,
            confidence=0.0,
            salience=0.0,
            tags=(),
            created_at=tombstone.at,
            occurred_at=tombstone.at,
            updated_at=tombstone.at,
            version=0,
            redacted=True,
        )

    async def impact(self, trust: Trust, id_: UUID) -> tuple[list[RevisionImpact], bool]:
        """Return the impact of retracting or correcting a record on the visible records derived from it.

        The second value is True if BUDGET records were considered, so that more may be affected. Changes
        nothing. Raises RecordNotFound, or Forbidden for a record that the caller sees redacted.
        """
        trust.require(Access.READ)
        caller = await self._directory.resolve(trust)
        async with self._database.writing(caller.bounds) as connection:  # sources need not be visible to the caller
            reader = Reader(connection, self._directory, caller, self._clock.now())
            record = (await reader.records([id_])).get(id_)
            if record is None:
                raise RecordNotFound(id_, path=["id"])
            if record.redacted:
                raise Forbidden(
                    f"id: record {id_} is above the credential's ceiling ({trust.ceiling.label}); use a credential with"
                    " a higher one",
                    path=["id"],
                )
            found = await preview_impact(connection, self._directory, caller, id_, now=self._clock.now())
            visible = await reader.records([one.record.id for one in found])
        return visible_impacts(found, visible), len(found) >= BUDGET

    async def waiting(self, trust: Trust) -> list[Reevaluation]:
        """Return the queued re-evaluations of records fully visible to the caller, oldest first, up to MAX_WAITING.

        Where the caller may not read the source that changed in full, the record itself is named as the cause.
        """
        trust.require(Access.READ)
        caller = await self._directory.resolve(trust)
        async with self._database.reading(caller.bounds) as connection:
            queue = await list_reevaluations(connection, caller, limit=MAX_WAITING)
            reader = Reader(connection, self._directory, caller, self._clock.now())
            visible = await reader.heads({entry.cause for entry in queue})
        return [entry if entry.cause in visible else replace(entry, cause=entry.record) for entry in queue]


def _keys(
    caller: Caller, requests: Sequence[Revise], idempotency_key: str | None, *, is_batch: bool
) -> list[RequestKey]:
    """Return a key for each request: of a batch, the first has the key itself, and each stands for all requests."""
    if not is_batch:
        return [RequestKey.of(caller.tenant, idempotency_key, requests[0].as_json())]
    body = {"kind": "batch", "items": [request.as_json() for request in requests]}
    first = RequestKey.of(caller.tenant, idempotency_key, body)
    if idempotency_key is None:
        return [first] * len(requests)
    # No key of a caller has the character U+0000.
    return [
        first,
        *(
            RequestKey(RequestKey.of(caller.tenant, f"{idempotency_key}\0{position}", {}).key_hash, first.request_hash)
            for position in range(1, len(requests))
        ),
    ]


@contextmanager
def _in_request(position: int, request: Revise, *, is_batch: bool) -> Iterator[None]:
    """Give the errors of one revision the path of the request."""
    try:
        yield
    except StratagraphError as error:
        if isinstance(error, ConditionsOverlap) and error.path is None:  # from the database's exclusion constraint
            overlap = ConditionsOverlap(
                "payload: another active fact of this subject and predicate holds at the same time; retract,"
                " supersede or merge it"
            )
            raise (at_item(overlap, position, request.field) if is_batch else overlap) from error
        set_request_path(error, batch=False)
        if is_batch:
            at_item(error, position, request.field)
        raise


async def _revised(
    caller: Caller,
    done: _Done,
    request: Revise,
    records: Mapping[UUID, MemoryRecord],
    edges: Mapping[UUID, Relation],
    sequence: str,
) -> Revised:
    record = records.get(done.current) or done.work.known[done.current]  # a deleted record as it was before
    has_new_text = isinstance(request, Supersede | Amend | Fork | Merge)
    return Revised(
        record=record,
        records=tuple(records[id_] for id_ in done.touched if id_ in records),
        edges=tuple(edges[edge.id] for edge in done.work.edges if edge.id in edges),
        candidate=done.candidate,
        sequence=sequence,
        changes=tuple(
            RecordChange(record=records[id_], effect=effect) for id_, effect in done.work.effects if id_ in records
        ),
        unindexed_terms=(await asyncio.to_thread(record_terms, caller.tenant.index_key, record.text or "")).left_out
        if has_new_text
        else 0,
        warnings=tuple(done.work.warnings),
        queued=done.work.queued,
    )
