"""Close the episodes of threads without a capture for 30 minutes; give each a name, a text and search terms."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from stratagraph.consolidation.job import JobConfig, JobResult, Resources
from stratagraph.memory.episodes import close_episodes
from stratagraph.store.feed.changes import append_changes
from stratagraph.store.jobs.isolation import process_isolated
from stratagraph.store.jobs.set_aside import clear_set_aside, set_aside
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
        closed = failed = 0
        for _ in range(self.config.batches):
            due, not_closed = await self._batch(now)
            closed += due - not_closed
            failed += not_closed
            if due < self.config.batch:
                return JobResult(counts={"episodes_closed": closed, "set_aside": failed})
        return JobResult(counts={"episodes_closed": closed, "set_aside": failed}, more=True)

    async def _batch(self, now: datetime) -> tuple[int, int]:
        """Close one batch; return how many episodes were due, and how many of them could not be closed."""
        failures = 0
        async with self._resources.database.background(Role.JOBS) as connection:
            due = await lock_silent_episodes(connection, now=now, limit=self.config.batch)
            at = max(
                now, self._resources.clock.now()
            )  # after the locks: a reader of the past waits for it from then on
            by_tenant: dict[int, list[UUID]] = defaultdict(list)
            for tenant, id_ in due:
                by_tenant[tenant].append(id_)
            for tenant, ids in sorted(by_tenant.items()):
                failures += await self._close(connection, tenant, ids, at)
        return len(due), failures

    async def _close(self, connection: Connection, number: int, ids: Sequence[UUID], at: datetime) -> int:
        directory = self._resources.directory
        tenant = await directory.tenant_by_id(number)

        async def close(episodes: Sequence[UUID]) -> None:
            changes = await close_episodes(connection, directory, tenant, episodes, at=at)
            await append_changes(connection, tenant, changes)

        _, failed = await process_isolated(connection, ids, close)
        for id_, error in failed.items():
            until = await set_aside(connection, self.name, (number, id_), error, at=at)
            await postpone_closing(connection, number, id_, until=until)
        await clear_set_aside(connection, self.name, [(number, id_) for id_ in ids if id_ not in failed])
        return len(failed)
