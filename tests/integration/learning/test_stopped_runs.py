"""Learning that is stopped anywhere and run again, or run twice, leaves what it leaves when it is run once.

Random histories, with revisions of what was learned in between, told in two stores. `make soak` tells more, and kills
more processes.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

import psycopg
import pytest
from fix_learning import Kept, capture_episode, run_learning, runs_of, store_at_rest, stored_records
from fix_memory import Memory, fresh_database, memory_of
from fix_service import MASTER_KEY, Forked, environment, run_command

from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.learning import service as learning_service
from stratagraph.memory.learning.service import Learning
from stratagraph.memory.learning.stage import LearningBatch, Stage, StageReport
from stratagraph.memory.learning.stages import build_stages
from stratagraph.memory.revise.request import Reinforce, Retract, Revise
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.master import LocalMasterKey
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.model.enums import SourceKind
from stratagraph.store.postgres.database import Database

WORDS = ("found the key", "opened the door", "lit the lamp", "read the map", "asked the guard")


class StoppedError(BaseException):
    """The process ended here."""


class Stopping:
    """A stage that ends the process before or after it has learned, at random."""

    def __init__(self, stage: Stage, rng: random.Random) -> None:
        self.name, self.summary = stage.name, stage.summary
        self._stage, self._rng = stage, rng

    async def learn(self, batch: LearningBatch) -> StageReport:
        if self._rng.random() < 0.15:
            raise StoppedError
        done = await self._stage.learn(batch)
        if self._rng.random() < 0.15:
            raise StoppedError
        return done


@asynccontextmanager
async def new_memory(postgres_url: str, template: str) -> AsyncIterator[Memory]:
    with fresh_database(postgres_url, template) as url:
        async with Database(url) as database:
            memory = memory_of(database, Directory(database, Vault(database, LocalMasterKey(bytes(32)))))
            yield memory


async def tell(memory: Memory, seed: int, *, stopping: bool) -> list[dict[str, int]]:
    """Tell the history of `seed`; with `stopping`, learning is stopped at random, and repeated when it has ended.

    Returns what the reports count, of all runs together.
    """
    rng, stops = random.Random(seed), random.Random(-seed)
    for chapter in range(3):
        for number in range(rng.randint(1, 4)):
            events = rng.choices(WORDS, k=rng.randint(1, 3))
            outcome = rng.choice(["success", "success", "failure", "partial"])
            scope = rng.choice(["project:a", "project:b"])
            await capture_episode(memory, f"{chapter}.{number}", outcome, events, scope=scope)
        memory.clock.forward(timedelta(hours=rng.randint(1, 50)))
        if rng.random() < 0.5:
            await memory.observe("step", "observed_in", rng.choice(WORDS), scope="project:a")
        await learn(memory, stops if stopping else None)
        await revise(memory, rng)
    runs = (await runs_of(memory).page(memory.trust, first=100)).runs
    return [{stage.name: stage.report.inputs for stage in run.stages} for run in reversed(runs)]


async def learn(memory: Memory, stops: random.Random | None) -> None:
    if stops is None:
        await run_learning(memory)
        return
    stages = [Stopping(stage, stops) for stage in build_stages()]
    learning = Learning(memory.database, memory.directory, memory.clock, stages)
    while True:
        try:
            await run_learning(memory, learning)
        except StoppedError:
            continue
        break
    assert await run_learning(memory) == []


async def revise(memory: Memory, rng: random.Random) -> None:
    """Revise some of what was learned, chosen by its content."""
    for object_ in rng.sample(WORDS, 2):
        make: type[Revise] = rng.choice([Retract, Reinforce])
        found = sorted(
            (one[3], id_)
            for id_, one in (await stored_records(memory)).items()
            if one[0] == "semantic" and one[1] == "active" and one[4]["object"] == object_
        )
        for _, id_ in found[:1]:
            await memory.revision.revise(memory.trust, make(record_id=id_, rationale="by hand"))


async def check(postgres_url: str, template: str, seed: int) -> None:
    async with new_memory(postgres_url, template) as once, new_memory(postgres_url, template) as stopped:
        reports = await tell(once, seed, stopping=False), await tell(stopped, seed, stopping=True)
        assert reports[0] == reports[1]
        assert await store_at_rest(once) == await store_at_rest(stopped)
        await check_undo(once, seed)


async def check_undo(memory: Memory, seed: int) -> None:
    """Learn once more, and undo it: what existed before is as it was."""
    rng = random.Random(seed)
    for number in range(3):
        await capture_episode(memory, f"last.{number}", events=rng.choices(WORDS, k=2), scope="project:a")
    before = await stored_records(memory)
    await run_learning(memory)
    (run,) = (await runs_of(memory).page(memory.trust, first=1)).runs
    undone = await runs_of(memory).undo(memory.trust, run.id, rationale="too eager")
    assert (undone.kept, undone.is_complete) == ((), True)
    after = await stored_records(memory)
    assert {id_: after[id_] for id_ in before} == before
    assert {after[id_][1] for id_ in after.keys() - before.keys()} == {"retracted"}


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning_service, "BATCH", 2)


@pytest.mark.parametrize("seed", [1])
async def test_learning_that_is_stopped_leaves_what_it_leaves_otherwise(
    postgres_url: str, template_database: str, seed: int
) -> None:
    await check(postgres_url, template_database, seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1_000, 1_050))
async def test_learning_that_is_stopped_leaves_what_it_leaves_otherwise_in_many_histories(
    postgres_url: str, template_database: str, seed: int
) -> None:
    await check(postgres_url, template_database, seed)


async def capture_many(memory: Memory, threads: int, rng: random.Random) -> None:
    """Capture closed episodes in a few transactions."""
    requests = []
    for number in range(threads):
        for event in rng.choices(WORDS, k=2):
            content = {"thread_id": f"t{number}", "event_kind": "step", "summary": event}
            requests.append(CaptureRequest(source="test", source_kind=SourceKind.EVENT, content=content))
        done = {"thread_id": f"t{number}", "outcome_status": rng.choice(["success", "failure"])}
        requests.append(CaptureRequest(source="test", source_kind=SourceKind.OUTCOME, content=done))
    for start in range(0, len(requests), 300):
        await memory.capture.capture(memory.trust, requests[start : start + 300], batch=True)


async def check_kills(postgres_url: str, template: str, *, kills: int, threads: int, seed: int) -> None:
    """Kill `stratagraph consolidate` at random points, and run it to its end; compare with a run to the end alone."""
    rng = random.Random(seed)
    with fresh_database(postgres_url, template) as filled:
        async with Database(filled) as database:
            memory = memory_of(database, Directory(database, Vault(database, LocalMasterKey(bytes(32)))))
            memory.trust = replace(memory.trust, tenant="default")
            await capture_many(memory, threads, rng)
            source = database.engine.url.database
        with fresh_database(postgres_url, source) as one, fresh_database(postgres_url, source) as other:
            code, _, err = await run_command(
                "consolidate", "--json", env=environment(database_url=one, master_key=MASTER_KEY)
            )
            assert code == 0, err
            landed = 0
            for _ in range(kills):
                landed += _kill_once(other, rng)
            code, _, err = await run_command(
                "consolidate", "--json", env=environment(database_url=other, master_key=MASTER_KEY)
            )
            assert code == 0, err
            first, second = [await _at_rest(url) for url in (one, other)]
    assert landed > 0
    assert [kept.what for kept in first[0]] == [kept.what for kept in second[0]]
    for a, b in zip(first[0], second[0], strict=True):  # they were learned some seconds apart
        assert abs(a.salience - b.salience) < 0.05
    assert first[1] == second[1]


async def _consolidate(url: str) -> None:
    code, _, err = await run_command("consolidate", "--json", env=environment(database_url=url, master_key=MASTER_KEY))
    assert code == 0, err


def _kill_once(url: str, rng: random.Random) -> bool:
    """Start learning, and kill its process at a random point after it has begun; return whether it was still running.

    Its lease is ended, as 15 seconds later it would be by itself.
    """
    with psycopg.connect(url, autocommit=True) as connection, tempfile.TemporaryFile("w+") as err:
        process = Forked(["consolidate", "--json"], environment(database_url=url, master_key=MASTER_KEY), err)
        steps = rng.randint(0, 200)
        has_begun = False
        while process.poll() is None and steps:
            row = connection.execute("SELECT EXISTS (SELECT FROM learning_run)").fetchone()
            assert row is not None
            has_begun = has_begun or row[0]
            steps -= has_begun
        was_running = process.poll() is None
        process.kill()
        process.wait()
        process.stdout.close()
        connection.execute("UPDATE job SET lease_until = '-infinity' WHERE name = 'consolidate'")
    return was_running


async def _at_rest(url: str) -> tuple[list[Kept], list[str]]:
    async with Database(url) as database:
        memory = memory_of(database, Directory(database, Vault(database, LocalMasterKey(bytes(32)))))
        memory.trust = replace(memory.trust, tenant="default")
        return await store_at_rest(memory)


async def test_five_kills_change_nothing(postgres_url: str, template_database: str) -> None:
    await check_kills(postgres_url, template_database, kills=5, threads=120, seed=1)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(10))
async def test_fifty_kills_change_nothing(postgres_url: str, template_database: str, seed: int) -> None:
    await check_kills(postgres_url, template_database, kills=5, threads=400, seed=100 + seed)
