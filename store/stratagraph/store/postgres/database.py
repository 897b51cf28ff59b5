"""Connections and transactions. Every transaction acts as one role, and driver errors are translated here.

See docs/architecture.md, Transactions and roles.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from psycopg.errors import InsufficientPrivilege, InvalidParameterValue, UndefinedObject
from sqlalchemy import event
from sqlalchemy.engine import Connection as SyncConnection
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.model.errors import Misconfigured, SnapshotGone, TenantErased
from stratagraph.store.postgres.driver import (
    Entry,
    Sending,
    Statement,
    begin_session,
    commit,
    discard,
    end_session,
    flush,
    flush_before,
    send,
)
from stratagraph.store.postgres.entry import (
    BEGIN,
    BOUNDS,
    ENTER,
    ENTER_READER,
    ENTER_TENANT_WRITER,
    ENTER_WRITER,
    SNAPSHOT,
    TAKE_TENANT,
    TRANSACTION_ID,
    begin_in,
)
from stratagraph.store.postgres.failures import POOL_WAIT_S, translated
from stratagraph.store.postgres.fair_slots import FairSlots
from stratagraph.store.postgres.operations import current_operation
from stratagraph.store.postgres.pools import STATEMENT_TIMEOUT_MS, Pool, PoolUsage, TransactionObserver, unobserved
from stratagraph.store.postgres.probing import Probe, probe

Connection = AsyncConnection  # for packages that pass connections on and do not import SQLAlchemy

POOL_SIZE = 10  # connections for the transactions of operations, unless the settings say otherwise
POOL_QUEUE = 1_000  # transactions of one party that may wait; its operations are bounded before
SPARE_CONNECTIONS = 3  # further ones for transactions outside operations: probes, retries in the background, commands
EXPORT_POOL_SIZE = 6  # connections for exports, which hold theirs for as long as their clients read
WORKER_POOL_SIZE = 5  # connections for background work
AUTONOMOUS_POOL_SIZE = 2  # connections for autonomous transactions
WRITERS = 0x5347  # first key of the advisory locks that transactions hold while they may write records of a tenant
ANY_TENANT = 0  # second key for background work across tenants; for other writers it is the tenant's number


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
    actor: str  # the caller's identity


class Database:
    """The connection pools of one database and the kinds of transaction on them. Open with `async with`.

    `url` is the login for callers' transactions; `worker_url` is the login for background work, with roles that the
    first should not be able to act as. Without `worker_url`, `url` serves both. There are four pools, of `pool_size`
    and SPARE_CONNECTIONS, of EXPORT_POOL_SIZE, of `background_size` and of AUTONOMOUS_POOL_SIZE connections. The
    transactions of one party's operations (see `operations`) hold at most the operation's share of the `pool_size`
    connections at a time.

    Every transaction commits at the end of its block and rolls back on any exception. All of them raise
    StoreUnavailable if the database cannot be reached or no connection is free within POOL_WAIT_S, TenantErased if the
    tenant of the bounds does not exist any more, and Misconfigured if the login may not act as the role.
    """

    def __init__(
        self,
        url: str,
        worker_url: str | None = None,
        *,
        pool_size: int = POOL_SIZE,
        background_size: int = WORKER_POOL_SIZE,
    ) -> None:
        background_url = worker_url or url
        self._callers = Pool("callers", url, pool_size + SPARE_CONNECTIONS)
        self._exports = Pool("exports", url, EXPORT_POOL_SIZE)
        self._background = Pool("background", background_url, background_size)
        self._autonomous = Pool("autonomous", background_url, AUTONOMOUS_POOL_SIZE)
        self._pools = (self._callers, self._exports, self._background, self._autonomous)
        self.engine = self._callers.engine
        self.slots = FairSlots("database connections", total=pool_size, waiting=POOL_QUEUE)
        self.observe: TransactionObserver = unobserved
        self.when_tenant_erased: list[Callable[[int], None]] = []  # called with the number of a tenant found erased
        self.before_closing: list[Callable[[], Awaitable[None]]] = []  # called by `async with` before the pools close
        # Executed so far, and the round trips in which they were sent, without BEGIN and COMMIT: tests limit both.
        self.statements = self.round_trips = 0
        for pool in (self._callers, self._exports, self._background):
            event.listen(pool.engine.sync_engine, "before_cursor_execute", self._before_statement)

    def _before_statement(self, connection: SyncConnection, *_: Any) -> None:
        flush_before(connection)
        self._count(1)

    def _count(self, statements: int) -> None:
        self.statements += statements
        self.round_trips += 1

    async def __aenter__(self) -> Database:
        return self

    async def __aexit__(self, *_: object) -> None:
        for close in self.before_closing:
            await close()
        for pool in self._pools:
            await pool.engine.dispose()

    async def reconnect(self) -> None:
        """Replace each connection when it is next taken, because the server was started again or changed its role."""
        for pool in self._pools:
            pool.renew()

    @asynccontextmanager
    async def reading(self, bounds: Bounds) -> AsyncIterator[AsyncConnection]:
        """Open a read-only transaction for a caller: one snapshot, with only the rows within `bounds`.

        It begins with its first statement, which raises what another transaction raises when it is opened.
        """
        async with self._slot(), translated(), self._connected(self._callers, Role.READ) as connection:
            await self._enter(connection, Role.READ, bounds, begin=SNAPSHOT, is_deferred=True)
            yield connection
            await commit(connection)  # otherwise it is rolled back when the connection is returned

    @asynccontextmanager
    async def exporting(self, bounds: Bounds, *, snapshot: str | None = None) -> AsyncIterator[AsyncConnection]:
        """Open a read-only transaction as `reading` does, on a connection that no operation waits for.

        `snapshot` is one that another transaction has exported; if that has ended, raises SnapshotGone.
        """
        async with translated(), self._connected(self._exports, Role.READ) as connection:
            await self._enter(connection, Role.READ, bounds, begin=begin_in(snapshot), is_deferred=True)
            yield connection
            await commit(connection)

    @asynccontextmanager
    async def writing(self, bounds: Bounds) -> AsyncIterator[AsyncConnection]:
        """Open a transaction for a caller's write, with only the rows of the caller's tenant."""
        async with (
            self._slot(),
            translated(),
            self._connected(self._callers, Role.WRITE) as connection,
            connection.begin(),
        ):
            await self._enter(connection, Role.WRITE, bounds, writes_for=bounds.tenant)
            yield connection
            await commit(connection)

    @asynccontextmanager
    async def background(self, role: Role, *, tenant: int | None = None) -> AsyncIterator[AsyncConnection]:
        """Open a transaction for background work across tenants, or for one `tenant`, as the role for that work."""
        writes_for = (ANY_TENANT if tenant is None else tenant) if role in _WRITES_RECORDS else None
        async with translated(), self._connected(self._background, role) as connection, connection.begin():
            await self._enter(connection, role, writes_for=writes_for)
            yield connection

    @asynccontextmanager
    async def background_snapshot(self, role: Role) -> AsyncIterator[AsyncConnection]:
        """Open a read-only transaction for background work across tenants: one snapshot for all statements."""
        async with translated(), self._connected(self._background, role) as connection, connection.begin():
            await self._enter(connection, role, begin=SNAPSHOT)
            yield connection

    @asynccontextmanager
    async def autonomous(self) -> AsyncIterator[AsyncConnection]:
        """Open a short transaction, independent of any that the task already holds, for interned names and keys.

        It has a pool of its own. With a shared pool, ten writers that each hold one connection and wait for another
        would block each other (docs/decisions.md). Never await anything else inside the block.
        """
        async with translated(), self._connected(self._autonomous, Role.KEYS) as connection, connection.begin():
            await self._enter(connection, Role.KEYS, count=lambda _: None)
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
    async def _connected(self, pool: Pool, role: Role) -> AsyncIterator[AsyncConnection]:
        """Take a connection from the pool for the block, which is observed as a transaction of `role`."""
        with self.observe(role.value):
            async with AsyncExitStack() as stack:
                connection = await pool.take(stack, POOL_WAIT_S)
                info = connection.info  # read now, because a connection that is lost no longer returns it
                try:
                    yield connection
                finally:
                    end_session(info)

    async def _enter(
        self,
        connection: AsyncConnection,
        role: Role,
        bounds: Bounds | None = None,
        *,
        writes_for: int | None = None,
        begin: bytes = BEGIN,
        is_deferred: bool = False,
        count: Callable[[int], None] | None = None,
    ) -> None:
        """Set the role, and the bounds if any, for the rest of the transaction, which may write for `writes_for`.

        `begin` opens it. Raises Misconfigured if the login may not act as the role, SnapshotGone if `begin` names a
        snapshot that does not exist any more, and TenantErased if the tenant does not; with `is_deferred`, the first
        statement does. `count` is called with the number of statements of each round trip.
        """
        parameters: dict[str, Any] = {"role": role.value, "statement_timeout": str(_statement_timeout_ms())}
        parameters |= _settings(bounds)
        if writes_for is None:
            statement = ENTER if bounds is None else ENTER_READER
        else:
            statement = ENTER_WRITER if bounds is None else ENTER_TENANT_WRITER
            parameters |= {"writers": WRITERS, "writes_for": writes_for}
        info = connection.info
        info.update(when_tenant_erased=self.when_tenant_erased, bounds=bounds, xid=None)

        def entered(row: Mapping[str, Any]) -> None:
            if bounds is not None and not row["has_tenant"]:
                raise _erased(info, bounds)
            info["xid"] = row.get("xid")

        def refused(error: Exception) -> None:
            if isinstance(error, InsufficientPrivilege):
                raise Misconfigured(
                    f"The database login may not act as the role {role.value!r}; start once with"
                    " STRATAGRAPH_OWNER_DATABASE_URL set to the login that owns the database, which grants the role."
                ) from error
            if isinstance(error, UndefinedObject | InvalidParameterValue) and begin not in (BEGIN, SNAPSHOT):
                raise SnapshotGone from error

        begin_session(
            connection,
            count or self._count,
            is_deferring=role is Role.WRITE,
            begin=begin,
            entry=Entry(Sending(Statement.of(statement), parameters, prepare=True), entered, refused),
        )
        if not is_deferred:
            await flush(connection)

    def pools(self) -> list[PoolUsage]:
        """Return the use of each pool."""
        return [pool.usage() for pool in self._pools]

    async def probe(self) -> Probe:
        """Return what the database can do now. Raises StoreUnavailable if it cannot be reached."""
        return await probe(self._callers, self._background)


def _erased(info: Mapping[Any, Any], bounds: Bounds) -> TenantErased:
    """Tell the caches that the tenant does not exist any more, and return the error to raise."""
    for forget in info["when_tenant_erased"]:
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
        (row,) = (await send(connection, Sending(Statement.of(TAKE_TENANT), _settings(bounds), prepare=True))).rows()
        if not row["has_tenant"]:
            raise _erased(info, bounds)
    else:
        await send(connection, Sending(Statement.of(BOUNDS), _settings(bounds), prepare=True))
    info["bounds"] = bounds
    try:
        yield
        await send(connection, Sending(Statement.of(BOUNDS), _settings(before), prepare=True))
    finally:  # an error ends the transaction or savepoint, and the settings with it
        info["bounds"] = before


async def transaction_id(connection: Connection) -> str:
    """Return the id of a writing transaction, in decimal digits. That of a caller's takes no statement."""
    if connection.info["xid"] is None:
        (row,) = (await send(connection, Sending(Statement.of(TRANSACTION_ID), {}, prepare=True))).rows()
        connection.info["xid"] = row["xid"]
    xid: str = connection.info["xid"]
    return xid


@asynccontextmanager
async def savepoint(connection: Connection) -> AsyncIterator[None]:
    """Run the block in a savepoint: an error rolls back the block alone. Driver errors are translated."""
    async with translated():
        await flush(connection)
        info = connection.info
        async with connection.begin_nested():
            try:
                yield
                await flush(connection)
            except BaseException:
                discard(info)
                raise
