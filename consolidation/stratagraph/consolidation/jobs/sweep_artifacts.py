"""Remove artifacts that no record refers to, and objects in the object store that no artifact needs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from stratagraph.consolidation.job import JobConfig, JobResult, Resources


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepArtifactsConfig(JobConfig):
    """The interval of SweepArtifacts. An object that cannot be removed is postponed and does not delay the others."""

    interval_s: float = 2.0


class SweepArtifacts:
    """Deletes artifacts that no record refers to, a day after upload at the earliest, and removes their objects."""

    name = "sweep-artifacts"
    summary = "Remove artifacts that no record refers to, and their objects."

    def __init__(self, resources: Resources, config: SweepArtifactsConfig | None = None) -> None:
        self._artifacts = resources.artifacts
        self.config = config or SweepArtifactsConfig()

    async def run_once(self, now: datetime) -> JobResult:
        """Delete and remove what is due by the clock of the artifact service; `now` is not used."""
        return JobResult(counts={"objects_removed": await self._artifacts.remove_unneeded()})
