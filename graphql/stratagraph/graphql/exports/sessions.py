"""Exports that are open in one process: how many, for whom, and for how long after their client has gone.

A credential has one place, a tenant half of them, and the last of these is for callers with admin access, so that
nobody keeps what others need.

Each is open in a task of its own, because a transaction must end in the task in which it began. A client that comes
back within HELD_S continues in the same snapshot, from the last checkpoint before the bytes that it has.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta

from stratagraph.memory.transfer.chunks import Checkpoint
from stratagraph.memory.transfer.exports import Export, ExportForm, ExportRequest, Exports
from stratagraph.store.model.enums import Access
from stratagraph.store.model.errors import RateLimited
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import EXPORT_POOL_SIZE

AT_ONCE = EXPORT_POOL_SIZE  # exports that are open in one process; each holds a connection of the database
HELD_S = 120.0  # seconds for which an export is held after its client has gone
FINISHED_S = 10.0  # seconds for which it is held after its last bytes were sent, which may still be under way
IDLE = timedelta(seconds=HELD_S + 60)  # for which its transaction may wait for the next statement
CHECKPOINTS = 64  # that are kept of an export; what is between server and client is less than they cover
BUSY_S = 5.0  # seconds for which a client that comes back waits until its former request has ended
RETRY_S = 10.0  # after which a client may ask again for an export that had no place


@dataclass(eq=False)
class Session:
    """One open export. `token` names its snapshot; None in a form that cannot be continued.

    `busy` is set while it answers a request, and `idle` while it does not. `leaving` asks the request to end, and
    `closing` the transaction.
    """

    party: str
    tenant: str
    export: Export
    token: str | None
    held_s: float = HELD_S
    busy: asyncio.Event = field(default_factory=asyncio.Event)
    idle: asyncio.Event = field(default_factory=asyncio.Event)
    leaving: asyncio.Event = field(default_factory=asyncio.Event)
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    checkpoints: deque[Checkpoint] = field(default_factory=lambda: deque(maxlen=CHECKPOINTS))

    def before(self, offset: int) -> Checkpoint | None:
        """Return the last checkpoint at or before so many bytes; None: the beginning."""
        return next((one for one in reversed(self.checkpoints) if one.offset <= offset), None)

    def take(self) -> None:
        """Note that the export answers a request."""
        self.held_s = HELD_S
        self.idle.clear()
        self.leaving.clear()
        self.busy.set()

    def release(self) -> None:
        """Note that it answers none any longer."""
        self.busy.clear()
        self.idle.set()


class OpenExports:
    """The open exports of one process. One that is only held gives way."""

    def __init__(self, exports: Exports, stopping: asyncio.Event) -> None:
        self._exports = exports
        self._stopping = stopping
        self._sessions: dict[str, Session] = {}  # by party
        self._opening: dict[str, str] = {}  # tenants, by party
        self._tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def session(
        self, party: str, trust: Trust, request: ExportRequest, token: str | None
    ) -> AsyncIterator[Session]:
        """Open an export for the block, or go on with the one that the token names; hold it after the block.

        Raises RateLimited if there is no place, and what `Exports.open` raises.
        """
        session = await self._known(party, trust, request, token) if token is not None else None
        if session is None:
            session = await self._opened(party, trust, request, token)
        session.take()
        try:
            yield session
        finally:
            if session.token is None:
                session.closing.set()
            session.release()

    async def _known(self, party: str, trust: Trust, request: ExportRequest, token: str) -> Session | None:
        """Return the open export of a token; None if another process has it."""
        await self._exports.check(trust, request, token)
        session = self._sessions.get(party)
        if session is None or session.token != token:
            return None
        session.leaving.set()  # of a request whose client has gone, though that is not known yet
        with suppress(TimeoutError):
            async with asyncio.timeout(BUSY_S):
                await session.idle.wait()
        if not session.idle.is_set():
            raise _no_place("An export of this credential is still being sent.")
        return None if session.closing.is_set() else session

    async def _opened(self, party: str, trust: Trust, request: ExportRequest, token: str | None) -> Session:
        former = self._sessions.get(party)
        if party in self._opening or (former is not None and former.busy.is_set()):
            raise _no_place("An export of this credential is being sent already.")
        if former is not None:
            self._close(former)
        while (full := self._full(trust)) is not None:
            crowd, reason = full
            held = next((one for one in crowd if one.idle.is_set()), None)
            if held is None:
                raise _no_place(reason)
            self._close(held)
        ready: asyncio.Future[Session] = asyncio.get_running_loop().create_future()
        self._opening[party] = trust.tenant
        try:
            task = asyncio.create_task(self._own(party, trust, request, token, ready), name="export")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            return await asyncio.shield(ready)
        except asyncio.CancelledError:
            ready.add_done_callback(_abandon)
            raise
        finally:
            del self._opening[party]

    def _full(self, trust: Trust) -> tuple[Sequence[Session], str] | None:
        """Return the exports of which one would have to end before this caller may have a place, and why."""
        sessions = list(self._sessions.values())
        share = max(1, AT_ONCE // 2 - (trust.access is not Access.ADMIN))
        own = [one for one in sessions if one.tenant == trust.tenant]
        if len(own) + sum(one == trust.tenant for one in self._opening.values()) >= share:
            return own, f"{share} exports of this tenant are being sent by this process already."
        if len(sessions) + len(self._opening) >= AT_ONCE:
            return sessions, f"{AT_ONCE} exports are being sent by this process already."
        return None

    async def _own(
        self, party: str, trust: Trust, request: ExportRequest, token: str | None, ready: asyncio.Future[Session]
    ) -> None:
        """Keep an export open until it is closed, or was held for long enough, or the process stops."""
        try:
            async with self._exports.open(trust, request, token=token) as export:
                held = await export.hold(IDLE)
                session = Session(party, trust.tenant, export, held if request.form is ExportForm.NATIVE else None)
                self._sessions[party] = session
                ready.set_result(session)
                try:
                    await self._until_closed(session)
                finally:
                    self._close(session)
        except Exception as error:
            if ready.done():
                raise
            ready.set_exception(error)

    async def _until_closed(self, session: Session) -> None:
        while not session.closing.is_set() and not self._stopping.is_set():
            if session.idle.is_set():
                with suppress(TimeoutError):
                    async with asyncio.timeout(session.held_s):
                        await _first_of(session.closing, self._stopping, session.busy)
                if session.idle.is_set():
                    return
            else:
                await _first_of(session.closing, self._stopping, session.idle)
        session.leaving.set()
        await session.idle.wait()

    def _close(self, session: Session) -> None:
        session.closing.set()
        if self._sessions.get(session.party) is session:
            del self._sessions[session.party]


async def _first_of(*events: asyncio.Event) -> None:
    """Wait until one of the events is set."""
    waiting = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for one in waiting:
            one.cancel()


def _abandon(ready: asyncio.Future[Session]) -> None:
    """Close an export whose request was cancelled before it was open."""
    if not ready.cancelled() and ready.exception() is None:
        session = ready.result()
        session.closing.set()
        session.release()


def _no_place(reason: str) -> RateLimited:
    return RateLimited(f"{reason} Try again when it has ended.", retry_after_s=RETRY_S)
