"""An outcome that is reported after learning has read its episode is learned from, once."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest
from fix_jobs import resources_of
from fix_learning import capture_episode, run_learning, stored_records
from fix_memory import Memory
from sqlalchemy import text

from stratagraph.consolidation.jobs.close_episodes import CloseEpisodes
from stratagraph.memory.capture.episodes import NEED_OUTCOME
from stratagraph.memory.learning.stages import build_stages
from stratagraph.store.learning.episodes import OUTCOME_WAIT
from stratagraph.store.model.enums import SourceKind

LEARNED = ("semantic", "competence", "plan_graph")


async def learned(memory: Memory) -> list[tuple[object, ...]]:
    """Return what is current of the facts, skills and plans that were learned, without ids and times."""
    found = (await stored_records(memory)).values()
    return sorted(
        (one[0], one[2], len(one[5]), round(one[6], 6), one[4].get("metrics", {}).get("execution_count", 0))
        for one in found
        if one[0] in LEARNED and one[1] == "active"
    )


async def close_silent(memory: Memory) -> None:
    memory.clock.forward(timedelta(minutes=31))
    await CloseEpisodes(resources_of(memory)).run_once(memory.clock.now())
    memory.clock.forward(OUTCOME_WAIT)


async def report(memory: Memory, thread: str, outcome: str) -> None:
    await memory.remember(SourceKind.OUTCOME, {"thread_id": thread, "outcome_status": outcome})


@pytest.mark.parametrize("seed", [1, 2])
async def test_what_is_learned_is_the_same_whenever_outcomes_come(memory: Memory, seed: int) -> None:
    """Some threads have their outcome before learning, in one scope, and after it, in the other."""
    rng = random.Random(seed)
    outcomes = {f"thread {n}": rng.choice(["success", "success", "failure"]) for n in range(5)} | {"last": "success"}
    events = {thread: rng.sample(["found the key", "opened the door", "lit the lamp"], 2) for thread in outcomes}
    for thread in outcomes:
        await capture_episode(memory, thread, None, events[thread])
    await close_silent(memory)
    assert sum(batch.episodes for batch in await run_learning(memory)) == len(outcomes)
    assert await learned(memory) == []
    for thread in rng.sample(sorted(outcomes), len(outcomes)):
        await report(memory, thread, outcomes[thread])
        if rng.random() < 0.5:
            await run_learning(memory)
    done = await run_learning(memory)
    assert all(set(batch.stages) <= NEED_OUTCOME for batch in done)
    assert await run_learning(memory) == []
    late = await learned(memory)
    assert late
    summaries = [one for one in (await stored_records(memory)).values() if "episode_summary" in str(one[4])]
    assert len(summaries) == len(outcomes)
    await check_same_in_time(memory, outcomes, events, late)


async def check_same_in_time(
    memory: Memory, outcomes: dict[str, str], events: dict[str, list[str]], late: list[tuple[object, ...]]
) -> None:
    """Compare with episodes of another scope whose outcomes came at once."""
    scope = "project:b"
    for thread, outcome in outcomes.items():
        await capture_episode(memory, thread, outcome, events[thread], scope=scope)
    await run_learning(memory)
    both = await learned(memory)
    assert both == sorted([*late, *late])


async def test_an_episode_of_which_something_was_deleted_is_not_read_again(memory: Memory) -> None:
    """What is left of it would teach procedures that nobody carried out."""
    await capture_episode(memory, "one", None)
    await close_silent(memory)
    await run_learning(memory)
    (member,) = await memory.rows("SELECT record FROM episode_event ORDER BY position DESC LIMIT 1")
    async with memory.database.engine.begin() as connection:
        await connection.execute(text("DELETE FROM episode_event WHERE record = :record"), dict(member))
    await report(memory, "one", "success")
    assert await run_learning(memory) == []
    assert await learned(memory) == []


def test_stages_that_need_an_outcome_exist() -> None:
    assert {stage.name for stage in build_stages()} > NEED_OUTCOME
