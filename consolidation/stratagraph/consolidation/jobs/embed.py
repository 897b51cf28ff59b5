"""Give new and edited records a vector, and the existing ones when the embedder is new."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from stratagraph.consolidation.job import JobConfig, JobResult, Resources, repeat
from stratagraph.memory.embedding.filling import JOB, Filling


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedConfig(JobConfig):
    """The interval of Embed, and the batches of one run. A batch is up to 1,500 records."""

    interval_s: float = 2.0
    longest_pause_s: float = 60.0  # an embedder that was away is asked again soon
    batches: int = 10


class Embed:
    """Gives records their vectors. Runs only with an embedder; a text that it refuses is set aside."""

    name = JOB
    summary = "Embed new and edited records, and all of them when the embedder is new."

    def __init__(self, resources: Resources, config: EmbedConfig | None = None) -> None:
        assert resources.embedder is not None
        self._filling = Filling(
            resources.database, resources.directory.vault, resources.embedder, owner=resources.owner
        )
        self.config = config or EmbedConfig()

    async def run_once(self, now: datetime) -> JobResult:
        """Run at most `batches` batches; `more` if records may be left without a vector."""
        return await repeat(lambda: self._batch(now), times=self.config.batches)

    async def _batch(self, now: datetime) -> JobResult:
        done = await self._filling.batch(now)
        return JobResult(
            counts={
                "records_embedded": done.embedded,
                "texts_refused": done.refused,
                "former_vectors_removed": done.removed,
            },
            more=done.more,
        )
