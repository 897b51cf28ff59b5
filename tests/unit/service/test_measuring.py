"""A measurement is shared by all who ask for it, is not repeated within a second, and shows its age."""

from __future__ import annotations

import asyncio

import pytest

from stratagraph.service import measuring
from stratagraph.service.measuring import Gauge
from stratagraph.store.model.errors import StoreUnavailable


async def test_all_who_ask_at_the_same_time_share_one_measurement() -> None:
    reads = 0
    release = asyncio.Event()

    async def read() -> int:
        nonlocal reads
        reads += 1
        await release.wait()
        return reads

    gauge = Gauge(read)
    asking = [asyncio.create_task(gauge.current()) for _ in range(10)]
    await asyncio.sleep(0)
    release.set()
    found = await asyncio.gather(*asking)
    assert {(one.value, one.problem, one.is_stale) for one in found} == {(1, None, False)}
    assert (await gauge.current()).value == 1, "a fresh measurement is not repeated"
    assert reads == 1


async def test_a_measurement_that_does_not_return_is_answered_by_the_last_one_with_its_age(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hanging = asyncio.Event()

    async def read() -> str:
        if hanging.is_set():
            await asyncio.Event().wait()
        return "sound"

    gauge = Gauge(read)
    first = await gauge.current()
    assert (first.value, first.is_stale) == ("sound", False)
    hanging.set()
    monkeypatch.setattr(measuring, "FRESH_S", 0.0)
    monkeypatch.setattr(measuring, "PATIENCE_S", 0.01)
    monkeypatch.setattr(measuring, "STALE_S", 0.01)
    later = await gauge.current()
    assert (later.value, later.at) == ("sound", first.at)
    assert later.age_s >= 0.01
    assert later.is_stale
    monkeypatch.setattr(measuring, "LONGEST_S", 0.01)
    while gauge._task is not None and not gauge._task.done():  # the one that hangs, with the deadline of before
        gauge._task.cancel()
        await asyncio.wait({gauge._task})
    given_up = await gauge.current()
    while given_up.problem is None:
        given_up = await gauge.current()
    assert given_up.problem == "did not answer within 0.01 s"


async def test_a_measurement_that_fails_says_why_without_the_text_of_unknown_errors() -> None:
    async def unavailable() -> None:
        raise StoreUnavailable("The database cannot be reached; try again shortly.")

    async def broken() -> None:
        raise ValueError("a secret of a record")

    assert (await Gauge(unavailable).current()).problem == "The database cannot be reached; try again shortly."
    assert (await Gauge(broken).current()).problem == "could not be measured: ValueError"
