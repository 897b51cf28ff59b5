"""Episodes with any names of tools, arguments and calls are learned from; a stage that fails costs that stage alone."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from fix_episodes import MARKERS
from fix_learning import capture_episode, run_learning
from fix_memory import Memory

from stratagraph.memory.learning.competence.stage import Competence
from stratagraph.memory.learning.compression import Compression
from stratagraph.memory.learning.service import Learning
from stratagraph.memory.learning.stage import LearningBatch, Stage, StageReport
from stratagraph.memory.learning.stages import build_stages
from stratagraph.memory.records.listing import RecordFilter
from stratagraph.store.model.enums import MemoryType, RecordState, SourceKind

STAGES = {"compression", "structural-facts", "competence", "plans", "needs"}


async def lived(memory: Memory, thread: str, calls: list[dict[str, Any]], environment: dict[str, Any]) -> None:
    """Capture a whole episode with these calls, which succeeded."""
    at = memory.clock.now().isoformat()
    content = {
        "thread_id": thread,
        "timeline": [{"t": at, "event_kind": "user", "ref": "", "summary": f"please do {thread}"}],
        "tool_graph": [{"timestamp": at, **call} for call in calls],
        "environment": environment,
        "outcome": "success",
    }
    await memory.remember(SourceKind.EPISODE, content)


async def test_names_that_also_mark_something_are_learned_from(memory: Memory) -> None:
    """`sort_values(by=…)` was set aside from the second success on, and so was a tool called `by`."""
    for number in range(3):
        for name in MARKERS:
            calls = [
                {
                    "id": "x",
                    "tool": "look",
                    "args": {name: "all", "other": {name: 1}},
                    "result": {name: "list-01"},
                },
                {"id": "x#2", "tool": name, "args": {name: "list-01"}, "result": "list-01", "depends_on": ["x"]},
                {"id": name, "tool": "look", "args": {"key": "list-01"}, "result": [name], "depends_on": ["x#2"]},
                {"id": f"{name}#2", "tool": "look", "args": {}, "result": name},
            ]
            await lived(memory, f"{name} {number}", calls, {name: name})
        await run_learning(memory)
    assert await memory.rows("SELECT * FROM job_set_aside") == []
    found: dict[MemoryType, dict[str, dict[str, Any]]] = {}
    for kind in (MemoryType.COMPETENCE, MemoryType.PLAN_GRAPH):
        records = (await memory.lookup.records(memory.trust, RecordFilter(types=(kind,)), first=100)).records
        found[kind] = {
            name: record.payload or {}
            for record in records
            if record.state is RecordState.ACTIVE
            for name in {*(record.learned_tools or ())} - {"look"}
        }
        assert found[kind].keys() == {*MARKERS}
    for name in MARKERS:
        recipe = found[MemoryType.COMPETENCE][name]["recipe"]
        arguments = {step["tool"]: step["args_schema"]["properties"].keys() for step in recipe}
        assert arguments == {name: {name}, "look": {name, "other", "key"}}
        assert found[MemoryType.PLAN_GRAPH][name]["metrics"]["execution_count"] == 3


class Broken:
    """A stage that fails at every episode as long as `is_broken`, after it has written."""

    summary = "Fail."

    def __init__(self, stage: Stage) -> None:
        self.name = stage.name
        self.is_broken = True
        self._stage = stage

    async def learn(self, batch: LearningBatch) -> StageReport:
        done = await self._stage.learn(batch)
        if self.is_broken:
            raise ValueError("a text that quotes what it failed on")
        return done


def with_broken(memory: Memory, broken: Broken) -> Learning:
    stages = [broken if stage.name == broken.name else stage for stage in build_stages()]
    return Learning(memory.database, memory.directory, memory.clock, stages)


async def test_a_stage_that_fails_costs_an_episode_that_stage_alone(memory: Memory) -> None:
    broken = Broken(Competence())
    ids = [await capture_episode(memory, thread) for thread in ("one", "two", "three")]
    done = await run_learning(memory, with_broken(memory, broken))
    assert {name for batch in done for name in batch.stages} == STAGES - {"competence"}
    assert sum(batch.stages["compression"].outputs for batch in done) == 3
    assert {frozenset(row["learned_stages"]) for row in await memory.rows("SELECT learned_stages FROM episode")} == {
        frozenset(STAGES - {"competence"})
    }
    aside = await memory.rows("SELECT id, stage, error FROM job_set_aside ORDER BY id")
    assert [row["id"] for row in aside] == sorted(ids)
    assert {(row["stage"], row["error"]) for row in aside} == {
        ("competence", "ValueError in memory.learning.batches._isolated")
    }
    assert await memory.rows("SELECT id FROM record WHERE type = 5") == []
    broken.is_broken = False
    memory.clock.forward(timedelta(minutes=2))
    again = await run_learning(memory, with_broken(memory, broken))
    assert [{*batch.stages} for batch in again] == [{"competence"}]
    assert await memory.rows("SELECT * FROM job_set_aside") == []
    assert len(await memory.rows("SELECT id FROM record WHERE type = 5")) == 1
    assert await run_learning(memory) == []


async def test_what_a_failed_stage_had_written_is_rolled_back_and_not_logged(memory: Memory) -> None:
    """Compression lowers the salience of records before it fails."""
    await capture_episode(memory, "one")
    before = await memory.rows("SELECT id, s, t0 FROM salience ORDER BY id")
    await run_learning(memory, with_broken(memory, Broken(Compression())))
    old = {row["id"] for row in before}
    after = await memory.rows("SELECT id, s, t0 FROM salience ORDER BY id")
    assert [row for row in after if row["id"] in old] == before
    assert not old & {row["id"] for row in await memory.rows("SELECT id FROM learning_change")}
    assert await memory.rows("SELECT id FROM record WHERE 'summary' = ANY(tags)") == []
    assert len(await memory.rows("SELECT id FROM record WHERE type = 4")) > 0, "the other stages have learned"
