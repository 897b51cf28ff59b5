"""Delete old entries of the logs of retrievals and of learning, and store and delete snapshots of the feed.

Readers of the past find out by the snapshots whether an instant is settled, also where no mirror stores them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from stratagraph.consolidation.job import JobConfig, JobResult, Resources
from stratagraph.store.feed.snapshots import SnapshotWriter, trim_snapshots
from stratagraph.store.learning.changes import trim_changes
from stratagraph.store.learning.runs import REPORTS_KEPT, UNDO_WINDOW, trim_reports
from stratagraph.store.postgres.database import Role
from stratagraph.store.search.retrievals import RETENTION, delete_old_retrievals


@dataclass(frozen=True, slots=True, kw_only=True)
class TrimLogsConfig(JobConfig):
    """The interval and batch size of TrimLogs."""

    interval_s: float = 2.0
    batch: int = 5_000  # retrievals, and as many snapshots, learned changes and reports, deleted in one run


class TrimLogs:
    """Deletes old entries of the retrieval log, snapshots that bound no unread window, and old logs of learning.

    Entries are old after RETENTION (7 days), logs of what a run of learning changed after UNDO_WINDOW (90 days), and
    the reports of such a run after REPORTS_KEPT (a year), unless it was undone. Stores a snapshot if the log has grown
    since the last one.
    """

    name = "trim-logs"
    summary = "Delete old entries of logs and snapshots that every consumer has passed."

    def __init__(self, resources: Resources, config: TrimLogsConfig | None = None) -> None:
        self._database = resources.database
        self._snapshots = SnapshotWriter(resources.database)
        self.config = config or TrimLogsConfig()

    async def run_once(self, now: datetime) -> JobResult:
        """Delete up to `batch` entries, snapshots, changes and reports each.

        `more` if that many entries were deleted, or the changes of another run may be left.
        """
        await self._snapshots.take_snapshot()
        async with self._database.background(Role.JOBS) as connection:
            deleted = await delete_old_retrievals(connection, before=now - RETENTION, limit=self.config.batch)
            await trim_snapshots(connection, limit=self.config.batch)
        async with self._database.background(Role.JOBS) as connection:
            changes = await trim_changes(connection, before=now - UNDO_WINDOW, limit=self.config.batch)
            reports = await trim_reports(connection, before=now - REPORTS_KEPT, limit=self.config.batch)
        return JobResult(
            counts={"retrievals_deleted": deleted, "changes_deleted": changes or 0, "reports_deleted": reports},
            more=self.config.batch in (deleted, reports) or changes is not None,
        )
