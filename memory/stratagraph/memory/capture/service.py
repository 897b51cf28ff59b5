"""The capture service: any number of captures in one transaction, with one answer each."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from stratagraph.memory.capture.answers import Captured, answer
from stratagraph.memory.capture.caption import caption
from stratagraph.memory.capture.classify import classify, is_outcome
from stratagraph.memory.capture.draft import Draft
from stratagraph.memory.capture.earlier import EarlierCapture, find_earlier_captures
from stratagraph.memory.capture.erased import refuse_erased
from stratagraph.memory.capture.error_paths import at_item, refuse_repeated_keys, set_request_path
from stratagraph.memory.capture.failures import FailedCaptureGone, keep_failed, replayed_candidates
from stratagraph.memory.capture.grouping import independent_groups, require_few_contending
from stratagraph.memory.capture.interpret import interpret
from stratagraph.memory.capture.naming import resolve_names
from stratagraph.memory.capture.new_records import draft_terms
from stratagraph.memory.capture.noting import key_warnings, unused_claims, unused_values
from stratagraph.memory.capture.policy import Policy
from stratagraph.memory.capture.replacing import slots_of_replaced
from stratagraph.memory.capture.request import MAX_BATCH, CaptureRequest, ImportedItem, check_fields, refuse_learned_by
from stratagraph.memory.capture.secrets import hide_secrets, keep_content, sealing_level
from stratagraph.memory.capture.sharing import SharedTransactions
from stratagraph.memory.capture.slots import lock_slots_of_facts
from stratagraph.memory.capture.writer import Written, read_final_state, write_group
from stratagraph.memory.requests.retrying import or_replayed, retried
from stratagraph.memory.requests.warnings import RequestWarning
from stratagraph.store.feed.changes import append_changes
from stratagraph.store.feed.sequence import Sequences
from stratagraph.store.keys.callers import Caller, Tenant
from stratagraph.store.keys.directory import Directory
from stratagraph.store.learning.extraction import queue_texts
from stratagraph.store.model.clock import Clock
from stratagraph.store.model.enums import Access
from stratagraph.store.model.errors import (
    ConditionsOverlap,
    IdempotencyMismatch,
    InvalidInput,
    KeyCollision,
    LimitExceeded,
    StoreUnavailable,
    StratagraphError,
)
from stratagraph.store.model.payloads.procedures import refuse_computed
from stratagraph.store.model.problems import COLLECTED, Problems
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.trust import UNSCOPED, Trust
from stratagraph.store.postgres.database import Connection, Database
from stratagraph.store.records.candidates import (
    Committed,
    RequestKey,
    find_used_keys,
    insert_candidates,
    insert_used_keys,
)
from stratagraph.store.records.failed_captures import claim_failed_captures, commit_failed_captures
from stratagraph.store.records.identifiers import find_known_identifiers
from stratagraph.store.records.reading import Reader

LONG_TEXT = 20_000  # characters from which the terms of a text are computed before the transaction


class Capture:
    """The service that stores captures. One per process; safe to call from many tasks.

    With `queues_texts`, their texts are queued to be read by a language model.
    """

    def __init__(
        self, database: Database, directory: Directory, clock: Clock, policy: Policy, *, queues_texts: bool = False
    ) -> None:
        self._database = database
        self._directory = directory
        self._clock = clock
        self._policy = policy
        self._queues_texts = queues_texts
        self._sequences = Sequences()
        self._shared = SharedTransactions(self._commit_shared)

    async def capture(
        self, trust: Trust, requests: Sequence[CaptureRequest], *, batch: bool = False, restore_erased: bool = False
    ) -> list[Captured]:
        """Store all of `requests` in one transaction, or none of them; return the answers in the same order.

        A single short request may share its transaction with others of the same credential (see `sharing`).

        A request whose idempotency key was used for the same request writes nothing and gets the answer of the first.
        A capture from a source that was erased is refused; with `restore_erased`, which needs admin access, it is
        stored, and its source counts as erased no longer. Raises InvalidInput, Forbidden (SourceErased),
        RecordNotFound, IdempotencyMismatch, ConditionsOverlap, EvidenceRequired or EpisodicImmutable, with nothing
        written; StoreUnavailable if the database cannot be reached, or after an internal failure, in which case the
        input is kept as a failed candidate (except that of an import). With `batch`, the path of an error
        begins with the item that it concerns.
        """
        trust.require(Access.ADMIN if restore_erased else Access.WRITE)
        if not requests:
            raise InvalidInput("items: the list is empty; give at least one capture", path=["items"])
        if len(requests) > MAX_BATCH:
            raise InvalidInput(
                f"items: {len(requests)} captures; at most {MAX_BATCH} fit one transaction, send them in several"
                " requests",
                path=["items"],
            )
        caller = await self._directory.resolve(trust)
        drafts = await self._interpreted(caller, requests, batch=batch, now=self._clock.now())
        await self._claim_predicates(caller, drafts, batch=batch)
        keys = await self._keys(caller, drafts)
        first = requests[0]
        if batch or restore_erased or len(requests) > 1 or not first.is_short or first.imported is not None:
            return await self._persist(caller, drafts, keys, batch=batch, restore_erased=restore_erased)

        async def alone() -> Captured:
            return (await self._persist(caller, drafts, keys, batch=False, restore_erased=False))[0]

        return [await self._shared.capture(caller, drafts[0], keys[0], alone)]

    async def store_failed(
        self, trust: Trust, requests: Mapping[UUID, CaptureRequest], *, captured_at: datetime
    ) -> list[Captured]:
        """Store failed captures of one request, given by candidate id and in order: all of them, or none.

        The candidates become committed in the transaction that stores them. `captured_at` is the time of a request
        without a timestamp. Raises what `capture` raises, FailedCaptureGone if a candidate was stored or dropped
        before, and any internal failure as it is.
        """
        caller = await self._directory.resolve(trust)
        drafts = await self._interpreted(caller, list(requests.values()), batch=True, now=captured_at)
        for draft, candidate in zip(drafts, requests, strict=True):
            draft.candidate, draft.is_retried = candidate, True
        keys = await self._keys(caller, drafts)

        async def attempt() -> list[Captured]:
            return await self._commit(caller, _copies(drafts), keys, retrying=True)

        return await retried(attempt)

    async def check(self, trust: Trust, requests: Sequence[CaptureRequest]) -> None:
        """Check requests as `capture` does before it writes; raise what it would raise, as for a batch."""
        caller = await self._directory.resolve(trust)
        await self._interpreted(caller, requests, batch=True, now=self._clock.now())

    async def preview(
        self, trust: Trust, requests: Sequence[CaptureRequest], *, restore_erased: bool = False
    ) -> list[Captured]:
        """Return what `capture` would answer to a batch, with nothing written: its transaction is rolled back.

        Scopes that are new are registered all the same; they show nowhere until a record has them. Raises what
        `capture` raises.
        """
        trust.require(Access.ADMIN if restore_erased else Access.WRITE)
        caller = await self._directory.resolve(trust)
        drafts = await self._interpreted(caller, requests, batch=True, now=self._clock.now())
        keys = await self._keys(caller, drafts)

        async def attempt() -> list[Captured]:
            try:
                async with self._database.writing(caller.bounds) as connection:
                    written = await self._write(
                        connection, caller, _copies(drafts), keys, restore_erased=restore_erased
                    )
                    raise _RolledBack(written)
            except _RolledBack as done:
                return done.answers

        try:
            return await retried(attempt)
        except StratagraphError as error:
            set_request_path(error, batch=True)
            raise

    async def draft(self, trust: Trust, request: CaptureRequest) -> Draft:
        """Return the draft of a request, with what the policy sets, without writing; raise as `check` does."""
        caller = await self._directory.resolve(trust)
        return (await self._interpreted(caller, [request], batch=False, now=self._clock.now()))[0]

    async def earlier(self, trust: Trust, items: Mapping[str, ImportedItem]) -> dict[str, EarlierCapture]:
        """Return what imports stored under the idempotency keys of `items`, by key; keys not used are left out."""
        caller = await self._directory.resolve(trust)
        async with self._database.writing(caller.bounds) as connection:
            return await find_earlier_captures(connection, caller, items)

    async def known_identifiers(
        self, trust: Trust, scope: str | None, identifiers: Collection[tuple[str, str]]
    ) -> set[tuple[str, str]]:
        """Return those of `identifiers`, as (namespace, value), that an entity of the scope or an unscoped one has."""
        caller = await self._directory.resolve(trust)
        scopes = await self._directory.scopes(caller.tenant, {UNSCOPED, scope or UNSCOPED}, create=True)
        async with self._database.writing(caller.bounds) as connection:
            return await find_known_identifiers(connection, caller.tenant, scopes.values(), identifiers)

    def now(self) -> datetime:
        """Return the service's time."""
        return self._clock.now()

    async def stored_record(self, trust: Trust, id_: UUID) -> MemoryRecord | None:
        """Return a record as far as it is visible to the caller; None if it does not exist or is not visible."""
        return (await self.stored_records(trust, [id_])).get(id_)

    async def stored_records(self, trust: Trust, ids: Collection[UUID]) -> dict[UUID, MemoryRecord]:
        """Return the records with these ids, keyed by id, as far as they are visible to the caller."""
        if not ids:
            return {}
        caller = await self._directory.resolve(trust)
        async with self._database.reading(caller.bounds) as connection:
            return await Reader(connection, self._directory, caller, self._clock.now()).records(ids)

    async def _claim_predicates(self, caller: Caller, drafts: Sequence[Draft], *, batch: bool) -> None:
        """Count the free predicates of the drafts' references; raise LimitExceeded if the actor uses too many."""
        for draft in drafts:
            names = {reference.predicate for reference in draft.references}
            try:
                await self._directory.claim_predicates(caller, names, path=["context", "references"])
            except LimitExceeded as error:
                if batch:
                    raise at_item(error, draft.position) from error
                raise

    async def _keys(self, caller: Caller, drafts: Sequence[Draft]) -> list[RequestKey]:
        """Return the drafts' idempotency keys, after interning the drafts' scopes."""
        keys = [
            RequestKey.of(
                caller.tenant,
                draft.request.idempotency_key,
                draft.request.identity(),
                is_import=draft.request.imported is not None,
            )
            for draft in drafts
        ]
        refuse_repeated_keys(keys)
        await self._directory.scopes(caller.tenant, {UNSCOPED, *(draft.scope for draft in drafts)}, create=True)
        return keys

    async def _interpreted(
        self, caller: Caller, requests: Sequence[CaptureRequest], *, batch: bool, now: datetime
    ) -> list[Draft]:
        """Return the drafts of the requests; see `_drafts`.

        A batch and a long text take up to a second to read, which would stop all other requests, so these are read
        apart from the event loop.
        """
        if len(requests) == 1 and requests[0].is_short:
            return self._drafts(caller, requests, batch=batch, now=now)
        return await asyncio.to_thread(self._drafts, caller, requests, batch=batch, now=now)

    def _drafts(self, caller: Caller, requests: Sequence[CaptureRequest], *, batch: bool, now: datetime) -> list[Draft]:
        """Return the drafts of the requests, checked, with policy, caption and names.

        `now` is the time of a request without a timestamp.
        """
        drafts: list[Draft] = []
        problems = Problems()
        for position, request in enumerate(requests):
            try:
                draft = self._draft(caller, request, position, now=now)
            except COLLECTED as error:
                problems.add(at_item(error, position) if batch else error)
                if problems.is_full:
                    break
                continue
            except StratagraphError as error:
                problems.refuse()  # of the items before this one
                if batch:
                    raise at_item(error, position) from error
                raise
            drafts.append(draft)
        problems.refuse()
        return drafts

    def _draft(self, caller: Caller, request: CaptureRequest, position: int, *, now: datetime) -> Draft:
        """Return the draft of one request. Raises InvalidInput with the problems of all its fields."""
        problems = Problems()
        valid = check_fields(request, now, problems)
        if problems.concern("content", "context", "timestamp"):
            problems.refuse()
        with problems:
            noted = key_warnings(request)
            draft = classify(valid, position, now)
            refuse_computed(draft.payload, draft.type, path=["content"])
        with problems:
            refuse_learned_by(request.source)
        problems.refuse()
        self._policy.apply(draft, caller.trust)
        hidden = hide_secrets(draft, caller.tenant)
        if not is_outcome(draft):
            caption(draft)
        interpret(draft)
        keep_content(draft, hidden, level=sealing_level(self._directory.vault), ceiling=caller.trust.ceiling)
        draft.warnings = [*noted, *unused_values(draft, request), *unused_claims(draft, caller.trust)]
        if len(draft.text) > LONG_TEXT:
            draft.terms = draft_terms(caller.tenant, draft)
        return draft

    async def _persist(
        self, caller: Caller, drafts: list[Draft], keys: list[RequestKey], *, batch: bool, restore_erased: bool
    ) -> list[Captured]:
        async def commit() -> list[Captured]:
            return await self._commit(caller, _copies(drafts), keys, restore_erased=restore_erased)

        async def attempt() -> list[Captured]:
            return await or_replayed(self._database, caller, keys, commit)

        try:
            return await retried(attempt)
        except KeyCollision as error:
            raise await self._kept(caller, drafts, error) from error
        except StratagraphError as error:
            if isinstance(error, ConditionsOverlap) and error.path is None:  # raised by a constraint of the database
                raise ConditionsOverlap(
                    "content: another active fact of this subject and predicate holds at the same time; retract or"
                    " supersede it first"
                ) from error
            set_request_path(error, batch=batch)
            raise
        except Exception as error:
            raise await self._kept(caller, drafts, error) from error

    async def _commit_shared(self, caller: Caller, drafts: list[Draft], keys: list[RequestKey]) -> list[Captured]:
        """Write the drafts of several requests in one transaction; all of them or none."""

        async def attempt() -> list[Captured]:
            return await self._commit(caller, _copies(drafts), keys)

        return await retried(attempt)

    async def _kept(self, caller: Caller, drafts: list[Draft], error: Exception) -> StoreUnavailable:
        return await keep_failed(self._database, self._directory, caller, drafts, error, at=self._clock.now())

    async def _commit(
        self,
        caller: Caller,
        drafts: list[Draft],
        keys: list[RequestKey],
        *,
        restore_erased: bool = False,
        retrying: bool = False,
    ) -> list[Captured]:
        """Write the drafts in one transaction. With `retrying`, their candidates are stored already, as failed ones."""
        async with self._database.writing(caller.bounds) as connection:
            return await self._write(connection, caller, drafts, keys, restore_erased=restore_erased, retrying=retrying)

    async def _write(
        self,
        connection: Connection,
        caller: Caller,
        drafts: list[Draft],
        keys: list[RequestKey],
        *,
        restore_erased: bool = False,
        retrying: bool = False,
    ) -> list[Captured]:
        """Write the drafts in the open transaction, and return the answers; see `_commit`."""
        candidates = [draft.candidate for draft in drafts]
        if retrying and not await claim_failed_captures(connection, caller.tenant, candidates):
            raise FailedCaptureGone
        used = await find_used_keys(connection, caller, [key.key_hash for key in keys if key.key_hash is not None])
        replays: dict[int, Committed] = {}
        fresh: list[Draft] = []
        at = self._clock.now()
        for draft, key in zip(drafts, keys, strict=True):
            known = key.replay(used, path=[f"#{draft.position}", "idempotencyKey"])
            if known is None:
                fresh.append(draft)
            else:
                replays[draft.position] = known
        written: dict[int, Written] = {}
        if fresh:
            sequence = await self._sequences.current(connection, caller.tenant)
            changes = []
            scopes = await self._directory.scopes(
                caller.tenant, {UNSCOPED, *(draft.scope for draft in fresh)}, create=True
            )
            await refuse_erased(connection, caller.tenant, fresh, keys, scopes, restore=restore_erased)
            names = await resolve_names(connection, caller.tenant, fresh, scopes)
            require_few_contending(fresh)
            replaced = await slots_of_replaced(connection, caller.tenant, fresh)
            slots = await lock_slots_of_facts(connection, caller.tenant, fresh, scopes, also=replaced)
            groups = []
            for group in independent_groups(fresh, names, slots):
                done = await write_group(
                    connection, self._directory, caller, group, names, slots, now=self._clock.now()
                )
                groups.append(done)
                changes += done.changes
            written = await read_final_state(connection, self._directory, caller, groups, now=self._clock.now())
            rows = [_candidate_row(draft, keys[draft.position], written[draft.position]) for draft in fresh]
            if retrying:
                await commit_failed_captures(connection, caller.tenant, rows)
                await insert_used_keys(connection, caller, rows, at=at)
            else:
                await insert_candidates(connection, caller, rows, at=at)
            if self._queues_texts:
                texts = [written[draft.position].primary.id for draft in fresh if draft.is_told]
                level = sealing_level(self._directory.vault)
                await queue_texts(connection, caller.tenant.id, texts, below=level, at=at)
            await append_changes(connection, caller.tenant, changes)
        if retrying and replays:
            await commit_failed_captures(connection, caller.tenant, replayed_candidates(drafts, replays))
        replayed = await self._replayed(
            Reader(connection, self._directory, caller, self._clock.now()),
            caller.tenant,
            replays,
            {draft.position: tuple(draft.warnings) for draft in drafts},
        )
        answers = {
            draft.position: answer(caller, draft, written[draft.position], sequence, names, at) for draft in fresh
        } | replayed
        return [answers[draft.position] for draft in drafts]

    async def _replayed(
        self,
        reader: Reader,
        tenant: Tenant,
        replays: dict[int, Committed],
        warnings: Mapping[int, tuple[RequestWarning, ...]],
    ) -> dict[int, Captured]:
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
                sequence=await self._sequences.token(reader.connection, tenant, committed.sequence),
                warnings=warnings[position],
                replayed=True,
            )
        return answers


class _RolledBack(Exception):
    """The end of a transaction whose answers were wanted and not its effects."""

    def __init__(self, answers: list[Captured]) -> None:
        super().__init__()
        self.answers = answers


def _copies(drafts: Sequence[Draft]) -> list[Draft]:
    """Return copies of the drafts for one attempt to write them, which modifies them."""
    return [replace(draft, payload=dict(draft.payload)) for draft in drafts]


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
        "is_import": draft.request.imported is not None,
    }
