"""Capture, as callers use it: any number of requests, one transaction, one answer each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import structlog

from stratagraph.memory.capture.caption import caption
from stratagraph.memory.capture.classify import classify, is_outcome
from stratagraph.memory.capture.draft import Draft
from stratagraph.memory.capture.interpret import interpret
from stratagraph.memory.capture.policy import Policy
from stratagraph.memory.capture.request import MAX_BATCH, CaptureRequest, checked
from stratagraph.memory.capture.writer import Written, write_round
from stratagraph.memory.retrying import retried
from stratagraph.store.feed.sequence import Sequences
from stratagraph.store.keys.tenancy import Caller, Directory
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
    find_keyed,
    insert_candidates,
    insert_failed,
)
from stratagraph.store.records.reading import Reader
from stratagraph.store.records.writing import finish

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """The answer to one request. `sequence` is the token for reading one's own write from the mirror."""

    primary: MemoryRecord
    created: tuple[MemoryRecord, ...]
    edges: tuple[Relation, ...]
    candidate: UUID
    sequence: str
    replayed: bool = False


class Capture:
    """Remembers. One per process; safe to call from many tasks."""

    def __init__(self, database: Database, directory: Directory, clock: Clock, policy: Policy) -> None:
        self._database = database
        self._directory = directory
        self._clock = clock
        self._policy = policy
        self._sequences = Sequences()

    async def capture(self, trust: Trust, requests: Sequence[CaptureRequest], *, batch: bool = False) -> list[Captured]:
        """Remember all of `requests` in one transaction, or none of them; the answers are in their order.

        A request whose idempotency key was used for the same request is answered with what that one left.
        Raises InvalidInput, Forbidden, IdempotencyMismatch and the like, with nothing written; StoreUnavailable when
        the database cannot be reached, or after an internal failure, whose input is then kept for a retry.
        With `batch`, the path of an error begins with the item it concerns.
        """
        trust.require(Access.WRITE)
        if not requests:
            raise InvalidInput("items: there is nothing to capture; give at least one", path=["items"])
        if len(requests) > MAX_BATCH:
            raise InvalidInput(
                f"items: {len(requests)} captures; at most {MAX_BATCH} go into one transaction, send them in parts",
                path=["items"],
            )
        caller = await self._directory.caller(trust)
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
                    raise _located(error, position) from error
                raise
            drafts.append(draft)
        keys = [
            RequestKey.of(caller.tenant, draft.request.idempotency_key, draft.request.as_json()) for draft in drafts
        ]
        _refuse_twice(keys)
        await self._directory.scopes(caller.tenant, {UNSCOPED, *(draft.scope for draft in drafts)}, create=True)
        return await self._persist(caller, drafts, keys, batch=batch)

    async def _persist(
        self, caller: Caller, drafts: list[Draft], keys: list[RequestKey], *, batch: bool
    ) -> list[Captured]:
        async def attempt() -> list[Captured]:
            # Writing fills the drafts in, so each attempt begins with its own.
            return await self._commit(caller, [replace(d, payload=dict(d.payload)) for d in drafts], keys)

        try:
            return await retried(attempt)
        except KeyCollision as error:
            await self._keep(caller, drafts, error)
            raise self._unavailable(drafts) from error
        except StratagraphError as error:
            if isinstance(error, ConditionsOverlap) and error.path is None:  # found by the database itself
                raise ConditionsOverlap(
                    "content: other active facts of this subject and predicate hold at the same time;"
                    " retract or supersede them first"
                ) from error
            _place_in_request(error, batch=batch)
            raise
        except Exception as error:
            await self._keep(caller, drafts, error)
            raise self._unavailable(drafts) from error

    @staticmethod
    def _unavailable(drafts: Sequence[Draft]) -> StoreUnavailable:
        return StoreUnavailable(
            f"An internal failure kept this from being stored. It is kept as candidate {drafts[0].candidate}"
            " and can be tried again."
        )

    async def _commit(self, caller: Caller, drafts: list[Draft], keys: list[RequestKey]) -> list[Captured]:
        async with self._database.writing(caller.bounds) as connection:
            used = await find_keyed(
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
                for round_ in _rounds(fresh):
                    done = await write_round(connection, self._directory, caller, round_, now=self._clock.now())
                    written.update(done.written)
                    changes += done.changes
                await insert_candidates(
                    connection,
                    caller.tenant,
                    [_candidate_row(draft, keys[draft.position], written[draft.position]) for draft in fresh],
                    actor=caller.trust.actor,
                    at=self._clock.now(),
                )
                await finish(connection, caller.tenant, changes)
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
                    "idempotencyKey: the record this key stands for is gone or out of reach; choose a new key",
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

    async def _keep(self, caller: Caller, drafts: Sequence[Draft], error: Exception) -> None:
        """After an internal failure, store the input itself in a transaction of its own: nothing is lost silently."""
        sqlstate = getattr(error, "sqlstate", None)
        # Neither message nor traceback: a driver's error quotes the row, and rows are memories.
        _log.error("capture failed", error=type(error).__name__, sqlstate=sqlstate, candidate=str(drafts[0].candidate))
        async with self._database.writing(caller.bounds) as connection:
            await insert_failed(
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
    """What the writer sees of it. A rule may have lifted the record above its own writer, who then gets its head."""
    sight = _visibility(caller, written.primary)
    return Captured(
        primary=written.primary if sight is Visibility.FULL else written.primary.as_redacted(),
        created=tuple(
            record if _visibility(caller, record) is Visibility.FULL else record.as_redacted()
            for record in written.created
            if _visibility(caller, record) is not Visibility.NONE
        ),
        edges=tuple(written.edges) if sight is Visibility.FULL else (),
        candidate=draft.candidate,
        sequence=sequence,
    )


def _visibility(caller: Caller, record: MemoryRecord) -> Visibility:
    return caller.trust.visibility(scope=record.scope, sensitivity=record.sensitivity)


def _rounds(drafts: Sequence[Draft]) -> list[list[Draft]]:
    """Consecutive drafts that may be written together: none depends on what another of them leaves.

    A second fact for a slot must see the first, a second working state updates the first, and what follows an
    outcome belongs to the next episode.
    """
    rounds: list[list[Draft]] = [[]]
    taken: set[tuple[object, ...]] = set()
    for draft in drafts:
        marks = set(_marks(draft))
        if marks & taken:
            rounds.append([])
            taken = set()
        rounds[-1].append(draft)
        taken |= set(_leaves(draft))
    return rounds


def _marks(draft: Draft) -> list[tuple[object, ...]]:
    """What must not have been left earlier in the round."""
    place = (draft.scope, draft.sensitivity)
    marks: list[tuple[object, ...]] = list(_leaves(draft))
    if draft.thread is not None:
        marks.append(("closed", *place, draft.thread))
    if draft.outcome_of is not None:
        marks.append(("closed", draft.outcome_of))
    return marks


def _leaves(draft: Draft) -> list[tuple[object, ...]]:
    place = (draft.scope, draft.sensitivity)
    payload = draft.payload
    leaves: list[tuple[object, ...]] = []
    if "predicate" in payload:
        leaves.append(("slot", *place, payload["subject"], payload["predicate"]))
    if payload.get("kind") == "working":
        leaves.append(("working", *place, payload["thread_id"]))
    if is_outcome(draft):
        leaves.append(("closed", *place, draft.thread) if draft.thread is not None else ("closed", draft.outcome_of))
    elif draft.closes_itself and draft.thread is not None:
        leaves.append(("closed", *place, draft.thread))
    return leaves


def _refuse_twice(keys: Sequence[RequestKey]) -> None:
    seen: set[bytes] = set()
    for position, key in enumerate(keys):
        if key.key_hash is None:
            continue
        if key.key_hash in seen:
            raise InvalidInput(
                "idempotencyKey: the same key twice in one batch; give each item its own",
                path=["items", str(position), "idempotencyKey"],
            )
        seen.add(key.key_hash)


def _place_in_request(error: StratagraphError, *, batch: bool) -> None:
    """Replace the mark in the error's path that says which draft it concerns: in a batch by the item's place."""
    if error.path and error.path[0].startswith("#"):
        position = int(error.path.pop(0)[1:])
        if batch:
            _located(error, position)


def _located(error: StratagraphError, position: int) -> StratagraphError:
    """The error with a path that begins at its item, and a message that says so."""
    error.path = ["items", str(position), *(error.path or [])]
    error.args = (f"items.{position}: {error.message}",)
    return error
