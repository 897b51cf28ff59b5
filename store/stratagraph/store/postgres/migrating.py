"""Bringing a database to the schema of this version: building it, adopting it, migrating it.

A new database gets the present schema at once. An older one gets the numbered changes of tables that it lacks, then the
functions, views and rights of `schema/`, all in one transaction.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from psycopg.errors import InsufficientPrivilege, ReadOnlySqlTransaction
from sqlalchemy import Connection, Engine, create_engine, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from stratagraph.store.model.errors import MigrationFailed, Misconfigured, OutOfConnections, StoreUnavailable
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.postgres.failures import is_transient, translation
from stratagraph.store.postgres.pools import CONNECT_TIMEOUT_S, sqlalchemy_url
from stratagraph.store.postgres.queries import fetch
from stratagraph.store.postgres.roles import grant_roles
from stratagraph.store.postgres.schema import head
from stratagraph.store.postgres.schema.rights import REVISION_TABLE

MIGRATIONS = Path(__file__).parent / "schema" / "migrations"
ADOPTED = ("0056",)  # revisions before the oldest migration, from which it starts
PASSAGE = "4679b02"  # the last commit with the migrations of older databases
MIGRATION_LOCK = 7_000  # key of an advisory lock, so that servers that start together migrate one after the other
MINIMUM_VERSION = 160_000  # server_version_num of PostgreSQL 16.0


@dataclass(frozen=True, slots=True)
class Migrated:
    """The revision that a database has reached, for example "0008", and the one before; None of a new database."""

    revision: str
    before: str | None

    @property
    def is_upgrade(self) -> bool:
        """Whether an earlier version of the code has worked with the database."""
        return self.before not in (None, self.revision)


def migrate(url: str, *, api_url: str | None = None, worker_url: str | None = None) -> Migrated:
    """Apply the missing migrations and return the revisions reached and left.

    `url` is that of the owner. The logins of `api_url` and `worker_url` may then act as their roles; without them, the
    owner may. Blocks, so run it in a thread. Safe to repeat and to run from several processes at once, and after an
    upgrade that was killed. Raises Misconfigured if the server is too old, a privilege is missing, or the database was
    migrated by a newer version or by one too old to start from; MigrationFailed if the server refused a statement, for
    example because an extension is missing; StoreUnavailable if it cannot be reached, or cannot be written now.
    """
    engine = _engine(url)
    try:
        api, worker = (_login(other or url) for other in (api_url, worker_url))
        return _migrate(engine, api=api, worker=worker)
    except DBAPIError as error:
        found = translation(error.orig, is_lost=error.connection_invalidated)
        is_said = getattr(error.orig, "sqlstate", None) is not None or isinstance(found, OutOfConnections)
        if is_said and isinstance(found, StoreUnavailable):
            raise found from error
        if error.orig is not None and not is_said:
            raise StoreUnavailable(
                f"The database cannot be reached; check that it runs and its URL in the settings: {error.orig}"
            ) from error
        raise
    finally:
        engine.dispose()


async def find_newer_revision(database: Database) -> str | None:
    """Return the revision of the database if this version does not know it, because a newer one has migrated it."""
    async with database.background(Role.MAINTENANCE) as connection:
        revision = str((await fetch(connection, "fetch_revision"))[0]["version_num"])
    return None if revision in _known() else revision


@cache
def _known() -> frozenset[str]:
    return frozenset(known_revisions())


def known_revisions() -> list[str]:
    """Return the revisions from which this version can start, the oldest first; the last one is its own."""
    return [*ADOPTED, *(_number(path) for path in _migrations())]


def _migrations() -> list[Path]:
    return sorted(MIGRATIONS.glob("[0-9]*.sql"))


def _number(path: Path) -> str:
    return path.stem.split("_")[0]


def _engine(url: str) -> Engine:
    return create_engine(sqlalchemy_url(url), poolclass=NullPool, connect_args={"connect_timeout": CONNECT_TIMEOUT_S})


def _login(url: str) -> str:
    """Return the name of the login that the URL connects as, which the URL need not contain."""
    engine = _engine(url)
    try:
        with engine.connect() as connection:
            return str(connection.execute(text("SELECT session_user")).scalar_one())
    finally:
        engine.dispose()


def _migrate(engine: Engine, *, api: str, worker: str) -> Migrated:
    with engine.connect() as connection:
        version = connection.execute(text("SHOW server_version_num")).scalar_one()
        if int(version) < MINIMUM_VERSION:
            raise Misconfigured(
                f"PostgreSQL 16 or newer is needed; this server is {int(version) // 10_000}. Upgrade it."
            )
        connection.execute(text("SELECT pg_advisory_lock(:lock)"), {"lock": MIGRATION_LOCK})
        connection.commit()
        known = known_revisions()
        current = _revision(connection)
        if current is not None and current not in known:
            raise Misconfigured(_unknown(current))
        step = _Step("the present schema")
        try:
            _bring_up(connection, current, step)
        except DBAPIError as error:
            connection.rollback()
            if isinstance(error.orig, ReadOnlySqlTransaction):  # no migration is at fault; the start waits
                raise
            raise _failure(current, error, step) from error
        grant_roles(connection, api=api, worker=worker)
        connection.commit()
        connection.execute(text("SELECT pg_advisory_unlock(:lock)"), {"lock": MIGRATION_LOCK})
        connection.commit()
        return Migrated(known[-1], current)


@dataclass(slots=True)
class _Step:
    """What is being done, for an error that stops it: a migration by its name, or the schema as a whole."""

    name: str


def _bring_up(connection: Connection, current: str | None, step: _Step) -> None:
    """Give the database of revision `current` the present schema, in one transaction."""
    if current is None:
        head.build_tables(connection)
        connection.execute(
            text(f"CREATE TABLE {REVISION_TABLE} (version_num VARCHAR(32) CONSTRAINT {REVISION_TABLE}_pkc PRIMARY KEY)")
        )
        insert = text(f"INSERT INTO {REVISION_TABLE} VALUES (:own)")  # noqa: S608 - our own name
        connection.execute(insert, {"own": known_revisions()[-1]})
    else:
        for path in _migrations():
            if _number(path) > current:
                step.name = f"migration {path.stem}"
                head.run(connection, path)
                update = text(f"UPDATE {REVISION_TABLE} SET version_num = :own")  # noqa: S608 - our own name
                connection.execute(update, {"own": _number(path)})
        step.name = "the functions, views and rights"
    head.apply(connection)
    connection.commit()


def _unknown(current: str) -> str:
    if current < known_revisions()[-1]:
        return (
            f"The database is at revision {current}, from which this version of Stratagraph cannot start. Start"
            f" Stratagraph of commit {PASSAGE} on it once, which brings it to 0060, and then this version again."
        )
    return (
        f"The database is at revision {current}, which this version of Stratagraph does not know; it was written by a"
        " newer one. Upgrade Stratagraph."
    )


def _failure(before: str | None, error: DBAPIError, step: _Step) -> MigrationFailed:
    """Return the error to raise for a step that failed in a database that had the revision `before`.

    Of what the server said, only the message and the hint are quoted: its details are rows, which hold memories.
    """
    place = f"The database is at revision {before}" if before else "The database has no revision yet"
    diagnosis = getattr(error.orig, "diag", None)
    state = getattr(error.orig, "sqlstate", None)
    parts = (diagnosis.message_primary, diagnosis.message_hint) if diagnosis is not None else ()
    said = " ".join(part for part in parts if part) or "the connection was lost"
    return MigrationFailed(
        f"{step.name[0].upper()}{step.name[1:]} failed, and nothing of it is kept. The server said: {said}"
        f" ({state or 'no SQLSTATE'}). {place}. {_what_to_do(error.orig, said)} To go back instead, restore the"
        " backup with the version that made it.",
        reached=before,
    )


def _what_to_do(cause: BaseException | None, said: str) -> str:
    if is_transient(cause):
        return "See that the server runs and has room, and start again."
    if "extension" in said:
        return (
            "The database lacks an extension: Stratagraph needs vector (pgvector ≥ 0.8), pg_trgm, btree_gist and"
            " btree_gin. Let an administrator create them in this database (docs/operations.md), and start again; or"
            " start without STRATAGRAPH_DATABASE_URL to use the embedded server."
        )
    if isinstance(cause, InsufficientPrivilege):
        return (
            "Set STRATAGRAPH_OWNER_DATABASE_URL to the login that owns the database and its tables, with the"
            " privileges of docs/operations.md, and start again."
        )
    return "Correct what the server names, and start again; if it names nothing of yours, report this message."


def _revision(connection: Connection) -> str | None:
    """Return the revision of the database; None if it was never migrated."""
    is_migrated = connection.execute(text(f"SELECT to_regclass('{REVISION_TABLE}') IS NOT NULL")).scalar_one()
    statement = text(f"SELECT version_num FROM {REVISION_TABLE}")  # noqa: S608 - our own name
    revision = connection.execute(statement).scalar_one_or_none() if is_migrated else None
    connection.commit()
    return revision
