"""Connections and transactions. Every transaction acts as one role, and driver errors are translated here.

See docs/architecture.md, Transactions and roles.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import orjson
from psycopg.errors import InsufficientPrivilege
from sqlalchemy import event, text
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import QueuePool

from stratagraph.store.model.errors import Misconfigured, TenantErased
from stratagraph.store.postgres.failures import POOL_WAIT_S, translated
from stratagraph.store.postgres.fair_slots import FairSlots
from stratagraph.store.postgres.observing import PoolUsage, TransactionObserver, unobserved
from stratagraph.store.postgres.operations import current_operation
from stratagraph.store.postgres.pipelines import count_with, execute_together

Connection = AsyncConnection  # for packages that pass connections on and do not import SQLAlchemy

POOL_SIZE = 10  # connections for the transactions of operations, unless the settings say otherwise
POOL_QUEUE = 1_000  # transactions of one party that may wait; its operations are bounded before
SPARE_CONNECTIONS = 3  # further ones for transactions outside operations: probes, retries in the background, commands
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
WRITERS = 0x5347  # first key of the advisory locks that transactions hold while they may write records of a tenant
ANY_TENANT = 0  # second key for background work across tenants; for other writers it is the tenant's number


_SNAPSHOT = text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
# The first statement of each transaction. The settings end with the transaction and then read as ''.
_ENTER = text(
    "SELECT set_config('role', role_prefix() || :role, true), set_config('stratagraph.tenant', :tenant, true),"
    " set_config('stratagraph.scopes', :scopes, true), set_config('stratagraph.ceiling', :ceiling, true),"
    " set_config('statement_timeout', :statement_timeout, true), set_config('stratagraph.actor', :actor, true)"
)
_BOUNDS = text(
    "SELECT set_config('stratagraph.tenant', :tenant, true), set_config('stratagraph.scopes', :scopes, true),"
    " set_config('stratagraph.ceiling', :ceiling, true), set_config('stratagraph.actor', :actor, true)"
)
# The same for a caller, whose tenant another process may have erased: the directory caches its number. Background work
# goes on while a tenant is being erased.
_ENTER_TENANT = text(f"{_ENTER.text}, tenant_is_open(CAST(:tenant AS bigint)) AS has_tenant")
# A reader of a past instant waits for the writers of its tenant (`feed.settling`). A writer takes this lock before it
# can receive a transaction id, which comes before the instant of what it writes.
_WRITER = ", pg_advisory_xact_lock_shared(CAST(:writers AS integer), CAST(:writes_for AS integer))"
# A reader's statements find rows by keys. A plan that is kept must not scan a table that was small when it was made.
_ENTER_READER = text(f"{_ENTER_TENANT.text}, set_config('enable_seqscan', 'off', true)")
_ENTER_WRITER = text(_ENTER.text + _WRITER)
_ENTER_TENANT_WRITER = text(_ENTER_TENANT.text + _WRITER)
_TAKE_TENANT = text(f"{_BOUNDS.text}, tenant_exists(CAST(:tenant AS bigint)) AS has_tenant")


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


_WRITES_RECORDS = frozenset({Role.JOBS, Role.ERASE})  # of the roles for background work


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
    first should not be able to act as. Without `worker_url`, `url` serves both. There are three pools, of `pool_size`
    and SPARE_CONNECTIONS, of WORKER_POOL_SIZE and of AUTONOMOUS_POOL_SIZE connections. The transactions of one party's
    operations (see `operations`) hold at most the operation's share of the `pool_size` connections at a time.

    Every transaction commits at the end of its block and rolls back on any exception. All of them raise
    StoreUnavailable if the database cannot be reached or no connection is free within POOL_WAIT_S, TenantErased if the
    tenant of the bounds does not exist any more, and Misconfigured if the login may not act as the role.
    """

    def __init__(self, url: str, worker_url: str | None = None, *, pool_size: int = POOL_SIZE) -> None:
        self.engine = self._engine(url, pool_size + SPARE_CONNECTIONS)
        self.slots = FairSlots("database connections", total=pool_size, waiting=POOL_QUEUE)
        self._worker = self._engine(worker_url or url, WORKER_POOL_SIZE)
        self._autonomous = self._engine(worker_url or url, AUTONOMOUS_POOL_SIZE)
        self.observe: TransactionObserver = unobserved
        self._waiting: Counter[AsyncEngine] = Counter()
        self.when_tenant_erased: list[Callable[[int], None]] = []  # called with the number of a tenant found erased
        # Executed so far, and the round trips in which they were sent, without BEGIN and COMMIT: tests limit both.
        self.statements = self.round_trips = 0
        for engine in (self.engine, self._worker):
            event.listen(engine.sync_engine, "before_cursor_execute", lambda *_: self._count(1))

    @staticmethod
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
                # Never prepare a statement unless asked to: each is then planned with its parameters. Generic plans may
                # misestimate array parameters (terms). plan_cache_mode=force_custom_plan would also plan the checks of
                # foreign keys anew for every row, which takes a fifth of the time of a batch of captures.
                "prepare_threshold": sys.maxsize,
            },
        )

    def _count(self, statements: int) -> None:
        self.statements += statements
        self.round_trips += 1

    async def __aenter__(self) -> Database:
        return self

    async def __aexit__(self, *_: object) -> None:
        for engine in (self.engine, self._worker, self._autonomous):
            await engine.dispose()

    async def reconnect(self) -> None:
        """Replace all connections, because the server was started again. One in use is closed when it is returned."""
        for engine in (self.engine, self._worker, self._autonomous):
            await engine.dispose()

    @asynccontextmanager
    async def reading(self, bounds: Bounds) -> AsyncIterator[AsyncConnection]:
        """Open a read-only transaction for a caller: one snapshot, with only the rows within `bounds`."""
        async with (
            self._slot(),
            translated(),
            self._connected(self.engine, Role.READ) as connection,
            connection.begin(),
        ):
            await _enter_reading(connection, bounds, self.when_tenant_erased)
            yield connection

    @asynccontextmanager
    async def writing(self, bounds: Bounds) -> AsyncIterator[AsyncConnection]:
        """Open a transaction for a caller's write, with only the rows of the caller's tenant."""
        async with (
            self._slot(),
            translated(),
            self._connected(self.engine, Role.WRITE) as connection,
            connection.begin(),
        ):
            await _enter(connection, Role.WRITE, bounds, self.when_tenant_erased, writes_for=bounds.tenant)
            yield connection

    @asynccontextmanager
    async def background(self, role: Role, *, tenant: int | None = None) -> AsyncIterator[AsyncConnection]:
        """Open a transaction for background work across tenants, or for one `tenant`, as the role for that work."""
        writes_for = (ANY_TENANT if tenant is None else tenant) if role in _WRITES_RECORDS else None
        async with translated(), self._connected(self._worker, role) as connection, connection.begin():
            await _enter(connection, role, when_tenant_erased=self.when_tenant_erased, writes_for=writes_for)
            yield connection

    @asynccontextmanager
    async def background_snapshot(self, role: Role) -> AsyncIterator[AsyncConnection]:
        """Open a read-only transaction for background work across tenants: one snapshot for all statements."""
        async with translated(), self._connected(self._worker, role) as connection:
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
        async with translated(), self._connected(self._autonomous, Role.KEYS) as connection, connection.begin():
            await _enter(connection, Role.KEYS)
            yield connection

    @asynccontextmanager
    async def _slot(self) -> AsyncIterator[None]:
        """Hold one of the connections that operations share, if the task works for an operation."""
        operation = current_operation()
        if operation is None:
            yield
            return
        async with self.slots.hold(operation.party, share=operation.connections):
            yield

    @asynccontextmanager
    async def _connected(self, engine: AsyncEngine, role: Role) -> AsyncIterator[AsyncConnection]:
        """Take a connection from the engine's pool for the block, which is observed as a transaction of `role`."""
        with self.observe(role.value):
            self._waiting[engine] += 1
            is_waiting = True
            try:
                async with engine.connect() as connection:
                    self._waiting[engine] -= 1
                    is_waiting = False
                    count_with(connection, self._count)
                    yield connection
            finally:
                self._waiting[engine] -= is_waiting

    def pools(self) -> list[PoolUsage]:
        """Return the use of each pool."""
        engines = {"callers": self.engine, "background": self._worker, "autonomous": self._autonomous}
        return [
            PoolUsage(name=name, size=pool.size(), in_use=pool.checkedout(), waiting=self._waiting[engine])
            for name, engine in engines.items()
            if isinstance(pool := engine.sync_engine.pool, QueuePool)
        ]

    async def ping(self) -> None:
        """Raise StoreUnavailable unless the database answers."""
        async with translated(), self.engine.connect() as connection:
            await connection.execute(text("SELECT 1"))


async def _enter(
    connection: AsyncConnection,
    role: Role,
    bounds: Bounds | None = None,
    when_tenant_erased: Sequence[Callable[[int], None]] = (),
    *,
    writes_for: int | None = None,
) -> None:
    """Set the role, and the bounds if any, for the rest of the transaction, which may write for `writes_for`.

    Raises Misconfigured if the login may not act as the role, and TenantErased if the tenant does not exist any more.
    """
    try:
        connection.info["when_tenant_erased"] = when_tenant_erased
        parameters = _entry(role, bounds)
        if writes_for is None:
            statement = _ENTER if bounds is None else _ENTER_TENANT
        else:
            statement = _ENTER_WRITER if bounds is None else _ENTER_TENANT_WRITER
            parameters |= {"writers": WRITERS, "writes_for": writes_for}
        row = (await connection.execute(statement, parameters)).one()
        connection.info["bounds"] = bounds
    except ProgrammingError as error:
        if getattr(error.orig, "sqlstate", None) != _INSUFFICIENT_PRIVILEGE:
            raise
        raise _forbidden(role) from error
    if bounds is not None and not row.has_tenant:
        raise _erased(connection, bounds)


async def _enter_reading(
    connection: AsyncConnection, bounds: Bounds, when_tenant_erased: Sequence[Callable[[int], None]]
) -> None:
    """Make the transaction a read-only snapshot, and enter it for a caller, in one round trip. Raises as `_enter`."""
    connection.info["when_tenant_erased"] = when_tenant_erased
    try:
        _, (row,) = await execute_together(connection, (_SNAPSHOT, {}), (_ENTER_READER, _entry(Role.READ, bounds)))
    except InsufficientPrivilege as error:
        raise _forbidden(Role.READ) from error
    connection.info["bounds"] = bounds
    if not row["has_tenant"]:
        raise _erased(connection, bounds)


def _entry(role: Role, bounds: Bounds | None) -> dict[str, Any]:
    """Return the parameters of the statement that enters a transaction."""
    return {"role": role.value, "statement_timeout": str(_statement_timeout_ms()), **_settings(bounds)}


def _forbidden(role: Role) -> Misconfigured:
    return Misconfigured(
        f"The database login may not act as the role {role.value!r}; start once with STRATAGRAPH_OWNER_DATABASE_URL"
        " set to the login that owns the database, which grants the role."
    )


def _erased(connection: AsyncConnection, bounds: Bounds) -> TenantErased:
    """Tell the caches that the tenant does not exist any more, and return the error to raise."""
    for forget in connection.info["when_tenant_erased"]:
        forget(bounds.tenant)
    return TenantErased()


def _statement_timeout_ms() -> int:
    """Return the timeout of the statements of a transaction that begins now; it ends with the operation's deadline."""
    operation = current_operation()
    return STATEMENT_TIMEOUT_MS if operation is None else operation.statement_timeout_ms(STATEMENT_TIMEOUT_MS)


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
    if before is None:
        if not (await connection.execute(_TAKE_TENANT, _settings(bounds))).one().has_tenant:
            raise _erased(connection, bounds)
    else:
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
