"""Slots go round among parties, none holds more than its share, and none waits without bound."""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stratagraph.store.model.errors import RateLimited
from stratagraph.store.postgres.fair_slots import FairSlots


class Holder:
    """A task that holds a slot until it is told to end."""

    def __init__(self, slots: FairSlots, party: str, share: int, order: list[str]) -> None:
        self._end = asyncio.Event()
        self.holds = asyncio.Event()
        self.task = asyncio.create_task(self._run(slots, party, share, order))

    async def _run(self, slots: FairSlots, party: str, share: int, order: list[str]) -> None:
        async with slots.hold(party, share=share):
            order.append(party)
            self.holds.set()
            await self._end.wait()

    async def end(self) -> None:
        self._end.set()
        await self.task


async def settled() -> None:
    """Let every task run as far as it can without an event from outside."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_victim_is_served_next_while_attackers_queue() -> None:
    slots, order = FairSlots("slots", total=4, waiting=100), list[str]()
    held = [Holder(slots, party, 3, order) for party in ("a", "a", "a", "b", "b", "c", "c", "c") for _ in range(3)]
    await settled()
    assert Counter(order) == {"a": 3, "b": 1}
    victim = Holder(slots, "victim", 3, order)
    second = Holder(slots, "victim", 3, order)
    await settled()
    await next(holder for holder in held if holder.holds.is_set()).end()
    await settled()
    assert order[4:] == ["c"]  # waits longer and holds as few
    await next(holder for holder in held if holder.holds.is_set() and not holder.task.done()).end()
    await settled()
    assert order[5:] == ["victim"]  # before all the others of a, b and c, which hold slots
    assert not second.holds.is_set()
    for holder in (*held, victim, second):
        holder.task.cancel()
    await settled()
    assert (slots.held, slots.queued) == (0, 0)


async def test_a_full_queue_refuses_at_once_and_leaves_other_parties_alone() -> None:
    slots, order = FairSlots("slots", total=1, waiting=2), list[str]()
    holders = [Holder(slots, "a", 1, order) for _ in range(3)]
    await settled()
    with pytest.raises(RateLimited):
        async with slots.hold("a", share=1):
            pass
    other = Holder(slots, "b", 1, order)
    await settled()
    await holders[0].end()
    await settled()
    await holders[1].end()
    await settled()
    assert order == ["a", "a", "b"]
    assert not holders[2].holds.is_set()
    for holder in (*holders, other):
        holder.task.cancel()
    await settled()
    assert (slots.held, slots.queued) == (0, 0)


@settings(max_examples=60, deadline=None)
@given(total=st.integers(1, 5), share=st.integers(1, 5), seed=st.integers(0, 10_000))
def test_shares_hold_slots_are_used_and_nothing_is_lost_whatever_is_cancelled(
    total: int, share: int, seed: int
) -> None:
    async def run() -> None:
        pick, order, live = Random(seed), list[str](), list[tuple[str, Holder]]()
        slots = FairSlots("slots", total=total, waiting=50)
        for _ in range(60):
            action = pick.random()
            if action < 0.5 or not live:
                party = pick.choice("abc")
                live.append((party, Holder(slots, party, share, order)))
            else:
                _, holder = live.pop(pick.randrange(len(live)))
                if action < 0.75 and holder.holds.is_set():
                    await holder.end()
                else:
                    holder.task.cancel()
            if pick.random() < 0.7:
                await settled()
        await settled()
        holding = Counter(party for party, holder in live if holder.holds.is_set())
        waiting = Counter(party for party, holder in live if not holder.holds.is_set())
        assert slots.held == holding.total() <= total
        assert slots.queued == waiting.total()
        assert all(number <= share for number in holding.values())
        # No slot is free while a party below its share waits for one.
        assert holding.total() == total or all(holding[party] == share for party in waiting)
        for _, holder in live:
            holder.task.cancel()
        await settled()
        assert (slots.held, slots.queued) == (0, 0)

    asyncio.run(run())
