"""The service that tells callers what has changed: page by page, or as streams that wait for what comes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from stratagraph.memory.changes.change import Change
from stratagraph.memory.changes.filters import ChangeFilter
from stratagraph.memory.changes.following import Following, Segment
from stratagraph.memory.changes.resolving import Resolver
from stratagraph.memory.requests.bounds import check_between
from stratagraph.store.feed.change_log import FIRST_SPAN, PAGE, WIDEST_SPAN, ChangeLog, ChangePage, Place
from stratagraph.store.feed.positions import open_place, seal_place
from stratagraph.store.keys.callers import Caller, Tenant
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.clock import Clock
from stratagraph.store.model.enums import Access
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Database

MAX_PAGE = 500  # changes of one page
LONG_READ_S = 0.2  # seconds for a window, after which the next one spans fewer snapshots
READ_S = 0.5  # seconds for which one page reads the log, however little of it the caller may see
READERS = 2  # streams of a process that read the log themselves at a time, because they are behind


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesPage:
    """A page of changes, oldest first, and the position after it.

    `has_next` is exact, unless the log was read for READ_S: then it is true, and the page may be short.
    """

    changes: tuple[Change, ...]
    tenant: Tenant
    end_position: str
    has_next: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Changes that a stream has come past, and the place after them. `segment` is None if they were read for it alone.

    The changes are not filtered yet: they are the same for all callers with the same bounds.
    """

    changes: Sequence[Change]
    end: Place
    segment: Segment | None


class ChangeStream:
    """The changes after a place, as one caller may see them when they are sent.

    Nothing is read ahead for a stream: it reads when it is asked for more, so that a slow reader costs no memory.
    """

    def __init__(self, changes: Changes, trust: Trust, caller: Caller, place: Place) -> None:
        self._changes = changes
        self.trust = trust
        self.tenant = caller.tenant
        self.place = place
        self._span = FIRST_SPAN

    @property
    def position(self) -> str:
        """The position of the stream: after all that it has returned."""
        return seal_place(self.tenant, self.place)

    async def wait(self) -> None:
        """Wait until there is something to take."""
        await self._changes.following.beyond(self.place)

    async def take(self) -> Batch:
        """Return what the caller may see of the next part of the log, which may be nothing.

        Raises StoreUnavailable, after which it may be called again, and PositionExpired if the log was restarted.
        """
        segment = self._changes.following.segment_at(self.place)
        caller = await self._changes.directory.resolve(self.trust)
        batch = await self._of_segment(caller, segment) if segment is not None else await self._of_log(caller)
        self.place = batch.end
        return batch

    async def _of_segment(self, caller: Caller, segment: Segment) -> Batch:
        found = segment.of_tenant(caller.tenant.id)
        if not found:
            return Batch(changes=(), end=segment.end, segment=segment)
        resolver = self._changes.resolver
        changes = await segment.shared(
            (caller.tenant.id, caller.scopes, caller.ceiling),
            lambda: resolver.resolve(caller, found, start=segment.start, end=segment.end),
        )
        return Batch(changes=changes, end=segment.end, segment=segment)

    async def _of_log(self, caller: Caller) -> Batch:
        """Read the next page of the log for this stream alone."""
        async with self._changes.readers:
            place = self.place
            page = await self._changes.log.read(
                place, tenant=caller.tenant.id, until=self._changes.following.reaches, span=self._span
            )
            if page is None:
                return Batch(changes=(), end=place, segment=None)
            self._span = _next_span(self._span, page)
            changes = await self._changes.resolver.resolve(caller, page.changes, start=place, end=page.end)
        return Batch(changes=changes, end=page.end, segment=None)


class Changes:
    """Tells callers what has changed. Belongs to one event loop."""

    def __init__(self, database: Database, directory: Directory, clock: Clock) -> None:
        self.log = ChangeLog(database)
        self.following = Following(self.log)
        self.resolver = Resolver(database, directory, clock)
        self.directory = directory
        self.readers = asyncio.Semaphore(READERS)

    async def page(
        self, trust: Trust, *, after: str | None = None, first: int = 100, wanted: ChangeFilter | None = None
    ) -> ChangesPage:
        """Return at most `first` changes after the position `after`, as far as the caller may see them now.

        Without `after`, there are none, and the position is the present one: what is committed from now on follows it.
        Raises InvalidInput for an invalid `first`, `after` or filter, and PositionExpired if the changes after the
        position are no longer kept.
        """
        trust.require(Access.READ)
        check_between("first", first, 1, MAX_PAGE)
        wanted = wanted or ChangeFilter()
        wanted.check()
        caller = await self.directory.resolve(trust)
        if after is None:
            present = await self.log.present()
            return _page(caller, (), present, has_next=False)
        place = open_place(caller.tenant, after)
        found: list[Change] = []
        present = await self.log.present()
        span, deadline = FIRST_SPAN, time.monotonic() + READ_S
        while len(found) <= first:
            page = await self.log.read(place, tenant=caller.tenant.id, until=present.snapshot, span=span)
            if page is None:
                return _page(caller, found, place, has_next=False)
            changes = await self.resolver.resolve(caller, page.changes, start=place, end=page.end)
            found += [one for one in changes if wanted.admits(caller.tenant, one)]
            place, span = page.end, _next_span(span, page)
            if time.monotonic() > deadline:
                break
        if len(found) > first:
            return _page(caller, found[:first], found[first - 1].place, has_next=True)
        return _page(caller, found, place, has_next=True)

    async def check(self, trust: Trust, *, after: str | None, wanted: ChangeFilter) -> Place | None:
        """Check what a stream is asked for; return the place after which it begins, None for now.

        Raises as `page` does.
        """
        trust.require(Access.READ)
        wanted.check()
        if after is None:
            return None
        caller = await self.directory.resolve(trust)
        place = open_place(caller.tenant, after)
        await self.log.look()  # restarts the snapshots, if they were taken in another incarnation of the database
        await self.log.check(place)
        return place

    @asynccontextmanager
    async def stream(self, trust: Trust, place: Place | None = None) -> AsyncIterator[ChangeStream]:
        """Open a stream of the changes after `place`, by default of those that are committed from now on."""
        caller = await self.directory.resolve(trust)
        async with self.following.joined():
            yield ChangeStream(self, trust, caller, place or await self.log.present())


def _page(caller: Caller, changes: Sequence[Change], end: Place, *, has_next: bool) -> ChangesPage:
    return ChangesPage(
        changes=tuple(changes), tenant=caller.tenant, end_position=seal_place(caller.tenant, end), has_next=has_next
    )


def _next_span(span: int, page: ChangePage) -> int:
    """Return how many snapshots the next window spans: more after one with few changes, fewer after one of many.

    One that took long has many changes of other tenants, and reading more at once would keep a connection from others.
    """
    if not page.is_last or page.seconds > LONG_READ_S:
        return max(1, span // 2)
    return min(WIDEST_SPAN, 2 * span) if page.span == span and len(page.changes) < PAGE // 4 else span
