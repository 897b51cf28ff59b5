"""Connection pools: a connection is taken, waited for where the server has none left, and replaced."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, AsyncExitStack, nullcontext
from dataclasses import dataclass

import orjson
from sqlalchemy import event
from sqlalchemy.exc import DBAPIError, DisconnectionError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool

from stratagraph.store.model.errors import Misconfigured
from stratagraph.store.postgres.failures import POOL_WAIT_S, is_out_of_connections

POOL_RECYCLE_S = 1_800  # age in seconds at which a connection is replaced
CONNECT_TIMEOUT_S = 5
REFUSED_S = 10.0  # for which a refused connection counts, unless one is opened before
STATEMENT_TIMEOUT_MS = 30_000
LOCK_TIMEOUT_MS = 10_000
IDLE_IN_TRANSACTION_MS = 60_000  # after which the server closes a connection whose transaction sends no statement

# JIT is off because compiling takes longer than our queries.
_SESSION = (
    f"-c statement_timeout={STATEMENT_TIMEOUT_MS} -c lock_timeout={LOCK_TIMEOUT_MS}"
    f" -c idle_in_transaction_session_timeout={IDLE_IN_TRANSACTION_MS}"
    " -c jit=off -c timezone=UTC"
)
# Called with the role of a transaction; the context that it returns lasts from the wait for a connection to the end.
TransactionObserver = Callable[[str], AbstractContextManager[None]]


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


class Pool:
    """At most `size` connections for one purpose, opened when they are needed.

    `open` is the number of connections that it has. `refused_at` is when the server last had none left for it, on the
    monotonic clock; None if one has been opened since.
    """

    def __init__(self, name: str, url: str, size: int) -> None:
        self.name = name
        self.engine = _engine(url, size)
        self.open = 0
        self.refused_at: float | None = None
        self._waiting = 0
        self._renewed_at = 0.0  # older connections are replaced
        event.listen(self.engine.sync_engine, "connect", self._opened)
        event.listen(self.engine.sync_engine, "close", self._closed)
        event.listen(self.engine.sync_engine, "checkout", self._taken)

    def _opened(self, _: object, record: ConnectionPoolEntry) -> None:
        record.info["opened_at"] = time.monotonic()
        self.open += 1
        self.refused_at = None

    def _closed(self, *_: object) -> None:
        self.open -= 1

    def _taken(self, _: object, record: ConnectionPoolEntry, __: object) -> None:
        if record.info["opened_at"] < self._renewed_at:
            raise DisconnectionError  # SQLAlchemy replaces the connection

    def renew(self) -> None:
        """Replace each connection when it is next taken."""
        self._renewed_at = time.monotonic()

    @property
    def is_refused(self) -> bool:
        """Whether the server has lately had no connection left for this pool."""
        return self.refused_at is not None and time.monotonic() < self.refused_at + REFUSED_S

    async def take(self, stack: AsyncExitStack, patience_s: float) -> AsyncConnection:
        """Take a connection until the end of `stack`.

        Where the server has none left for a new one, wait up to `patience_s` until one of the pool is returned or one
        of the server is free, so that a process goes on with the connections that it has.
        """
        ends_at, pause_s = time.monotonic() + patience_s, 0.05
        self._waiting += 1
        try:
            while True:
                try:
                    return await stack.enter_async_context(self.engine.connect())
                except DBAPIError as error:
                    if not is_out_of_connections(error.orig):
                        raise
                    self.refused_at = time.monotonic()
                    if self.refused_at + pause_s > ends_at:
                        raise
                await asyncio.sleep(pause_s)
                pause_s = min(0.5, 2 * pause_s)
        finally:
            self._waiting -= 1

    def usage(self) -> PoolUsage:
        """Return how many connections are allowed, in use and waited for."""
        pool = self.engine.sync_engine.pool
        assert isinstance(pool, QueuePool)
        return PoolUsage(name=self.name, size=pool.size(), in_use=pool.checkedout(), waiting=self._waiting)


def _engine(url: str, pool_size: int) -> AsyncEngine:
    return create_async_engine(
        sqlalchemy_url(url),
        pool_size=pool_size,
        max_overflow=0,
        pool_use_lifo=True,  # few connections are kept warm, with the plans that they keep, instead of all in turn
        pool_timeout=POOL_WAIT_S,
        pool_recycle=POOL_RECYCLE_S,
        hide_parameters=True,  # parameters hold memories, and errors are logged
        json_deserializer=orjson.loads,
        connect_args={
            "options": _SESSION,
            "connect_timeout": CONNECT_TIMEOUT_S,
            "application_name": "stratagraph",
            # `driver` has the server keep the statements that ask for it. The others are planned with their
            # parameters: generic plans misestimate array parameters (terms, frontiers).
            # plan_cache_mode=force_custom_plan would also plan the checks of foreign keys anew for every row, which
            # takes a fifth of the time of a batch of captures.
            "prepare_threshold": None,
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolUsage:
    """The use of one pool: connections allowed, connections in use, and tasks that wait for one."""

    name: str
    size: int
    in_use: int
    waiting: int


def unobserved(_: str) -> AbstractContextManager[None]:
    """Observe nothing."""
    return nullcontext()
