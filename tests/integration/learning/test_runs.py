"""Runs of learning: what a run learns from closed episodes, once each, and how it is stopped and resumed."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from fix_jobs import learning_of, resources_of
from fix_learning import capture_episode, run_learning, runs_of, stored_records
from fix_memory import Memory
from sqlalchemy import text

from stratagraph.consolidation.jobs.consolidate import Consolidate, ConsolidateConfig
from stratagraph.memory.learning import preview
from stratagraph.memory.learning.service import BATCH, Learning
from stratagraph.memory.learning.stage import LearningBatch, StageReport
from stratagraph.memory.learning.structural_facts import StructuralFacts
from stratagraph.store.learning.episodes import OUTCOME_WAIT
from stratagraph.store.model.enums import MemoryType, Sensitivity


async def facts(memory: Memory) -> dict[str, float]:
    """Return the present salience of the facts `observed_in`, by their object."""
    found = await stored_records(memory)
    return {
        record[4]["object"]: record[7]
        for record in found.values()
        if record[0] == "semantic" and record[4]["predicate"] == "observed_in"
    }


async def test_each_episode_counts_once_however_often_learning_runs(memory: Memory) -> None:
    await capture_episode(memory, "one", events=["found the key", "opened the door"])
    await capture_episode(memory, "two", "failure", events=["broke the key"])
    (done,) = await run_learning(memory)
    assert done.episodes == 2
    assert done.stages["structural-facts"].skips == {"episodes without success": 1}
    assert facts_of_events(await facts(memory)) == {"found the key", "opened the door"}
    assert await run_learning(memory) == []
    memory.clock.forward(timedelta(days=30))  # each fact has lost half of its salience
    await capture_episode(memory, "three", events=["found the key", "found the key"])
    await run_learning(memory)
    salience = await facts(memory)
    assert abs(salience["found the key"] - 0.6) < 1e-3  # 0.1 more, once for the episode
    assert abs(salience["opened the door"] - 0.5) < 1e-3


def facts_of_events(found: dict[str, float]) -> set[str]:
    return {name for name in found if "key" in name or "door" in name}


async def test_an_episode_keeps_a_summary_and_loses_half_of_its_salience(memory: Memory) -> None:
    episode = await capture_episode(memory, "one", events=["found the key"])
    before = await stored_records(memory)
    await run_learning(memory)
    after = await stored_records(memory)
    assert abs(after[episode][7] - before[episode][7] / 2) < 1e-6
    summaries = [
        one for one in after.values() if (one[4].get("timeline") or [{}])[0].get("event_kind") == "episode_summary"
    ]
    assert [one[3].splitlines()[0] for one in summaries] == ["Do one"]
    assert "Tools: search." in summaries[0][3]
    assert "Outcome: success" in summaries[0][3]
    await capture_episode(memory, "two", events=["opened the door"])
    await run_learning(memory)  # the skill is made, for which the episode was kept
    memory.clock.forward(timedelta(days=2))  # what the episode was made of has faded, the summary has not
    from stratagraph.consolidation.jobs.prune import Prune

    await Prune(resources_of(memory)).run_once(memory.clock.now())
    left = await stored_records(memory)
    assert episode not in left
    assert summaries[0][3] in {one[3] for one in left.values()}


async def test_an_episode_without_an_outcome_waits_for_it(memory: Memory) -> None:
    from stratagraph.consolidation.jobs.close_episodes import CloseEpisodes

    await capture_episode(memory, "one", None)
    memory.clock.forward(timedelta(minutes=31))
    await CloseEpisodes(resources_of(memory)).run_once(memory.clock.now())
    assert await run_learning(memory) == []
    assert await learning_of(memory).due(memory.clock.now()) == (0, 1)
    memory.clock.forward(OUTCOME_WAIT)
    (done,) = await run_learning(memory)
    assert done.episodes == 1


async def test_a_stage_that_is_run_alone_leaves_the_episodes_to_the_others(memory: Memory) -> None:
    await capture_episode(memory, "one")
    learning = learning_of(memory)
    others = [stage.name for stage in learning.stages if stage.name != "compression"]
    for stages, expected in ((["compression"], ["compression"]), ([], others)):
        run = await learning.open_run(memory.clock.now(), stages)
        assert run is not None
        done = await learning.run_batch(run)
        assert done is not None
        assert list(done.stages) == expected
        assert await learning.run_batch(run) is None
        await learning.close_run(run)
    assert await run_learning(memory) == []


async def test_scopes_and_sensitivities_are_never_mixed(memory: Memory) -> None:
    places = [("project:a", Sensitivity.LOW), ("project:a", Sensitivity.HIGH), ("project:b", Sensitivity.LOW)]
    for scope, sensitivity in places:
        await capture_episode(memory, "one", events=["found the key"], scope=scope, sensitivity=sensitivity)
    done = await run_learning(memory)
    assert len(done) == len({batch.group for batch in done}) == 3
    (run,) = (await runs_of(memory).page(memory.trust)).runs
    assert [(group.scope, group.sensitivity) for group in run.groups] == places
    caller = await memory.directory.resolve(memory.trust)
    async with memory.database.writing(caller.bounds) as connection:
        crossing = await connection.execute(
            text(
                "SELECT count(*) FROM relation e JOIN record s ON s.id = e.source JOIN record t ON t.id = e.target"
                " WHERE t.type IN (4, 5, 6) AND s.type = 1 AND (s.scope, s.sensitivity) <> (t.scope, t.sensitivity)"
            )
        )
        assert crossing.scalar_one() == 0
        assert (
            await connection.execute(text("SELECT count(*) FROM record WHERE type = 4 AND name LIKE '%found the key'"))
        ).scalar_one() == 2  # the third is sealed


class Refusing:
    """A stage that cannot learn from the episodes of some threads."""

    name = "structural-facts"
    summary = "Refuse."

    def __init__(self, *threads: str) -> None:
        self.threads = threads

    async def learn(self, batch: LearningBatch) -> StageReport:
        done = await StructuralFacts().learn(batch)
        if any(episode.thread in self.threads for episode in batch.episodes):
            raise ValueError("cannot read this")
        return done


async def test_an_episode_that_fails_is_set_aside_and_the_others_are_learned_from(memory: Memory) -> None:
    for name in ("one", "two", "three"):
        await capture_episode(memory, name, events=[f"found {name} key"])
    learning = Learning(memory.database, memory.directory, memory.clock, [Refusing("two")])
    (done,) = await run_learning(memory, learning)
    assert (done.episodes, done.set_aside) == (2, 1)
    assert facts_of_events(await facts(memory)) == {"found one key", "found three key"}
    assert await run_learning(memory, learning) == []  # it is tried again later
    memory.clock.forward(timedelta(minutes=2))
    learning = Learning(memory.database, memory.directory, memory.clock, [StructuralFacts()])
    (done,) = await run_learning(memory, learning)
    assert done.episodes == 1
    caller = await memory.directory.resolve(memory.trust)
    async with memory.database.writing(caller.bounds) as connection:
        waiting = await connection.execute(text("SELECT count(*) FROM episode WHERE learn_after IS NOT NULL"))
        assert waiting.scalar_one() == 0


async def test_a_dry_run_changes_nothing_and_says_what_a_run_then_does(memory: Memory) -> None:
    for name in ("one", "two"):
        await capture_episode(memory, name, events=["found the key"])
    before = await stored_records(memory)
    learning = learning_of(memory)
    foretold = await learning.preview(memory.clock.now(), [], most=BATCH)
    assert await stored_records(memory) == before
    done = await run_learning(memory)
    assert [batch.stages for batch in foretold] == [batch.stages for batch in done]


class Paused:
    """Structural facts, after which the first batches wait until they are cancelled."""

    name = "structural-facts"
    summary = "Wait."

    def __init__(self, times: int) -> None:
        self.times = times
        self.is_paused = asyncio.Event()

    async def learn(self, batch: LearningBatch) -> StageReport:
        done = await StructuralFacts().learn(batch)
        self.times -= 1
        if self.times >= 0:
            self.is_paused.set()
            await asyncio.Event().wait()
        return done


async def test_a_capture_does_not_wait_for_a_dry_run_of_its_group(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The dry run gives way, as long as it takes, and then looks again."""
    monkeypatch.setattr(preview, "PAUSE_S", 0.0)
    await memory.observe("step", "observed_in", "found the key")
    await capture_episode(memory, "one", events=["found the key"])
    stage = Paused(1)
    learning = Learning(memory.database, memory.directory, memory.clock, [stage])
    async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
        foretold = tasks.create_task(learning.preview(memory.clock.now(), [], most=BATCH))
        await stage.is_paused.wait()  # and holds the locks of the fact
        await memory.observe("step", "observed_in", "found the key", evidence=[{"kind": "human", "ref": "me"}])
    assert [batch.episodes for batch in foretold.result()] == [1]
    stage.times = preview.ATTEMPTS
    async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
        foretold = tasks.create_task(learning.preview(memory.clock.now(), [], most=BATCH))
        while not foretold.done():
            await memory.observe("step", "observed_in", "found the key")
    assert foretold.result() == []  # others were always writing
    assert [batch.episodes for batch in await run_learning(memory)] == [1]


async def test_the_job_learns_in_turns_of_one_run(memory: Memory) -> None:
    for number in range(3):
        await capture_episode(memory, f"thread {number}", scope=f"project:{number}")
    job = Consolidate(resources_of(memory), ConsolidateConfig(batches=1))
    now = memory.clock.now()
    turns = [await job.run_once(now + timedelta(minutes=number)) for number in range(5)]
    assert [turn.more for turn in turns] == [True, True, True, False, False]
    (run,) = (await runs_of(memory).page(memory.trust)).runs
    assert (run.began_at, run.episodes) == (now, 3)  # resumed with its own instant
    assert MemoryType.SEMANTIC.label in {one[0] for one in (await stored_records(memory)).values()}
