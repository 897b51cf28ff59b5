"""Background jobs in tests, run once when the test calls for them, at the test's own time, without a runner."""

from __future__ import annotations

import secrets
from collections import Counter
from dataclasses import dataclass

from fix_memory import Memory
from obstore.store import MemoryStore

from stratagraph.consolidation.job import Job, Resources
from stratagraph.consolidation.registry import build_jobs
from stratagraph.memory.artifacts import Artifacts
from stratagraph.store.artifacts.blobs import Blobs


def resources_of(memory: Memory, *, artifacts: Artifacts | None = None) -> Resources:
    """Return what the jobs of one server need; each call makes another server."""
    return Resources(
        database=memory.database,
        directory=memory.directory,
        clock=memory.clock,
        artifacts=artifacts or Artifacts(memory.database, memory.directory, memory.clock, Blobs(MemoryStore())),
        failed_captures=memory.failed_captures,
        owner=f"test:{secrets.token_hex(4)}",
    )


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
