"""Slots that parties share fairly: each holds at most its share, and free slots go round among those that wait."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from stratagraph.store.model.errors import RateLimited

RETRY_S = 1.0  # seconds after which a party whose queue was full should try again


class FairSlots:
    """`total` slots, of which a party holds at most its share at a time.

    A party without a free slot waits in a queue of its own of at most `waiting` places. A slot that becomes free goes
    to the waiting party that holds the fewest slots and, among equals, to the one that was served longest ago. A party
    that floods its queue therefore delays itself only. `what` names the slots in errors.

    All methods belong to one event loop.
    """

    def __init__(self, what: str, *, total: int, waiting: int) -> None:
        self.what = what
        self.total = total
        self._free = total
        self._waiting = waiting
        self._held: Counter[str] = Counter()
        self._queues: dict[str, deque[_Place]] = {}  # longest unserved first; no queue is empty

    @property
    def held(self) -> int:
        """Number of slots that are held."""
        return sum(self._held.values())

    @property
    def queued(self) -> int:
        """Number of tasks that wait."""
        return sum(map(len, self._queues.values()))

    @asynccontextmanager
    async def hold(self, party: str, *, share: int) -> AsyncIterator[None]:
        """Wait until the party holds fewer than `share` slots and one is free, and hold it for the block.

        Raises RateLimited if the party's queue is full. The caller sets a deadline for the wait.
        """
        await self._acquire(party, share)
        try:
            yield
        finally:
            self._release(party)

    async def _acquire(self, party: str, share: int) -> None:
        # Where a slot is free, each party that waits holds its whole share already, so none is overtaken.
        if self._free and self._held[party] < share and party not in self._queues:
            self._grant(party)
            return
        queue = self._queues.get(party, deque())
        if len(queue) >= self._waiting:
            raise RateLimited(
                f"This credential has {len(queue)} requests waiting for {self.what}, which is the most; send fewer at"
                " a time.",
                retry_after_s=RETRY_S,
            )
        place = _Place(share)
        queue.append(place)
        self._queues[party] = queue
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():  # the slot was granted at the same moment
                self._release(party)
            elif place in queue:
                queue.remove(place)
                self._drop_if_empty(party)
            raise

    def _grant(self, party: str) -> None:
        self._free -= 1
        self._held[party] += 1

    def _release(self, party: str) -> None:
        self._free += 1
        self._held[party] -= 1
        if not self._held[party]:
            del self._held[party]
        while self._free and (next_party := self._next()) is not None:
            queue = self._queues.pop(next_party)
            place = queue.popleft()
            if queue:
                self._queues[next_party] = queue  # last in the order of service
            if not place.done():
                self._grant(next_party)
                place.set_result(None)

    def _next(self) -> str | None:
        """Return the party to serve next; None if none may have another slot."""
        allowed = [party for party, queue in self._queues.items() if self._held[party] < queue[0].share]
        return min(allowed, key=lambda party: self._held[party], default=None)

    def _drop_if_empty(self, party: str) -> None:
        if party in self._queues and not self._queues[party]:
            del self._queues[party]


class _Place(asyncio.Future[None]):
    """A place in a queue, with the share of its party."""

    def __init__(self, share: int) -> None:
        super().__init__()
        self.share = share
