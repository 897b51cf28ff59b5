"""Delete old entries of the retrieval log, and store and delete snapshots of the feed.

Readers of the past find out by the snapshots whether an instant is settled, also where no mirror stores them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from stratagraph.consolidation.job import JobConfig, JobResult, Resources
from stratagraph.store.feed.snapshots import SnapshotWriter, trim_snapshots
from stratagraph.store.postgres.database import Role
from stratagraph.store.search.retrievals import RETENTION, delete_old_retrievals


@dataclass(frozen=True, slots=True, kw_only=True)
class TrimLogsConfig(JobConfig):
    """The interval and batch size of TrimLogs."""

    interval_s: float = 2.0
    batch: int = 5_000  # retrievals, and as many snapshots, deleted in one run


class TrimLogs:
    """Deletes entries of the retrieval log older than RETENTION (7 days), and snapshots that bound no unread window.

    Stores a snapshot if the log has grown since the last one.
    """

    name = "trim-logs"
    summary = "Delete old entries of the retrieval log and snapshots that every consumer has passed."

    def __init__(self, resources: Resources, config: TrimLogsConfig | None = None) -> None:
        self._database = resources.database
        self._snapshots = SnapshotWriter(resources.database)
        self.config = config or TrimLogsConfig()

    async def run_once(self, now: datetime) -> JobResult:
        """Delete up to `batch` entries and up to `batch` snapshots; `more` if that many entries were deleted."""
        await self._snapshots.take_snapshot()
        async with self._database.background(Role.JOBS) as connection:
            deleted = await delete_old_retrievals(connection, before=now - RETENTION, limit=self.config.batch)
            await trim_snapshots(connection, limit=self.config.batch)
        return JobResult(counts={"retrievals_deleted": deleted}, more=deleted == self.config.batch)
