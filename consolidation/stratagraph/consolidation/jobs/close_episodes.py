"""Close the episodes of threads without a capture for 30 minutes; give each a name, a text and search terms."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from stratagraph.consolidation.job import JobConfig, JobResult, Resources, repeat
from stratagraph.memory.capture.episodes import close_episodes
from stratagraph.store.feed.changes import append_changes
from stratagraph.store.jobs.isolation import process_or_set_aside
from stratagraph.store.postgres.database import Connection, Role
from stratagraph.store.records.episode_endings import lock_silent_episodes, postpone_closing


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseEpisodesConfig(JobConfig):
    """The interval and batch sizes of CloseEpisodes."""

    interval_s: float = 2.0
    batch: int = 100  # episodes closed in one transaction
    batches: int = 100  # transactions in one run


class CloseEpisodes:
    """Closes every open episode whose `closes_at` has passed. An episode that cannot be closed is set aside."""

    name = "close-episodes"
    summary = "Close episodes of threads that have been silent for 30 minutes."

    def __init__(self, resources: Resources, config: CloseEpisodesConfig | None = None) -> None:
        self._resources = resources
        self.config = config or CloseEpisodesConfig()

    async def run_once(self, now: datetime) -> JobResult:
        """Close episodes in `batches` transactions of `batch`; `more` if as many were due."""
        return await repeat(lambda: self._batch(now), times=self.config.batches)

    async def _batch(self, now: datetime) -> JobResult:
        failed = 0
        async with self._resources.database.background(Role.JOBS) as connection:
            due = await lock_silent_episodes(connection, now=now, limit=self.config.batch)
            # After the locks are taken: from then on a reader of the past waits for this transaction.
            at = max(now, self._resources.clock.now())
            by_tenant: dict[int, list[UUID]] = defaultdict(list)
            for tenant, id_ in due:
                by_tenant[tenant].append(id_)
            for tenant, ids in sorted(by_tenant.items()):
                failed += await self._close(connection, tenant, ids, at)
        counts = {"episodes_closed": len(due) - failed, "set_aside": failed}
        return JobResult(counts=counts, more=len(due) == self.config.batch)

    async def _close(self, connection: Connection, number: int, ids: Sequence[UUID], at: datetime) -> int:
        """Close locked episodes of one tenant; return how many were set aside."""
        directory = self._resources.directory
        tenant = await directory.tenant_by_id(number)

        async def close(episodes: Sequence[UUID]) -> None:
            changes = await close_episodes(connection, directory, tenant, episodes, at=at)
            await append_changes(connection, tenant, changes)

        _, failures = await process_or_set_aside(
            connection, self.name, ids, close, key=lambda id_: (number, id_), at=at
        )
        for id_, failure in failures.items():
            await postpone_closing(connection, number, id_, until=failure.retry_at)
        return len(failures)
