"""The numbers in a refusal of fair use agree with the refusal."""

from __future__ import annotations

import asyncio
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from stratagraph.graphql.limits.budgets import Budgets
from stratagraph.store.keys.rate_buckets import Lease, Rate
from stratagraph.store.model.errors import LimitExceeded, RateLimited


class Bucket:
    """A bucket that has `available` tokens, and grants an operation what it needs if they suffice."""

    def __init__(self, available: float) -> None:
        self.available = available

    async def lease(self, party: str, rate: Rate, *, needed: float, slice_: float, held: float) -> Lease:
        return Lease(granted=needed if self.available >= needed else 0.0, available=self.available)


async def refusal(available: float, cost: float, burst: float, owed: float = 0.0) -> RateLimited | LimitExceeded | None:
    budgets, rate = Budgets(Bucket(available)), Rate(per_second=500, burst=burst)  # type: ignore[arg-type]  # a bucket in memory
    if owed:
        budgets.owe("a", owed, rate)
    try:
        await budgets.spend("a", cost, rate)
    except (RateLimited, LimitExceeded) as error:
        return error
    return None


def numbers(message: str) -> list[int]:
    return [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", message)]


@settings(max_examples=100, deadline=None)
@given(
    st.floats(1, 10_000),
    st.floats(0, 10_000),
    st.floats(1, 10_000) | st.floats(-3, 0),
    st.sampled_from([0.0, 0.3, 40.5]),
)
def test_a_refusal_never_reads_as_if_there_were_enough(
    cost: float, available: float, burst: float, owed: float
) -> None:
    burst = burst if burst > 0 else max(1.0, cost + burst)  # a little less than the cost
    refused = asyncio.run(refusal(available, cost, burst, owed))
    if refused is None:
        return
    needed, *shares, left = numbers(refused.message)
    assert needed > left, refused.message
    assert all(0 < share <= needed for share in shares), refused.message


def test_a_cost_just_above_the_most_is_not_said_to_be_the_most() -> None:
    refused = asyncio.run(refusal(1e9, 5_000.2, 5_000))
    assert refused is not None
    assert "costs 5,001 points and one may cost at most 5,000" in refused.message


def test_what_is_owed_is_told_apart_from_what_the_operation_costs() -> None:
    refused = asyncio.run(refusal(50, 10, 5_000, owed=45))
    assert refused is not None
    assert "costs 55 points, 45 of them for what" in refused.message
