"""Admission: attackers queue for their own slots, others run beside them, and what was not run costs nothing."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from uuid import uuid4

import pytest
from fix_memory import until

from stratagraph.graphql.authentication import SINGLE_USER_PARTY
from stratagraph.graphql.limits.admission import Admission
from stratagraph.graphql.limits.budgets import Budgets
from stratagraph.graphql.limits.options import FairUse
from stratagraph.store.keys.rate_buckets import Rate, RateBuckets
from stratagraph.store.model.errors import ClientGone, DeadlineExceeded, RateLimited
from stratagraph.store.postgres.database import Database
from stratagraph.store.postgres.operations import current_operation

HEAVY, LIGHT = 500.0, 5.0


def admission(database: Database, **limits: int | float) -> Admission:
    rate = Rate(per_second=0.001, burst=5_000)
    options = FairUse(rate=rate, **{"waiting": 3, **limits})  # type: ignore[arg-type]  # fields of both types
    return Admission(options, Budgets(RateBuckets(database, uuid4())))


class Running:
    """An operation that runs until it is told to end."""

    def __init__(self, admission: Admission, party: str, points: float) -> None:
        self.begun, self._end = asyncio.Event(), asyncio.Event()
        self.task = asyncio.create_task(self._run(admission, party, points))

    async def _run(self, admission: Admission, party: str, points: float) -> None:
        await admission.pay(party, points)
        async with admission.run(party, points):
            operation = current_operation()
            assert operation is not None
            assert operation.party == party
            self.begun.set()
            await self._end.wait()

    async def end(self) -> None:
        self._end.set()
        await self.task


async def test_light_operations_run_while_the_heavy_ones_of_three_attackers_queue(database: Database) -> None:
    gate = admission(database)
    attackers = [Running(gate, party, HEAVY) for party in "abc" for _ in range(3)]
    await until(lambda: _is(gate.heavy.queued == 8))
    assert [one.begun.is_set() for one in attackers].count(True) == 1
    assert gate.running.held == 1  # those that wait for a heavy slot hold no other
    victim = Running(gate, "victim", LIGHT)
    await victim.begun.wait()
    heavy_victim = Running(gate, "victim", HEAVY)
    await until(lambda: _is(gate.heavy.queued == 9))
    order: list[str] = []
    while not heavy_victim.begun.is_set():  # the slot goes round: one more of each attacker, at most
        (running,) = (one for one in attackers if one.begun.is_set() and not one.task.done())
        await running.end()
        order.append("attacker")
        await until(lambda: _is(gate.heavy.held == 1))
    assert len(order) <= 4
    for one in (*attackers, victim, heavy_victim):
        one.task.cancel()
    await asyncio.wait([one.task for one in (*attackers, victim, heavy_victim)])
    assert (gate.heavy.held, gate.heavy.queued, gate.running.held, gate.running.queued) == (0, 0, 0, 0)


async def test_a_full_queue_refuses_and_gives_the_points_back(database: Database) -> None:
    gate = admission(database, waiting=1)
    held = [Running(gate, "a", HEAVY) for _ in range(2)]
    await until(lambda: _is(gate.heavy.queued == 1))
    before = (await gate.pay("a", LIGHT)).available
    assert (await gate.pay("a", 200)).available == pytest.approx(before - 200, abs=1)
    with pytest.raises(RateLimited):
        async with gate.run("a", 200):
            pass
    assert (await gate.pay("a", LIGHT)).available == pytest.approx(before - LIGHT, abs=1)
    for one in held:
        one.task.cancel()
    await asyncio.wait([one.task for one in held])


async def test_the_deadline_holds_in_the_queue_and_while_running(database: Database) -> None:
    gate = admission(database, deadline_s=0.2)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(gate.heavy.hold("a", share=1))
        with pytest.raises(DeadlineExceeded):
            async with gate.run("b", HEAVY):
                raise AssertionError("ran without a slot")
    with pytest.raises(DeadlineExceeded):
        async with gate.run("b", LIGHT):
            await asyncio.Event().wait()
    assert (gate.heavy.queued, gate.running.held) == (0, 0)


async def test_a_query_ends_when_its_client_hangs_up_in_the_queue_and_while_running(database: Database) -> None:
    gate = admission(database)
    gone, stays = asyncio.Event(), asyncio.Event()

    async def hung_up() -> None:
        await gone.wait()

    async def never() -> None:
        await stays.wait()

    async with gate.heavy.hold("a", share=1):
        waiting = asyncio.create_task(gate.run("b", HEAVY, hung_up=hung_up).__aenter__())
        await until(lambda: _is(gate.heavy.queued == 1))
        gone.set()
        with pytest.raises(ClientGone):
            await waiting
    with pytest.raises(ClientGone):
        async with gate.run("b", LIGHT, hung_up=hung_up):
            await asyncio.Event().wait()
    async with gate.run("b", LIGHT, hung_up=never):
        pass
    assert (gate.heavy.queued, gate.heavy.held, gate.running.held) == (0, 0, 0)


async def test_one_credential_cannot_take_all_slots_for_transfers_but_the_single_user_can(database: Database) -> None:
    gate = admission(database)
    async with AsyncExitStack() as stack:
        tasks = [asyncio.create_task(stack.enter_async_context(gate.transfer("a"))) for _ in range(4)]
        await until(lambda: _is(gate.transfers.queued == 2))
        assert gate.transfers.held == 2
        await stack.enter_async_context(gate.transfer("b"))
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        for _ in range(5):
            await stack.enter_async_context(gate.transfer(SINGLE_USER_PARTY))
        assert gate.transfers.held == gate.options.transfers
    assert gate.transfers.held == 0


async def _is(condition: bool) -> bool:
    return condition
