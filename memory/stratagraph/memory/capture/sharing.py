"""Captures of one credential that arrive while others of it are being written share the next transaction.

A commit and most statements then serve several captures. The first capture to arrive is written at once, so a client
that sends one after the other never waits for company. What is stored does not depend on who shared a transaction with
whom (docs/specification.md, Entities).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from contextvars import Context, copy_context
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from stratagraph.memory.capture.answers import Captured
from stratagraph.memory.capture.draft import Draft
from stratagraph.store.event_log import get_logger
from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.errors import (
    StoreUnavailable,
    StratagraphError,
    TenantErased,
    WriteCollision,
    error_kind,
)
from stratagraph.store.postgres.operations import Operation, current_operation, working_for
from stratagraph.store.records.candidates import RequestKey

MAX_SHARING = 32  # captures in one transaction; fewer than contend for one slot in a batch (see `grouping`)
PATIENCE_S = 1.0  # seconds after which the next round may start beside one that is still being written
MAX_ROUNDS = 3  # of a credential at once; each has a connection, and the others are for its other requests
_log = get_logger(__name__)

WriteTogether: TypeAlias = Callable[[Caller, list[Draft], list[RequestKey]], Awaitable[list[Captured]]]
WriteAlone: TypeAlias = Callable[[], Awaitable[Captured]]


@dataclass(slots=True, eq=False)
class _Entry:
    """A capture that waits. `turn` gets its answer, or None when it is to be written alone, by the task that waits."""

    caller: Caller
    draft: Draft
    key: RequestKey
    operation: Operation | None
    context: Context = field(default_factory=copy_context)
    turn: asyncio.Future[Captured | None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    round: _Round | None = None
    has_left: bool = False  # its task has its answer, or was cancelled

    @property
    def thread(self) -> tuple[object, ...] | None:
        """The thread whose order of events the capture belongs to."""
        draft = self.draft
        return None if draft.thread is None else (draft.scope, draft.sensitivity, draft.thread)


@dataclass(slots=True, eq=False)
class _Round:
    """The captures that are written now: together by the task `writing`, or else alone, the first that has not left."""

    entries: list[_Entry]
    timer: asyncio.TimerHandle
    writing: asyncio.Task[None] | None = None
    is_slow: bool = False  # it has taken PATIENCE_S, so that others need not wait for it


class SharedTransactions:
    """The captures that wait in one process. All methods belong to one event loop.

    The captures of a credential are written in rounds, one round at a time, in the order of their arrival. A round that
    fails is written again, each of its captures alone and in turn, so that a capture fails by itself only. It goes on
    for the others when a caller leaves, and has until the latest of their deadlines. The number of captures that wait
    is bounded by what admission lets run.
    """

    def __init__(self, write: WriteTogether) -> None:
        self._write = write
        self._queues: dict[object, _Queue] = {}

    async def capture(self, caller: Caller, draft: Draft, key: RequestKey, alone: WriteAlone) -> Captured:
        """Write the draft in a transaction with others, or by `alone`, and return its answer.

        Raises what `alone` raises, and StoreUnavailable if the database was lost while it was written with others.
        """
        operation = current_operation()
        name = (caller.tenant.id, caller.trust, caller.scopes, None if operation is None else operation.party)
        queue = self._queues.get(name)
        if queue is None:
            queue = self._queues[name] = _Queue(self._write, when_empty=lambda: self._queues.pop(name))
        entry = _Entry(caller, draft, key, operation)
        queue.add(entry)
        try:
            answer = await entry.turn
            return await alone() if answer is None else answer
        finally:
            queue.leave(entry)


class _Queue:
    """The captures of one credential. `when_empty` is called when the last one has left."""

    def __init__(self, write: WriteTogether, *, when_empty: Callable[[], object]) -> None:
        self._write = write
        self._when_empty = when_empty
        self._waiting: list[_Entry] = []
        self._rounds: list[_Round] = []  # all but the last are slow
        self._loop = asyncio.get_running_loop()
        self._is_starting = False
        self._has_ended = False

    def add(self, entry: _Entry) -> None:
        self._waiting.append(entry)
        self._start_soon()

    def leave(self, entry: _Entry) -> None:
        """Note that the task of an entry has its answer, or was cancelled."""
        entry.has_left = True
        if entry.round is not None:
            self._go_on(entry.round)
        else:
            self._waiting = [other for other in self._waiting if other is not entry]
            self._end_if_empty()

    def _start_soon(self) -> None:
        """Start a round once the tasks that are ready now have run, since they may bring more captures."""
        if not self._is_starting:
            self._is_starting = True
            self._loop.call_soon(self._start)

    def _start(self) -> None:
        self._is_starting = False
        is_free = len(self._rounds) < MAX_ROUNDS and all(round_.is_slow for round_ in self._rounds)
        if is_free and (entries := self._take()):
            round_ = _Round(entries, self._loop.call_later(PATIENCE_S, self._overtake, entries[0]))
            self._rounds.append(round_)
            for entry in entries:
                entry.round = round_
            if len(entries) > 1:
                round_.writing = self._loop.create_task(self._answer_together(entries), context=entries[0].context)
                # Not in the task itself: one that is cancelled before it has begun never runs.
                round_.writing.add_done_callback(lambda _: self._note_written(round_))
            else:
                self._go_on(round_)

    def _take(self) -> list[_Entry]:
        """Take the captures of the next round, in the order of their arrival.

        Left waiting are those of a thread that a slow round writes, which keeps the order of its events, and those with
        an idempotency key that another one has, which get the answer of that one.
        """
        running = [entry for round_ in self._rounds for entry in round_.entries]
        threads = {entry.thread for entry in running} - {None}
        keys = {entry.key.key_hash for entry in running} - {None}
        taken: list[_Entry] = []
        left: list[_Entry] = []
        for entry in self._waiting:
            if len(taken) == MAX_SHARING or entry.thread in threads or entry.key.key_hash in keys:
                left.append(entry)
                threads |= {entry.thread} - {None}
            else:
                taken.append(entry)
            keys |= {entry.key.key_hash} - {None}
        self._waiting = left
        return taken

    def _note_written(self, round_: _Round) -> None:
        round_.writing = None
        self._go_on(round_)

    async def _answer_together(self, entries: Sequence[_Entry]) -> None:
        """Write the entries in one transaction, and answer those that have not left; none if nothing was written."""
        drafts = [replace(entry.draft, position=position) for position, entry in enumerate(entries)]
        operations = [entry.operation for entry in entries if entry.operation is not None]
        longest = max(operations, key=lambda one: one.ends_at, default=None)
        answers: Sequence[Captured | StoreUnavailable]
        try:
            with nullcontext() if longest is None else working_for(longest):
                answers = await self._write(entries[0].caller, drafts, [entry.key for entry in entries])
        except (WriteCollision, TenantErased):
            return
        except StoreUnavailable as error:
            # It is open whether the transaction was committed, so it must not be repeated.
            answers = [StoreUnavailable(error.message) for _ in entries]
        except StratagraphError:  # each entry meets its own error when it is written alone
            return
        except Exception as error:  # as above, where only single writes have it
            _log.error("round of captures failed", captures=len(entries), error=error_kind(error))
            return
        for entry, answer in zip(entries, answers, strict=True):
            if entry.has_left or entry.turn.done():
                continue
            if isinstance(answer, StoreUnavailable):
                entry.turn.set_exception(answer)
            else:
                entry.turn.set_result(answer)

    def _go_on(self, round_: _Round) -> None:
        """Give the next entry of a round its turn; end a round in which none is left."""
        following = next((entry for entry in round_.entries if not entry.has_left), None)
        if following is None and round_.writing is not None:
            round_.writing.cancel()
        elif following is None:
            self._end(round_)
        elif round_.writing is None and not following.turn.done():
            following.turn.set_result(None)

    def _end(self, round_: _Round) -> None:
        round_.timer.cancel()
        self._rounds.remove(round_)
        for entry in round_.entries:
            entry.round = None
        if self._waiting:
            self._start_soon()
        self._end_if_empty()

    def _end_if_empty(self) -> None:
        if not self._waiting and not self._rounds and not self._has_ended:
            self._has_ended = True
            self._when_empty()

    def _overtake(self, first: _Entry) -> None:
        if first.round is not None:
            first.round.is_slow = True
            self._start_soon()
