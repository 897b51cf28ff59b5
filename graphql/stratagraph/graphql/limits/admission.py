"""Admission: what an operation passes before it runs, and while it runs.

First its cost is paid, then it waits for its slots, then it runs, all within its deadline. Each party has queues of its
own (`FairSlots`), so an operation waits for the others of its credential, and for a fair share of the rest.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass

from starlette.requests import Request

from stratagraph.graphql.authentication import SINGLE_USER_PARTY
from stratagraph.graphql.limits.budgets import Budgets
from stratagraph.graphql.limits.courtesy import Courtesy
from stratagraph.graphql.limits.gate import Gate
from stratagraph.graphql.limits.options import FairUse
from stratagraph.store.keys.rate_buckets import Rate
from stratagraph.store.model.errors import ClientGone, DeadlineExceeded, RateLimited
from stratagraph.store.postgres.fair_slots import FairSlots
from stratagraph.store.postgres.operations import Operation, working_for

SLOW_FACTOR = 20  # times the deadline that erasures may take, since they cover whole scopes and tenants


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The cost of an operation and what is left of the budget, in points."""

    requested: float
    available: float
    burst: float
    per_second: float

    def as_json(self) -> dict[str, float]:
        return {
            "requested": round(self.requested, 1),
            "available": round(self.available, 1),
            "maximum": self.burst,
            "restoreRate": self.per_second,
        }


class Admission:
    """The budgets and slots of one process. Safe to call from many tasks of one event loop."""

    def __init__(self, options: FairUse, budgets: Budgets) -> None:
        self.options = options
        self._budgets = budgets
        self.gate = Gate(options.requests)
        self.courtesy = Courtesy()
        waiting = options.waiting
        self.heavy = FairSlots("heavy operations", total=options.heavy, waiting=waiting)
        self.running = FairSlots("running operations", total=options.running, waiting=waiting)
        self.transfers = FairSlots("large requests", total=options.transfers, waiting=waiting)

    async def enter(self, request: Request) -> None:
        """Count a request before its credential is checked. Raises RateLimited, late, if there are too many."""
        try:
            self.pass_gate(request.headers.get("authorization"))
        except RateLimited as error:
            raise await self.gate.delayed(error) from None

    def pass_gate(self, presented: str | None) -> None:
        """Count a credential that is presented, before it is checked. Raises RateLimited if there are too many."""
        if presented is not None:
            self.gate.pass_(presented)

    def rate(self, party: str) -> Rate:
        """Return how the party's budget fills."""
        return self.options.single_user_rate if party == SINGLE_USER_PARTY else self.options.rate

    async def pay(self, party: str, points: float) -> Cost:
        """Take the cost of an operation from the party's budget; see `Budgets.spend`."""
        rate = self.rate(party)
        available = await self._budgets.spend(party, points, rate)
        return Cost(requested=points, available=available, burst=rate.burst, per_second=rate.per_second)

    def owe(self, party: str, points: float) -> None:
        """Add `points`, for what an operation read beyond its cost, to the cost of the party's next one."""
        self._budgets.owe(party, points, self.rate(party))

    def operation(self, party: str, deadline_s: float) -> Operation:
        """Return an operation of the party that begins now and has `deadline_s` seconds."""
        options = self.options
        return Operation(
            party=party,
            ends_at=time.monotonic() + deadline_s,
            connections=options.connections if party == SINGLE_USER_PARTY else options.connections_share,
        )

    @asynccontextmanager
    async def run(
        self,
        party: str,
        points: float,
        *,
        slow: bool = False,
        hung_up: Callable[[], Coroutine[None, None, None]] | None = None,
    ) -> AsyncIterator[None]:
        """Wait for the slots of an operation that is paid for, and run the block as that operation.

        `slow` operations have SLOW_FACTOR times the deadline. Raises RateLimited if too many operations of the party
        wait already, in which case the points are given back; DeadlineExceeded at the deadline; and ClientGone when
        `hung_up`, which waits for the client to hang up, returns. Whatever the block awaits is then cancelled.
        """
        deadline_s = self.options.deadline_s * (SLOW_FACTOR if slow else 1)
        options, alone = self.options, party == SINGLE_USER_PARTY
        operation = self.operation(party, deadline_s)
        try:
            async with asyncio.timeout(deadline_s) as timeout, AsyncExitStack() as stack:
                if hung_up is not None:
                    stack.enter_context(_ended_by(hung_up(), timeout))
                try:
                    if points >= options.heavy_cost:
                        await stack.enter_async_context(self.heavy.hold(party, share=options.heavy if alone else 1))
                    share = options.running if alone else options.running_share
                    await stack.enter_async_context(self.running.hold(party, share=share))
                except RateLimited:
                    self._budgets.give_back(party, points)
                    raise
                is_heavy = points >= options.heavy_cost
                with working_for(operation), self.courtesy.heavy() if is_heavy else self.courtesy.light():
                    yield
        except TimeoutError:
            if not timeout.expired():
                raise
            if time.monotonic() < operation.ends_at:
                raise ClientGone from None
            raise DeadlineExceeded(
                f"The operation did not end within {deadline_s:g} s and was stopped. Ask for less, or try again. A"
                " write may or may not have been stored: repeat it with the same idempotencyKey."
            ) from None

    @asynccontextmanager
    async def transfer(self, party: str) -> AsyncIterator[None]:
        """Wait for a slot for a request with a large body, or an artifact, and hold it for the block.

        Raises RateLimited if too many of the party wait already, and DeadlineExceeded if there is no slot in time.
        """
        options = self.options
        share = options.transfers if party == SINGLE_USER_PARTY else options.transfers_share
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(options.deadline_s):
                    await stack.enter_async_context(self.transfers.hold(party, share=share))
            except TimeoutError:
                raise DeadlineExceeded(
                    f"No slot for a large request became free within {options.deadline_s:g} s; try again shortly."
                ) from None
            yield


@contextmanager
def _ended_by(event: Coroutine[None, None, None], timeout: asyncio.Timeout) -> Iterator[None]:
    """Let `timeout` expire once `event` has ended, unless the block ends first."""
    loop = asyncio.get_running_loop()
    waiting = loop.create_task(event)

    def expire(_: asyncio.Task[None]) -> None:
        timeout.reschedule(loop.time())

    waiting.add_done_callback(expire)
    try:
        yield
    finally:
        waiting.remove_done_callback(expire)
        waiting.cancel()
