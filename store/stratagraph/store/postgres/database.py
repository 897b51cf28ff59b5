"""The door to Postgres: every transaction acts as one role, and driver errors are translated at one place."""

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

Connection = AsyncConnection  # for rooms that pass connections on and do not know SQLAlchemy

POOL_SIZE = 10
WORKER_SIZE = 5
AUTONOMOUS_SIZE = 2
STATEMENT_TIMEOUT_MS = 30_000
LOCK_TIMEOUT_MS = 10_000
IDLE_IN_TRANSACTION_MS = 60_000

# Our own statements are planned anew each time, by never being prepared (see `prepare_threshold`): generic plans
# misjudge array parameters (which terms, which frontier). Not by plan_cache_mode=force_custom_plan, which would plan
# the foreign keys' checks anew for every row as well: a fifth of a batch of captures. Compiling takes longer than
# our queries.
_SESSION = (
    f"-c statement_timeout={STATEMENT_TIMEOUT_MS} -c lock_timeout={LOCK_TIMEOUT_MS}"
    f" -c idle_in_transaction_session_timeout={IDLE_IN_TRANSACTION_MS}"
    " -c jit=off -c timezone=UTC"
)
_INSUFFICIENT_PRIVILEGE = "42501"


# One statement before the first of each transaction. A setting that ended with its transaction reads '' afterwards.
_ENTER = text(
    "SELECT set_config('role', role_prefix() || :role, true), set_config('stratagraph.tenant', :tenant, true),"
    " set_config('stratagraph.scopes', :scopes, true), set_config('stratagraph.ceiling', :ceiling, true)"
)
_BOUNDS = text(
    "SELECT set_config('stratagraph.tenant', :tenant, true), set_config('stratagraph.scopes', :scopes, true),"
    " set_config('stratagraph.ceiling', :ceiling, true)"
)


def sqlalchemy_url(url: str) -> str:
    """The URL with our driver named, whatever form it came in. Raises Misconfigured if it is no Postgres URL."""
    for prefix in ("postgresql+psycopg://", "postgresql://", "postgres://"):
        if url.startswith(prefix):
            return "postgresql+psycopg://" + url.removeprefix(prefix)
    raise Misconfigured(
        "STRATAGRAPH_DATABASE_URL must look like postgresql://user:password@host:5432/database"
        " (the value is not shown here, it may hold a password)"
    )


class Role(StrEnum):
    """As whom a transaction runs; each is a role of the database with rights for just that."""

    READ = "read"  # a caller's reading: tenant, scopes and ceiling bound every row
    WRITE = "write"  # a caller's writing: the tenant bounds every row
    FEED = "feed"  # the change feed and whoever follows it
    JOBS = "jobs"  # housekeeping, propagation, retries
    ERASE = "erase"  # deleting, pruning, the right to be forgotten
    KEYS = "keys"  # credentials, interned names, data keys
    MAINTENANCE = "maintenance"  # the days of the change log


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """A caller's trust in the database's numbers, as row-level security reads it. `scopes` None is all."""

    tenant: int
    scopes: tuple[int, ...] | None
    ceiling: int


class Database:
    """Postgres as the rest of the house sees it. Open with `async with`; closing waits for nothing but the pools.

    Every transaction acts as one role, which row-level security holds to the caller's bounds. `url` is the login for
    callers' transactions, `worker_url` that for background work, which the first should not be able to act as; left
    out, one login does both.
    """

    def __init__(self, url: str, worker_url: str | None = None, *, pool_size: int = POOL_SIZE) -> None:
        self.engine = self._engine(url, pool_size)
        self._worker = self._engine(worker_url or url, WORKER_SIZE)
        self._autonomous = self._engine(worker_url or url, AUTONOMOUS_SIZE)
        self.statements = 0  # counted for tests that guard against N+1
        for engine in (self.engine, self._worker):
            event.listen(engine.sync_engine, "before_cursor_execute", self._count)

    @staticmethod
    def _engine(url: str, pool_size: int) -> AsyncEngine:
        return create_async_engine(
            sqlalchemy_url(url),
            pool_size=pool_size,
            max_overflow=0,
            pool_timeout=POOL_WAIT_S,
            pool_recycle=1_800,
            hide_parameters=True,  # they are memories, and errors reach logs
            json_deserializer=orjson.loads,
            connect_args={
                "options": _SESSION,
                "connect_timeout": 5,
                "application_name": "stratagraph",
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
        """One consistent snapshot for all statements of the block, showing only what the caller may see."""
        async with translated(), self.engine.connect() as connection:
            await connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            async with connection.begin():
                await _enter(connection, Role.READ, bounds)
                yield connection

    @asynccontextmanager
    async def writing(self, bounds: Bounds) -> AsyncIterator[AsyncConnection]:
        """A caller's write, confined to the caller's tenant. Commits at the end of the block, rolls back on any
        exception. Raises StoreUnavailable on an outage."""
        async with translated(), self.engine.begin() as connection:
            await _enter(connection, Role.WRITE, bounds)
            yield connection

    @asynccontextmanager
    async def background(self, role: Role) -> AsyncIterator[AsyncConnection]:
        """A transaction of background work, which crosses tenants and so has a role for just what it does."""
        async with translated(), self._worker.begin() as connection:
            await _enter(connection, role)
            yield connection

    @asynccontextmanager
    async def background_snapshot(self, role: Role) -> AsyncIterator[AsyncConnection]:
        """One consistent snapshot for background work that reads across tenants."""
        async with translated(), self._worker.connect() as connection:
            await connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            async with connection.begin():
                await _enter(connection, role)
                yield connection

    @asynccontextmanager
    async def autonomous(self) -> AsyncIterator[AsyncConnection]:
        """A short transaction of its own, for names and numbers, by whoever may be inside another one already.

        It has a pool of its own: were it to wait for a connection of the others, ten writers that each hold one and
        each want one more would wait for each other.
        """
        async with translated(), self._autonomous.begin() as connection:
            await _enter(connection, Role.KEYS)
            yield connection

    async def ping(self) -> None:
        async with translated(), self.engine.connect() as connection:
            await connection.execute(text("SELECT 1"))


async def _enter(connection: AsyncConnection, role: Role, bounds: Bounds | None = None) -> None:
    """Act as `role`, for `bounds` if it is a caller's, until the transaction ends.

    Raises Misconfigured where the login may not.
    """
    try:
        await connection.execute(_ENTER, {"role": role.value, **_settings(bounds)})
        connection.info["bounds"] = bounds
    except ProgrammingError as error:
        if getattr(error.orig, "sqlstate", None) != _INSUFFICIENT_PRIVILEGE:
            raise
        raise Misconfigured(
            f"The database login may not act as the role {role.value!r}; start once with STRATAGRAPH_OWNER_DATABASE_URL"
            " set to the login that owns the database, which lets it."
        ) from error


def _settings(bounds: Bounds | None) -> dict[str, str]:
    """A caller's bounds as row-level security reads them; all empty, and then no row is in them, without a caller."""
    if bounds is None:
        return {"tenant": "", "scopes": "", "ceiling": ""}
    scopes = "*" if bounds.scopes is None else "{" + ",".join(map(str, bounds.scopes)) + "}"
    return {"tenant": str(bounds.tenant), "scopes": scopes, "ceiling": str(bounds.ceiling)}


@asynccontextmanager
async def elevated(connection: AsyncConnection, bounds: Bounds) -> AsyncIterator[None]:
    """Let a writer's transaction see as far as `bounds` for the block: consequences of a write reach records that its
    caller may not see, and background work takes up one tenant after another. Never for an answer."""
    known = connection.info  # which a connection that was lost meanwhile would no longer give
    before = known["bounds"]
    await connection.execute(_BOUNDS, _settings(bounds))
    known["bounds"] = bounds
    try:
        yield
        await connection.execute(_BOUNDS, _settings(before))
    finally:  # after an error the transaction or savepoint ends, and with it the settings themselves
        known["bounds"] = before


@asynccontextmanager
async def savepoint(connection: Connection) -> AsyncIterator[None]:
    """Run the block in a savepoint, so that an error in it undoes the block alone. Driver errors are translated."""
    async with translated(), connection.begin_nested():
        yield
