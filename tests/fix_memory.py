"""Fixtures of a real PostgreSQL, with a template database that is copied for each test, and of `memory` on top of it.

`STRATAGRAPH_TEST_DATABASE_URL` names another PostgreSQL to use instead of the embedded one.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit
from uuid import UUID

import psycopg
import pytest
from obstore.store import MemoryStore
from sqlalchemy import text

from stratagraph.memory.capture.answers import Captured
from stratagraph.memory.capture.policy import Policy
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.capture.retries import FailedCaptures
from stratagraph.memory.capture.service import Capture
from stratagraph.memory.engines.service import Engines
from stratagraph.memory.erase.service import Erasure
from stratagraph.memory.feedback.service import Feedback
from stratagraph.memory.lessons.service import Lessons
from stratagraph.memory.records.artifacts import Artifacts
from stratagraph.memory.records.forgetting import Forgetting
from stratagraph.memory.records.lookup import Lookup
from stratagraph.memory.retrieve.service import Retrieve
from stratagraph.memory.revise.linking import link_due
from stratagraph.memory.revise.request import Revise
from stratagraph.memory.revise.service import Revised, Revision
from stratagraph.service.embedded_postgres import EmbeddedPostgres
from stratagraph.store.artifacts.blobs import Blobs
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.master import LocalMasterKey
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.model.enums import Access, MemoryType, RecordState, Sensitivity, SourceKind
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Database
from stratagraph.store.postgres.migrating import migrate

NOON = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)
EVIDENCE = ({"kind": "human", "ref": "ticket-7"},)


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The administrator's URL of a PostgreSQL server for this test session."""
    given = os.environ.get("STRATAGRAPH_TEST_DATABASE_URL")
    if given:
        yield given
        return
    directory = Path(tempfile.mkdtemp(prefix="stratagraph-tests-"))
    try:
        with EmbeddedPostgres(directory).running() as url:
            with psycopg.connect(url, autocommit=True) as connection:
                # Test data need not survive a crash of the machine. Waiting for the disk makes tests slower, and so
                # does logging whole pages: creating a database is a checkpoint, after which each page is logged again.
                for setting in ("fsync", "synchronous_commit", "full_page_writes"):
                    connection.execute(f"ALTER SYSTEM SET {setting} = off")
                connection.execute("ALTER SYSTEM SET file_copy_method = clone")  # without a copy through user space
                connection.execute("SELECT pg_reload_conf()")
            yield url
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def with_database(url: str, name: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


@pytest.fixture(scope="session")
def template_database(postgres_url: str) -> str:
    """A migrated database without connections, which CREATE DATABASE requires of a template."""
    name = f"stratagraph_template_{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        connection.execute(f"CREATE DATABASE {name}")
    migrate(with_database(postgres_url, name))
    return name


@contextmanager
def fresh_database(
    postgres_url: str, template: str | None, administrator: psycopg.Connection | None = None
) -> Iterator[str]:
    """Create a database, and drop it at the end of the block. Without an open connection, each opens its own."""
    name = f"test_{secrets.token_hex(6)}"
    source = f" TEMPLATE {template} STRATEGY FILE_COPY" if template else ""
    with _opened(postgres_url, administrator) as connection:
        connection.execute(f"CREATE DATABASE {name}{source}")
    try:
        yield with_database(postgres_url, name)
    finally:
        with _opened(postgres_url, administrator) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def _opened(url: str, connection: psycopg.Connection | None) -> AbstractContextManager[psycopg.Connection]:
    return psycopg.connect(url, autocommit=True) if connection is None else nullcontext(connection)


@pytest.fixture(scope="session")
def administrator(postgres_url: str) -> Iterator[psycopg.Connection]:
    """A connection for the statements before and after each test; to open one takes as long as some of them."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def database_url(postgres_url: str, template_database: str, administrator: psycopg.Connection) -> Iterator[str]:
    """A migrated database for one test."""
    with fresh_database(postgres_url, template_database, administrator) as url:
        yield url


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    async with Database(database_url) as opened:
        yield opened


@pytest.fixture
def directory(database: Database) -> Directory:
    return Directory(database, Vault(database, LocalMasterKey(bytes(32))))


@pytest.fixture
def log_at_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have retrievals logged only when a test flushes the log, for tests that count the statements of a retrieval.

    On a busy machine a retrieval takes longer than the log's delay, and its entry would be written meanwhile.
    """
    monkeypatch.setattr("stratagraph.store.search.retrievals.DELAY_S", 3600.0)


def record_of(memory_type: MemoryType, **fields: Any) -> MemoryRecord:
    """Return an active record of NOON that is in no database, with `fields` in place of the plain ones."""
    plain = MemoryRecord(
        id=UUID(int=1),
        tenant="acme",
        type=memory_type,
        scope="",
        sensitivity=Sensitivity.LOW,
        state=RecordState.ACTIVE,
        confidence=1.0,
        salience=1.0,
        tags=(),
        created_at=NOON,
        occurred_at=NOON,
        updated_at=NOON,
        version=1,
    )
    return replace(plain, **fields)


@dataclass
class ManualClock:
    """A clock that moves only by `forward`."""

    at: datetime = NOON

    def now(self) -> datetime:
        return self.at

    def forward(self, by: timedelta) -> None:
        self.at += by


def trust_of(
    *,
    tenant: str = "acme",
    actor: str = "tester",
    access: Access = Access.ADMIN,
    ceiling: Sensitivity = Sensitivity.HYPER,
    scopes: set[str] | None = None,
) -> Trust:
    """Make a trust; by default with full access to its tenant."""
    return Trust(
        tenant=tenant,
        actor=actor,
        access=access,
        ceiling=ceiling,
        scopes=None if scopes is None else frozenset(scopes),
    )


@dataclass
class Memory:
    """All services on one test database, with a clock that the test moves."""

    database: Database
    directory: Directory
    clock: ManualClock
    capture: Capture
    failed_captures: FailedCaptures
    retrieve: Retrieve
    feedback: Feedback
    lookup: Lookup
    revision: Revision
    erasure: Erasure
    forgetting: Forgetting
    lessons: Lessons
    trust: Trust = field(default_factory=trust_of)

    async def remember(self, kind: SourceKind, content: dict[str, Any], **more: Any) -> Captured:
        """Capture one item as the default caller, one second after the previous one."""
        self.clock.forward(timedelta(seconds=1))
        trust = more.pop("trust", self.trust)
        request = CaptureRequest(source="test", source_kind=kind, content=content, **more)
        return (await self.capture.capture(trust, [request]))[0]

    async def observe(self, subject: str, predicate: str, value: Any, **more: Any) -> Captured:
        keys = ("validity", "conditions", "evidence", "revision_policy")
        content = {"subject": subject, "predicate": predicate, "object": value}
        content |= {key: more.pop(key) for key in keys if key in more}
        return await self.remember(SourceKind.OBSERVATION, content, **more)

    async def turn(self, text: str, *, thread: str | None = None, **more: Any) -> Captured:
        content = {"role": "user", "text": text} | ({"thread_id": thread} if thread else {})
        return await self.remember(SourceKind.AGENT_TURN, content, **more)

    async def entity(self, name: str, **more: Any) -> UUID:
        """Capture an entity; `more` are fields of its payload, or of the request. Return its id."""
        request = {key: more.pop(key) for key in ("scope", "sensitivity", "retention", "trust") if key in more}
        content = {"canonical_name": name, **more}
        kept = await self.remember(SourceKind.OBSERVATION, content, proposed_type=MemoryType.ENTITY, **request)
        return kept.primary.id

    async def record(self, id_: UUID, trust: Trust | None = None) -> MemoryRecord:
        """Return a record that is there, as the default caller or another one sees it."""
        found = await self.lookup.record(trust or self.trust, id_)
        assert found is not None
        return found

    async def revise(self, request: Revise, trust: Trust | None = None) -> Revised:
        """Revise as the default caller or another one, one second after the previous write."""
        self.clock.forward(timedelta(seconds=1))
        return await self.revision.revise(trust or self.trust, request)

    async def rows(self, sql: str, **values: Any) -> list[dict[str, Any]]:
        """Return the rows of a statement that the owner of the database runs; none of one that returns no rows."""
        async with self.database.engine.begin() as connection:
            found = await connection.execute(text(sql), values)
            return [dict(row) for row in found.mappings()] if found.returns_rows else []

    async def value(self, sql: str, **values: Any) -> Any:
        """Return the value of a statement that returns one row of one column."""
        (row,) = await self.rows(sql, **values)
        (value,) = row.values()
        return value


async def link(memory: Memory) -> None:
    """Link earlier records to the entities that are known by now, as the background job does a minute later."""
    memory.clock.forward(timedelta(minutes=1))
    while (await link_due(memory.database, memory.directory, now=memory.clock.now(), batch=100)).due:
        pass


def memory_of(database: Database, directory: Directory) -> Memory:
    """Compose all services on a database."""
    clock = ManualClock()
    engines = Engines()
    capture = Capture(database, directory, clock, Policy())
    retrieve = Retrieve(database, directory, clock, engines)
    return Memory(
        database=database,
        directory=directory,
        clock=clock,
        capture=capture,
        failed_captures=FailedCaptures(database, directory, clock, capture),
        retrieve=retrieve,
        feedback=Feedback(database, directory, clock, retrieve.log),
        lookup=Lookup(database, directory, clock, retrieve.log),
        revision=Revision(database, directory, clock),
        erasure=Erasure(database, directory, clock, Artifacts(database, directory, clock, Blobs(MemoryStore()))),
        forgetting=Forgetting(database, directory, clock),
        lessons=Lessons(database, directory, clock, capture, retrieve.log),
    )


@pytest.fixture
def memory(database: Database, directory: Directory) -> Memory:
    return memory_of(database, directory)


SPARING_S = 0.25  # for `until`, where the condition takes so much processor time that asking delays what is awaited


async def until(condition: Any, *, within_s: float = 30.0, every_s: float | None = None) -> None:
    """Poll `condition` until it is true. Raises TimeoutError after `within_s` seconds.

    Without `every_s`, each pause is a tenth of the time waited so far, from 0.02 s to SPARING_S, so that asking does
    not delay what takes long.
    """
    began = time.monotonic()
    async with asyncio.timeout(within_s):
        while not await condition():
            waited_s = time.monotonic() - began
            await asyncio.sleep(every_s or min(max(0.02, waited_s / 10), SPARING_S))
