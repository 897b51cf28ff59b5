"""What a backup needs to know of a database, read in one snapshot that pg_dump reads too.

Runs as the owner, who sees every row. Works with every schema revision that has been released since artifacts exist
(0004), because a backup is taken before an upgrade, by the new version too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from sqlalchemy import Connection, column, create_engine, func, select, table, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from stratagraph.store.model.errors import Misconfigured, StoreUnavailable
from stratagraph.store.postgres.pools import CONNECT_TIMEOUT_S, sqlalchemy_url

_TABLES = text(
    "SELECT n.nspname AS schema, c.relname AS name, pg_table_size(c.oid) AS bytes"
    " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
    " WHERE c.relkind = 'r' AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%' ORDER BY 1, 2"
)
_WRAPPED = text(
    "SELECT DISTINCT ON (wrapped_by) wrapped_by, wrapped FROM ("
    " SELECT wrapped_by, wrapped FROM data_key"
    " UNION ALL SELECT wrapped_by, index_key FROM tenant WHERE wrapped_by IS NOT NULL) k ORDER BY wrapped_by"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectRow:
    """The identity of an artifact's object in the object store, and the size of its plain bytes."""

    tenant: int
    sha256: bytes
    id: UUID
    size_bytes: int


class ExportedSnapshot:
    """One snapshot of a database. `id` is what pg_dump takes as --snapshot; both end with the transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.id = str(connection.execute(text("SELECT pg_export_snapshot()")).scalar_one())

    def revision(self) -> str:
        """Return the schema revision. Raises Misconfigured if the database was never migrated."""
        if self._connection.execute(text("SELECT to_regclass('alembic_version') IS NULL")).scalar_one():
            raise Misconfigured("The database holds nothing of Stratagraph; start the service on it once.")
        return str(self._connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one())

    def server_version(self) -> int:
        """Return the version of the server as PostgreSQL numbers it, such as 180006 for 18.6."""
        return int(self._connection.execute(text("SHOW server_version_num")).scalar_one())

    def table_bytes(self) -> dict[str, int]:
        """Return the size of each table on disk, without its indexes, keyed by `schema.table`."""
        return {f"{row.schema}.{row.name}": int(row.bytes) for row in self._connection.execute(_TABLES)}

    def row_counts(self) -> dict[str, int]:
        """Return the number of rows of each table, keyed by `schema.table`. Reads every table."""
        counts = {}
        for row in self._connection.execute(_TABLES).all():
            counted = select(func.count()).select_from(table(row.name, schema=row.schema))
            counts[f"{row.schema}.{row.name}"] = int(self._connection.execute(counted).scalar_one())
        return counts

    def wrapped_samples(self) -> dict[str, bytes]:
        """Return one wrapped key for each master key that wraps any, keyed by the name of the master key."""
        return {str(row.wrapped_by): bytes(row.wrapped) for row in self._connection.execute(_WRAPPED)}

    def objects(self) -> list[ObjectRow]:
        """Return the objects of all artifacts."""
        artifact = table("artifact", column("tenant"), column("sha256"), column("object"), column("size_bytes"))
        return [
            ObjectRow(tenant=row.tenant, sha256=bytes(row.sha256), id=row.object, size_bytes=row.size_bytes)
            for row in self._connection.execute(select(artifact))
        ]


@contextmanager
def exported_snapshot(url: str) -> Iterator[ExportedSnapshot]:
    """Open a read-only transaction as the owner at `url` and yield its snapshot. Blocks, so run it in a thread.

    Raises StoreUnavailable if the database cannot be read.
    """
    with _connection(url, "REPEATABLE READ") as connection:
        connection.execute(text("SET TRANSACTION READ ONLY"))
        yield ExportedSnapshot(connection)


def set_durable(url: str, durable: bool) -> None:
    """Let the server at `url` write each commit to disk, or not: then a crash of the machine loses the whole cluster.

    Raises StoreUnavailable if it cannot be reached.
    """
    with _connection(url, "AUTOCOMMIT") as connection:
        for statement in _DURABLE if durable else _NOT_DURABLE:
            connection.execute(text(statement))
        connection.execute(text("SELECT pg_reload_conf()"))


_NOT_DURABLE = ("ALTER SYSTEM SET fsync = off", "ALTER SYSTEM SET full_page_writes = off")
_DURABLE = ("ALTER SYSTEM RESET fsync", "ALTER SYSTEM RESET full_page_writes")


def analyze(url: str) -> None:
    """Collect the planner's statistics of all tables, which a dump does not contain.

    Raises StoreUnavailable if the database cannot be reached.
    """
    with _connection(url, "AUTOCOMMIT") as connection:
        connection.execute(text("ANALYZE"))


@contextmanager
def _connection(url: str, isolation_level: Literal["REPEATABLE READ", "AUTOCOMMIT"]) -> Iterator[Connection]:
    engine = create_engine(
        sqlalchemy_url(url),
        poolclass=NullPool,
        isolation_level=isolation_level,
        connect_args={"connect_timeout": CONNECT_TIMEOUT_S},
    )
    try:
        with engine.connect() as connection:
            yield connection
    except DBAPIError as error:
        sqlstate = getattr(error.orig, "sqlstate", None) or "no connection"
        raise StoreUnavailable(
            f"The database could not be read ({sqlstate}). Check that it runs, and try again."
        ) from error
    finally:
        engine.dispose()
