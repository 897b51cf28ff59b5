"""What fails in learning is set aside, or left to the next run, and the rest is learned."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID

import pytest
from fix_examples import repeated
from fix_jobs import learn, learning_with_follow_ups_of, resources_of
from fix_learning import capture_episode, run_learning
from fix_memory import Memory
from sqlalchemy import text

from stratagraph.consolidation.jobs.consolidate import Consolidate, ConsolidateConfig
from stratagraph.memory.learning.duplicates import follow_up
from stratagraph.memory.learning.duplicates.finding import Search
from stratagraph.memory.learning.duplicates.merging import Compared, Merge, compare_claimed
from stratagraph.memory.learning.follow_ups import FollowedUp, GroupWriter
from stratagraph.memory.learning.service import Learning
from stratagraph.memory.learning.stage import LearningBatch, StageReport
from stratagraph.memory.learning.structural_facts import StructuralFacts
from stratagraph.store.learning.runs import StoredRun
from stratagraph.store.model.errors import StoreUnavailable

HOUR = timedelta(hours=1)
FIRM: dict[str, Any] = {"primary_type": "Organization", "scope": "project:a"}
FIRMS = [
    "Acme",
    "Globex",
    "Initech",
    "Umbrella",
    "Hooli",
    "Vandelay",
    "Stark",
    "Wayne",
    "Tyrell",
    "Cyberdyne",
    "Soylent",
    "Wonka",
]


class Broken:
    """A follow-up that always has something to do, and fails with `error` when it begins."""

    name = "broken"
    summary = "Fail."

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def is_due(self, now: datetime) -> bool:
        raise self.error

    async def waiting(self, now: datetime, *, most: int) -> int:
        raise self.error

    async def step(self, writer: GroupWriter, run: StoredRun) -> FollowedUp | None:
        raise self.error


class Slow:
    """A stage of which the database stops a statement if a batch has more than `most` episodes, or one of `threads`."""

    name = "structural-facts"
    summary = "Take long."

    def __init__(self, most: int, *threads: str) -> None:
        self.most, self.threads = most, threads
        self.sizes: list[int] = []

    async def learn(self, batch: LearningBatch) -> StageReport:
        self.sizes.append(len(batch.episodes))
        if len(batch.episodes) > self.most or any(episode.thread in self.threads for episode in batch.episodes):
            await batch.connection.execute(text("SET LOCAL statement_timeout = '20ms'"))
            await batch.connection.execute(text("SELECT pg_sleep(20)"))
        return await StructuralFacts().learn(batch)


def fail_for(monkeypatch: pytest.MonkeyPatch, fails: Callable[[Search, set[UUID]], bool]) -> None:
    """Let the comparison of records fail if `fails`, given the search and the queued records that were taken."""
    compare = compare_claimed

    async def compared(search: Search, merge: Merge, taken: Collection[UUID], **more: Any) -> Compared:
        done = await compare(search, merge, taken, **more)
        if fails(search, set(taken)):
            raise RuntimeError("a defect")
        return done

    monkeypatch.setattr(follow_up, "compare_claimed", compared)


async def standing(memory: Memory, *ids: UUID) -> int:
    """Return how many of the records are active."""
    return len([row for row in await memory.rows("SELECT id FROM record WHERE state = 1") if row["id"] in ids])


async def unlearned(memory: Memory) -> int:
    (row,) = await memory.rows("SELECT count(*) AS n FROM episode WHERE closed_at IS NOT NULL AND learned_at IS NULL")
    return int(row["n"])


async def unfinished(memory: Memory) -> int:
    (row,) = await memory.rows("SELECT count(*) AS n FROM learning_run")
    return int(row["n"])


async def test_a_follow_up_that_always_fails_does_not_stop_learning(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_for(monkeypatch, lambda search, taken: True)
    job = Consolidate(resources_of(memory), ConsolidateConfig(steps=1_000))
    for day in range(3):
        await capture_episode(memory, f"day {day}")
        await job.run_once(memory.clock.now())
        assert (await unlearned(memory), await unfinished(memory)) == (0, 0)
        memory.clock.forward(timedelta(days=1))


async def test_a_follow_up_that_raises_ends_for_the_run_and_the_others_go_on(memory: Memory) -> None:
    one, other = await memory.entity("Acme, Inc.", **FIRM), await memory.entity("ACME Inc", **FIRM)
    learning = learning_with_follow_ups_of(memory)
    follow_ups = [Broken(RuntimeError("a defect")), *learning.follow_ups]
    learning = Learning(memory.database, memory.directory, memory.clock, learning.stages, follow_ups)
    await learn(learning, memory)
    assert (await standing(memory, one, other), await unfinished(memory)) == (1, 0)


async def test_an_outage_is_waited_for(memory: Memory) -> None:
    await capture_episode(memory, "one")
    learning = learning_with_follow_ups_of(memory)
    follow_ups = [Broken(StoreUnavailable())]
    learning = Learning(memory.database, memory.directory, memory.clock, learning.stages, follow_ups)
    with pytest.raises(StoreUnavailable):
        await learn(learning, memory)
    assert (await unlearned(memory), await unfinished(memory)) == (0, 1)
    with pytest.raises(StoreUnavailable):
        await learn(learning, memory)


async def test_a_record_that_cannot_be_compared_is_set_aside_and_tried_again(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [
        await memory.entity(name, **FIRM)
        for name in ("Acme, Inc.", "ACME Inc", "Globex", "Initech Corp.", "INITECH corp")
    ]
    with monkeypatch.context() as patched:
        fail_for(patched, lambda search, taken: ids[2] in taken)
        done = await learn(learning_with_follow_ups_of(memory), memory)
    assert await standing(memory, *ids) == 3
    assert {"set aside: RuntimeError": 1} in [report.skips for report in done]
    assert [row["id"] for row in await memory.rows("SELECT id FROM job_set_aside")] == [ids[2]]
    assert await memory.rows("SELECT id FROM duplicate_due WHERE id = :id", id=ids[2]) == []
    twin = await memory.entity("GLOBEX", **FIRM)
    memory.clock.forward(HOUR)
    await learn(learning_with_follow_ups_of(memory), memory)
    await learn(learning_with_follow_ups_of(memory), memory)
    assert await standing(memory, ids[2], twin) == 1
    assert await memory.rows("SELECT id FROM job_set_aside") == []


@pytest.mark.parametrize("seed", range(repeated(3)))
async def test_just_the_records_that_fail_are_set_aside(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Whichever records fail alone, and whichever only together, the others are compared and merged in the same run."""
    rng = Random(seed)
    pairs = [
        (await memory.entity(f"{name}, Inc.", **FIRM), await memory.entity(f"{name.upper()} Inc", **FIRM))
        for name in FIRMS
    ]
    ids = [id_ for pair in pairs for id_ in pair]
    failing = set(rng.sample(ids, rng.randint(0, 4)))
    crowd = set(rng.sample(sorted({*ids} - failing), 3))  # which fail where all are taken at once
    with monkeypatch.context() as patched:
        fail_for(patched, lambda search, taken: bool(taken & failing) or taken >= crowd)
        await learn(learning_with_follow_ups_of(memory), memory)
    assert {row["id"] for row in await memory.rows("SELECT id FROM job_set_aside")} == failing
    assert await memory.rows("SELECT id FROM duplicate_due") == []
    expected = [1 if {*pair} - failing else 2 for pair in pairs]
    assert [await standing(memory, *pair) for pair in pairs] == expected


async def test_a_record_is_not_set_aside_for_another_one_that_failed(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A record that another transaction holds is passed over, and is free again when the next one has failed."""
    ids = sorted([await memory.entity(f"Bad {number}", **FIRM) for number in range(3)])
    compare = compare_claimed
    async with memory.database.engine.connect() as other:

        async def compared(search: Search, merge: Merge, taken: Collection[UUID], **more: Any) -> Compared:
            if ids[1] in taken:
                if len(taken) == 1:
                    await other.rollback()
                raise RuntimeError("a defect")
            return await compare(search, merge, taken, **more)

        monkeypatch.setattr(follow_up, "compare_claimed", compared)
        learning = learning_with_follow_ups_of(memory)
        run = await learning.open_run(memory.clock.now())
        assert run is not None
        await other.execute(text("SELECT FROM duplicate_due WHERE id = :id FOR UPDATE"), {"id": ids[0]})
        while await learning.run_follow_up(run) is not None:
            pass
    assert [row["id"] for row in await memory.rows("SELECT id FROM job_set_aside")] == [ids[1]]
    assert await memory.rows("SELECT id FROM duplicate_due") == []


async def test_a_failure_before_any_record_was_taken_is_blamed_on_none(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    await memory.entity("Acme", **FIRM)

    async def broken(*_: Any, **__: Any) -> list[UUID]:
        raise RuntimeError("a defect")

    monkeypatch.setattr(follow_up, "claim_due", broken)
    await learn(learning_with_follow_ups_of(memory), memory)
    assert await memory.rows("SELECT id FROM job_set_aside") == []
    assert len(await memory.rows("SELECT id FROM duplicate_due")) == 1
    assert await unfinished(memory) == 0


async def test_a_group_that_keeps_failing_is_left_to_the_next_run(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = [await memory.entity(f"Bad {number}", **FIRM) for number in range(5)]
    good = [
        await memory.entity(name, primary_type="Organization", scope="project:b") for name in ("Acme, Inc.", "ACME Inc")
    ]
    (row,) = await memory.rows("SELECT scope FROM record WHERE id = :id", id=bad[0])
    monkeypatch.setattr(follow_up, "MOST_FAILED", 2)
    fail_for(monkeypatch, lambda search, taken: search.group.scope == row["scope"])
    await learn(learning_with_follow_ups_of(memory), memory)
    assert (await standing(memory, *good), await unfinished(memory)) == (1, 0)
    assert len(await memory.rows("SELECT id FROM job_set_aside")) == 2
    assert len(await memory.rows("SELECT id FROM duplicate_due")) == 3


async def test_a_batch_that_takes_too_long_is_halved(memory: Memory) -> None:
    for number in range(7):
        await capture_episode(memory, f"thread {number}")
    slow = Slow(3)
    done = await run_learning(memory, Learning(memory.database, memory.directory, memory.clock, [slow]))
    assert slow.sizes == [7, 7, 7, 6, 3, 3, 1]  # 50, 25, 12, 6 and 3 at most, and no more in this run
    assert sum(batch.episodes for batch in done) == 7


async def test_an_episode_that_takes_too_long_alone_is_set_aside(memory: Memory) -> None:
    for number in range(4):
        await capture_episode(memory, f"thread {number}")
    slow = Slow(50, "thread 2")
    done = await run_learning(memory, Learning(memory.database, memory.directory, memory.clock, [slow]))
    assert (sum(batch.episodes for batch in done), sum(batch.set_aside for batch in done)) == (3, 1)
    (aside,) = await memory.rows("SELECT error, stage FROM job_set_aside")
    assert (aside["error"].split()[0], aside["stage"]) == ("StatementTimedOut", "structural-facts")
