"""The parts of a process, built from the settings: the migrated database and the services that use it."""

from __future__ import annotations

import asyncio
import importlib.metadata
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from stratagraph.consolidation.job import Resources
from stratagraph.consolidation.registry import build_jobs
from stratagraph.consolidation.runner import Runner
from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.worker import CONSUMER, SyncConfig, SyncWorker, mirror_feed
from stratagraph.graphql.services import Services
from stratagraph.memory.capture.policy import Policy
from stratagraph.memory.capture.retries import FailedCaptures
from stratagraph.memory.capture.service import Capture
from stratagraph.memory.changes.service import Changes
from stratagraph.memory.embedding.embedder import Embedder
from stratagraph.memory.embedding.filling import count_waiting
from stratagraph.memory.embedding.questions import QuestionEmbedder
from stratagraph.memory.engines.mirror import Neo4jEngine
from stratagraph.memory.engines.service import Engines
from stratagraph.memory.erase.service import Erasure
from stratagraph.memory.explore.service import Explore
from stratagraph.memory.feedback.service import Feedback
from stratagraph.memory.imports.span_intake import SpanIntake
from stratagraph.memory.learning.duplicates.review import DuplicateReview
from stratagraph.memory.learning.extraction.limits import Limits
from stratagraph.memory.learning.extraction.reader import TextReader
from stratagraph.memory.learning.extraction.soon import ReadingSoon
from stratagraph.memory.learning.runs import ConsolidationRuns
from stratagraph.memory.learning.service import Learning
from stratagraph.memory.learning.stages import build_follow_ups, build_stages
from stratagraph.memory.lessons.service import Lessons
from stratagraph.memory.records.artifacts import Artifacts
from stratagraph.memory.records.forgetting import Forgetting
from stratagraph.memory.records.lookup import Lookup
from stratagraph.memory.records.measures import Measures
from stratagraph.memory.records.predicates import Predicates
from stratagraph.memory.retrieve.service import Retrieve
from stratagraph.memory.revise.service import Revision
from stratagraph.memory.transfer.exports import Exports
from stratagraph.service.embedded_postgres import API_LOGIN, WORKER_LOGIN, EmbeddedPostgres
from stratagraph.service.embedders.choice import open_embedder
from stratagraph.service.extractors.choice import open_extractor
from stratagraph.service.health import Health, HealthConfig
from stratagraph.service.local_neo4j import LocalNeo4j
from stratagraph.service.master_key import open_vault
from stratagraph.service.measuring import Measurements
from stratagraph.service.postgres_supervisor import PostgresSupervisor
from stratagraph.service.processes.board import ProcessState
from stratagraph.service.settings import Settings
from stratagraph.store.artifacts.blobs import Blobs
from stratagraph.store.feed.consumer import Feed
from stratagraph.store.keys.credentials import Credentials
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.master import MasterKey
from stratagraph.store.mirror.freshness import MirrorFreshness
from stratagraph.store.mirror.generations import Generations
from stratagraph.store.model.clock import SystemClock
from stratagraph.store.model.ids import new_owner
from stratagraph.store.postgres.database import WORKER_POOL_SIZE, Database
from stratagraph.store.postgres.migrating import migrate
from stratagraph.store.postgres.partitions import make_days

HEALTH = HealthConfig()


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """The parts of one process.

    `mirror` is not found as long as no Neo4j is configured and none has been started locally; `supervisor` is None
    where the database is not the embedded one, and `embedder` where the settings name none.
    """

    settings: Settings
    database: Database
    directory: Directory
    credentials: Credentials
    capture: Capture
    failed_captures: FailedCaptures
    span_intake: SpanIntake
    retrieve: Retrieve
    feedback: Feedback
    lookup: Lookup
    revision: Revision
    erasure: Erasure
    forgetting: Forgetting
    explore: Explore
    duplicates: DuplicateReview
    predicates: Predicates
    lessons: Lessons
    measures: Measures
    learning: Learning
    runs: ConsolidationRuns
    changes: Changes
    artifacts: Artifacts
    exports: Exports
    jobs: Runner
    measurements: Measurements
    health: Health
    mirror: Mirror
    feed: Feed
    generations: Generations
    supervisor: PostgresSupervisor | None
    embedder: Embedder | None

    def sync_worker(self) -> SyncWorker:
        """Return a new worker for the mirror. It waits for a mirror that is not found yet."""
        config = SyncConfig(names_up_to=self.settings.mirror_name_ceiling)
        return SyncWorker(self.database, self.directory, self.mirror, config)

    def services(self) -> Services:
        """Return the services that the API calls."""
        return Services(
            capture=self.capture,
            failed_captures=self.failed_captures,
            retrieve=self.retrieve,
            feedback=self.feedback,
            lookup=self.lookup,
            revision=self.revision,
            erasure=self.erasure,
            forgetting=self.forgetting,
            explore=self.explore,
            duplicates=self.duplicates,
            predicates=self.predicates,
            lessons=self.lessons,
            measures=self.measures,
            runs=self.runs,
            changes=self.changes,
            health=self.health.report,
            version=importlib.metadata.version("stratagraph"),
        )


def local_neo4j(settings: Settings) -> LocalNeo4j:
    """Return the local Neo4j of the data directory, running or not."""
    return LocalNeo4j(settings.data_dir / "neo4j", settings.cache_dir / "neo4j")


def mirror_of(settings: Settings) -> Mirror:
    """Return the Neo4j that the settings name; without one, the local Neo4j, whenever it runs and at whatever port."""
    if settings.neo4j_uri is not None:
        password = settings.neo4j_password.get_secret_value() if settings.neo4j_password is not None else None
        return Mirror(settings.neo4j_uri, user=settings.neo4j_user, password=password, database=settings.neo4j_database)
    local = local_neo4j(settings)

    def locate() -> str | None:
        running = local.running()
        return running.bolt if running is not None else None

    return Mirror(
        "bolt://127.0.0.1",
        user=None,
        password=None,
        database="neo4j",
        locate=locate,
        credentials=local.credentials,
    )


def blobs_of(settings: Settings) -> Blobs:
    """Return the object store for artifacts: the one that the settings name, else a folder of the data directory.

    Raises Misconfigured if it cannot be opened.
    """
    if settings.artifact_url is not None:
        return Blobs.open(settings.artifact_url)
    return Blobs.below(settings.data_dir / "artifacts")


@asynccontextmanager
async def open_runtime(
    settings: Settings,
    *,
    previous_master: MasterKey | None = None,
    background_connections: int = WORKER_POOL_SIZE,
    processes: Callable[[], list[ProcessState]] = list,
    is_stopping: Callable[[], bool] = lambda: False,
) -> AsyncIterator[Runtime]:
    """Connect to the database, migrate it, and yield the services that use it; close all of them at the end.

    Without a database in the settings, the embedded PostgreSQL is started, or used if it is running.
    `previous_master` is the master key being exchanged; `background_connections` bounds the pool for background work;
    `processes` returns the states of those that make up the service with this one, and `is_stopping` whether this one
    has been told to stop, for its health. Raises Misconfigured or StoreUnavailable saying what to do.
    """
    async with AsyncExitStack() as stack:
        logins = await _logins(stack, settings)
        migrated = await asyncio.to_thread(migrate, logins.owner, api_url=logins.api, worker_url=logins.worker)
        database = await stack.enter_async_context(
            Database(
                logins.api,
                logins.worker,
                pool_size=settings.database_connections,
                background_size=background_connections,
            )
        )
        supervisor = PostgresSupervisor(logins.server, database.reconnect) if logins.server is not None else None
        vault = await open_vault(settings, database, previous=previous_master)
        clock = SystemClock()
        # Before the first write: a day whose rows are in the default partition cannot be made any more.
        await make_days(database, clock.now().date())
        mirror = await stack.enter_async_context(mirror_of(settings))
        directory = Directory(database, vault)
        feed = mirror_feed(database)
        freshness = MirrorFreshness(database, CONSUMER)
        engines = await stack.enter_async_context(
            Engines(
                mirror=Neo4jEngine(mirror, plans_up_to=settings.mirror_name_ceiling),
                feed=feed,
                freshness=freshness,
                preference=settings.traversal,
            )
        )
        embedder = await open_embedder(stack, settings)
        questions = (
            QuestionEmbedder(database, embedder, patience_s=settings.embedder_wait_s, lowest=settings.embedder_lowest)
            if embedder is not None
            else None
        )
        retrieve = Retrieve(
            database, directory, clock, engines, questions, word_cache_bytes=settings.word_cache_mb << 20
        )
        artifacts = Artifacts(database, directory, clock, blobs_of(settings), max_bytes=settings.artifact_max_bytes)
        owner = new_owner()
        generations = Generations(database, CONSUMER)
        extractor = await open_extractor(stack, settings)
        limits = Limits(tokens=settings.extractor_tokens, interval=timedelta(seconds=settings.consolidate_every_s))
        reader = TextReader(database, directory, clock, extractor, owner=owner) if extractor is not None else None
        policy = Policy.load(settings.policy_file)
        capture = Capture(database, directory, clock, policy, queues_texts=reader is not None)
        failed_captures = FailedCaptures(database, directory, clock, capture)
        span_intake = SpanIntake(database, directory, clock, capture, artifacts)
        learning = Learning(
            database,
            directory,
            clock,
            build_stages(extracts=extractor is not None),
            build_follow_ups(database, directory, clock, owner=owner, reader=reader, limits=limits),
        )
        resources = Resources(
            database=database,
            directory=directory,
            clock=clock,
            artifacts=artifacts,
            failed_captures=failed_captures,
            span_intake=span_intake,
            learning=learning,
            reading_soon=ReadingSoon(database, clock, reader, learning.writer, limits=limits)
            if reader is not None
            else None,
            owner=owner,
            embedder=embedder,
            consolidate_every_s=settings.consolidate_every_s,
        )
        jobs = Runner(database, clock, build_jobs(resources), owner=owner)
        if migrated.is_upgrade:
            await jobs.put_off()
        measurements = Measurements.of(
            database,
            jobs.leases,
            mirror,
            known=jobs.jobs,
            unembedded=partial(count_waiting, database, embedder, below=vault.seal_from)
            if embedder is not None
            else None,
        )
        health = Health(
            measurements,
            database,
            directory,
            HEALTH,
            database_problem=(lambda: supervisor.problem) if supervisor is not None else lambda: None,
            processes=processes,
            questions=questions,
            is_stopping=is_stopping,
        )
        yield Runtime(
            settings=settings,
            database=database,
            directory=directory,
            credentials=Credentials(database, directory),
            capture=capture,
            failed_captures=failed_captures,
            span_intake=span_intake,
            retrieve=retrieve,
            feedback=Feedback(database, directory, clock, retrieve.log),
            lookup=Lookup(database, directory, clock, retrieve.log),
            revision=Revision(database, directory, clock),
            erasure=Erasure(database, directory, clock, artifacts),
            forgetting=Forgetting(database, directory, clock),
            explore=Explore(database, directory, clock, engines),
            duplicates=DuplicateReview(database, directory, clock),
            predicates=Predicates(database, directory),
            lessons=Lessons(database, directory, clock, capture, retrieve.log, embedder=embedder, questions=questions),
            measures=Measures(database, directory, freshness),
            learning=learning,
            runs=ConsolidationRuns(database, directory, clock),
            changes=Changes(database, directory, clock),
            artifacts=artifacts,
            exports=Exports(database, directory, clock, artifacts),
            jobs=jobs,
            measurements=measurements,
            health=health,
            mirror=mirror,
            feed=feed,
            generations=generations,
            supervisor=supervisor,
            embedder=embedder,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Logins:
    """URLs of the one database: to migrate it, for callers' transactions, for background work.

    `server` is the embedded server; None with a database in the settings.
    """

    owner: str
    api: str
    worker: str
    server: EmbeddedPostgres | None = None


async def _logins(stack: AsyncExitStack, settings: Settings) -> _Logins:
    if settings.database_url is None:
        server = EmbeddedPostgres(settings.data_dir)
        owner = await _enter_in_thread(stack, server)
        api, worker = server.login_url(API_LOGIN), server.login_url(WORKER_LOGIN)
        return _Logins(owner=owner, api=api, worker=worker, server=server)
    owner, worker = (
        (url or settings.database_url).get_secret_value()
        for url in (settings.owner_database_url, settings.worker_database_url)
    )
    return _Logins(owner=owner, api=settings.database_url.get_secret_value(), worker=worker)


async def _enter_in_thread(stack: AsyncExitStack, server: EmbeddedPostgres) -> str:
    """Starting a server blocks; the event loop goes on meanwhile, and so it does when it is stopped."""
    running = server.running()
    url = await asyncio.to_thread(running.__enter__)

    async def leave() -> None:
        await asyncio.to_thread(running.__exit__, None, None, None)

    stack.push_async_callback(leave)
    return url
