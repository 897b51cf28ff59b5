"""Who waits for learning is told how far it is, for the episodes and for what is compared after them."""

from __future__ import annotations

import io
from collections.abc import Mapping
from datetime import timedelta

from fix_jobs import resources_of
from fix_memory import Memory
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console
from rich.progress import Progress

from stratagraph.consolidation.jobs.consolidate import consolidate_now
from stratagraph.consolidation.registry import build_jobs
from stratagraph.consolidation.runner import Runner
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.learning.batches import BatchDone
from stratagraph.memory.learning.follow_ups import Prepared
from stratagraph.service.cli.consolidate import _Shown
from stratagraph.store.model.enums import SourceKind


class Told:
    """What a run told of its progress."""

    def __init__(self) -> None:
        self.steps: list[Prepared] = []
        self.episodes = 0
        self.left: list[Mapping[str, int]] = []

    def prepared(self, step: Prepared) -> None:
        self.steps.append(step)

    def learned(self, batch: BatchDone) -> None:
        self.episodes += batch.episodes + batch.set_aside

    def remains(self, waiting: Mapping[str, int]) -> None:
        self.left.append(waiting)


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 4), st.integers(0, 250))
async def test_a_run_tells_what_remains_until_nothing_does(memory: Memory, threads: int, facts: int) -> None:
    resources = resources_of(memory)
    runner = Runner(memory.database, memory.clock, build_jobs(resources), owner="one")
    for number in range(threads):
        await memory.turn(f"message {number}", thread=f"t{number}")
        await memory.remember(SourceKind.OUTCOME, {"thread_id": f"t{number}", "outcome_status": "success"})
    for first in range(0, facts, 50):
        contents = [
            {"subject": "Host", "predicate": f"port_{number}", "object": str(number)}
            for number in range(first, min(facts, first + 50))
        ]
        await memory.capture.capture(
            memory.trust,
            [CaptureRequest(source="s", source_kind=SourceKind.OBSERVATION, content=content) for content in contents],
        )
    memory.clock.forward(timedelta(hours=7))
    due, _ = await resources.learning.due(memory.clock.now())
    told = Told()
    assert await consolidate_now(runner, resources.learning, (), progress=told) is not None
    assert told.episodes == due
    left = [one["duplicates"] for one in told.left]
    assert left == sorted(left, reverse=True)
    if left:
        assert left[-1] == 0
    existing = [step for step in told.steps if step.what == "records"]
    assert [step.left for step in existing] == sorted((step.left for step in existing), reverse=True)
    assert all(step.left == 0 for step in existing[-1:])


def test_the_bars_name_what_is_done_and_how_much_remains() -> None:
    shown = io.StringIO()
    progress = Progress(console=Console(file=shown, force_terminal=True, width=100), auto_refresh=False)
    with progress:
        bars = _Shown(progress)
        assert [(task.description, task.total) for task in progress.tasks] == [("Learning from episodes", None)]
        bars.begins(0)
        for step in (Prepared("records", 20, 20), Prepared("records", 20, 0), Prepared("names", 5, 15)):
            bars.prepared(step)
        bars.remains({"duplicates": 0})
        bars.remains({"duplicates": 300, "semantic-extractor": 0})
        bars.remains({"duplicates": 200, "semantic-extractor": 0})
        tasks = {task.description: (task.completed, task.total) for task in progress.tasks}
        assert tasks == {
            "Learning from episodes": (0, 0),
            "Reading names": (5, 20),
            "Comparing records": (100, 300),
        }
        bars.remains({"duplicates": 450})  # the run itself has changed records
        assert [(task.completed, task.total) for task in progress.tasks[2:]] == [(0, 450)]
        progress.refresh()
    assert "Comparing records" in shown.getvalue()
