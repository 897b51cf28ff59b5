"""Background jobs in tests, run once when the test calls for them, at the test's own time, without a runner."""

from __future__ import annotations

import secrets
from collections import Counter
from dataclasses import dataclass

from fix_memory import Memory
from obstore.store import MemoryStore

from stratagraph.consolidation.job import Job, Resources
from stratagraph.consolidation.registry import build_jobs
from stratagraph.memory.imports.span_intake import SpanIntake
from stratagraph.memory.learning.extraction.extractor import Extractor
from stratagraph.memory.learning.extraction.limits import Limits
from stratagraph.memory.learning.extraction.reader import TextReader
from stratagraph.memory.learning.service import Learning
from stratagraph.memory.learning.stage import StageReport
from stratagraph.memory.learning.stages import build_follow_ups, build_stages
from stratagraph.memory.records.artifacts import Artifacts
from stratagraph.store.artifacts.blobs import Blobs


def resources_of(memory: Memory, *, artifacts: Artifacts | None = None) -> Resources:
    """Return what the jobs of one server need; each call makes another server."""
    artifacts = artifacts or Artifacts(memory.database, memory.directory, memory.clock, Blobs(MemoryStore()))
    return Resources(
        database=memory.database,
        directory=memory.directory,
        clock=memory.clock,
        artifacts=artifacts,
        failed_captures=memory.failed_captures,
        span_intake=SpanIntake(memory.database, memory.directory, memory.clock, memory.capture, artifacts),
        learning=learning_with_follow_ups_of(memory),
        owner=f"test:{secrets.token_hex(4)}",
    )


def learning_of(memory: Memory) -> Learning:
    """Return the service that learns from episodes, with all stages and no follow-ups."""
    return Learning(memory.database, memory.directory, memory.clock, build_stages())


def learning_with_follow_ups_of(
    memory: Memory,
    *,
    extractor: Extractor | None = None,
    limits: Limits | None = None,
    owner: str = "test",
    first_pause_s: float = 0.001,
) -> Learning:
    """Return the service that learns, with all stages and follow-ups; with extraction if there is an extractor."""
    parts = (memory.database, memory.directory, memory.clock)
    reader = TextReader(*parts, extractor, owner=owner, first_pause_s=first_pause_s) if extractor is not None else None
    follow_ups = build_follow_ups(
        memory.database, memory.directory, memory.clock, owner=owner, reader=reader, limits=limits
    )
    return Learning(*parts, build_stages(extracts=extractor is not None), follow_ups)


async def learn(learning: Learning, memory: Memory) -> list[StageReport]:
    """Run learning to its end, and return the reports of the steps of its follow-ups; none if nothing is due."""
    run = await learning.open_run(memory.clock.now())
    if run is None:
        return []
    while await learning.run_batch(run) is not None:
        pass
    steps: list[StageReport] = []
    while (done := await learning.run_follow_up(run)) is not None:
        steps += done.stages.values()
    await learning.close_run(run)
    return steps


@dataclass
class Server:
    """The jobs of one server."""

    memory: Memory
    jobs: list[Job]

    async def run_once(self) -> Counter[str]:
        """Run every job once, now by the test's clock, and return their counts added up."""
        counts: Counter[str] = Counter()
        for job in self.jobs:
            counts.update((await job.run_once(self.memory.clock.now())).counts)
        return counts


def server_of(memory: Memory, *, artifacts: Artifacts | None = None) -> Server:
    """Make a server with all jobs; each call makes another server."""
    return Server(memory, build_jobs(resources_of(memory, artifacts=artifacts)))


async def run_jobs(memory: Memory, *, artifacts: Artifacts | None = None) -> Counter[str]:
    """Run every job once on a server of its own, and return their counts added up."""
    return await server_of(memory, artifacts=artifacts).run_once()
