"""Captures of one credential that arrive together share a transaction, and are otherwise as if captured alone."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest
from fix_memory import Memory, until

from stratagraph.memory.capture import sharing
from stratagraph.memory.capture.answers import Captured
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.store.model.enums import SourceKind
from stratagraph.store.model.errors import IdempotencyMismatch, StoreUnavailable

WAITING = "FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"


def event(number: int, *, thread: str = "t", **more: Any) -> CaptureRequest:
    content = {"event_kind": "message", "ref": f"event-{number}", "summary": f"said {number}", "thread_id": thread}
    context = {"mentions": [{"name": "Ada", "type": "Person"}]}
    return CaptureRequest(source="test", source_kind=SourceKind.EVENT, content=content, context=context, **more)


def fact(value: str, **more: Any) -> CaptureRequest:
    content = {"subject": "Ada", "predicate": "lives_in", "object": value, **more}
    return CaptureRequest(source="test", source_kind=SourceKind.OBSERVATION, content=content)


async def together(memory: Memory, *requests: CaptureRequest) -> list[Any]:
    """Capture the requests at the same time; return the answer or the error of each."""
    tasks = [memory.capture.capture(memory.trust, [request]) for request in requests]
    return [
        one if isinstance(one, BaseException) else one[0]
        for one in await asyncio.gather(*tasks, return_exceptions=True)
    ]


async def statements(memory: Memory, *requests: CaptureRequest) -> int:
    before = memory.database.statements
    assert all(isinstance(one, Captured) for one in await together(memory, *requests))
    return memory.database.statements - before


@pytest.fixture
async def warm(memory: Memory) -> Memory:
    """A memory that knows Ada, the thread and the predicate, so that captures need nothing before they are written."""
    for request in (event(0), event(1), fact("Bath")):
        await memory.capture.capture(memory.trust, [request])
    return memory


async def test_captures_that_arrive_together_take_the_statements_of_a_batch(warm: Memory) -> None:
    before = warm.database.statements
    await warm.capture.capture(warm.trust, [event(number) for number in range(10, 20)], batch=True)
    of_a_batch = warm.database.statements - before
    assert await statements(warm, *(event(number) for number in range(20, 30))) <= of_a_batch
    # The most that share a transaction; the others share the next one.
    many = [event(number) for number in range(100, 100 + 2 * sharing.MAX_SHARING)]
    assert await statements(warm, *many) <= 2 * of_a_batch


async def test_events_of_a_thread_keep_the_order_of_their_arrival(warm: Memory) -> None:
    done = await together(warm, *(event(number) for number in range(2, 80)))
    follows = {edge.source: edge.target for one in done for edge in one.edges if edge.predicate == "follows"}
    ids = [one.primary.id for one in done]
    assert [follows[id_] for id_ in ids[1:]] == ids[:-1]


async def test_a_capture_that_fails_fails_alone(warm: Memory) -> None:
    overlapping = fact("York", revision_policy="fork")
    one, failed, two = await together(warm, event(10), overlapping, event(11))
    assert type(failed).__name__ == "ConditionsOverlap"
    assert failed.path == ["content", "validity"]
    assert (one.primary.text, two.primary.text) == ("said 10", "said 11")


async def test_one_idempotency_key_is_stored_once(warm: Memory) -> None:
    one, same, other = await together(
        warm, event(10, idempotency_key="k"), event(10, idempotency_key="k"), event(11, idempotency_key="k")
    )
    assert (one.replayed, same.replayed) == (False, True)
    assert same.primary.id == one.primary.id
    assert isinstance(other, IdempotencyMismatch)


async def test_a_caller_who_leaves_does_not_stop_the_others(warm: Memory, database_url: str) -> None:
    async with await psycopg.AsyncConnection.connect(database_url) as holder:
        await holder.execute("SELECT FROM episode FOR UPDATE")
        tasks = [asyncio.create_task(warm.capture.capture(warm.trust, [event(n)])) for n in (10, 11)]
        await until(lambda: _blocked(database_url))
        tasks[0].cancel()
        with pytest.raises(asyncio.CancelledError):
            await tasks[0]
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(warm.capture.capture(warm.trust, [event(12)]), 0.01)
    (stayed,) = await tasks[1]
    assert stayed.primary.text == "said 11"


async def test_a_round_that_all_have_left_is_not_stored(warm: Memory, database_url: str) -> None:
    async with await psycopg.AsyncConnection.connect(database_url) as holder:
        await holder.execute("SELECT FROM episode FOR UPDATE")
        tasks = [asyncio.create_task(warm.capture.capture(warm.trust, [event(n)])) for n in (10, 11)]
        await until(lambda: _blocked(database_url))
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        await until(lambda: _not(_blocked(database_url)))
    again = await together(warm, event(10, idempotency_key="again"), event(12))
    assert [one.primary.text for one in again] == ["said 10", "said 12"]


async def test_a_blocked_thread_does_not_hold_up_another(
    warm: Memory, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharing, "PATIENCE_S", 0.05)
    async with await psycopg.AsyncConnection.connect(database_url) as holder:
        await holder.execute("SELECT FROM episode FOR UPDATE")
        blocked = [asyncio.create_task(warm.capture.capture(warm.trust, [event(n)])) for n in (10, 11)]
        await until(lambda: _blocked(database_url))
        behind = asyncio.create_task(warm.capture.capture(warm.trust, [event(12)]))
        (free,) = await warm.capture.capture(warm.trust, [fact("Leeds")])
        assert free.primary.type.label == "semantic"
        assert not any(task.done() for task in (*blocked, behind))
    done = [(await task)[0] for task in (*blocked, behind)]
    follows = {edge.source: edge.target for one in done for edge in one.edges if edge.predicate == "follows"}
    assert [follows[one.primary.id] for one in done[1:]] == [one.primary.id for one in done[:-1]]


async def test_a_lost_connection_is_told_to_all_and_nothing_is_written_twice(warm: Memory, database_url: str) -> None:
    async with await psycopg.AsyncConnection.connect(database_url) as holder:
        await holder.execute("SELECT FROM episode FOR UPDATE")
        waiting = asyncio.create_task(together(warm, event(10), event(11)))
        await until(lambda: _blocked(database_url))
        await holder.execute(f"SELECT pg_terminate_backend(pid) {WAITING}")
        done = await waiting
    assert all(type(one) is StoreUnavailable for one in done)
    assert done[0] is not done[1]
    stored = await together(warm, event(12), event(13))
    assert [one.primary.text for one in stored] == ["said 12", "said 13"]


async def _blocked(database_url: str) -> bool:
    async with await psycopg.AsyncConnection.connect(database_url) as connection:
        found = await connection.execute(f"SELECT 1 {WAITING}")
        return await found.fetchone() is not None


async def _not(found: Any) -> bool:
    return not await found
