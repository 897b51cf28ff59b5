"""Following the log once for all streams of a process.

One task reads the log, window by window, and keeps the last ones; streams take from them what is theirs. It runs while
there is a stream: a log that nobody follows is not read, and no snapshot is stored for it. A stream that is further
behind than what is kept reads pages of the log itself, so that a slow reader costs no memory.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

from stratagraph.store.event_log import get_logger
from stratagraph.store.feed.change_log import ChangeLog, Place, RowChange
from stratagraph.store.model.error_reports import error_report
from stratagraph.store.model.errors import PositionExpired, StoreUnavailable

PAUSE_S = 0.05  # between two looks at the log, so that what several writers commit in it is read at once
BACK_OFF_S = 2.0  # longest pause while the database is unavailable
SPAN = 20  # snapshots of one window
WINDOW = 500  # changes of one segment
KEPT_SEGMENTS, KEPT_CHANGES = 256, 20_000  # that are kept for streams that are a little behind
SHARED_CHANGES = 500  # of the last segments, of which also is kept what streams have made of them
_log = get_logger(__name__)
_T = TypeVar("_T")


class Segment:
    """A part of the log between two places, with what streams have made of it and share."""

    def __init__(self, start: Place, end: Place, changes: Sequence[RowChange]) -> None:
        self.start = start
        self.end = end
        self.size = len(changes)
        self._by_tenant: dict[int, list[RowChange]] = {}
        for change in changes:
            self._by_tenant.setdefault(change.tenant, []).append(change)
        self._shared: dict[Hashable, asyncio.Task[Any]] = {}

    def of_tenant(self, tenant: int) -> Sequence[RowChange]:
        """Return the changes of a tenant, in their order."""
        return self._by_tenant.get(tenant, ())

    async def shared(self, key: Hashable, make: Callable[[], Awaitable[_T]]) -> _T:
        """Return what `make` returns for `key`, made once for all streams; after an error, the next stream tries again.

        Whoever waits may be cancelled without stopping it for the others.
        """
        task = self._shared.get(key)
        if task is None:
            task = asyncio.ensure_future(_awaited(make))
            self._shared[key] = task
            task.add_done_callback(lambda done: self._forget_failed(key, done))
        result: _T = await asyncio.shield(task)
        return result

    def drop_shared(self) -> None:
        """Forget what streams have made of the segment; those that still wait for it get it."""
        self._shared.clear()

    def _forget_failed(self, key: Hashable, task: asyncio.Task[Any]) -> None:
        if (task.cancelled() or task.exception() is not None) and self._shared.get(key) is task:
            del self._shared[key]


async def _awaited(make: Callable[[], Awaitable[_T]]) -> _T:
    return await make()


class Following:
    """The one reader of the log in a process. Belongs to one event loop."""

    def __init__(self, log: ChangeLog) -> None:
        self._source = log
        self._segments: OrderedDict[Place, Segment] = OrderedDict()
        self._kept_changes = 0
        self._followers = 0
        self._task: asyncio.Task[None] | None = None
        self._tip: Place | None = None
        self._moved = asyncio.Event()

    @property
    def followers(self) -> int:
        """The number of streams that follow the log at present."""
        return self._followers

    @property
    def reaches(self) -> int | None:
        """The snapshot up to which the log has been read or is being read; None before the first look."""
        return None if self._tip is None else self._tip.window or self._tip.snapshot

    @asynccontextmanager
    async def joined(self) -> AsyncIterator[None]:
        """Have the log followed for the block."""
        self._followers += 1
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="changes")
        try:
            yield
        finally:
            self._followers -= 1
            if not self._followers:
                await self._stop()

    async def _stop(self) -> None:
        task, self._task = self._task, None
        self._segments.clear()
        self._kept_changes, self._tip = 0, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.shield(task)

    def segment_at(self, place: Place) -> Segment | None:
        """Return the segment that begins at `place`, if it is kept."""
        return self._segments.get(place)

    async def beyond(self, place: Place) -> None:
        """Wait until the log has been read beyond `place`, or was begun anew."""
        while self._tip is None or (place not in self._segments and self._is_at_tip(place)):
            await self._moved.wait()

    def _is_at_tip(self, place: Place) -> bool:
        assert self._tip is not None
        if place.window is not None:
            return place == self._tip
        return place.snapshot >= (self._tip.window or self._tip.snapshot)

    async def _run(self) -> None:
        """Read the log until cancelled; during an outage, log one warning and try again until it is over."""
        pause, is_away = 0.0, False
        while True:
            try:
                has_more = await self._step()
                if is_away:
                    _log.info("changes are followed again")
                is_away, pause = False, 0.0 if has_more else PAUSE_S
            except (StoreUnavailable, PositionExpired) as error:
                if isinstance(error, PositionExpired):
                    self._restart()
                if not is_away:
                    _log.warning("changes are not followed at present", reason=error.message)
                is_away, pause = True, min(BACK_OFF_S, max(0.1, 2 * pause))
            except Exception as error:  # any error: it must not stop the API that runs in the same process
                _log.error("changes are not followed at present", **error_report(error))
                is_away, pause = True, BACK_OFF_S
            await asyncio.sleep(pause)

    async def _step(self) -> bool:
        """Read the next segment, if there is one; return whether more is known to follow it."""
        if self._tip is None:
            self._tip = await self._source.present()
            self._announce()
            return False
        if self._tip.window is None:
            await self._source.look()
        page = await self._source.read(self._tip, tenant=None, span=SPAN, limit=WINDOW)
        if page is None:
            return False
        self._keep(Segment(self._tip, page.end, page.changes))
        self._tip = page.end
        self._announce()
        return not page.is_last or page.span >= SPAN

    def _keep(self, segment: Segment) -> None:
        self._segments[segment.start] = segment
        self._kept_changes += segment.size
        while len(self._segments) > KEPT_SEGMENTS or self._kept_changes > KEPT_CHANGES:
            _, dropped = self._segments.popitem(last=False)
            self._kept_changes -= dropped.size
        later = 0
        for one in reversed(self._segments.values()):
            if later > SHARED_CHANGES:
                one.drop_shared()
            later += max(1, one.size)

    def _restart(self) -> None:
        """Begin anew at the newest snapshot: the log was restarted, as after a restore of the database."""
        self._segments.clear()
        self._kept_changes, self._tip = 0, None

    def _announce(self) -> None:
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()
