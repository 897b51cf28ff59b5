"""The changes of one subscription as they are sent: rendered once for all who ask for the same, and paid for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import orjson

from stratagraph.graphql.context import Context
from stratagraph.graphql.limits.courtesy import give_way
from stratagraph.graphql.live.operations import AcceptedSubscription, Refused
from stratagraph.graphql.live.parts import StreamParts
from stratagraph.graphql.types.changes import Change
from stratagraph.memory.changes import change as domain
from stratagraph.memory.changes.service import Batch, ChangeStream
from stratagraph.store.model.errors import LimitExceeded, RateLimited, StoreUnavailable, TenantErased
from stratagraph.store.postgres.operations import working_for

SHARED = 0.002  # points of a change that was rendered for another subscription of the same credential
LEAST = 0.05  # points of a change that is rendered
MAX_EVENT_BYTES = 4 << 20  # of one event, which its connection holds until the client has taken it
SLICE = 25  # changes rendered at a time
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 2.0  # while the database is unavailable


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A change as it is sent: its position, and the payload as JSON."""

    position: str
    payload: bytes


class Delivery:
    """Delivers the changes of one subscription to one client, at the speed at which the client takes them."""

    def __init__(self, parts: StreamParts, party: str, subscription: AcceptedSubscription) -> None:
        self._services = parts.services
        self._opened = parts.subscriptions
        self._admission = parts.admission
        self._party = party
        self._subscription = subscription
        self._stream: ChangeStream | None = None

    @property
    def position(self) -> str | None:
        """The position after all that was delivered; None before the first look at the log."""
        return None if self._stream is None else self._stream.position

    async def batches(self) -> AsyncGenerator[Sequence[Event], None]:
        """Yield the events as they come, those of one look at the log together.

        An outage of the database is waited for. Raises PositionExpired if the log was restarted.
        """
        followed = self._subscription.followed
        with self._opened.like(self._subscription.sameness):
            async with self._services.changes.stream(followed.context.trust, followed.place) as stream:
                self._stream = stream
                pause_s = FIRST_PAUSE_S
                while True:
                    await stream.wait()
                    place = stream.place
                    try:
                        with self._working():
                            batch = await stream.take()
                        events = await self._rendered(stream, batch)
                    except TenantErased:
                        raise
                    except StoreUnavailable:
                        stream.place = place
                        await asyncio.sleep(pause_s)
                        pause_s = min(LONGEST_PAUSE_S, 2 * pause_s)
                        continue
                    pause_s = FIRST_PAUSE_S
                    if events:
                        yield events

    def _working(self) -> AbstractContextManager[None]:
        """Have what the block reads count as work of the party, with a deadline of its own."""
        return working_for(self._admission.operation(self._party, self._admission.options.deadline_s))

    async def _rendered(self, stream: ChangeStream, batch: Batch) -> Sequence[Event]:
        if not batch.changes:
            return ()
        if batch.segment is None or not self._opened.has_several(self._subscription.sameness):
            return await self._render(stream, batch.changes)
        made_here = False

        async def make() -> Sequence[Event]:
            nonlocal made_here
            made_here = True
            return await self._render(stream, batch.changes)

        events = await batch.segment.shared(self._subscription.sameness, make)
        if not made_here:
            await self._pay(SHARED * len(events))
        return events

    async def _render(self, stream: ChangeStream, changes: Sequence[domain.Change]) -> Sequence[Event]:
        """Return the events of the changes that the subscription's filter admits."""
        followed = self._subscription.followed
        wanted = [change for change in changes if followed.wanted.admits(stream.tenant, change)]
        events: list[Event] = []
        context = Context(followed.context.trust, self._services)  # its loaders batch what the changes need
        points = max(LEAST, self._subscription.points)
        size = max(1, min(SLICE, int(self._admission.rate(self._party).burst / 4 / points)))
        for start in range(0, len(wanted), size):
            part = [Change.of(change, stream.tenant) for change in wanted[start : start + size]]
            await self._pay(points * len(part))
            with self._working():
                payloads = await asyncio.gather(*(self._subscription.execute(change, context) for change in part))
            events += [
                Event(position=change.position, payload=_bounded(orjson.dumps(payload)))
                for change, payload in zip(part, payloads, strict=True)
            ]
            await give_way()
        return events

    async def _pay(self, points: float) -> None:
        """Take points from the party's budget; wait while it has not got them, so that the stream slows down."""
        if not points:
            return
        while True:
            try:
                await self._admission.pay(self._party, points)
                return
            except RateLimited as error:
                await asyncio.sleep(error.retry_after_s)


def _bounded(payload: bytes) -> bytes:
    """Return the payload of an event, or, if it is too large, one with an error in its place."""
    if len(payload) <= MAX_EVENT_BYTES:
        return payload
    error = LimitExceeded(
        f"The change has {len(payload):,} bytes with this selection, and at most {MAX_EVENT_BYTES:,} are sent; select"
        " each field once, or only `recordId` and `position`, and read the record by `record`."
    )
    return orjson.dumps({"data": None, "errors": Refused.because(error).formatted()})
