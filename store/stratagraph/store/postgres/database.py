"""Connections and transactions. Every transaction acts as one role, and driver errors are translated here.

See docs/architecture.md, Transactions and roles.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import orjson
from sqlalchemy import event, text
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from stratagraph.store.model.errors import Misconfigured
from stratagraph.store.postgres.failures import POOL_WAIT_S, translated

Connection = AsyncConnection  # for packages that pass connections on and do not import SQLAlchemy

POOL_SIZE = 10  # connections for callers' transactions, unless the settings say otherwise
WORKER_POOL_SIZE = 5  # connections for background work
AUTONOMOUS_POOL_SIZE = 2  # connections for autonomous transactions
POOL_RECYCLE_S = 1_800  # age in seconds at which a connection is replaced
CONNECT_TIMEOUT_S = 5
STATEMENT_TIMEOUT_MS = 30_000
LOCK_TIMEOUT_MS = 10_000
IDLE_IN_TRANSACTION_MS = 60_000  # after which the server closes a connection whose transaction sends no statement

# JIT is off because compiling takes longer than our queries.
_SESSION = (
    f"-c statement_timeout={STATEMENT_TIMEOUT_MS} -c lock_timeout={LOCK_TIMEOUT_MS}"
    f" -c idle_in_transaction_session_timeout={IDLE_IN_TRANSACTION_MS}"
    " -c jit=off -c timezone=UTC"
)
_INSUFFICIENT_PRIVILEGE = "42501"


# The first statement of each transaction. The settings end with the transaction and then read as ''.
_ENTER = text(
    "SELECT set_config('role', role_prefix() || :role, true), set_config('stratagraph.tenant', :tenant, true),"
    " set_config('stratagraph.scopes', :scopes, true), set_config('stratagraph.ceiling', :ceiling, true),"
    " set_config('stratagraph.actor', :actor, true)"
)
_BOUNDS = text(
    "SELECT set_config('stratagraph.tenant', :tenant, true), set_config('stratagraph.scopes', :scopes, true),"
    " set_config('stratagraph.ceiling', :ceiling, true), set_config('stratagraph.actor', :actor, true)"
)


def sqlalchemy_url(url: str) -> str:
    """Return a PostgreSQL URL in SQLAlchemy's form, with psycopg as the driver.

    Raises Misconfigured if `url` is not a PostgreSQL URL.
    """
    for prefix in ("postgresql+psycopg://", "postgresql://", "postgres://"):
        if url.startswith(prefix):
            return "postgresql+psycopg://" + url.removeprefix(prefix)
    raise Misconfigured(
        "STRATAGRAPH_DATABASE_URL must look like postgresql://user:password@host:5432/database"
        " (the value is not shown because it may hold a password)"
    )


class Role(StrEnum):
    """The database role that a transaction acts as. Each has privileges for one purpose only."""

    READ = "read"  # reads of a caller: every row is within its tenant, scopes and ceiling
    WRITE = "write"  # writes of a caller: every row is within its tenant
    FEED = "feed"  # the change feed and its consumers
    JOBS = "jobs"  # background jobs: closing episodes, re-evaluating, trimming logs
    ERASE = "erase"  # deleting, pruning, erasing
    KEYS = "keys"  # credentials, interned names, data keys
    MAINTENANCE = "maintenance"  # the daily partitions of the change log


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The tenant, scopes, ceiling and actor that row-level security enforces. `scopes` None means all of the tenant."""

    tenant: int
    scopes: tuple[int, ...] | None
    ceiling: int
    actor: str


class Database:
    """The connection pools of one database and the kinds of transaction on them. Open with `async with`.

    `url` is the login for callers' transactions; `worker_url` is the login for background work, with roles that the
    first should not be able to act as. Without `worker_url`, `url` serves both. There are three pools, of `pool_size`,
    WORKER_POOL_SIZE and AUTONOMOUS_POOL_SIZE connections.

    Every transaction commits at the end of its block and rolls back on any exception. All of them raise
    StoreUnavailable if the database cannot be reached or no connection is free within POOL_WAIT_S, and Misconfigured if
    the login may not act as the role.
    """

    def __init__(self, url: str, worker_url: str | None = None, *, pool_size: int = POOL_SIZE) -> None:
        self.engine = self._engine(url, pool_size)
        self._worker = self._engine(worker_url or url, WORKER_POOL_SIZE)
        self._autonomous = self._engine(worker_url or url, AUTONOMOUS_POOL_SIZE)
        self.statements = 0  # executed so far, for tests that limit the number of statements
        for engine in (self.engine, self._worker):
            event.listen(engine.sync_engine, "before_cursor_execute", self._count)

    @staticmethod
    def _engine(url: str, pool_size: int) -> AsyncEngine:
        return create_async_engine(
            sqlalchemy_url(url),
            pool_size=pool_size,
            max_overflow=0,
            pool_timeout=POOL_WAIT_S,
            pool_recycle=POOL_RECYCLE_S,
            hide_parameters=True,  # parameters hold memories, and errors are logged
            json_deserializer=orjson.loads,
            connect_args={
                "options": _SESSION,
                "connect_timeout": CONNECT_TIMEOUT_S,
                "application_name": "stratagraph",
                # Never prepare a statement: each is then planned with its parameters. Generic plans misestimate array
                # parameters (terms, frontiers). plan_cache_mode=force_custom_plan would also plan the checks of
                # foreign keys anew for every row, which takes a fifth of the time of a batch of captures.
                "prepare_threshold": None,
            },
        )

    def _count(self, *_: Any) -> None:
        self.statements += 1

    async def __aenter__(self) -> Database:
        return self

    async def __aexit__(self, *_: object) -> None:
        for engine in (self.engine, self._worker, self._autonomous):
            await engine.dispose()

    @asynccontextmanager
    async def reading(self, bounds: Bounds) -> AsyncIterator[AsyncConnection]:
        """Open a read-only transaction for a caller: one snapshot, with only the rows within `bounds`."""
        async with translated(), self.engine.connect() as connection:
            await connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            async with connection.begin():
                await _enter(connection, Role.READ, bounds)
                yield connection

    @asynccontextmanager
    async def writing(self, bounds: Bounds) -> AsyncIterator[AsyncConnection]:
        """Open a transaction for a caller's write, with only the rows of the caller's tenant."""
        async with translated(), self.engine.begin() as connection:
            await _enter(connection, Role.WRITE, bounds)
            yield connection

    @asynccontextmanager
    async def background(self, role: Role) -> AsyncIterator[AsyncConnection]:
        """Open a transaction for background work across tenants, as the role for that work."""
        async with translated(), self._worker.begin() as connection:
            await _enter(connection, role)
            yield connection

    @asynccontextmanager
    async def background_snapshot(self, role: Role) -> AsyncIterator[AsyncConnection]:
        """Open a read-only transaction for background work across tenants: one snapshot for all statements."""
        async with translated(), self._worker.connect() as connection:
            await connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            async with connection.begin():
                await _enter(connection, role)
                yield connection

    @asynccontextmanager
    async def autonomous(self) -> AsyncIterator[AsyncConnection]:
        """Open a short transaction, independent of any that the task already holds, for interned names and keys.

        It has a pool of its own. With a shared pool, ten writers that each hold one connection and wait for another
        would block each other (docs/decisions/001). Never await anything else inside the block.
        """
        async with translated(), self._autonomous.begin() as connection:
            await _enter(connection, Role.KEYS)
            yield connection

    async def ping(self) -> None:
        """Raise StoreUnavailable unless the database answers."""
        async with translated(), self.engine.connect() as connection:
            await connection.execute(text("SELECT 1"))


async def _enter(connection: AsyncConnection, role: Role, bounds: Bounds | None = None) -> None:
    """Set the role, and the bounds if any, for the rest of the transaction.

    Raises Misconfigured if the login may not act as the role.
    """
    try:
        await connection.execute(_ENTER, {"role": role.value, **_settings(bounds)})
        connection.info["bounds"] = bounds
    except ProgrammingError as error:
        if getattr(error.orig, "sqlstate", None) != _INSUFFICIENT_PRIVILEGE:
            raise
        raise Misconfigured(
            f"The database login may not act as the role {role.value!r}; start once with STRATAGRAPH_OWNER_DATABASE_URL"
            " set to the login that owns the database, which grants the role."
        ) from error


def _settings(bounds: Bounds | None) -> dict[str, str]:
    """Return the settings that row-level security reads. Without bounds all are empty, and no row is within them."""
    if bounds is None:
        return {"tenant": "", "scopes": "", "ceiling": "", "actor": ""}
    scopes = "*" if bounds.scopes is None else "{" + ",".join(map(str, bounds.scopes)) + "}"
    return {"tenant": str(bounds.tenant), "scopes": scopes, "ceiling": str(bounds.ceiling), "actor": bounds.actor}


@asynccontextmanager
async def elevated(connection: AsyncConnection, bounds: Bounds) -> AsyncIterator[None]:
    """Run the block of a writing transaction with `bounds` in place of the caller's.

    For the consequences of a write, which may change records that the caller may not see, and for background work that
    handles one tenant after another. Never answer a caller from what the block reads.
    """
    info = connection.info  # read now, because a connection that is lost during the block no longer returns it
    before = info["bounds"]
    await connection.execute(_BOUNDS, _settings(bounds))
    info["bounds"] = bounds
    try:
        yield
        await connection.execute(_BOUNDS, _settings(before))
    finally:  # an error ends the transaction or savepoint, and the settings with it
        info["bounds"] = before


@asynccontextmanager
async def savepoint(connection: Connection) -> AsyncIterator[None]:
    """Run the block in a savepoint: an error rolls back the block alone. Driver errors are translated."""
    async with translated(), connection.begin_nested():
        yield
