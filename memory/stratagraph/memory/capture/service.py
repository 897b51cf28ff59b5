"""The capture service: any number of captures in one transaction, with one answer each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import structlog

from stratagraph.memory.capture.caption import caption
from stratagraph.memory.capture.classify import classify, is_outcome
from stratagraph.memory.capture.draft import Draft
from stratagraph.memory.capture.error_paths import at_item, refuse_repeated_keys, set_request_path
from stratagraph.memory.capture.grouping import independent_groups
from stratagraph.memory.capture.interpret import interpret
from stratagraph.memory.capture.policy import Policy
from stratagraph.memory.capture.request import MAX_BATCH, CaptureRequest, checked
from stratagraph.memory.capture.writer import Written, write_group
from stratagraph.memory.retrying import retried
from stratagraph.store.feed.changes import append_changes
from stratagraph.store.feed.sequence import Sequences
from stratagraph.store.keys.callers import Caller
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.clock import Clock
from stratagraph.store.model.enums import Access
from stratagraph.store.model.errors import (
    ConditionsOverlap,
    IdempotencyMismatch,
    InvalidInput,
    KeyCollision,
    StoreUnavailable,
    StratagraphError,
)
from stratagraph.store.model.records import MemoryRecord, Relation
from stratagraph.store.model.trust import UNSCOPED, Trust, Visibility
from stratagraph.store.postgres.database import Database
from stratagraph.store.records.candidates import (
    Committed,
    RequestKey,
    find_used_keys,
    insert_candidates,
    insert_failed_candidates,
)
from stratagraph.store.records.reading import Reader

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """The answer to one capture, as visible to the caller.

    `primary` is the record that the capture became or was added to, `created` are all records and `edges` all relations
    that it created. `candidate` is the id of its stored trace, and `sequence` the token for reading one's own write.
    With `replayed` it is the answer of an earlier request with the same idempotency key.
    """

    primary: MemoryRecord
    created: tuple[MemoryRecord, ...]
    edges: tuple[Relation, ...]
    candidate: UUID
    sequence: str
    replayed: bool = False


class Capture:
    """The service that stores captures. One per process; safe to call from many tasks."""

    def __init__(self, database: Database, directory: Directory, clock: Clock, policy: Policy) -> None:
        self._database = database
        self._directory = directory
        self._clock = clock
        self._policy = policy
        self._sequences = Sequences()

    async def capture(self, trust: Trust, requests: Sequence[CaptureRequest], *, batch: bool = False) -> list[Captured]:
        """Store all of `requests` in one transaction, or none of them; return the answers in the same order.

        A request whose idempotency key was used for the same request writes nothing and gets the answer of the first.
        Raises InvalidInput, Forbidden, RecordNotFound, IdempotencyMismatch, ConditionsOverlap, EvidenceRequired or
        EpisodicImmutable, with nothing written; StoreUnavailable if the database cannot be reached, or after an
        internal failure, in which case the input is kept as a failed candidate. With `batch`, the path of an error
        begins with the item that it concerns.
        """
        trust.require(Access.WRITE)
        if not requests:
            raise InvalidInput("items: the list is empty; give at least one capture", path=["items"])
        if len(requests) > MAX_BATCH:
            raise InvalidInput(
                f"items: {len(requests)} captures; at most {MAX_BATCH} fit one transaction, send them in several"
                " requests",
                path=["items"],
            )
        caller = await self._directory.resolve(trust)
        now = self._clock.now()
        drafts: list[Draft] = []
        for position, request in enumerate(requests):
            try:
                draft = classify(checked(request), position, now)
                self._policy.apply(draft, trust)
                if not is_outcome(draft):
                    caption(draft)
                interpret(draft)
            except StratagraphError as error:
                if batch:
                    raise at_item(error, position) from error
                raise
            drafts.append(draft)
        keys = [
            RequestKey.of(caller.tenant, draft.request.idempotency_key, draft.request.as_json()) for draft in drafts
        ]
        refuse_repeated_keys(keys)
        await self._directory.scopes(caller.tenant, {UNSCOPED, *(draft.scope for draft in drafts)}, create=True)
        return await self._persist(caller, drafts, keys, batch=batch)

    async def _persist(
        self, caller: Caller, drafts: list[Draft], keys: list[RequestKey], *, batch: bool
    ) -> list[Captured]:
        async def attempt() -> list[Captured]:
            # Writing modifies the drafts, so each attempt gets copies.
            return await self._commit(caller, [replace(d, payload=dict(d.payload)) for d in drafts], keys)

        try:
            return await retried(attempt)
        except KeyCollision as error:
            await self._store_failed(caller, drafts, error)
            raise self._unavailable(drafts) from error
        except StratagraphError as error:
            if isinstance(error, ConditionsOverlap) and error.path is None:  # raised by a constraint of the database
                raise ConditionsOverlap(
                    "content: another active fact of this subject and predicate holds at the same time; retract or"
                    " supersede it first"
                ) from error
            set_request_path(error, batch=batch)
            raise
        except Exception as error:
            await self._store_failed(caller, drafts, error)
            raise self._unavailable(drafts) from error

    @staticmethod
    def _unavailable(drafts: Sequence[Draft]) -> StoreUnavailable:
        return StoreUnavailable(
            f"The capture was not stored, because of an internal failure. Its input is kept as candidate"
            f" {drafts[0].candidate} in the database. Send it again; if it fails again, the server log has the reason."
        )

    async def _commit(self, caller: Caller, drafts: list[Draft], keys: list[RequestKey]) -> list[Captured]:
        async with self._database.writing(caller.bounds) as connection:
            used = await find_used_keys(
                connection,
                caller.tenant,
                caller.trust.actor,
                [key.key_hash for key in keys if key.key_hash is not None],
            )
            replays: dict[int, Committed] = {}
            fresh: list[Draft] = []
            for draft, key in zip(drafts, keys, strict=True):
                known = key.replay(used, path=[f"#{draft.position}", "idempotencyKey"])
                if known is None:
                    fresh.append(draft)
                else:
                    replays[draft.position] = known
            written: dict[int, Written] = {}
            if fresh:
                sequence = await self._sequences.current(connection)
                changes = []
                for group in independent_groups(fresh):
                    done = await write_group(connection, self._directory, caller, group, now=self._clock.now())
                    written.update(done.written)
                    changes += done.changes
                await insert_candidates(
                    connection,
                    caller.tenant,
                    [_candidate_row(draft, keys[draft.position], written[draft.position]) for draft in fresh],
                    actor=caller.trust.actor,
                    at=self._clock.now(),
                )
                await append_changes(connection, caller.tenant, changes)
            replayed = await self._replayed(Reader(connection, self._directory, caller, self._clock.now()), replays)
        answers = {
            draft.position: _answer(caller, draft, written[draft.position], sequence) for draft in fresh
        } | replayed
        return [answers[draft.position] for draft in drafts]

    async def _replayed(self, reader: Reader, replays: dict[int, Committed]) -> dict[int, Captured]:
        if not replays:
            return {}
        ids = {id_ for committed in replays.values() for id_ in (committed.record, *committed.created)}
        records = await reader.records(ids)
        edges = {
            edge.id: edge
            for edge in await reader.relations([edge for committed in replays.values() for edge in committed.edges])
        }
        answers = {}
        for position, committed in replays.items():
            if committed.record not in records:
                raise IdempotencyMismatch(
                    "idempotencyKey: this key was used before, and its record was deleted or is not visible to this"
                    " credential; choose a new key",
                    path=[f"#{position}", "idempotencyKey"],
                )
            answers[position] = Captured(
                primary=records[committed.record],
                created=tuple(records[id_] for id_ in committed.created if id_ in records),
                edges=tuple(edges[id_] for id_ in committed.edges if id_ in edges),
                candidate=committed.candidate,
                sequence=await self._sequences.token(reader.connection, committed.sequence),
                replayed=True,
            )
        return answers

    async def _store_failed(self, caller: Caller, drafts: Sequence[Draft], error: Exception) -> None:
        """Store the input as failed candidates after an internal failure, in a transaction of its own."""
        sqlstate = getattr(error, "sqlstate", None)
        # Neither message nor traceback is logged, since a driver's error may quote rows, and rows hold memories.
        _log.error("capture failed", error=type(error).__name__, sqlstate=sqlstate, candidate=str(drafts[0].candidate))
        async with self._database.writing(caller.bounds) as connection:
            await insert_failed_candidates(
                connection,
                caller.tenant,
                [
                    {
                        "id": draft.candidate,
                        "source": draft.request.source,
                        "source_kind": draft.request.source_kind.value,
                        "sensitivity": draft.sensitivity,
                        "input": draft.request.as_json(),
                    }
                    for draft in drafts
                ],
                actor=caller.trust.actor,
                stage="commit",
                error=type(error).__name__,
                at=self._clock.now(),
            )


def _candidate_row(draft: Draft, key: RequestKey, written: Written) -> dict[str, object]:
    return {
        "id": draft.candidate,
        "source": draft.request.source,
        "source_kind": draft.request.source_kind.value,
        "sensitivity": max(draft.sensitivity, written.primary.sensitivity),
        "record": written.primary.id,
        "created": [record.id for record in written.created],
        "edges": [edge.id for edge in written.edges],
        "key_hash": key.key_hash,
        "request_hash": key.request_hash,
    }


def _answer(caller: Caller, draft: Draft, written: Written, sequence: str) -> Captured:
    """Return the answer as visible to the caller.

    A policy rule may have raised the record above the caller's ceiling; the caller then gets it redacted.
    """
    visibility = _visibility(caller, written.primary)
    return Captured(
        primary=written.primary if visibility is Visibility.FULL else written.primary.as_redacted(),
        created=tuple(
            record if _visibility(caller, record) is Visibility.FULL else record.as_redacted()
            for record in written.created
            if _visibility(caller, record) is not Visibility.NONE
        ),
        edges=tuple(written.edges) if visibility is Visibility.FULL else (),
        candidate=draft.candidate,
        sequence=sequence,
    )


def _visibility(caller: Caller, record: MemoryRecord) -> Visibility:
    return caller.trust.visibility(scope=record.scope, sensitivity=record.sensitivity)
