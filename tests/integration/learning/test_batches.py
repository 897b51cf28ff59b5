"""One transaction of learning: how much it reads, in which order it locks, and how an episode that fails is found."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from datetime import timedelta
from uuid import UUID

import orjson
import pytest
from fix_jobs import resources_of
from fix_learning import capture_episode, run_learning
from fix_memory import Memory, until

from stratagraph.consolidation.jobs.close_episodes import CloseEpisodes
from stratagraph.memory.learning.compression import Compression
from stratagraph.memory.learning.episode import Episode
from stratagraph.memory.learning.service import Learning
from stratagraph.memory.learning.stage import LearningBatch, StageReport
from stratagraph.store.learning import episodes
from stratagraph.store.learning.episodes import OUTCOME_WAIT
from stratagraph.store.model.enums import SourceKind

Then = Callable[[LearningBatch], Awaitable[None]]


class Watched:
    """Compression, after which `then` is awaited with the batch."""

    name = "compression"
    summary = "Watch."

    def __init__(self, then: Then) -> None:
        self._then = then

    async def learn(self, batch: LearningBatch) -> StageReport:
        done = await Compression().learn(batch)
        await self._then(batch)
        return done


def watched_by(memory: Memory, then: Then) -> Learning:
    return Learning(memory.database, memory.directory, memory.clock, [Watched(then)])


async def close_silent(memory: Memory, thread: str) -> UUID:
    """Capture an episode that silence closes, without an outcome; return its id."""
    episode = await capture_episode(memory, thread, None)
    memory.clock.forward(timedelta(minutes=31))
    await CloseEpisodes(resources_of(memory)).run_once(memory.clock.now())
    return episode


async def report_outcome(memory: Memory, thread: str, outcome: str = "success") -> None:
    await memory.remember(SourceKind.OUTCOME, {"thread_id": thread, "outcome_status": outcome})


async def set_aside_by_jobs(memory: Memory) -> list[UUID]:
    return [row["id"] for row in await memory.rows("SELECT id FROM job_set_aside")]


async def test_the_episode_that_fails_is_set_aside_though_an_earlier_one_has_become_due(memory: Memory) -> None:
    await close_silent(memory, "early")  # waits for its outcome
    bad = await capture_episode(memory, "bad")
    await capture_episode(memory, "good")
    reported: list[str] = []

    async def fail(batch: LearningBatch) -> None:
        if bad in {episode.id for episode in batch.episodes}:
            if len(batch.episodes) == 1 and not reported:
                reported.append("early")
                await report_outcome(memory, "early")
            raise ValueError("cannot read this")

    await run_learning(memory, watched_by(memory, fail))
    assert await set_aside_by_jobs(memory) == [bad]
    waiting = await memory.rows("SELECT id FROM episode WHERE learned_at IS NULL")
    assert ([row["id"] for row in waiting], reported) == ([bad], ["early"])


@pytest.mark.parametrize("position", [0, 6, 15])
async def test_a_failing_episode_is_found_by_halving(memory: Memory, position: int) -> None:
    ids = [await capture_episode(memory, f"thread {number}") for number in range(16)]
    sizes: list[int] = []

    async def fail(batch: LearningBatch) -> None:
        sizes.append(len(batch.episodes))
        if ids[position] in {episode.id for episode in batch.episodes}:
            raise ValueError("cannot read this")

    (done,) = await run_learning(memory, watched_by(memory, fail))
    assert (done.episodes, done.set_aside) == (15, 1)
    assert done.stages["compression"].inputs == 15
    assert await set_aside_by_jobs(memory) == [ids[position]]
    assert len(sizes) == 10  # 16, then both halves of 16, 8, 4 and 2, then the failing one stage by stage


async def test_all_episodes_that_fail_are_set_aside(memory: Memory) -> None:
    ids = [await capture_episode(memory, f"thread {number}") for number in range(5)]
    bad = {ids[0], ids[3], ids[4]}

    async def fail(batch: LearningBatch) -> None:
        if bad & {episode.id for episode in batch.episodes}:
            raise ValueError("cannot read this")

    (done,) = await run_learning(memory, watched_by(memory, fail))
    assert (done.episodes, done.set_aside) == (2, 3)
    assert set(await set_aside_by_jobs(memory)) == bad


async def test_an_outcome_that_arrives_during_a_batch_does_not_collide_with_it(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch locks its episodes before their records, as the capture of an outcome does."""
    await close_silent(memory, "one")
    memory.clock.forward(OUTCOME_WAIT)
    outcomes: list[asyncio.Task[None]] = []
    retries: list[float] = []

    def pause(_: float, most: float) -> float:
        retries.append(most)
        return 0.0

    async def report(_: LearningBatch) -> None:
        outcomes.append(asyncio.create_task(report_outcome(memory, "one")))
        await until(lambda: _waits(memory))

    monkeypatch.setattr(random, "uniform", pause)  # that of `retrying`
    (done,) = await run_learning(memory, watched_by(memory, report))
    await asyncio.gather(*outcomes)
    assert (done.episodes, len(outcomes), retries) == (1, 1, [])
    assert [row["outcome"] for row in await memory.rows("SELECT outcome FROM episode")] == [1]


async def _waits(memory: Memory) -> bool:
    return bool(await memory.rows("SELECT FROM pg_locks WHERE NOT granted"))


def bytes_of(read: tuple[Episode, ...]) -> int:
    """Return the length of what was read of episodes, as JSON."""
    return sum(len(orjson.dumps(event.summary)) for episode in read for event in episode.events)


async def test_a_batch_is_bounded_by_bytes(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is compressed in the store counts as much as what is not."""
    monkeypatch.setattr(episodes, "READ_BYTES", 40_000)
    small = [await capture_episode(memory, f"small {number}") for number in range(3)]
    large = [await capture_episode(memory, f"large {number}", events=["x" * 15_000]) for number in range(3)]
    huge = await capture_episode(memory, "huge", events=["y" * 15_000] * 6)
    last = await capture_episode(memory, "last")
    batches: list[list[UUID]] = []
    read: list[int] = []

    async def note(batch: LearningBatch) -> None:
        batches.append([episode.id for episode in batch.episodes])
        read.append(bytes_of(batch.episodes))

    done = await run_learning(memory, watched_by(memory, note))
    assert [id_ for batch in batches for id_ in batch] == [*small, *large, huge, last]
    assert sum(one.episodes for one in done) == 8
    assert len(batches) > 3
    assert max(read) <= 40_000 + 16_000  # the member that exceeds the bound is the last one that is read
    assert [huge] in batches
