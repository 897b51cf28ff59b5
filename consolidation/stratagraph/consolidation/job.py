"""What a background job is: a name, a config, and `run_once(now) -> JobResult`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from stratagraph.memory.artifacts import Artifacts
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.clock import Clock
from stratagraph.store.postgres.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class JobConfig:
    """When a job runs. A job's own config adds how much it does at once."""

    interval_s: float  # from the end of one run to the beginning of the next, over all servers together
    deadline_s: float = 300.0  # after which a run is stopped and counts as failed
    longest_pause_s: float = 600.0  # between attempts of a job that keeps failing; the pause doubles up to here


@dataclass(frozen=True, slots=True, kw_only=True)
class JobResult:
    """What one run did. `counts` name what was counted; `more` asks for another run at once."""

    counts: Mapping[str, int] = field(default_factory=dict)
    more: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """What jobs are built from. `owner` names this server among all that run jobs."""

    database: Database
    directory: Directory
    clock: Clock
    artifacts: Artifacts
    owner: str


class Job(Protocol):
    """A background job. It may be stopped at any instant and run again: each transaction leaves the store whole.

    `name` identifies the job in the database, in logs and on the command line; `summary` says in one line what it does.
    """

    @property
    def name(self) -> str: ...

    @property
    def summary(self) -> str: ...

    @property
    def config(self) -> JobConfig: ...

    async def run_once(self, now: datetime) -> JobResult:
        """Process what is due at `now`, in bounded batches. What fails raises; what was committed until then stays."""
        ...
