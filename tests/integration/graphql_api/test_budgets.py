"""Budgets of processes on one database share each bucket; a process that dies gives its lease back."""

from __future__ import annotations

import asyncio
import time
from uuid import uuid4

import psycopg
import pytest

from stratagraph.graphql.limits.budgets import SLICES, Budgets
from stratagraph.store.keys.rate_buckets import LEASE_S, Rate, RateBuckets
from stratagraph.store.model.errors import LimitExceeded, RateLimited
from stratagraph.store.postgres.database import Database

BURST = 1_000.0
SLOW = Rate(per_second=0.001, burst=BURST)  # does not fill noticeably within a test


def process(database: Database) -> Budgets:
    return Budgets(RateBuckets(database, uuid4()))


async def drain(budgets: Budgets, party: str, cost: float, rate: Rate = SLOW) -> int:
    """Spend until the party is refused; return how often it was not."""
    for times in range(10_000):
        try:
            await budgets.spend(party, cost, rate)
        except RateLimited:
            return times
    raise AssertionError("never refused")


async def test_processes_share_a_bucket_and_parties_do_not(database: Database) -> None:
    one, two = process(database), process(database)
    spent = 0
    for _ in range(25):  # in turn, so that both hold leases
        await one.spend("a", 10, SLOW)
        await two.spend("a", 10, SLOW)
        spent += 20
    spent += 10 * (await drain(one, "a", 10) + await drain(two, "a", 10) + await drain(one, "a", 10))
    assert BURST - 3 * BURST / SLICES <= spent <= BURST
    assert await two.spend("b", BURST, SLOW) == pytest.approx(0, abs=1)


async def test_many_tasks_of_many_processes_never_spend_more_than_the_bucket_holds(database: Database) -> None:
    processes = [process(database) for _ in range(3)]
    counts = await asyncio.gather(*(drain(one, "a", 7) for one in processes for _ in range(4)))
    assert 7 * sum(counts) <= BURST
    assert 7 * sum(counts) >= BURST - len(processes) * BURST / SLICES - 7


async def test_what_an_operation_read_beyond_its_cost_is_paid_with_the_next_one(database: Database) -> None:
    budgets = process(database)
    before = await budgets.spend("a", 1, SLOW)
    budgets.owe("a", 100, SLOW)
    assert await budgets.spend("a", 1, SLOW) == pytest.approx(before - 101, abs=1)
    assert await budgets.spend("a", 1, SLOW) == pytest.approx(before - 102, abs=1)
    budgets.owe("a", 100 * BURST, SLOW)
    assert await budgets.spend("a", 1, SLOW) == pytest.approx(before - 103 - BURST / 2, abs=1)
    budgets.owe("a", BURST / 2, SLOW)
    with pytest.raises(RateLimited) as refused:
        await budgets.spend("a", 1, SLOW)
    assert 0 < refused.value.retry_after_s <= BURST / SLOW.per_second


async def test_a_process_that_died_gives_its_lease_back_when_it_expires(database: Database, database_url: str) -> None:
    dead, alive = process(database), process(database)
    await dead.spend("a", 1, SLOW)
    available = BURST - 1 - await drain(alive, "a", 1)
    assert available >= BURST / SLICES - 1  # leased to the process that died
    with psycopg.connect(database_url, autocommit=True) as connection:  # LEASE_S seconds later
        connection.execute("UPDATE rate_lease SET expires_at = expires_at - make_interval(secs => %s)", (LEASE_S,))
    again = process(database)
    assert await drain(again, "a", 1) == pytest.approx(available, abs=1)


async def test_most_operations_are_paid_without_a_round_trip(database: Database) -> None:
    budgets, before = process(database), database.statements
    for _ in range(100):
        await budgets.spend("a", 1, SLOW)
    asked = (database.statements - before) / 2  # the transaction's entry, and the lease
    assert asked <= 100 / (BURST / SLICES) + 1
    before = database.statements
    with pytest.raises(RateLimited):
        await budgets.spend("a", BURST, SLOW)
    for _ in range(50):
        with pytest.raises(RateLimited):
            await budgets.spend("a", BURST, SLOW)
    assert database.statements - before <= 2


async def test_a_refusal_says_when_the_operation_can_be_paid(database: Database) -> None:
    budgets, rate = process(database), Rate(per_second=200, burst=100)
    await budgets.spend("a", 100, rate)
    began = time.monotonic()
    with pytest.raises(RateLimited) as refused:
        await budgets.spend("a", 60, rate)
    assert 0 < refused.value.retry_after_s <= 0.3
    await asyncio.sleep(refused.value.retry_after_s)  # the promise under test
    await budgets.spend("a", 60, rate)
    assert time.monotonic() - began >= refused.value.retry_after_s
    with pytest.raises(LimitExceeded):
        await budgets.spend("a", 101, rate)


async def test_a_refusal_never_says_that_as_much_is_left_as_the_operation_costs(database: Database) -> None:
    budgets = process(database)
    await budgets.spend("a", BURST - 37.6, SLOW)
    with pytest.raises(RateLimited, match="costs 38 points and the credential has 37 left"):
        await budgets.spend("a", 37.7, SLOW)


async def test_what_was_not_run_is_given_back(database: Database) -> None:
    budgets = process(database)
    await budgets.spend("a", 1, SLOW)
    left = await budgets.spend("a", 20, SLOW)
    budgets.give_back("a", 20)
    assert await budgets.spend("a", 20, SLOW) == pytest.approx(left, abs=0.1)


async def test_idle_buckets_are_deleted(database: Database, database_url: str) -> None:
    buckets = RateBuckets(database, uuid4())
    for party in ("idle", "busy"):
        await buckets.lease(party, SLOW, needed=1, slice_=10, held=0)
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(
            "UPDATE rate_bucket SET refilled_at = refilled_at - interval '2 days' WHERE bucket = sha256('idle')"
        )
    assert await buckets.delete_idle() == 1
    assert (await buckets.lease("idle", SLOW, needed=BURST, slice_=0, held=0)).granted == BURST
