"""The state of the parts of the service, measured on request, at most once a second for all who ask."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Generic, TypeVar

from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.worker import CONSUMER
from stratagraph.store.feed.consumer import Lag, measure_lags
from stratagraph.store.jobs.leases import JobLeases, JobState
from stratagraph.store.jobs.queues import count_queues
from stratagraph.store.mirror.status import MirrorStatus, read_mirror_status
from stratagraph.store.model.errors import StatementFailed, StratagraphError
from stratagraph.store.postgres.database import Database
from stratagraph.store.postgres.migrating import find_newer_revision
from stratagraph.store.postgres.partitions import count_default_rows
from stratagraph.store.postgres.probing import Probe
from stratagraph.store.records.census import Census, fetch_census_of_all
from stratagraph.store.search.embeddings import EmbeddingModel, list_models
from stratagraph.store.search.outcomes import RetrievalUse, sum_use

FRESH_S = 1.0  # a measurement is used for so long
PATIENCE_S = 2.0  # for which a question waits for a new measurement, before it gets the last one with its age
LONGEST_S = 10.0  # after which a measurement is given up
STALE_S = 5.0  # age from which a measurement is reported as stale
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured(Generic[T_co]):
    """A measurement: a `value`, or the `problem` that prevented it. `at` is its time, `age_s` its age in seconds."""

    value: T_co | None
    problem: str | None
    at: datetime
    age_s: float

    @property
    def is_stale(self) -> bool:
        """Whether it is too old to say how the part is now."""
        return self.age_s > STALE_S


class Gauge(Generic[T]):
    """One value. One task measures it for all that ask at the same time. Asking never raises."""

    def __init__(self, read: Callable[[], Awaitable[T]]) -> None:
        self._read = read
        self._task: asyncio.Task[None] | None = None
        self._value: T | None = None
        self._problem: str | None = "was not measured yet"
        self._is_measured = False
        self._at, self._since = datetime.now(UTC), time.monotonic()

    async def current(self) -> Measured[T]:
        """Return a measurement that is at most FRESH_S old, or the last one if a new one takes over PATIENCE_S."""
        if not self._is_measured or time.monotonic() - self._since >= FRESH_S:
            if self._task is None or self._task.done():
                self._task = asyncio.create_task(self._measure(), name="measurement")
            await asyncio.wait({self._task}, timeout=PATIENCE_S)
        return Measured(value=self._value, problem=self._problem, at=self._at, age_s=time.monotonic() - self._since)

    async def _measure(self) -> None:
        value, problem = None, None
        try:
            async with asyncio.timeout(LONGEST_S):
                value = await self._read()
        except TimeoutError:
            problem = f"did not answer within {LONGEST_S:g} s"
        except StratagraphError as error:
            problem = error.message
        except StatementFailed as error:
            problem = f"the database refused a statement: {error}"
        except Exception as error:  # a defect in one measurement must not hide the others
            problem = f"could not be measured: {type(error).__name__}"
        self._value, self._problem, self._is_measured = value, problem, True
        self._at, self._since = datetime.now(UTC), time.monotonic()


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurements:
    """The gauges of one process.

    `neo4j` and `mirror` are None without a mirror, and `embedding` and `unembedded` without an embedder. `is_mirrored`
    returns False while a local one has not been started.
    """

    database: Gauge[Probe]
    newer_revision: Gauge[str | None]
    default_rows: Gauge[int]
    jobs: Gauge[list[JobState]]
    lags: Gauge[dict[str, Lag]]
    queues: Gauge[Mapping[str, int]]
    use: Gauge[RetrievalUse]
    census: Gauge[Census]
    mirror: Gauge[MirrorStatus] | None
    neo4j: Gauge[None] | None
    is_mirrored: Callable[[], bool] = lambda: True
    embedding: Gauge[list[EmbeddingModel]] | None = None
    unembedded: Gauge[int] | None = None

    @classmethod
    def of(
        cls,
        database: Database,
        jobs: JobLeases,
        mirror: Mirror | None,
        *,
        known: Collection[str] | None = None,
        unembedded: Callable[[], Awaitable[int]] | None = None,
    ) -> Measurements:
        """Return the gauges of a process.

        `known` are the jobs that it knows, by default all: the state of another one, which some setting has turned off
        since, is left out. `unembedded` counts the records that wait for a vector; None without an embedder.
        """

        async def states() -> list[JobState]:
            return [one for one in await jobs.states() if known is None or one.name in known]

        return cls(
            database=Gauge(database.probe),
            newer_revision=Gauge(lambda: find_newer_revision(database)),
            default_rows=Gauge(lambda: count_default_rows(database)),
            jobs=Gauge(states),
            lags=Gauge(lambda: measure_lags(database)),
            queues=Gauge(lambda: count_queues(database)),
            use=Gauge(lambda: sum_use(database)),
            census=Gauge(lambda: fetch_census_of_all(database)),
            mirror=Gauge(lambda: read_mirror_status(database, CONSUMER)) if mirror is not None else None,
            neo4j=Gauge(mirror.ping) if mirror is not None else None,
            is_mirrored=lambda: mirror is None or mirror.is_found,
            embedding=Gauge(lambda: list_models(database)) if unembedded is not None else None,
            unembedded=Gauge(unembedded) if unembedded is not None else None,
        )
